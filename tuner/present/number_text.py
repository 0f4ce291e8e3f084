"""Metrics, gains with their intervals, and aligned tables as text, the same in every table, file and page."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from objectives.metrics import OUTCOME_METRICS, Direction, ShownIn, shown_in
from objectives.ratios import LEVEL, Ratio, ratio_text

Cell = str | tuple[str, float | None]
"""A table cell: a text, or a number as a pair of its text and the value to sort by."""

COLUMN_GAP: Final = "   "
_USUAL: Final = shown_in(ShownIn.TABLES)


def title(metric: str) -> str:
    """Return a metric's name in words, with its unit: `latency p99, ms`."""
    known = OUTCOME_METRICS.get(metric)
    return known.title if known else metric


def metric_name(metric: str) -> str:
    """Return a metric's name in words without its unit, for ratios: `latency p99`."""
    known = OUTCOME_METRICS.get(metric)
    return known.label if known else metric


def number(value: float | None) -> str:
    """Return a value with three digits, `1,420,000` or `4.17`; a dash for an unknown value."""
    if value is None:
        return "-"
    value = float(f"{value:.3g}")
    for limit, digits in ((100, 0), (10, 1), (0.1, 2)):
        if abs(value) >= limit or (value == 0 and digits == 0):
            return f"{value:,.{digits}f}"
    return f"{value:.3g}"


def gain(ratio: Ratio, *, with_level: bool = False) -> str:
    """Return a gain with its interval, `1.32 (1.25 to 1.40)`, and with a remark if the gain is not proven.

    Args:
        ratio: The gain.
        with_level: Whether to add the interval's level: `1.32 (1.25 to 1.40; 97.5 %)`.
    """
    text = interval(ratio, with_level=with_level)
    if ratio.low > 1.0:
        return text
    if ratio.inconclusive:
        return f"{text}: inconclusive"
    return f"{text}: {'worse' if ratio.high < 1.0 else 'no difference shown'}"


def levels_differ(gains: Iterable[Ratio]) -> bool:
    """Return whether the intervals of some gains have different levels, so that each gain must show its level."""
    return len({level_text(ratio.level) for ratio in gains}) > 1


def gain_headings(gains: Collection[Ratio]) -> tuple[str, str]:
    """Return the headings for two columns: the gains, and the prediction intervals for one more round.

    The first heading contains the level of the gains' intervals if all of them have the same level.
    """
    level = next((level_text(ratio.level) for ratio in gains), level_text(LEVEL))
    of_gains = "gain (interval; its level)" if levels_differ(gains) else f"gain ({level} interval)"
    return of_gains, f"one more round ({level_text(LEVEL)})"


def one_more_round(ratio: Ratio) -> str:
    """Return the interval in which the ratio of one more round would fall: `1.20 to 1.44`."""
    return f"{ratio_text(ratio.repeat_low)} to {ratio_text(ratio.repeat_high)}"


def interval(ratio: Ratio, *, with_level: bool) -> str:
    """Return a ratio with its interval, `1.32 (1.25 to 1.40)`, and with the interval's level if `with_level` is set."""
    return f"{str(ratio).removesuffix(')')}; {level_text(ratio.level)})" if with_level else str(ratio)


def level_text(level: float) -> str:
    """Return the level of an interval as text: `97.5 %`."""
    return f"{100 * level:.3g} %"


def shown_metrics(*numbers: Mapping[str, float], first: Sequence[str] = (), also: Sequence[str] = ()) -> list[str]:
    """Return the metrics to show for some configs, in the order in which tables show them.

    Metrics that no config has are left out.

    Args:
        numbers: The metrics of each config.
        first: Metrics to show first.
        also: Metrics to show in addition to the usual ones; a latency among them is sorted in with the other latencies.
    """
    speeds = [name for name in _USUAL if OUTCOME_METRICS[name].direction is Direction.MAXIMIZE]
    latencies = {name for name in (*_USUAL, *also) if name.startswith("latency")}
    in_line = sorted(latencies, key=lambda name: name.removesuffix("_ms"))
    wanted = (*first, *speeds, *in_line, *_USUAL, *also)
    return [name for name in dict.fromkeys(wanted) if any(name in known for known in numbers)]


def aligned(rows: Sequence[Sequence[str]], *, right: bool = True) -> list[str]:
    """Return table rows as lines with columns of equal width.

    Args:
        rows: The cells of each row; all rows have the same number of cells. The first column is aligned to the left.
        right: Whether the other columns are aligned to the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        COLUMN_GAP.join(
            text.rjust(width) if right and column else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
