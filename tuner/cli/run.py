"""`tuner run` searches for the best configs, and `tuner confirm` measures them again. Both can be resumed."""

from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from runners.reporting import counted
from tuner import api
from tuner.cli import options
from tuner.cli.confirm_options import ConfirmOptions
from tuner.cli.kept_study import kept_study
from tuner.cli.shared_options import with_options
from tuner.cli.study_from_options import StudyFromOptions
from tuner.course import estimate
from tuner.model.errors import NoFeasibleConfig, StudyError
from tuner.model.spec import Executor, StudySpec, TrackingSpec
from tuner.model.trial import Kind
from tuner.present.console import OUT, say, warn
from tuner.present.export import Format, export_all, pasted_values, study_record
from tuner.present.study_view import StudyView
from tuner.present.text_view import duration
from tuner.present.wording import SIMULATED, not_advice, over_sizes
from tuner.results.reasons import none_keeps_constraints
from tuner.results.recommend import recommendations
from tuner.results.recommendation import Recommendation
from tuner.results.study_results import StudyResults
from tuner.search.schedule import spaces_of
from tuner.storage.home import storage_at, study_folder

Mlflow = Annotated[bool, typer.Option("--mlflow/--no-mlflow", help="Also show the study in MLflow.")]


@with_options(StudyFromOptions)
def run(
    asked: StudyFromOptions,
    mlflow: Mlflow = True,
    mix_environments: options.MixEnvironments = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Search for the best producer configs, and confirm the winners against your current config.

    The results are kept in studies/NAME below the working folder; KAFKA_TUNER_STUDIES names another place. You can
    stop the command at any time: the same command resumes the study where it stopped.

    \b
    Examples:
        tuner run --quick                             try it: Kafka on this machine, 100 and 1000 B records
        tuner run overnight.yaml --until 07:00
        tuner run --record-bytes 100,1000 --bootstrap broker:9092 --command-config client.properties --hours 8
        tuner run --record-bytes 1000 --bootstrap broker:9092 --current producer.properties --trials 40
        tuner run --record-bytes 500 --trials 20 --goal latency --rounds 6 --max-rounds 10
        tuner run --record-bytes 1000 --knob linger.ms=0..20 --knob compression.type=lz4,zstd --seed 7
        tuner run --method grid --knob linger.ms=0,5,20 --knob batch.size=16384,262144 --repeats 3 --rounds 0
    """
    silent = quiet or as_json
    spec, text = asked.new_or_same_study(None if silent else say)
    folder = study_folder(spec.name)
    if storage_at().find(str(folder), folder.parent) is None:
        asked.check_limits(spec)
        if not silent and spec.executor is not Executor.SIMULATED:
            _say_time(spec, quick=asked.quick)
    study = _run_with_view(spec, text, folder, mlflow=mlflow, silent=silent, mix_environments=mix_environments)
    found = recommendations(study.results, tell=warn)
    _print_found(study.results, found, as_json=as_json)
    if not found and all(size.baseline is None for size in study.results.sizes):
        raise StudyError(_nothing_measured(spec))
    if not as_json and not quiet:
        say(f"report: {folder / 'report.html'}")
        if asked.quick:
            say(
                f"this quick study can prove only large gains: its {spec.search.trials} trials per record size "
                f"were short{_rounds_text(study.results)}. The same command without --quick takes longer and can "
                "prove smaller gains; `tuner plan` with the same options shows how long it takes"
            )
        if any(each.proven for each in found) and (told := over_sizes(len(study.results.sizes))):
            say(told)
        if proven := [each for each in found if not not_advice(each) and pasted_values(each)]:
            size = proven[0].record_bytes
            say(f"config to paste: tuner recommend {spec.name} --record-bytes {size} --format properties")
        say(f"the whole front: tuner front {spec.name}")
        if mlflow and spec.tracking.enabled:
            _say_links(study.results, spec.tracking)
    if not found:
        raise NoFeasibleConfig(none_keeps_constraints(spec.name))


def _say_time(spec: StudySpec, *, quick: bool) -> None:
    """Print how long a new study takes, which is the time that `tuner plan` shows; nothing if it is not known."""
    seconds = estimate.planned_s(spec, spaces_of(spec).values())
    if seconds is None:
        return
    less = ", and less if few rounds are needed" if spec.confirm.rounds else ""
    shorter = "" if quick else "; --quick takes less"
    say(f"this study takes about {duration(seconds)}{less}{shorter}")


def _nothing_measured(spec: StudySpec) -> str:
    """Return why a study has measured nothing, and what to do."""
    advice = "give the same command a higher limit (`tuner plan` shows the least)"
    if spec.executor is Executor.SIMULATED:
        # `tuner plan` refuses no limit of a simulated study.
        advice = (
            "the limits of a simulated study count as those of a real one, although it takes little time; give the "
            "same command no limit in time and bytes, or a higher one"
        )
    return f"{spec.name} measured nothing: its limits left too little time or too few bytes for a trial; {advice}"


def _rounds_text(results: StudyResults) -> str:
    """Return how many rounds the confirmations had; empty if no config was confirmed."""
    found = {
        len({trial.round for trial in size.trials if trial.kind is Kind.CONFIRM} - {None}) for size in results.sizes
    }
    most = max(found, default=0)
    if not most:
        return ""
    return f", and its confirmation had {'' if len(found) == 1 else 'at most '}{counted(most, 'round')}"


def _say_links(results: StudyResults, tracking: TrackingSpec) -> None:
    """Print links to the study's fronts on an MLflow server, or the command that starts a server and prints links."""
    from tuner.tracking import TrackingError, TrackingLocation, links_of

    location = TrackingLocation.of(tracking, results.folder.parent)
    if location.is_web:
        with suppress(TrackingError):  # the end of the study has told why MLflow is behind
            for name, link in links_of(results, location).items():
                say(f"{name}, in MLflow: {link}")
    say(f"the study in MLflow: tuner ui {results.name}")


def _run_with_view(
    spec: StudySpec,
    text: str,
    folder: Path,
    *,
    mlflow: bool,
    silent: bool,
    mix_environments: bool,
    searching: bool = True,
) -> api.Study:
    """Run a study and show its progress on the terminal."""
    with StudyView(quiet=silent) as view:
        view.say(f"study {spec.name}: results in {folder}; Ctrl-C stops it, and the same command resumes it")
        return api.run_study(
            spec,
            text=text,
            folder=folder,
            reporter=view,
            warn=warn,
            mlflow=mlflow,
            searching=searching,
            mix_environments=mix_environments,
        )


@with_options(ConfirmOptions)
def confirm(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="Name of a study, its folder, or its file. Give the file if it refers to other files.",
        ),
    ],
    asked: ConfirmOptions,
    mlflow: Mlflow = True,
    mix_environments: options.MixEnvironments = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure the best configs of a study again, alternating with the baseline, to see which gains are real.

    A study does this by itself when its search ends. Use this command to do it again on another day or with more
    rounds, or to confirm a study whose search you stopped early. It measures on the target of the study.

    \b
    Examples:
        tuner confirm overnight
        tuner confirm overnight --goal throughput --max-rounds 40 --width-ratio 0.05
        tuner confirm overnight.yaml                  if the study file refers to files beside it
    """
    options.check_round_options(asked.rounds, asked.max_rounds)
    results = api.load_study(study).results
    folder = results.folder
    spec, text = kept_study(study, results)
    settings = {**asdict(asked), "goals": tuple(asked.goals) if asked.goals else None}
    spec = replace(spec, confirm=spec.confirm.changed({k: value for k, value in settings.items() if value is not None}))
    if not spec.confirm.rounds:
        raise typer.BadParameter(
            f"a confirmation needs rounds, but the study file of {spec.name} has confirm.rounds: 0; give --rounds"
        )
    silent = quiet or as_json
    confirmed = _run_with_view(
        spec, text, folder, mlflow=mlflow, silent=silent, mix_environments=mix_environments, searching=False
    )
    found = recommendations(confirmed.results, asked.goals, warn)
    _print_found(confirmed.results, found, as_json=as_json)
    if not silent:
        say(f"report: {folder / 'report.html'}")


def _print_found(results: StudyResults, found: list[Recommendation], *, as_json: bool) -> None:
    """Print the recommendations, and warn of what users should know before they use a config, each warning once."""
    if as_json:
        options.print_json(study_record(results.name, str(results.folder), found))
    else:
        OUT.print(export_all(found, Format.TABLE), markup=False, soft_wrap=True, end="")
    simulated = [SIMULATED] if results.simulated else []
    for warning in dict.fromkeys([*simulated, *(warning for each in found for warning in each.warnings)]):
        warn(warning)
