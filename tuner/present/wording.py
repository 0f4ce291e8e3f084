"""How numbers, gains and changes are put in words, the same in every form, table and page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from objectives.outcome import OUTCOME_METRICS, Direction, ShownIn, shown_in
from objectives.ratios import LEVEL, Ratio, short
from search_spaces.effective import Effective
from tuner.results.recommendation import Recommendation

NO_GAIN: Final = "not measured again: no gain is claimed"
KEEP: Final = "keep what you have: nothing better than the baseline was found"
SIMULATED: Final = "simulated: nothing of this study was measured on Kafka"

Cell = str | tuple[str, float | None]
"""Of a table: a text, or a number as it is shown and as it is sorted."""
_COLUMN_GAP: Final = "   "
_READ_FIRST: Final = shown_in(ShownIn.TABLES)


def title(metric: str) -> str:
    """A metric's name for people, with its unit: `latency p99, ms`."""
    known = OUTCOME_METRICS.get(metric)
    return known.title if known else metric


def number(value: float | None) -> str:
    """A value with three digits or so; a dash for one that is not known."""
    if value is None:
        return "-"
    for limit, digits in ((100, 0), (10, 1), (0.1, 2)):
        if abs(value) >= limit or (value == 0 and digits == 0):
            return f"{value:,.{digits}f}"
    return f"{value:.3g}"


def gain(ratio: Ratio) -> str:
    """`1.32 (1.25 to 1.40)`: times better than the baseline, with its interval, and what it is where it is no gain."""
    if ratio.low > 1.0:
        return str(ratio)
    return f"{ratio}: {'worse' if ratio.high < 1.0 else 'no difference shown'}"


def gain_headings(gains: Mapping[str, Ratio]) -> tuple[str, str]:
    """Over a column of gains, and over one of what one more round would show."""
    level = next((ratio.level for ratio in gains.values()), LEVEL)
    return f"gain ({_percent(level)} interval)", f"one more round ({_percent(LEVEL)})"


def one_more_round(ratio: Ratio) -> str:
    """The prediction interval: `1.20 to 1.44`."""
    return f"{short(ratio.repeat_low)} to {short(ratio.repeat_high)}"


def _percent(level: float) -> str:
    return f"{100 * level:.3g} %"


def gain_sentences(found: Recommendation) -> list[str]:
    """What may be said of the gain: a sentence per metric that was measured again, else that none is claimed."""
    if found.is_baseline:
        return [KEEP]
    if not found.confirmed:
        return [NO_GAIN]
    return [f"{title(metric)}: {_sentence(ratio)}" for metric, ratio in found.gains.items()]


def within_scatter(found: Recommendation) -> list[str]:
    """Names of the metrics whose gain is proven on the mean, but of which a single new round may show none."""
    unsure = [name for name, ratio in found.gains.items() if ratio.low > 1.0 >= ratio.repeat_low]
    # MB/s and records/s are one throughput.
    return list(dict.fromkeys(title(name).partition(",")[0] for name in unsure))


def _sentence(ratio: Ratio) -> str:
    value, low, high, what = ratio.value, ratio.low, ratio.high, "better"
    if high < 1.0:
        value, low, high, what = 1 / value, 1 / high, 1 / low, "worse"
    interval = f"{_percent(ratio.level)} interval {short(low)} to {short(high)}, {ratio.rounds} rounds in turn"
    if low <= 1.0:
        return f"no difference from the baseline shown ({short(value)}, {interval})"
    return f"{short(value)} times {what} than the baseline ({interval})"


def shown_metrics(*numbers: Mapping[str, float], first: Sequence[str] = (), also: Sequence[str] = ()) -> list[str]:
    """The metrics to show of configs, as far as any config has them.

    Args:
        numbers: Of the configs.
        first: Those that were asked for: they stand before the usual ones.
        also: Others than the usual ones; latencies among them stand in line with the usual latencies.
    """
    speeds = [name for name in _READ_FIRST if OUTCOME_METRICS[name].direction is Direction.MAXIMIZE]
    latencies = {name for name in (*_READ_FIRST, *also) if name.startswith("latency")}
    in_line = sorted(latencies, key=lambda name: name.removesuffix("_ms"))
    wanted = (*first, *speeds, *in_line, *_READ_FIRST, *also)
    return [name for name in dict.fromkeys(wanted) if any(name in known for known in numbers)]


@dataclass(frozen=True, slots=True)
class Change:
    """One property that has another value in force than in the baseline.

    Attributes:
        name: Kafka's name.
        value: The config's.
        baseline: The baseline's.
        default: The client's, with nothing given.
    """

    name: str
    value: str
    baseline: str
    default: str

    def __str__(self) -> str:
        """`linger.ms=20`."""
        return f"{self.name}={self.value}"


def changes(values: Mapping[str, str], baseline: Mapping[str, str]) -> tuple[Change, ...]:
    """The properties that either config gives and whose value in force differs, by name.

    Args:
        values: The config's canonical properties.
        baseline: The baseline's.

    Raises:
        UnknownProperty: The client has no such property: the config belongs to another version of it.
    """
    ours, theirs, none = (Effective(given) for given in (values, baseline, {}))
    return tuple(
        Change(name, ours.text(name), theirs.text(name), none.text(name))
        for name in sorted({*values, *baseline})
        if ours.text(name) != theirs.text(name)
    )


def numbers_table(found: Recommendation) -> tuple[list[str], list[list[Cell]]]:
    """Headings, and a row for each number of a recommended config beside the baseline's."""
    rows: list[list[Cell]] = []
    for metric in shown_metrics(found.metrics, found.baseline_metrics, also=list(found.gains)):
        before, now = found.baseline_metrics.get(metric), found.metrics.get(metric)
        ratio = found.gains.get(metric)
        shown = [(number(before), before), *([] if found.is_baseline else [(number(now), now)])]
        told: list[Cell] = [(gain(ratio), None), (one_more_round(ratio), None)] if ratio else ["", ""]
        rows.append([title(metric), *shown, *(told if found.confirmed else [])])
    headings = ["", "baseline", *([] if found.is_baseline else ["recommended"])]
    return [*headings, *(gain_headings(found.gains) if found.confirmed else [])], rows


def aligned(rows: Sequence[Sequence[str]], *, right: bool = True) -> list[str]:
    """Lines with every column as wide as its widest text, the first to the left and the others to the right.

    Args:
        rows: As many texts each.
        right: Off puts the others to the left too.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        _COLUMN_GAP.join(
            text.rjust(width) if right and place else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
