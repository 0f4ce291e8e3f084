"""The verbs that have a service do something: `tuner --server URL run`, `confirm`, `verify`, `fork`, `rm` and others.

They take the options of the verbs without a service, except those about the target: a service has its own clusters.
"""

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from runners.reporting import printable
from search_spaces.client import Client as ProducerClient
from search_spaces.client import client_of
from search_spaces.producer_file import FileClient, read_producer_file
from search_spaces.properties_file import named_file
from tuner.cli import options, verify_flags
from tuner.cli.app import Interrupted
from tuner.cli.at_service import (
    Study,
    check_ended,
    follow,
    left_at,
    recommendation_for_each_size,
    service,
)
from tuner.cli.plan import MbPerS
from tuner.cli.recommend import study_record
from tuner.cli.run import AblationRounds, Goals, MaxRounds, Rounds, WidthRatio
from tuner.cli.studies import Yes
from tuner.cli.study_options import StudyOptions, option_of, with_study_options
from tuner.cli.verify import end, print_judgement
from tuner.client import Client, ServiceRefused
from tuner.model.errors import NoFeasibleConfig, StudyError
from tuner.present.console import OUT, say, warn
from tuner.present.export import Format, export_all
from tuner.present.plan_view import plan_csv
from tuner.study_file import changed_text

Target = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Cluster of the service to measure on, such as lab; simulated measures nothing.",
        show_default="the target of the study file, or the service's default",
        rich_help_panel="Target",
    ),
]
_OF_A_CLUSTER: Final = frozenset(
    {"bootstrap", "command_config", "container", "brokers", "topic", "like", "ray_address"}
)
"""The options of a study that a service does not take, because its operator decides them."""
Detach = Annotated[bool, typer.Option("--detach", "-d", help="Return at once, without following the study.")]


