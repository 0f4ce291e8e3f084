"""`tuner front`: the configs that no other dominates."""

import json
from collections.abc import Sequence
from typing import Annotated, Final

import typer
from rich.console import Console

from tuner.cli import options
from tuner.cli.console import OUT, warn
from tuner.present.report.front_table import (
    SCHEMA_VERSION,
    FrontRow,
    front_metrics,
    front_notes,
    front_record,
    front_rows,
)
from tuner.present.wording import SIMULATED, aligned, title
from tuner.results.study_results import SizeResults, StudyResults, load_results
from tuner.results.unmet_constraints import NONE_KEEPS_ALL, missed_lines
from tuner.storage.home import find_study

_INDENT: Final = "      "


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
    show_fronts(results, sizes, OUT)
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


def show_fronts(results: StudyResults, sizes: Sequence[SizeResults], out: Console) -> None:
    """Print the fronts of some record sizes, as people read them."""
    for size in sizes:
        _print(results, size, out)


def _print(results: StudyResults, size: SizeResults, out: Console) -> None:
    rows = front_rows(size)
    heading = f"{results.name}: {size.record_bytes} B records, {len(size.trials)} trials"
    if not rows:
        out.print(f"{heading}: nothing on the front yet", markup=False)
        return
    metrics = front_metrics(size, rows)
    head = ["trial", *(text for metric in metrics for text in (title(metric), "x base")), "bound by"]
    lines = aligned([head, *(_cells(row, metrics) for row in rows)])
    out.print(heading, style="bold", markup=False)
    out.print(lines[0], markup=False, soft_wrap=True)
    for row, line in zip(rows, lines[1:], strict=True):
        out.print(line, markup=False, soft_wrap=True)
        config = f"{row.trial.guarantee}; {row.changed}" if row.changed else row.trial.guarantee
        out.print(f"{_INDENT}{config}", style="dim", markup=False, soft_wrap=True)
    if missed := missed_lines(size):
        out.print(f"{NONE_KEEPS_ALL}:", markup=False)
        for line in missed:
            out.print(f"  {line}", markup=False, soft_wrap=True)
    for note in front_notes(size):
        out.print(note.replace("x baseline:", "x base:"), style="dim", markup=False, soft_wrap=True)
    out.print()
    for row in rows:
        for flag in row.flags:
            warn(f"trial {row.trial.number}: {flag}")


def _cells(row: FrontRow, metrics: list[str]) -> list[str]:
    cells = ["base" if row.is_baseline else str(row.trial.number)]
    for metric in metrics:
        cells += [row.measured(metric), row.versus(metric)]
    return [*cells, row.trial.verdict + (" (!)" if row.flags else "")]
