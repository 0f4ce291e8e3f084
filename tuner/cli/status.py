"""`tuner status`: how far a study is, asked from another terminal."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tuner.cli import options
from tuner.cli.console import OUT
from tuner.model.progress import StudyState
from tuner.present.report.status import SizeStatus, Status, status_of
from tuner.present.wording import number, title
from tuner.results.study_results import results_of
from tuner.storage.home import find_study, storage_at
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
                live.update(shown(found), refresh=True)
    else:
        for found in seen:
            OUT.print(shown(found))


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


def shown(found: Status) -> RenderableType:
    """A status as people read it."""
    parts: list[RenderableType] = [Text(_headline(found), style="bold")]
    if found.doing:
        parts.append(Text(f"now: {found.doing}"))
    if found.state is StudyState.INTERRUPTED:
        parts.append(Text("no process works on it; run it again and it goes on where it was"))
    table = Table()
    for column in ("record bytes", "trials", "confirming", "failed", "front"):
        table.add_column(column, justify="right")
    for size in found.sizes:
        of = "" if size.total is None else f" of {size.total}"
        counts = (f"{size.done}{of}", size.confirming, size.failed, size.front)
        table.add_row(Text(size.record_bytes), *map(str, counts))
    parts.append(table)
    for size in found.sizes:
        if size.recommended:
            parts += [Text(f"recommended, {size.record_bytes} B, {each}") for each in size.recommended]
        elif size.best:
            parts.append(Text(f"best so far, {size.record_bytes} B: {_best(size)}"))
    parts += [Text(f"{size.record_bytes} B: {size.raced}") for size in found.sizes if str(size.raced)]
    if found.behind_mlflow:
        parts.append(Text(f"MLflow is {found.behind_mlflow} trials behind", style="dim"))
    parts += [Text(f"failed: trial {trial}: {error}", style="yellow") for trial, error in found.failures]
    return Group(*parts)


def _headline(found: Status) -> str:
    left = "" if found.left_s is None else f", about {_duration(found.left_s)} left"
    return f"{found.study}: {found.state}{left}"


def _best(size: SizeStatus) -> str:
    """Not measured in turn with the baseline, so no claim."""
    return "; ".join(
        f"{title(best.metric)} {number(best.value)} (trial {best.trial}"
        + (")" if best.baseline is None else f"; baseline {number(best.baseline)})")
        for best in size.best
    )


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min"