@partial(with_study_options, without=_OF_A_CLUSTER)
def run(
    asked: StudyOptions,
    target: Target = None,
    detach: Detach = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Submit a study to the service, and follow it until it ends.

    Ctrl-C only stops this command: the study keeps running on the service. The same command follows the study again.

    \b
    Examples:
        tuner --server https://tuner.example run orders.yaml
        tuner --server https://tuner.example run orders.yaml --detach
        tuner --server https://tuner.example run --quick --record-bytes 500 --target lab
    """
    text = asked.text_for_service(target)
    with service() as client:
        silent = quiet or as_json
        left = f"the service may have received the study; `tuner --server {client.url} studies` lists its studies"
        try:
            view = _submitted(client, asked, text, target)
        except Interrupted:
            raise Interrupted(left) from None
        name = view["name"]
        with left_at(client, name):
            if not silent:
                for change in view.get("limited", ()):
                    warn(f"{change['key']} {change['detail']}")
                say(f"study {name} is {view['state']} at {client.url}; Ctrl-C stops this command, not the study")
            if detach:
                typer.echo(json.dumps(view, indent=2) if as_json else name)
                return
            check_ended(client, name, follow(client, name, silent=silent))
        _show_recommendations(client, name, as_json=as_json)


def _submitted(client: Client, asked: StudyOptions, text: str, target: str | None) -> dict[str, Any]:
    """Submit a study, and return it as the service shows it.

    A name that the program has made gets the end `-2`, or a higher number, if the service has a study of this name with
    other settings.
    """
    first: str | None = None
    for number in count(2):
        try:
            with _naming_options(asked):
                return client.submit(text, _media_type(asked, text))
        except ServiceRefused as error:
            fixed = asked.name is not None or asked.study_file is not None
            if fixed or error.kind not in ("settings-changed", "name-taken"):
                raise
            first = first or asked.default_name(target)
            text = changed_text(text, {"study": {"name": f"{first}-{number}"}})
            say(f"the service has a study {first} with other settings, so this study is {first}-{number}")
    raise AssertionError("the names do not end")


@partial(with_study_options, without=_OF_A_CLUSTER)
def plan(
    asked: StudyOptions,
    target: Target = None,
    mb_per_s: MbPerS = 200.0,
    as_json: options.Json = False,
    as_csv: options.Csv = False,
) -> None:
    """Show what a study would do on the service, without any traffic: trials, time, bytes, search space.

    \b
    Examples:
        tuner --server https://tuner.example plan orders.yaml
        tuner --server https://tuner.example plan --quick --record-bytes 500 --target lab
    """
    options.check_one_form(json=as_json, csv=as_csv)
    text = asked.text_for_service(target)
    kind = _media_type(asked, text)
    with service() as client, _naming_options(asked):
        record = client.plan(text, mb_per_s, kind)
        warnings = record.pop("warnings")
        if as_json:
            options.print_json(record)
        elif as_csv:
            options.print_csv(plan_csv(record))
        else:
            typer.echo(printable(client.plan_text(text, mb_per_s, kind)), nl=False)
        for warning in () if as_json else warnings:
            warn(warning)


def confirm(
    study: Study,
    goals: Goals = None,
    rounds: Rounds = None,
    max_rounds: MaxRounds = None,
    width_ratio: WidthRatio = None,
    ablation_rounds: AblationRounds = None,
    detach: Detach = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Have the service measure the best configs of a study and the baseline again, in turn.

    \b
    Examples:
        tuner --server https://tuner.example confirm orders
        tuner --server https://tuner.example confirm orders --goal throughput --max-rounds 40
    """
    with service() as client:
        before = client.study(study)["state"]
        seen = max((trial["sequence"] for trial in client.trials(study)), default=0)
        view = client.confirm(
            study,
            goals=[str(goal) for goal in goals or ()],
            rounds=rounds,
            max_rounds=max_rounds,
            width_ratio=width_ratio,
            ablation_rounds=ablation_rounds,
        )
        if detach:
            typer.echo(json.dumps(view, indent=2) if as_json else study)
            return
        with left_at(client, study):
            ended = follow(client, study, silent=quiet or as_json, after=seen)
        check_ended(client, study, ended, "complete" if before == "complete" else "paused")
        _show_recommendations(client, study, as_json=as_json)


def verify(
    file: verify_flags.File,
    against: verify_flags.Against = None,
    study: verify_flags.LikeStudy = None,
    record_bytes: verify_flags.RecordBytes = None,
    client: verify_flags.MeasuredClient = None,
    file_client: verify_flags.ForClient = FileClient.AUTO,
    rounds: verify_flags.Rounds = 8,
    max_rounds: verify_flags.MaxRounds = 20,
    width_ratio: verify_flags.WidthRatio = 0.1,
    min_gain: verify_flags.MinGain = None,
    tolerance_ratio: verify_flags.ToleranceRatio = 0.0,
    allow_weaker: verify_flags.AllowWeaker = False,
    seconds: verify_flags.Seconds = None,
    warmup: verify_flags.Warmup = None,
    target: Target = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Have the service measure a properties file in turn with the baseline; exit code 99 if the file is worse.

    What is compared, and the exit codes 99 and 98, are those of `tuner verify` without a service. The measurements are
    a study of the service.

    \b
    Examples:
        tuner --server https://tuner.example verify producer.properties --record-bytes 1000 --target lab
        tuner --server https://tuner.example verify best.properties --study orders
    """
    silent = quiet or as_json
    measured = client_of(client or "librdkafka")
    asked = {
        "file": str(file),
        "client": client,
        "config": _values(file, file_client, measured, silent=silent),
        "baseline": None if against is None else _values(against, FileClient.AUTO, measured, silent=silent),
        "study": study,
        "target": target,
        "record_bytes": record_bytes,
        "rounds": rounds,
        "max_rounds": max_rounds,
        "width_ratio": width_ratio,
        "min_gain": min_gain,
        "tolerance_ratio": tolerance_ratio,
        "allow_weaker": allow_weaker,
        "seconds": seconds,
        "warmup": warmup,
    }
    with service() as at:
        view = at.verify({key: value for key, value in asked.items() if value is not None})
        if view["kind"] == "verification":
            if as_json:
                options.print_json(view)
            end(view)
        name = view["name"]
        if not silent:
            say(f"study {name} is {view['state']} at {at.url}; Ctrl-C stops this command, not the study")
        with left_at(at, name):
            check_ended(at, name, follow(at, name, silent=silent))
        record, text = at.verification(name), at.text(name, "verification").rstrip("\n")
    unmeasured, simulated = record.pop("unmeasured"), record.pop("simulated")
    print_judgement(record, printable(text), as_json=as_json, quiet=quiet)
    if simulated:
        warn("simulated: nothing was measured on Kafka")
    if unmeasured:
        raise StudyError(unmeasured)
    end(record)


def fork(
    study: Study,
    name: Annotated[str, typer.Argument(metavar="NEW-NAME", help="Name of the new study.")],
    study_file: Annotated[
        Path | None,
        typer.Argument(
            metavar="STUDY.YAML",
            help="Study file of the new study. By default, the new study has the settings of the old one.",
            show_default=False,
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Have the service begin a new study with the trials of another study that fit its settings.

    The new study is paused. `tuner resume` continues it.

    \b
    Examples:
        tuner --server https://tuner.example fork orders low-latency low-latency.yaml
        tuner --server https://tuner.example fork orders orders-2
    """
    asked = StudyOptions(study_file=study_file)
    text = None if study_file is None else asked.text_for_service(None)
    with service() as client:
        made = client.fork(study, name, text, _media_type(asked, text or ""))
        say(f"{name}: {made['trials_taken_over']} of {made['trials_there']} trials of {study} taken over")
        say(f"to continue: tuner --server {client.url} resume {name}")
    if as_json:
        options.print_json(made)


def rm(
    names: Annotated[list[str], typer.Argument(metavar="STUDY...", help="Names of studies on the service.")],
    yes: Yes = False,
    as_json: options.Json = False,
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
        if not yes:
            shown = ", ".join(chosen)
            if not sys.stdin.isatty():
                raise typer.BadParameter(f"rm asks before it removes {shown}, but no terminal is there; add --yes")
            typer.confirm(f"remove for good from {client.url}: {shown}?", abort=True, err=True)
        for name in chosen:
            client.remove(name)
            say(f"removed {name}")
    if as_json:
        options.print_json({"schema_version": 1, "kind": "removed", "removed": chosen})


def sync(study: Study, as_json: options.Json = False, quiet: options.Quiet = False) -> None:
    """Have the service bring MLflow up to date with a study, for example after the MLflow server was down.

    \b
    Example:
        tuner --server https://tuner.example sync orders
    """
    with service() as client:
        before = client.study(study)["state"]
        client.sync(study)
        with left_at(client, study):
            ended = follow(client, study, silent=True, after=2**53)
        check_ended(client, study, ended, "complete" if before == "complete" else "paused")
    if as_json:
        options.print_json({"schema_version": 1, "kind": "sync", "study": study, "state": ended})
    elif not quiet:
        OUT.print(f"the MLflow of the service is up to date with {study}", markup=False, soft_wrap=True)


def pause(study: Study, as_json: options.Json = False) -> None:
    """Stop a study on the service until you resume it.

    \b
    Example:
        tuner --server https://tuner.example pause orders
    """
    with service() as client:
        _print_state(client.pause(study), as_json=as_json)


def resume(study: Study, as_json: options.Json = False) -> None:
    """Continue a study on the service that was paused or that failed.

    \b
    Example:
        tuner --server https://tuner.example resume orders
    """
    with service() as client:
        _print_state(client.resume(study), as_json=as_json)


def cancel(study: Study, as_json: options.Json = False) -> None:
    """Stop a study on the service for good; its results are kept.

    \b
    Example:
        tuner --server https://tuner.example cancel orders
    """
    with service() as client:
        _print_state(client.cancel(study), as_json=as_json)


def _print_state(view: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        options.print_json(view)
    else:
        typer.echo(view["state"])


@contextlib.contextmanager
def _naming_options(asked: StudyOptions) -> Iterator[None]:
    """Name the options instead of keys and lines if the study file was made of options."""
    try:
        yield
    except ServiceRefused as error:
        told = error.problem.get("errors", ())
        if asked.study_file is not None or error.kind not in ("study-file", "limit-too-low") or not told:
            raise
        raise typer.BadParameter("; ".join(f"{option_of(each['key'])}: {each['detail']}" for each in told)) from None


def _media_type(asked: StudyOptions, text: str) -> str:
    """Return the media type of a study file: that of the user's file, or YAML if options have changed it."""
    file = asked.study_file
    unchanged = file is not None and file.suffix == ".json" and file.read_text(encoding="utf-8-sig") == text
    return "application/json" if unchanged else "application/yaml"


def _values(file: Path, written_for: FileClient, measured: ProducerClient, *, silent: bool) -> dict[str, str]:
    """Return the producer properties in a file of the user, and say how the file was understood."""
    with named_file(file):
        found = read_producer_file(file, written_for, measured)
    for note in () if silent else found.notes:
        say(note)
    return dict(found.config.values)


def _show_recommendations(client: Client, name: str, *, as_json: bool) -> None:
    """Print the recommendation for each record size of a study.

    Raises:
        NoFeasibleConfig: There is none.
    """
    found = recommendation_for_each_size(client, name)
    if as_json:
        options.print_json(study_record(name, None, found))
    else:
        OUT.print(export_all(found, Format.TABLE), markup=False, soft_wrap=True, end="")
    if not found:
        raise NoFeasibleConfig(
            f"no config of {name} keeps every constraint; `tuner front {name}` shows how near the configs came"
        )
