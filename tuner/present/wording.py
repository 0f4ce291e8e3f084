"""The wording of numbers, gains and changes, which is the same in every table, file and page."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from objectives.outcome import OUTCOME_METRICS, Direction, ShownIn, shown_in
from objectives.ratios import LEVEL, Ratio, short
from search_spaces.effective import Effective
from tuner.results.recommendation import Recommendation

NO_GAIN: Final = "not measured again in turn with the baseline, so no gain is claimed"
KEEP: Final = "keep what you have: nothing better than the baseline was found"
SIMULATED: Final = "simulated: a model made these numbers, nothing was measured on Kafka"

_ROUNDS: Final = 8

Cell = str | tuple[str, float | None]
"""A table cell: a text, or a number as a pair of its text and the value to sort by."""
_COLUMN_GAP: Final = "   "
_READ_FIRST: Final = shown_in(ShownIn.TABLES)


def title(metric: str) -> str:
    """Return a metric's name in words, with its unit: `latency p99, ms`."""
    known = OUTCOME_METRICS.get(metric)
    return known.title if known else metric


def number(value: float | None) -> str:
    """Return a value with three digits, `1,420,000` or `4.17`; a dash for an unknown value."""
    if value is None:
        return "-"
    value = float(f"{value:.3g}")
    for limit, digits in ((100, 0), (10, 1), (0.1, 2)):
        if abs(value) >= limit or (value == 0 and digits == 0):
            return f"{value:,.{digits}f}"
    return f"{value:.3g}"


def gain(ratio: Ratio) -> str:
    """Return a gain with its interval, `1.32 (1.25 to 1.40)`, and with a remark if the gain is not proven."""
    if ratio.low > 1.0:
        return str(ratio)
    return f"{ratio}: {'worse' if ratio.high < 1.0 else 'no difference shown'}"


def gain_headings(gains: Mapping[str, Ratio]) -> tuple[str, str]:
    """Return the headings for two columns: the gains, and the prediction intervals for one more round."""
    level = next((ratio.level for ratio in gains.values()), LEVEL)
    return f"gain ({_percent(level)} interval)", f"one more round ({_percent(LEVEL)})"


def one_more_round(ratio: Ratio) -> str:
    """Return the interval in which the ratio of one more round would fall: `1.20 to 1.44`."""
    return f"{short(ratio.repeat_low)} to {short(ratio.repeat_high)}"


def _percent(level: float) -> str:
    return f"{100 * level:.3g} %"


def not_advice(recommendation: Recommendation) -> str:
    """Return why a config is not advice yet, and the command that measures it again; empty if it is advice.

    A config that was never measured in turn with the baseline is not advice, because the best of many trials may only
    have been lucky.
    """
    if recommendation.is_baseline or recommendation.confirmed:
        return ""
    words = ["tuner", "confirm", recommendation.study, "--goal", str(recommendation.goal), "--rounds", str(_ROUNDS)]
    return f"not proven, so not advice yet; measure it again before you use it: {shlex.join(words)}"


def gain_sentences(recommendation: Recommendation) -> list[str]:
    """Return one sentence about the gain in each metric, or a single sentence that says why there is no gain."""
    if recommendation.is_baseline:
        return [KEEP]
    if not recommendation.confirmed:
        return [NO_GAIN]
    return [f"{title(metric)}: {_sentence(ratio)}" for metric, ratio in recommendation.gains.items()]


def within_scatter(recommendation: Recommendation) -> list[str]:
    """Return the metrics whose gain is proven on average, but may not show in a single new round.

    For example, `latency p99` is returned if the interval of its gain lies above 1, but the prediction interval for one
    more round reaches below 1.
    """
    unsure = [name for name, ratio in recommendation.gains.items() if ratio.low > 1.0 >= ratio.repeat_low]
    # Throughput in MB/s and in records/s are named only once.
    return list(dict.fromkeys(title(name).partition(",")[0] for name in unsure))


