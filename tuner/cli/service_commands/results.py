"""Commands that show results of a study on a service: `tuner --server URL front`, `recommend`, `report` and others.

A command that also exists without a service, such as `front`, prints the same with and without a service.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from search_spaces.client import client_of
from search_spaces.files.properties_file import named_source
from tuner.cli.options import common_options
from tuner.cli.options.options_from_dataclass import with_options
from tuner.cli.options.predict_options import PredictOptions, refuse_unpredicted
from tuner.cli.options.recommend_options import ExplainOptions, RecommendOptions, chosen_format
from tuner.cli.options.study_arguments import ShownSize, check_two_studies
from tuner.cli.output import (
    Force,
    check_file,
    check_output,
    print_json,
    print_result,
    print_text,
    print_written,
    write_output,
)
from tuner.cli.printing.recommendations import write_recommendations
from tuner.cli.printing.trials import Parquet, check_parquet, show_trials
from tuner.cli.printing.warnings import warn_about_front, warn_about_grid
from tuner.cli.service_commands.at_service import Study, recommend_each_at, service
from tuner.prediction.changed_settings import canonical_setting
from tuner.present.comparisons.comparison_view import comparison_csv
from tuner.present.console import say, warn, warn_of_each
from tuner.results.study_results import SIMULATED


def front(
    study: Study,
    record_bytes: ShownSize = None,
    as_json: common_options.Json = False,
    as_csv: common_options.Csv = False,
) -> None:
    """Show the Pareto front of a study on the service.

    \b
    Examples:
        tuner --server https://tuner.example front orders --record-bytes 1000
        tuner --server https://tuner.example front orders --csv > front.csv
    """
    with service() as client:
        record = client.front(study, record_bytes)
        print_result(
            record,
            lambda: print_text(client.text(study, "front", record_bytes=record_bytes)),
            lambda: client.text(study, "front", form="csv", record_bytes=record_bytes),
            as_json=as_json,
            as_csv=as_csv,
        )
    if not as_json:
        warn_about_front(record, as_csv=as_csv)


def grid(
    study: Study,
    record_bytes: ShownSize = None,
    as_json: common_options.Json = False,
    as_csv: common_options.Csv = False,
) -> None:
    """Show the tables of a grid search on the service.

    \b
    Examples:
        tuner --server https://tuner.example grid lingers
        tuner --server https://tuner.example grid lingers --csv > grid.csv
    """
    with service() as client:
        table = client.grid(study, record_bytes)
        print_result(
            table,
            lambda: print_text(client.text(study, "grid", record_bytes=record_bytes)),
            lambda: client.text(study, "grid", form="csv", record_bytes=record_bytes),
            as_json=as_json,
            as_csv=as_csv,
        )
    warn_about_grid(table)


def trials(
    study: Study,
    record_bytes: ShownSize = None,
    as_json: common_options.Json = False,
    as_csv: common_options.Csv = False,
    parquet: Parquet = None,
    force: Force = False,
) -> None:
    """Show the trials of a study on the service: kind, metrics and config of each.

    With --csv, --json and --parquet, each trial has all metrics, and one column for each property that any config sets.

    \b
    Examples:
        tuner --server https://tuner.example trials orders --record-bytes 1000
        tuner --server https://tuner.example trials orders --csv > trials.csv
    """
    check_parquet(parquet, force=force)
    with service() as client:
        record = json.loads(client.text(study, "trials", form="table", record_bytes=record_bytes))
    # Imported here, because it imports pandas.
    from tuner.present.trial_tables.frames import frame_of

    # An earlier service names no objectives, and does not say whether the study is simulated.
    show_trials(
        record["study"],
        frame_of(record["trials"]),
        record.get("objectives", ()),
        parquet,
        simulated=record.get("simulated", False),
        as_json=as_json,
        as_csv=as_csv,
        force=force,
    )


@with_options()
def recommend(study: Study, options: RecommendOptions) -> None:
    """Show the config to use, from a study on the service, ready to paste.

    \b
    Examples:
        tuner --server https://tuner.example recommend orders --record-bytes 1000
        tuner --server https://tuner.example recommend orders --record-bytes 1000 --goal latency --format properties
        tuner --server https://tuner.example recommend orders --record-bytes 1000 --format spring
    """
    form = chosen_format(options.form, as_json=options.as_json)
    with service() as client:
        recommended, missing = recommend_each_at(client, study, options.record_bytes, options.goal, options.conditions)
    write_recommendations(recommended, form, options.output, force=options.force, everything=options.everything)
    if missing:
        raise missing


def report(
    study: Study,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write.", show_default="STUDY.html")
    ] = None,
    force: Force = False,
    as_json: common_options.Json = False,
) -> None:
    """Write the report of a study on the service as one HTML file.

    \b
    Example:
        tuner --server https://tuner.example report orders --output orders.html
    """
    path = output or Path(f"{study}.html")
    check_output(path, force=force)
    with service() as client:
        page = client.text(study, "report")
    write_output(path, page, force=force)
    print_written(path, as_json=as_json)


@with_options()
def explain(study: Study, options: ExplainOptions, as_json: common_options.Json = False) -> None:
    """Explain a recommendation of a study on the service: what each changed property brings, which knobs mattered.

    \b
    Example:
        tuner --server https://tuner.example explain orders --record-bytes 1000 --goal latency
    """
    query = {**asdict(options), "goal": options.goal and str(options.goal)}
    with service() as client:
        recommended, missing = recommend_each_at(client, study, options.record_bytes, options.goal, options.conditions)
        sizes = [each.record_bytes for each in recommended] if missing else [options.record_bytes]
        form = "json" if as_json else "text"
        texts = [client.text(study, "explanation", form=form, **{**query, "record_bytes": size}) for size in sizes]
    if as_json:
        replies = [json.loads(text) for text in texts]
        print_json({**replies[0], "explanations": [each for reply in replies for each in reply["explanations"]]})
    else:
        print_text("".join(texts))
    warn_of_each(warning for each in recommended for warning in each.warnings)
    if missing:
        raise missing


@with_options()
def predict(study: Study, options: PredictOptions, as_json: common_options.Json = False) -> None:
    """Predict what a config would do, from what a study on the service has measured, without sending anything.

    \b
    Examples:
        tuner --server https://tuner.example predict orders -X linger.ms=20 --partitions 6
        tuner --server https://tuner.example predict orders --sweep linger.ms=0,1,5,20,100
    """
    options.limits()
    request = options.as_query()
    with service() as client:
        properties = options.changes().properties
        if options.config is not None:
            kind = client_of(json.loads(client.text(study, "prediction", form="json"))["client"])
            begin = common_options.producer_config(options.config, [], kind)
            swept = canonical_setting((options.sweep or "").partition("=")[0], kind)
            with named_source("-X"):
                changed = begin.updated(properties).values
            properties = {name: value for name, value in changed.items() if name != swept or name in properties}
        request["set"] = [f"{name}={value}" for name, value in properties.items()]
        record = json.loads(client.text(study, "prediction", form="json", **request))
        refuse_unpredicted(record)
        if as_json:  # the text output begins with these warnings
            warn_of_each(record["warnings"])
        print_result(record, lambda: print_text(client.text(study, "prediction", **request)), as_json=as_json)


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="Name of the first study.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Name of the second study.")],
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write an HTML page that shows both fronts.")
    ] = None,
    force: Force = False,
    as_json: common_options.Json = False,
    as_csv: common_options.Csv = False,
) -> None:
    """Compare two studies on the service: the fronts, and the best configs for each record size and goal.

    \b
    Example:
        tuner --server https://tuner.example compare before after --html fronts.html
    """
    check_two_studies(first, second, same=first == second)
    check_file(html, force=force)
    with service() as client:
        compared = client.comparison(first, second)
        print_result(
            compared,
            lambda: print_text(client.comparison_text(first, second)),
            lambda: comparison_csv(compared),
            as_json=as_json,
            as_csv=as_csv,
        )
        if compared.get("simulated"):  # an earlier service does not say it
            warn(SIMULATED)
        warn_of_each(compared["differences"])
        if html is not None:
            write_output(html, client.comparison_text(first, second, "html"), force=force)
            say(f"page written to {html}")
