"""Decides whether burn-in runs have shown a steady throughput and latency: their values no longer rise or fall."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from objectives.racing import Stop
from runners.workload import Workload
from tuner.execution.trials.stopping import PhaseProgress

TREND_RATIO: Final = 0.1
"""Throughputs have no trend if the first and the last of them differ by at most this ratio; see `shows_trend`."""
LATENCY_TREND_RATIO: Final = 0.2
"""Latencies have no trend if the first and the last of them differ by at most this ratio; see `shows_trend`.

Latencies vary more than throughputs, so this ratio is larger than `TREND_RATIO`.
"""
TREND_VALUES: Final = 3
"""How many values in a row must show no trend before the baseline counts as ready."""
_WINDOWS_PER_VALUE: Final = 3


def has_enough_burn_ins(
    values: Sequence[float], at_most: int, trend_ratio: float = TREND_RATIO, *, last: int = TREND_VALUES
) -> bool:
    """Return whether a config had enough burn-in runs: the last ones show no trend, or the maximum number is reached.

    Args:
        values: The results of this process's burn-in runs, each above 0: records per second, or latencies.
        at_most: The maximum number of burn-in runs; 0 counts as 1.
        trend_ratio: See `shows_trend`.
        last: How many of the last values must show no trend.
    """
    return len(values) >= max(1, at_most) or (len(values) >= last and not shows_trend(values[-last:], trend_ratio))


def shows_trend(values: Sequence[float], trend_ratio: float = TREND_RATIO) -> bool:
    """Return whether a series of measured values rises or falls.

    The series shows a trend if its first and last value differ by more than `trend_ratio`, and also by more than
    the largest distance of any value from the straight line through the first and the last value. So values that only
    scatter rarely show a trend.

    Args:
        values: At least two values, above 0, at equal distances in time.
        trend_ratio: The largest difference that is no trend, as a share of the larger value.
    """
    first, last = values[0], values[-1]
    step = (last - first) / (len(values) - 1)
    scatter = max((abs(value - first - index * step) for index, value in enumerate(values)), default=0.0)
    return abs(last - first) > max(trend_ratio * max(first, last), scatter)


def is_steady(windows: Sequence[float]) -> bool:
    """Return whether the throughput of a load without a pause has shown no trend for long enough.

    A window is one second of the load. The throughput differs from window to window by 10 % and more, so the means of
    a few windows are compared.

    Args:
        windows: The throughput of each window so far; 0 for a window in which nothing was acknowledged.
    """
    needed = TREND_VALUES * _WINDOWS_PER_VALUE
    if len(windows) < needed:
        return False
    newest = windows[-needed:]
    means = [fmean(newest[start : start + _WINDOWS_PER_VALUE]) for start in range(0, needed, _WINDOWS_PER_VALUE)]
    return means[-1] > 0 and not shows_trend(means)


@dataclass(frozen=True, slots=True)
class UntilSteady:
    """Ends a phase when its throughput shows no trend, or when it has sent its share of the bytes.

    The phase is also limited in time: `tuner.model.study_time.UNBROKEN_S`.

    Attributes:
        workload: The load of the phase, of all producers together.
        most_bytes: The most bytes of values that the phase sends.
    """

    workload: Workload
    most_bytes: float

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that the rule needs of each window: none, because it uses only the number of records."""
        return ()

    def judge(self, progress: PhaseProgress) -> Stop | None:
        """Return why the phase should end now; None if it should continue."""
        if is_steady(progress.records_per_s):
            return Stop("its throughput shows no trend", ends_trial=False)
        used = progress.records * self.workload.record_sizes.mean_bytes >= self.most_bytes
        return Stop("it has sent its share of the bytes", ends_trial=False) if used else None


def capacity_of(windows: Sequence[float]) -> float:
    """Return the throughput at the end of a load without a pause: the mean of the last windows."""
    return fmean(windows[-2 * _WINDOWS_PER_VALUE :])
