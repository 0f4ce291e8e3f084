"""`tuner status`, `tuner front` and `tuner report`: what a study has come to so far."""

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.live import Live

from tuner.cli import options
from tuner.present.console import OUT, warn
from tuner.present.report.front_table import SCHEMA_VERSION, front_record, front_rows
from tuner.present.report.status import Status, status_of
from tuner.present.text_view import print_front, status_text
from tuner.present.wording import SIMULATED
from tuner.results.study_results import SizeResults, StudyResults, load_results, results_of
from tuner.storage.home import find_study, storage_at
from tuner.storage.protocols import ResultsStore

_POLL_S: Final = 2.0


def status(
    study: options.Study,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on showing it until the study ends.")] = False,
    as_json: options.Json = False,
) -> None:
    """Show how far a study is: trials done, the best so far, time left, what it does now, what failed.

    For a record size whose winners were confirmed, it shows what is recommended in place of the best so far.

    \b
    Examples:
        tuner status overnight
        tuner status overnight --watch
        tuner status overnight --json
    """
    folder = find_study(study)
    seen = _statuses(folder) if watch else iter([next(_statuses(folder))])
    if as_json:
        for found in seen:
            # One document, or with --watch one per line.
            options.print_json(found.as_json(), indent=None if watch else 2)
    elif watch and OUT.is_terminal:
        with Live(console=OUT, auto_refresh=False) as live:
            for found in seen:
                live.update(status_text(found), refresh=True)
    else:
        for found in seen:
            OUT.print(status_text(found))


def _statuses(folder: Path) -> Iterator[Status]:
    """The status now, and again whenever it changes, until the study no longer runs.

    The record is read again only when a trial has ended: looking on must not disturb what is measured.
    """
    with closing(storage_at().read(folder)) as store:
        results = results_of(store, folder)
        last, shown = _last(store, sum(len(size.trials) for size in results.sizes)), None
        while True:
            found = status_of(results, store.progress(), datetime.now(UTC))
            if found != shown:
                yield found
            if not found.running:
                return
            shown = found
            time.sleep(_POLL_S)
            newest = _last(store, last)
            if newest != last:
                results, last = results_of(store, folder), newest


def _last(store: ResultsStore, after: int) -> int:
    return max((sequence for sequence, _ in store.trials(after)), default=after)


def front(
    study: options.Study,
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
        options.print_json(whole)
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


def report(
    study: options.Study,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write it; by default report.html in its folder.")
    ] = None,
) -> None:
    """Write a study as one HTML file: recommendations, fronts, every trial; it needs no network to be read.

    \b
    Examples:
        tuner report overnight
        tuner report overnight --output overnight.html
    """
    if output is not None:
        options.check_folder(output)
    results = load_results(find_study(study))
    # Deferred: it imports matplotlib, plotly and Optuna.
    from tuner.present.report.bundle import REPORT_FILE, write_report

    typer.echo(write_report(results, output or results.folder / REPORT_FILE))
