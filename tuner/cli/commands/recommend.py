"""`tuner recommend` shows the config to use, in a format to paste."""

import shlex
from typing import Annotated

import typer

from tuner.api import load_study
from tuner.cli.options import common_options
from tuner.cli.options.options_from_dataclass import with_options
from tuner.cli.options.recommend_options import ExplainOptions, RecommendOptions, chosen_format
from tuner.cli.printing.recommendations import write_recommendations
from tuner.model.errors import NoFeasibleConfig
from tuner.present.console import say
from tuner.present.export import Format, recommendation_of
from tuner.results.recommendations.recommend import preferred, recommend_each
from tuner.results.recommendations.recommendation import CONSTRAINING_OPTIONS, Recommendation


@with_options()
def recommend(
    study: common_options.Study,
    options: RecommendOptions,
    tracking_uri: Annotated[
        str | None,
        typer.Option(
            metavar="URI",
            parser=common_options.parse_tracking_uri,
            help="Read the recommendation from this MLflow server instead of from the study's results, such as "
            "http://mlflow:5000.",
        ),
    ] = None,
) -> None:
    """Show the config to use for each record size, with its measured gain, ready to paste.

    Properties that have the client's default value are left out, unless --all is given or the baseline sets another
    value. The formats for the Java client hold the whole config. Some programs, such as Quarkus, have other defaults
    than the client; their formats also set these properties. The formats java and spring of a study of librdkafka are
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
    form = chosen_format(options.form, as_json=options.as_json)
    if tracking_uri is not None:
        if options.allow_loss is not None:
            raise typer.BadParameter("--allow-loss needs the study's results, so leave --tracking-uri out")
        recommended, missing = [_from_mlflow(tracking_uri, study, options)], None
    else:
        results = load_study(study).results
        recommended, missing = recommend_each(results, options.record_bytes, options.goal, options.conditions)
    write_recommendations(recommended, form, options.output, force=options.force, everything=options.everything)
    if tracking_uri is None and options.output is None and form is Format.TABLE:
        say(f"why: {_explain_command(study, options)}")
    if missing:
        raise missing


def _from_mlflow(uri: str, study: str, options: RecommendOptions) -> Recommendation:
    record_bytes, goal, conditions = options.record_bytes, options.goal, options.conditions
    if record_bytes is None:
        raise typer.BadParameter("--tracking-uri needs --record-bytes, because MLflow has one run per record size")
    # Imported here, because importing MLflow takes seconds.
    from tuner.tracking import recommend_from_tracking, recommendations_from_tracking

    if goal is None:
        records = recommendations_from_tracking(uri, study, record_bytes)
    else:
        records = [recommend_from_tracking(uri, study, record_bytes, goal)]
    candidates = [each for record in records if conditions.met_by((each := recommendation_of(record)).metrics)]
    if not candidates:
        which = "any goal" if goal is None else f"goal {goal}"
        raise NoFeasibleConfig(
            f"a config must meet {' and '.join(CONSTRAINING_OPTIONS)}, but MLflow has no such config of {study} for "
            f"records of {record_bytes} B and {which}; MLflow has only the winner of each goal, so leave "
            "--tracking-uri out to consider the whole front"
        )
    return preferred(candidates)


def _explain_command(study: str, options: ExplainOptions) -> str:
    """Return the `tuner explain` command for a recommendation that was made with the same options."""
    named = (("--record-bytes", options.record_bytes), ("--goal", options.goal))
    given = [word for option, value in named if value is not None for word in (option, str(value))]
    return shlex.join(["tuner", "explain", study, *given, *options.conditions.options])
