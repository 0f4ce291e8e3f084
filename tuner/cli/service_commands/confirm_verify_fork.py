"""Commands that have a service work on its studies: `tuner --server URL confirm`, `verify`, `fork`, `rm`, `sync`."""

from typing import Annotated, Final

import typer

from runners.reporting import printable
from search_spaces.client import Client as ProducerClient
from search_spaces.client import client_of
from search_spaces.files.producer_file import FileClient
from tuner.cli.ask_before_removing import user_agrees
from tuner.cli.options import common_options, verify_options
from tuner.cli.options.confirm_options import ConfirmOptions
from tuner.cli.options.options_from_dataclass import with_options
from tuner.cli.options.study_arguments import NewName, NewStudyFile, Yes
from tuner.cli.options.study_from_options import StudyFromOptions
from tuner.cli.options.verify_options import VerifyOptions
from tuner.cli.output import print_json, print_result
from tuner.cli.printing.verifications import end_unless_passed, print_judgement
from tuner.cli.service_commands.at_service import (
    Detach,
    Study,
    Target,
    check_ended,
    follow,
    left_running,
    media_type,
    service,
    show_recommendations,
    warn_of_limits,
)
from tuner.model.document import document
from tuner.model.errors import StudyError
from tuner.present.console import OUT, say, warn
from tuner.results.study_results import SIMULATED
from tuner.service.queue.job import AT_REST, JobState

_NO_TRIAL: Final = 10**14
"""A sequence number above that of any trial, to follow a study without being sent its trials."""


@with_options()
def confirm(
    study: Study,
    options: ConfirmOptions,
    detach: Detach = False,
    as_json: common_options.Json = False,
    quiet: common_options.Quiet = False,
) -> None:
    """Have the service measure the best configs of a study again, alternating with the baseline.

    \b
    Examples:
        tuner --server https://tuner.example confirm orders
        tuner --server https://tuner.example confirm orders --goal throughput --max-rounds 40
    """
    common_options.check_round_options(options.rounds, options.max_rounds)
    with service() as client:
        before = client.study(study)["state"]
        # A study that runs may have no trials yet, and is refused below.
        trials = client.trials(study) if before in AT_REST else ()
        seen = max((trial["sequence"] for trial in trials), default=0)
        view = client.confirm(
            study,
            goals=[str(goal) for goal in options.goals or ()],
            rounds=options.rounds,
            max_rounds=options.max_rounds,
            width_ratio=options.width_ratio,
            undo_rounds=options.undo_rounds,
        )
        if detach:
            print_result(view, lambda: typer.echo(study), as_json=as_json)
            return
        with left_running(client, study):
            ended = follow(client, study, silent=quiet or as_json, after=seen)
        check_ended(client, study, ended, *_states_after(before))
        show_recommendations(client, study, options.goals, as_json=as_json)


@with_options()
def verify(
    options: VerifyOptions,
    target: Target = None,
    as_json: common_options.Json = False,
    quiet: common_options.Quiet = False,
) -> None:
    """Have the service measure a properties file alternating with the baseline; exit code 99 if the file is worse.

    What is compared, and the exit codes 99 and 98, are those of `tuner verify` without a service. The measurements are
    a study of the service.

    \b
    Examples:
        tuner --server https://tuner.example verify producer.properties --record-bytes 1000 --target lab
        tuner --server https://tuner.example verify best.properties --study orders
    """
    common_options.check_round_options(options.rounds, options.max_rounds)
    verify_options.check_gain(options)
    silent = quiet or as_json
    measured = _measured(options.client, options.study)
    config = common_options.config_of_file(
        options.file, options.file_client, measured, silent=silent, advice=verify_options.FILE_CLIENT
    )
    baseline = options.against and common_options.config_of_file(
        options.against, FileClient.AUTO, measured, silent=silent
    )
    request = {
        "file": str(options.file),
        "client": options.client,
        "config": config.values,
        "baseline": baseline and baseline.values,
        "study": options.study,
        "target": target,
        "record_bytes": options.record_bytes,
        "rounds": options.rounds,
        "max_rounds": options.max_rounds,
        "width_ratio": options.width_ratio,
        "min_gain": options.min_gain,
        "tolerance_ratio": options.tolerance_ratio,
        "allow_weaker": options.allow_weaker,
        "seconds": options.seconds,
        "warmup": options.warmup,
    }
    with service() as at:
        view = at.verify({key: value for key, value in request.items() if value is not None})
        if view["kind"] == "verification":
            if as_json:
                print_json(view)
            end_unless_passed(view)
        name = view["name"]
        warn_of_limits(view)
        if not silent:
            say(f"study {name} is {view['state']} at {at.url}; Ctrl-C stops this command, not the study")
        with left_running(at, name):
            check_ended(at, name, follow(at, name, silent=silent))
        record, text = at.verification(name), at.text(name, "verification").rstrip("\n")
    unmeasured, simulated = record.pop("unmeasured"), record.pop("simulated")
    print_judgement(record, printable(text), as_json=as_json, quiet=quiet)
    if simulated:
        warn(SIMULATED)
    if unmeasured:
        raise StudyError(unmeasured)
    end_unless_passed(record)


