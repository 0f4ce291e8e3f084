"""Shows the windows of a load while it runs: as a live table on a terminal, and otherwise as lines."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from rich.live import Live
from rich.table import Column, Table

from runners.measurements.measurement import LoadWindow
from runners.runner import WatchDecision
from tuner.present.console import ERR

_WINDOWS_SHOWN: Final = 8
_BARS: Final = "▁▂▃▄▅▆▇█"

W = TypeVar("W", bound=LoadWindow)


@contextmanager
def live_windows(
    title: str, rest_of_line: Callable[[W], str], cells: Mapping[str, Callable[[W], str]]
) -> Iterator[Callable[[W], WatchDecision]]:
    """Yield a function that shows a window, and lets the load continue.

    Args:
        title: Title of the table.
        rest_of_line: Returns the text of a window's line that follows its records and bytes.
        cells: Further columns of the table, by their headings.
    """
    windows: list[W] = []
    if not (ERR.is_terminal and sys.stderr.isatty()):

        def line(window: W) -> WatchDecision:
            ERR.show(f"{_start_of_line(window)}  {rest_of_line(window)}")
            return WatchDecision.GO_ON

        yield line
        return

    with Live(console=ERR, auto_refresh=False, transient=True) as live:

        def redraw(window: W) -> WatchDecision:
            windows.append(window)
            live.update(_table(title, windows, cells), refresh=True)
            return WatchDecision.GO_ON

        yield redraw


def _start_of_line(window: LoadWindow) -> str:
    return (
        f"{window.phase:<8} {window.number + 1:>3}/{window.total_windows} {window.records_per_s:>12,.0f} records/s "
        f"{window.mb_per_s:>8.1f} MB/s"
    )


def _table(title: str, windows: Sequence[W], cells: Mapping[str, Callable[[W], str]]) -> Table:
    last = windows[-1]
    left_s = last.at_s / (last.number + 1) * (last.total_windows - last.number - 1)
    table = Table(
        "phase",
        *(Column(heading, justify="right") for heading in ("records/s", "MB/s", *cells)),
        title=f"{title}: window {last.number + 1} of {last.total_windows}, {left_s:.0f} s left",
        caption=_sparkline([window.records_per_s for window in windows]),
        title_justify="left",
        caption_justify="left",
    )
    for window in windows[-_WINDOWS_SHOWN:]:
        shown = (cell(window) for cell in cells.values())
        table.add_row(str(window.phase), f"{window.records_per_s:,.0f}", f"{window.mb_per_s:.1f}", *shown)
    return table


def _sparkline(values: Sequence[float]) -> str:
    """Return a text with one bar per value, scaled so that the highest value has a full bar; empty for no values."""
    top = max(values, default=0.0)
    if top <= 0:
        return ""
    return "".join(_BARS[min(len(_BARS) - 1, int(value / top * len(_BARS)))] for value in values[-60:])