def _sentence(ratio: Ratio) -> str:
    value, low, high, direction = ratio.value, ratio.low, ratio.high, "better"
    if high < 1.0:
        value, low, high, direction = 1 / value, 1 / high, 1 / low, "worse"
    interval = (
        f"{_percent(ratio.level)} interval {short(low)} to {short(high)}, from {ratio.rounds} rounds measured in turn"
    )
    if low <= 1.0:
        return f"no difference from the baseline shown ({short(value)}, {interval})"
    return f"{short(value)} times {direction} than the baseline ({interval})"


def shown_metrics(*numbers: Mapping[str, float], first: Sequence[str] = (), also: Sequence[str] = ()) -> list[str]:
    """Return the metrics to show for some configs, in the order in which tables show them.

    Metrics that no config has are left out.

    Args:
        numbers: The metrics of each config.
        first: Metrics to show first.
        also: Metrics to show in addition to the usual ones; a latency among them is sorted in with the other latencies.
    """
    speeds = [name for name in _READ_FIRST if OUTCOME_METRICS[name].direction is Direction.MAXIMIZE]
    latencies = {name for name in (*_READ_FIRST, *also) if name.startswith("latency")}
    in_line = sorted(latencies, key=lambda name: name.removesuffix("_ms"))
    wanted = (*first, *speeds, *in_line, *_READ_FIRST, *also)
    return [name for name in dict.fromkeys(wanted) if any(name in known for known in numbers)]


@dataclass(frozen=True, slots=True)
class Change:
    """A property whose value in force differs from the baseline's.

    Attributes:
        name: The property's name.
        value: Its value in the config.
        baseline: Its value in the baseline.
        default: Its value in a client without any settings.
    """

    name: str
    value: str
    baseline: str
    default: str

    def __str__(self) -> str:
        """Return `linger.ms=20`."""
        return f"{self.name}={self.value}"


def changes(values: Mapping[str, str], baseline: Mapping[str, str]) -> tuple[Change, ...]:
    """Return the properties whose value in force differs from the baseline's, by name.

    Args:
        values: The config's properties.
        baseline: The baseline's properties.

    Raises:
        UnknownProperty: The client has no such property, because the config was written for another client version.
    """
    ours, theirs, none = (Effective(given) for given in (values, baseline, {}))
    return tuple(
        Change(name, ours.text(name), theirs.text(name), none.text(name))
        for name in sorted({*values, *baseline})
        if ours.text(name) != theirs.text(name)
    )


def numbers_table(recommendation: Recommendation) -> tuple[list[str], list[list[Cell]]]:
    """Return headings and rows of the table that shows a recommended config's numbers beside the baseline's.

    All numbers are means over the same rounds, or, if there were none, numbers of the search, as the headings then say.
    """
    rows: list[list[Cell]] = []
    for metric in shown_metrics(
        recommendation.metrics, recommendation.baseline_metrics, also=list(recommendation.gains)
    ):
        before, now = recommendation.baseline_metrics.get(metric), recommendation.metrics.get(metric)
        ratio = recommendation.gains.get(metric)
        shown = [(number(before), before), *([] if recommendation.is_baseline else [(number(now), now)])]
        compared: list[Cell] = [(gain(ratio), None), (one_more_round(ratio), None)] if ratio else ["", ""]
        rows.append([title(metric), *shown, *(compared if recommendation.confirmed else [])])
    where = "" if recommendation.confirmed else " (search)"
    names = ["baseline", *([] if recommendation.is_baseline else ["config" if where else "recommended"])]
    headings = ["", *(f"{name}{where}" for name in names)]
    return [*headings, *(gain_headings(recommendation.gains) if recommendation.confirmed else [])], rows


def aligned(rows: Sequence[Sequence[str]], *, right: bool = True) -> list[str]:
    """Return table rows as lines with columns of equal width.

    Args:
        rows: The cells of each row; all rows have equally many. The first column is aligned to the left.
        right: Whether the other columns are aligned to the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        _COLUMN_GAP.join(
            text.rjust(width) if right and column else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
