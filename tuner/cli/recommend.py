"""`tuner recommend` shows the config to use, in a form to paste; `tuner explain` shows why it is recommended."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from runners.reporting import printable
from search_spaces.to_java import LABEL, for_java
from tuner.api import load_study
from tuner.cli import options
from tuner.cli.output import Force, check_output, write_output
from tuner.cli.shared_options import with_options
from tuner.model.errors import NoFeasibleConfig
from tuner.model.spec import Goal
from tuner.present.console import OUT, say, warn
from tuner.present.export import Format, export, export_all, is_translated, recommendation_of
from tuner.present.export.record import explanations_record, recommendation_record
from tuner.present.why import print_explanations
from tuner.present.wording import NO_GAIN, instead, keep, not_advice, over_sizes, undecided
from tuner.results.explanation import explain as explanation
from tuner.results.explanation import knob_importance
from tuner.results.recommend import preferred, recommend_each
from tuner.results.recommendation import Conditions, Recommendation
from tuner.storage.files import size_name

RecordBytes = Annotated[
    str | None,
    typer.Option(
        metavar="N|N:W,...",
        help="Record size, such as 1000, or mix of sizes, such as 100:70,1000:30.",
        show_default="all of the study",
    ),
]
AskedGoal = Annotated[
    Goal | None,
    typer.Option(
        help="What the config should be best at.",
        show_default="balanced if it is proven, else the proven config with the greatest mean gain",
    ),
]
MaxP99Ms = Annotated[
    float | None,
    typer.Option(
        "--max-p99-ms",
        min=0,
        metavar="X",
        help="Consider only configs whose p99 latency is at most this many milliseconds, such as 10.",
    ),
]
MinMbPerS = Annotated[
    float | None,
    typer.Option(
        "--min-mb-per-s",
        min=0,
        metavar="Y",
        help="Consider only configs whose throughput is at least this many megabytes per second, such as 50.",
    ),
]
AllowLoss = Annotated[
    float | None,
    typer.Option(
        "--allow-loss",
        min=0,
        max=1,
        metavar="RATIO",
        help="The part of any objective that a balanced config may give up: 0.1 is 10 %. A metric that was not asked "
        "for is called 'not worse' or 'at most N % worse' if it loses no more than this.",
        show_default="confirm.allow_loss of the study file",
    ),
]


Everything = Annotated[
    bool,
    typer.Option(
        "--all",
        help="Also print the properties of the config that have the client's default value. The forms for the Java "
        "client always print them.",
    ),
]
FormOption = Annotated[
    Format,
    typer.Option(
        "--format",
        help="Form of the output. For people: table. For programs: properties, env, json. For clients built on "
        "librdkafka: librdkafka (JSON). For the Java client: java (properties) and spring; if the study measured that "
        "client, also quarkus, connect, streams, strimzi-connect and strimzi-connector.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """The options that say which recommendation is meant, with and without a service."""

    record_bytes: RecordBytes = None
    goal: AskedGoal = None
    max_p99_ms: MaxP99Ms = None
    min_mb_per_s: MinMbPerS = None
    allow_loss: AllowLoss = None


@dataclass(frozen=True, kw_only=True)
class RecommendOptions(ExplainOptions):
    """The options of `tuner recommend` that it has with and without a service."""

    form: FormOption = Format.TABLE
    as_json: options.Json = False
    everything: Everything = False
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write to this file instead of to standard output.")
    ] = None
    force: Force = False


@with_options(RecommendOptions)
def recommend(
    study: options.Study,
    asked: RecommendOptions,
    tracking_uri: Annotated[
        str | None,
        typer.Option(
            metavar="URI",
            help="Read the recommendation from this MLflow server instead of from the study's results, such as "
            "http://mlflow:5000.",
        ),
    ] = None,
) -> None:
    """Show the config to use for each record size, with its measured gain, ready to paste.

    Properties that have the client's default value are left out, unless --all is given or the baseline sets another
    value. The forms for the Java client hold the whole config. Some programs, such as Quarkus, have other defaults than
    the client; their forms also set these properties. The forms java and spring of a study of librdkafka are
    translations, which were not measured.

    \b
    Examples:
        tuner recommend overnight --record-bytes 1000 --goal throughput
        tuner recommend overnight --record-bytes 1000 --goal throughput --max-p99-ms 10 --format properties
        tuner recommend overnight --record-bytes 1000 --goal balanced --allow-loss 0.2
        tuner recommend overnight --json
        tuner recommend overnight --record-bytes 1000 --format java --output tuned.properties
        tuner recommend java-overnight --record-bytes 1000 --format quarkus
        tuner recommend java-overnight --record-bytes 1000 --format strimzi-connector --output patch.yaml
        tuner recommend overnight --record-bytes 1000 --tracking-uri http://mlflow:5000 --format json
    """
    form = form_asked(asked.form, as_json=asked.as_json)
    record_bytes, goal, allow_loss = asked.record_bytes, asked.goal, asked.allow_loss
    conditions = Conditions(asked.max_p99_ms, asked.min_mb_per_s)
    if tracking_uri is not None:
        if allow_loss is not None:
            raise typer.BadParameter("--allow-loss needs the study's results, so leave --tracking-uri out")
        found, missing = [_from_mlflow(tracking_uri, study, record_bytes, goal, conditions)], ""
    else:
        found, missing = recommend_each(load_study(study).results, record_bytes, goal, conditions, allow_loss)
    show_found(found, form, asked.output, force=asked.force, everything=asked.everything)
    if tracking_uri is None and asked.output is None and form is Format.TABLE:
        say(f"why: {_explain_command(study, record_bytes, goal, conditions, allow_loss)}")
    if missing:
        raise NoFeasibleConfig(missing)


def form_asked(form: Format, *, as_json: bool) -> Format:
    """Return the form of the output: `--json` is short for `--format json`.

    Raises:
        typer.BadParameter: Both options were given, and they differ.
    """
    if not as_json:
        return form
    if form not in (Format.TABLE, Format.JSON):
        raise typer.BadParameter(f"--json means --format json, but got --format {form}; leave one of them out")
    return Format.JSON


def show_found(
    found: list[Recommendation], form: Format, output: Path | None, *, force: bool, everything: bool
) -> None:
    """Print recommendations or write them to a file, and warn of what users should know before they use a config."""
    if output is None:
        typer.echo(printable(export_all(found, form, everything=everything)), nl=False)
    else:
        _write(found, form, output, force=force, everything=everything)
    for each in found:
        _warn_before_use(each, form)
    if any(each.proven for each in found) and (told := over_sizes(len(found))):
        say(told)
    if len(found) > 1 and output is None and form not in (Format.TABLE, Format.JSON):
        warn(
            f"the output holds {len(found)} configs, one per record size; use one of them, or choose a size with "
            "--record-bytes"
        )


def study_record(name: str, folder: str | None, found: Sequence[Recommendation]) -> dict[str, Any]:
    """Return the recommendations of a study as one JSON document.

    Args:
        name: The study's name.
        folder: The study's folder; None if it is on another host.
        found: The recommendations, one per record size.
    """
    return {
        "schema_version": 1,
        "kind": "study",
        "name": name,
        "folder": folder,
        "recommendations": [recommendation_record(each) for each in found],
    }


def _from_mlflow(
    uri: str, study: str, record_bytes: str | None, goal: Goal | None, conditions: Conditions
) -> Recommendation:
    if record_bytes is None:
        raise typer.BadParameter("--tracking-uri needs --record-bytes, because MLflow has one run per record size")
    # Imported here, because importing MLflow takes seconds.
    from tuner.tracking import recommend_from_tracking, recommendations_from_tracking

    if goal is None:
        records = recommendations_from_tracking(uri, study, record_bytes)
    else:
        records = [recommend_from_tracking(uri, study, record_bytes, goal)]
    found = [each for record in records if conditions.kept_by((each := recommendation_of(record)).metrics)]
    if not found:
        asked = "any goal" if goal is None else f"goal {goal}"
        raise NoFeasibleConfig(
            f"a config must keep --max-p99-ms and --min-mb-per-s, but MLflow has no such config of {study} for records "
            f"of {record_bytes} B and {asked}; MLflow has only the winner of each goal, so leave --tracking-uri out to "
            "consider the whole front"
        )
    return preferred(found)


def _explain_command(
    study: str, record_bytes: str | None, goal: Goal | None, conditions: Conditions, allow_loss: float | None
) -> str:
    """Return the `tuner explain` command for a recommendation that was made with the same arguments."""
    asked = (
        ("--record-bytes", record_bytes),
        ("--goal", goal),
        ("--allow-loss", allow_loss),
    )
    given = [word for option, value in asked if value is not None for word in (option, str(value))]
    return shlex.join(["tuner", "explain", study, *given, *conditions.options])


def _write(found: list[Recommendation], form: Format, output: Path, *, force: bool, everything: bool) -> None:
    """Write all recommendations to one file or, if the form holds only one config, to one file per record size."""
    if len(found) == 1 or form in (Format.TABLE, Format.JSON):
        files = {output: export_all(found, form, everything=everything)}
    else:
        files = {
            output.with_name(f"{output.stem}-{size_name(each.record_bytes)}{output.suffix}"): export(
                each, form, everything=everything
            )
            for each in found
        }
    for path in files:
        check_output(path, force=force)
    for path, text in files.items():
        write_output(path, text, force=force)
        say(f"written to {path}")


def _warn_before_use(found: Recommendation, form: Format) -> None:
    """Print the warnings that a user should read before using a config, except those that the table form shows."""
    for warning in found.warnings:
        warn(warning)
    if is_translated(form, found.config.client):
        warn(f"{LABEL}: the config was found and measured with {found.config.client.identity}")
        without_twin = for_java(found.config).without_twin
        if without_twin:
            warn(f"not in the output, as the Java client has no such property: {', '.join(without_twin)}")
    if form is Format.TABLE:
        return
    if found.is_baseline:
        say(f"{found.record_bytes} B: {'; '.join([keep(found), *instead(found)])}")
    elif not found.confirmed:
        warn(f"{found.record_bytes} B: {NO_GAIN}: {not_advice(found)}")
    elif others := instead(found):
        say(f"{found.record_bytes} B, for {found.goal}; {'; '.join(others)}")
    if open_question := undecided(found):
        warn(f"{found.record_bytes} B: inconclusive: {open_question}")
    if found.trial.guarantee != found.baseline.guarantee:
        warn(f"the config guarantees {found.trial.guarantee}; the baseline guarantees {found.baseline.guarantee}")


@with_options(ExplainOptions)
def explain(study: options.Study, asked: ExplainOptions, as_json: options.Json = False) -> None:
    """Explain a recommendation: what each changed property brings, and which knobs mattered in the whole search.

    For each changed property, the study measured the config alternating with a copy in which only this property has the
    baseline's value.

    \b
    Examples:
        tuner explain overnight
        tuner explain overnight --record-bytes 1000 --goal latency --json
    """
    loaded = load_study(study)
    results = loaded.results
    conditions = Conditions(asked.max_p99_ms, asked.min_mb_per_s)
    recommended, missing = recommend_each(results, asked.record_bytes, asked.goal, conditions, asked.allow_loss)
    found = [explanation(results, each, knob_importance(loaded.size(each.record_bytes))) for each in recommended]
    if as_json:
        options.print_json(explanations_record(results.name, found))
    else:
        print_explanations(found, OUT)
    for warning in dict.fromkeys(warning for each in found for warning in each.found.warnings):
        warn(warning)
    if not results.finished:
        warn("the study is not finished, so the recommendation may still change")
    if missing:
        raise NoFeasibleConfig(missing)
