"""`tuner run` searches for the best configs. It can be resumed."""

from contextlib import suppress

from runners.reporting import counted, duration
from tuner.cli.options import common_options
from tuner.cli.options.options_from_dataclass import with_options
from tuner.cli.options.study_from_options import StudyFromOptions
from tuner.cli.printing.recommendations import print_recommendations
from tuner.cli.running.with_progress import Mlflow, run_study_with_progress
from tuner.execution.budgets import estimate
from tuner.model.errors import NoFeasibleConfig, StudyError
from tuner.model.spec import Executor, StudySpec, TrackingSpec
from tuner.model.study_files import REPORT_FILE
from tuner.model.trial import TrialKind
from tuner.present.console import say, warn
from tuner.present.export import pasted_values
from tuner.present.recommendations.recommendation_words import chance_of_wrong_claim, not_advice
from tuner.results.recommendations.reasons import no_config_meets_constraints, nothing_measured
from tuner.results.recommendations.recommend import recommendations
from tuner.results.study_results import StudyResults
from tuner.storage.locations import storage_at, study_folder


@with_options()
def run(
    options: StudyFromOptions,
    mlflow: Mlflow = True,
    mix_environments: common_options.MixEnvironments = False,
    as_json: common_options.Json = False,
    quiet: common_options.Quiet = False,
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
    spec, text = options.new_or_same_study(None if silent else say)
    folder = study_folder(spec.name)
    if not storage_at().has(folder):
        options.check_limits(spec)
        if not silent and spec.executor is not Executor.SIMULATED:
            _say_time(spec, quick=options.quick)
    study = run_study_with_progress(spec, text, folder, mlflow=mlflow, silent=silent, mix_environments=mix_environments)
    results = study.results
    recommended = recommendations(results, tell=warn)
    print_recommendations(results.name, str(results.folder), recommended, as_json=as_json)
    if not recommended and all(size.baseline is None for size in results.sizes):
        raise StudyError(nothing_measured(spec))
    if not as_json and not quiet:
        say(f"report: {folder / REPORT_FILE}")
        if options.quick:
            say(
                f"this quick study can prove only large gains: its {spec.search.trials} trials per record size "
                f"were short{_rounds_text(results)}. The same command without --quick takes longer and can "
                "prove smaller gains; `tuner plan` with the same options shows how long it takes"
            )
        if any(each.proven for each in recommended) and (message := chance_of_wrong_claim(len(results.sizes))):
            say(message)
        if proven := [each for each in recommended if not not_advice(each) and pasted_values(each)]:
            size = proven[0].record_bytes
            say(f"config to paste: tuner recommend {spec.name} --record-bytes {size} --format properties")
        say(f"the whole front: tuner front {spec.name}")
        if mlflow and spec.tracking.enabled:
            _say_links(study.results, spec.tracking)
    if not recommended:
        raise NoFeasibleConfig(no_config_meets_constraints(spec.name))


def _say_time(spec: StudySpec, *, quick: bool) -> None:
    """Print the time that a new study takes, as `tuner plan` shows it; print nothing if the time is unknown."""
    seconds = estimate.planned_s(spec, spec.spaces.values())
    if seconds is None:
        return
    less = ", and less if few rounds are needed" if spec.confirm.rounds else ""
    shorter = "" if quick else "; --quick takes less"
    say(f"this study takes about {duration(seconds)}{less}{shorter}")


def _rounds_text(results: StudyResults) -> str:
    """Return how many rounds the confirmations had; empty if no config was confirmed."""
    rounds = {
        len({trial.round for trial in size.trials if trial.kind is TrialKind.CONFIRM} - {None})
        for size in results.sizes
    }
    most = max(rounds, default=0)
    if not most:
        return ""
    return f", and its confirmation had {'' if len(rounds) == 1 else 'at most '}{counted(most, 'round')}"


def _say_links(results: StudyResults, tracking: TrackingSpec) -> None:
    """Print links to the study's fronts on an MLflow server, or the command that starts a server and prints links."""
    from tuner.tracking import TrackingError, TrackingLocation, links_of

    location = TrackingLocation.of(tracking, results.folder.parent)
    if location.is_web:
        with suppress(TrackingError):  # a message at the end of the study has said why MLflow is behind
            for name, link in links_of(results, location).items():
                say(f"{name}, in MLflow: {link}")
    say(f"the study in MLflow: tuner ui {results.name}")
