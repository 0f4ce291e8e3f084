"""The live view of a run: fed by each window as it ends."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.live import Live
from rich.table import Table

from runners.measurement import Window
from runners.runner import Watch, WatchDecision
from tuner.cli.console import ERR
from tuner.cli.text_plot import sparkline

_SHOWN = 8


@contextmanager
def live_view(title: str) -> Iterator[Watch]:
    """A `Watch` that shows windows: a table that moves on a terminal, a line each elsewhere."""
    windows: list[Window] = []
    if not (ERR.is_terminal and sys.stderr.isatty()):

        def line(window: Window) -> WatchDecision:
            ERR.print(_line(window), markup=False, soft_wrap=True)
            return WatchDecision.GO_ON

        yield line
        return

    with Live(console=ERR, auto_refresh=False, transient=True) as live:

        def redraw(window: Window) -> WatchDecision:
            windows.append(window)
            live.update(_table(title, windows), refresh=True)
            return WatchDecision.GO_ON

        yield redraw


def _line(window: Window) -> str:
    latency = window.latency
    return (
        f"{window.phase:<8} {window.number + 1:>3}/{window.total_windows} {window.records_per_s:>12,.0f} records/s "
        f"{window.mb_per_s:>8.1f} MB/s  p50 {latency.percentile_us(0.5) / 1e3:>8.2f} ms  "
        f"p99 {latency.percentile_us(0.99) / 1e3:>8.2f} ms  queue full {window.queue_full_ratio:>4.0%}"
    )


def _table(title: str, windows: list[Window]) -> Table:
    last = windows[-1]
    left_s = last.at_s / (last.number + 1) * (last.total_windows - last.number - 1)
    table = Table(
        title=f"{title}: window {last.number + 1} of {last.total_windows}, {left_s:.0f} s left",
        caption=sparkline([window.records_per_s for window in windows]),
        title_justify="left",
        caption_justify="left",
    )
    for heading in ("phase", "records/s", "MB/s", "p50 ms", "p99 ms", "queue full"):
        table.add_column(heading, justify="left" if heading == "phase" else "right")
    for window in windows[-_SHOWN:]:
        table.add_row(
            str(window.phase),
            f"{window.records_per_s:,.0f}",
            f"{window.mb_per_s:.1f}",
            f"{window.latency.percentile_us(0.5) / 1e3:.2f}",
            f"{window.latency.percentile_us(0.99) / 1e3:.2f}",
            f"{window.queue_full_ratio:.0%}",
        )
    return table
