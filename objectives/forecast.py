"""From the first windows of a phase to the whole phase: how far what they show is from what the phase will have shown.

It is learnt from phases that ran to their end, whatever makes the windows of this host differ: chance, stalls, a
warm-up that was too short. Everything is done on logarithms, as in `objectives.repeats`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, variance
from typing import Final, Self

from objectives.metrics import Direction
from objectives.outcome import OUTCOME_METRICS
from objectives.repeats import ASSUMED_NOISE_RATIO, t_quantile
from runners.measurement import Window

LEVEL: Final = 0.95
"""Of the interval in which a phase's value will lie; each side is missed half as often."""
_ASSUMED_WEIGHT: Final = 2
"""In degrees of freedom: what was assumed of windows fades as phases come in."""
_OTHERS_WEIGHT: Final = 4
"""In degrees of freedom: what other phases say of a phase's windows, against these windows' own scatter."""

FOLLOWED: Final = frozenset(name for name, metric in OUTCOME_METRICS.items() if metric.read_window is not None)
"""Metrics that windows tell of."""


def window_value(name: str, window: Window) -> float | None:
    """One window's value of a metric in `FOLLOWED`, in its unit; None where nothing was acknowledged in it."""
    read = OUTCOME_METRICS[name].read_window
    value = read(window) if read is not None else None
    return value if value is not None and value > 0 else None


@dataclass(frozen=True, slots=True)
class Range:
    """Where a phase's value will lie when it ends; of one that has ended both ends are its value.

    Attributes:
        low: Lower end, above 0.
        high: Upper end.
    """

    low: float
    high: float

    def at_best(self, direction: Direction) -> float:
        """The better end."""
        return self.high if direction is Direction.MAXIMIZE else self.low


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the first windows of a phase say of the whole, for one metric.

    Attributes:
        shift_log: What the whole lies above the mean of the first 1, 2, ... windows.
        sd_log: How far it scatters about that.
        reach: Standard deviations to each end of the interval.
    """

    shift_log: tuple[float, ...]
    sd_log: tuple[float, ...]
    reach: float

    @classmethod
    def of(cls, ended: Sequence[tuple[Sequence[float], float]], windows: int) -> Self:
        """Learn from phases that ran to their end.

        Args:
            ended: Each one's values per window, and that of the whole; all above 0.
            windows: Of the whole phase. Phases that have another number are left out.
        """
        known = [(_means_log(course), log(whole)) for course, whole in ended if len(course) == windows]
        freedom = _ASSUMED_WEIGHT + max(0, len(known) - 1)
        shifts, sds = [], []
        for place in range(windows - 1):
            off = [whole - means[place] for means, whole in known]
            shift = fmean(off) if off else 0.0
            squares = _ASSUMED_WEIGHT * ASSUMED_NOISE_RATIO**2 * _left_ratio(place + 1, windows)
            squares += sum((each - shift) ** 2 for each in off)
            shifts.append(shift)
            sds.append(sqrt(squares / freedom * (1 + 1 / max(1, len(off)))))
        return cls(tuple(shifts), tuple(sds), t_quantile(LEVEL, freedom))

    def range(self, values: Sequence[float]) -> Range | None:
        """Where the phase's value will lie; None where that can't be told.

        A phase whose own windows scatter more than others' is in more doubt than these were.

        Args:
            values: Of the first windows, at least one, and not all.
        """
        count, windows = len(values), len(self.shift_log) + 1
        if not 0 < count < windows or min(values) <= 0:
            return None
        logs = [log(value) for value in values]
        squares = _OTHERS_WEIGHT * self.sd_log[count - 1] ** 2
        if count > 1:
            squares += (count - 1) * variance(logs) * _left_ratio(count, windows)
        half = self.reach * sqrt(squares / (_OTHERS_WEIGHT + count - 1))
        middle = fmean(logs) + self.shift_log[count - 1]
        return Range(exp(middle - half), exp(middle + half))


def _left_ratio(count: int, windows: int) -> float:
    """Variance of a part's mean about that of the whole, in variances of a window: the less is left, the smaller."""
    return 1 / count - 1 / windows


def _means_log(course: Sequence[float]) -> list[float]:
    """Means of the logarithms of the first 1, 2, ... values."""
    means, total = [], 0.0
    for count, value in enumerate(course, 1):
        total += log(value)
        means.append(total / count)
    return means
