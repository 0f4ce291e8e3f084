"""Forecasts: predict the value of a whole phase from the phase's first windows.

Two trials of the same config differ, but the difference shows already in the first seconds, and a longer trial does not
average it out. So a forecast only has to predict the rest of a phase: how far the value of the whole phase lies from
the mean of the phase's first windows. This distance is learnt from phases that ran to their end. So it does not matter
why windows differ on this host: by chance, because of stalls, or because the warm-up was too short. All computations
use logarithms, as in `objectives.repeats`. The predictions are intervals with the level `objectives.ratios.LEVEL`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import exp, log, sqrt
from statistics import fmean, variance
from typing import Final, Self

from objectives.metrics import OUTCOME_METRICS, Direction
from objectives.ratios import LEVEL
from objectives.repeats import ASSUMED_NOISE_RATIO
from objectives.scoring import Constraint, Objective
from objectives.students_t import t_quantile
from runners.measurements.measurement import Window

_ASSUMED_WEIGHT: Final = 2
"""Weight of the assumed noise of windows, in degrees of freedom. The more phases are complete, the less it counts."""
_OTHERS_WEIGHT: Final = 4
"""Weight of the scatter seen in completed phases, in degrees of freedom, beside the scatter of the running phase."""
WINDOW_METRICS: Final = frozenset(name for name, metric in OUTCOME_METRICS.items() if metric.read_window is not None)
"""Names of the metrics that have a value in every window of a phase."""


def window_value(name: str, window: Window) -> float | None:
    """Return a metric's value in a window; None if no record was acknowledged in the window.

    Args:
        name: The metric's name; one of `WINDOW_METRICS`.
        window: The window.
    """
    read = OUTCOME_METRICS[name].read_window
    value = read(window) if read is not None else None
    return value if value is not None and value > 0 else None


def metrics_in_windows(objectives: Sequence[Objective], constraints: Sequence[Constraint]) -> tuple[str, ...]:
    """Return the metrics of the objectives and constraints that are also measured in every window of a phase."""
    metrics = dict.fromkeys((*(each.metric for each in objectives), *(each.metric for each in constraints)))
    return tuple(name for name in metrics if name in WINDOW_METRICS)


@dataclass(frozen=True, slots=True)
class PredictedRange:
    """The interval in which a metric's value for the whole phase is predicted to lie.

    For a phase that is already complete, both ends are the measured value.

    Attributes:
        low: Lower end, above 0.
        high: Upper end.
    """

    low: float
    high: float

    def at_best(self, direction: Direction) -> float:
        """Return the better end of the interval, in the metric's unit.

        Args:
            direction: Whether the metric is to be maximised (the upper end is better) or minimised (the lower end).
        """
        return self.high if direction is Direction.MAXIMIZE else self.low


@dataclass(frozen=True, slots=True)
class Forecast:
    """How to predict a metric's value for a whole phase from the phase's first windows, learnt from other phases.

    Attributes:
        shift_log: How far the logarithm for the whole phase lies above the mean logarithm of the first 1, 2, ...
            windows, on average.
        sd_log: Standard deviation of this distance.
        reach: How many standard deviations the interval extends to each side.
    """

    shift_log: tuple[float, ...]
    sd_log: tuple[float, ...]
    reach: float

    @classmethod
    def of(cls, ended: Sequence[tuple[Sequence[float], float]], windows: int) -> Self:
        """Learn the forecast for a metric from phases that ran to their end.

        Args:
            ended: For every phase, the metric's values by window and its value for the whole phase; all above 0.
            windows: Number of windows of a whole phase. Phases with another number of windows are ignored.

        Returns:
            The forecast, with one shift and one standard deviation for each number of windows from 1 to `windows` - 1.
            Without usable phases, it assumes no shift and a scatter of `ASSUMED_NOISE_RATIO`.
        """
        known = [(_means_log(values), log(whole)) for values, whole in ended if len(values) == windows]
        freedom = _ASSUMED_WEIGHT + max(0, len(known) - 1)
        shifts, sds = [], []
        for index in range(windows - 1):
            off = [whole - means[index] for means, whole in known]
            shift = fmean(off) if off else 0.0
            squares = _ASSUMED_WEIGHT * ASSUMED_NOISE_RATIO**2 * _variance_to_whole(index + 1, windows)
            squares += sum((each - shift) ** 2 for each in off)
            shifts.append(shift)
            sds.append(sqrt(squares / freedom * (1 + 1 / max(1, len(off)))))
        return cls(tuple(shifts), tuple(sds), t_quantile(LEVEL, freedom))

    def range(self, values: Sequence[float]) -> PredictedRange | None:
        """Return the interval in which the value of the whole phase will lie; None if it can't be predicted.

        The interval is wider if the windows of this phase scatter more than those of other phases.

        Args:
            values: The values of the phase's first windows; at least one window, but not all of them.
        """
        count, windows = len(values), len(self.shift_log) + 1
        if not 0 < count < windows or min(values) <= 0:
            return None
        logs = [log(value) for value in values]
        squares = _OTHERS_WEIGHT * self.sd_log[count - 1] ** 2
        if count > 1:
            squares += (count - 1) * variance(logs) * _variance_to_whole(count, windows)
        half = self.reach * sqrt(squares / (_OTHERS_WEIGHT + count - 1))
        middle = fmean(logs) + self.shift_log[count - 1]
        return PredictedRange(exp(middle - half), exp(middle + half))


def _variance_to_whole(count: int, windows: int) -> float:
    """Return the variance of the difference between the mean of a phase's first windows and that of the whole phase.

    The unit is the variance of a single window. The result becomes 0 when all windows are measured.

    Args:
        count: Number of windows measured so far.
        windows: Number of windows of the whole phase.
    """
    return 1 / count - 1 / windows


def _means_log(values: Sequence[float]) -> list[float]:
    """Return the means of the logarithms of the first 1, 2, ... values."""
    totals = accumulate(log(value) for value in values)
    return [total / count for count, total in enumerate(totals, 1)]
