"""`tuner status`: how far a study is, asked from another terminal."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.live import Live

from tuner.cli import options
from tuner.present.console import OUT
from tuner.present.report.status import Status, status_of
from tuner.present.text_view import status_text
from tuner.results.study_results import results_of
from tuner.storage.chosen import storage_at
from tuner.storage.home import find_study
from tuner.storage.protocols import ResultsStore

_POLL_S: Final = 2.0


def status(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Name of a study, or its folder.")],
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
            typer.echo(json.dumps(found.as_json(), indent=None if watch else 2))
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
    store = storage_at().read(folder)
    try:
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
    finally:
        store.close()


def _last(store: ResultsStore, after: int) -> int:
    return max((sequence for sequence, _ in store.trials(after)), default=after)
