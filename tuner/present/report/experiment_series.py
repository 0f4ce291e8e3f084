"""The data of an experiment's charts: which rows make a line, over which setting, and the paper's values beside it."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tuner.model.row import settings_text
from tuner.present.report.chart_style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE
from tuner.results.experiments.row_results import Mean, OutageWindow, RowResults

COLOURS: Final = (BLUE, ORANGE, GREEN, PURPLE, BLACK, GREY)
SINCE_LOSS: Final = "seconds since a broker was killed"
OVER_TIME: Final[tuple[tuple[str, Callable[[OutageWindow], float], bool], ...]] = (
    ("records/s", lambda moment: moment.records_per_s, False),
    ("p99 ms of the records that were acknowledged", lambda moment: moment.p99_ms, True),
)
"""What is drawn over time: its title, its value, and whether its axis is logarithmic."""
_FEWEST_ON_LINE: Final = 3


@dataclass(frozen=True)
class Series:
    """Rows that differ in one setting only and make a line, or all rows if there is no such setting.

    Attributes:
        name: The other settings, which the rows share; empty if all rows of the chart are in this series.
        measured: The rows that were measured, with their means.
        papers: The rows for which the paper has a value, with the value.
    """

    name: str
    measured: tuple[tuple[RowResults, Mean], ...]
    papers: tuple[tuple[RowResults, float], ...]

    @property
    def intervals(self) -> list[tuple[float, float]]:
        """Lower and upper end of each mean. Very wide intervals get length 0, because they would hide all others."""
        return [(mean.value, mean.value) if mean.is_too_wide else (mean.low, mean.high) for _, mean in self.measured]


def groups(rows: tuple[RowResults, ...]) -> list[tuple[str, tuple[RowResults, ...]]]:
    """Return the rows of each chart: one chart for rows that make lines over a setting, and one for the other rows.

    Returns:
        The setting over which the chart has lines, or an empty text, with the rows; at most two such pairs.
    """
    along = line_setting(rows)
    if not along:
        return [("", rows)]
    lines = Counter(_rest(row, along) for row in rows if row.row.number(along) is not None)
    on_lines = tuple(row for row in rows if row.row.number(along) is not None and lines[_rest(row, along)] > 1)
    others = tuple(row for row in rows if row not in on_lines)
    return [(along, on_lines), *([("", others)] if others else [])] if on_lines else [("", rows)]


def line_setting(rows: tuple[RowResults, ...]) -> str:
    """Return the setting with the most different numbers, over which lines are drawn; empty if none has enough."""
    numbers: dict[str, set[float]] = defaultdict(set)
    for row in rows:
        for name in row.row.varied:
            if (number := row.row.number(name)) is not None:
                numbers[name].add(number)
    setting = max(numbers, key=lambda name: len(numbers[name]), default="")
    return setting if setting and len(numbers[setting]) >= _FEWEST_ON_LINE else ""


def series_of(rows: tuple[RowResults, ...], metric: str, along: str) -> list[Series]:
    """Return the lines of a chart of a metric; one series of all rows if no setting is given.

    Args:
        rows: The rows of the chart.
        metric: The metric.
        along: The setting over which the lines are drawn, which all rows have; empty for none.
    """
    named: dict[str, list[RowResults]] = defaultdict(list)
    for row in rows:
        named[_rest(row, along)].append(row)
    lines = []
    for name, members in named.items():
        measured = tuple((row, mean) for row in members if (mean := row.mean(metric)) is not None)
        papers = tuple((row, value) for row in members if (value := row.in_paper(metric)) is not None)
        if measured:
            lines.append(Series(name, measured, papers))
    return lines


def _rest(row: RowResults, along: str) -> str:
    """Return the settings of a row besides the one that the line is drawn over; empty if there are none."""
    return settings_text({name: value for name, value in row.row.varied.items() if name != along}) if along else ""
