"""`tuner front`: the configs that no other dominates."""

import json
from typing import Annotated

import typer

from tuner.cli import options
from tuner.present.console import OUT, warn
from tuner.present.report.front_table import SCHEMA_VERSION, front_record, front_rows
from tuner.present.text_view import print_front
from tuner.present.wording import SIMULATED
from tuner.results.study_results import SizeResults, StudyResults, load_results
from tuner.storage.home import find_study


def front(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Name of a study, or its folder.")],
    record_bytes: Annotated[
        str | None, typer.Option(metavar="N", help="Only this record size or mix; without it, all of the study.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show a study's Pareto front: every config that none other beats in all objectives, beside the baseline.

    Where no config keeps every constraint, it shows how near the trials came to each.

    \b
    Examples:
        tuner front overnight
        tuner front overnight --record-bytes 1000 --json
    """
    results = load_results(find_study(study))
    sizes = chosen_sizes(results, record_bytes)
    if as_json:
        records = [front_record(results, size) for size in sizes]
        whole = {"schema_version": SCHEMA_VERSION, "kind": "fronts", "study": results.name, "fronts": records}
        typer.echo(json.dumps(whole, indent=2))
        return
    for size in sizes:
        rows = front_rows(size)
        print_front(results, size, rows, OUT)
        for row in rows:
            for flag in row.flags:
                warn(f"trial {row.trial.number}: {flag}")
    if results.simulated:
        warn(SIMULATED)
    if not results.finished:
        warn("the study is not finished: its front may still change")


def chosen_sizes(results: StudyResults, record_bytes: str | None) -> tuple[SizeResults, ...]:
    """The record sizes that an option asks for.

    Raises:
        typer.BadParameter: The study has none like that.
    """
    if record_bytes is None:
        return results.sizes
    size = results.size(record_bytes)
    if size is None:
        there = ", ".join(each.record_bytes for each in results.sizes) or "none yet"
        raise typer.BadParameter(f"a record size must be one of the study's ({there}), but got {record_bytes}")
    return (size,)