def fork(
    study: Study,
    name: NewName,
    study_file: NewStudyFile = None,
    as_json: common_options.Json = False,
) -> None:
    """Have the service begin a new study with those trials of another study that fit the new settings.

    The new study is paused. `tuner resume` continues it.

    \b
    Examples:
        tuner --server https://tuner.example fork orders low-latency low-latency.yaml
        tuner --server https://tuner.example fork orders orders-2
    """
    options = StudyFromOptions(study_file=study_file)
    text = None if study_file is None else options.text_for_service(None)
    with service() as client:
        made = client.fork(study, name, text, media_type(options.study_file, text or ""))
        warn_of_limits(made)
        say(f"{name}: {made['trials_taken_over']} of {made['trials_there']} trials of {study} taken over")
        say(f"to continue: tuner --server {client.url} resume {name}")
    if as_json:
        print_json({key: value for key, value in made.items() if key != "limited"})  # as without a service


def rm(
    names: Annotated[list[str], typer.Argument(metavar="STUDY", help="Names of studies on the service.")],
    yes: Yes = False,
    as_json: common_options.Json = False,
) -> None:
    """Remove studies from the service for good. The command asks before it removes anything.

    A study that waits or runs is not removed: cancel it first. What MLflow shows of a study stays there.

    \b
    Examples:
        tuner --server https://tuner.example rm orders
        tuner --server https://tuner.example rm before after --yes
    """
    chosen = list(dict.fromkeys(names))
    with service() as client:
        for name in chosen:
            client.study(name)
        shown = ", ".join(chosen)
        if not yes and not user_agrees(
            f"remove for good from {client.url}: {shown}?", f"rm asks before it removes {shown}"
        ):
            raise typer.Abort
        for name in chosen:
            client.remove(name)
            say(f"removed {name}")
    if as_json:
        print_json(document("removed", removed=chosen))


def sync(study: Study, as_json: common_options.Json = False, quiet: common_options.Quiet = False) -> None:
    """Have the service bring MLflow up to date with a study, for example after the MLflow server was down.

    \b
    Example:
        tuner --server https://tuner.example sync orders
    """
    with service() as client:
        before = client.study(study)["state"]
        client.sync(study)
        with left_running(client, study):
            ended = follow(client, study, silent=True, after=_NO_TRIAL)
        check_ended(client, study, ended, *_states_after(before))
    if as_json:
        print_json(document("sync", study=study, state=ended))
    elif not quiet:
        OUT.show(f"the MLflow of the service is up to date with {study}")


def _states_after(before: str) -> tuple[str, ...]:
    """Return the states that a study may have after a task, from its state before the task.

    A complete study is complete again. A study in another state may have been complete before an earlier task failed;
    only the service knows this.
    """
    return (JobState.COMPLETE,) if before == JobState.COMPLETE else (JobState.COMPLETE, JobState.PAUSED)


def _measured(client: str | None, study: str | None) -> ProducerClient:
    """Return the client that is measured: the one that the user names, or the client of the given study."""
    of_study = None
    if client is None and study is not None:
        with service() as at:
            of_study = next((trial["client"] for trial in at.trials(study)), None)
    return client_of(client or of_study or "librdkafka")
