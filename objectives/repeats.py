"""Repeats of one config: how far its values scatter, and how precise their mean is.

Nearly all computations use logarithms, because the noise of throughput and latency is proportional to the value.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log, sqrt
from statistics import fmean, geometric_mean
from typing import Final, Self

ASSUMED_NOISE_RATIO: Final = 0.05
"""The noise that is assumed until repeats show the true noise; typical of short benchmarks on a shared machine."""
_ASSUMED_WEIGHT: Final = 2
"""The weight of the assumed noise, in degrees of freedom. The more repeats there are, the less it counts."""


def mean_of_repeats(values: Sequence[float]) -> float:
    """Return the mean of one config's values in one metric.

    The mean is geometric, because noise is proportional to the value. If a value is 0 or less, the mean is arithmetic.

    Args:
        values: The values, at least one.
    """
    if min(values) == max(values):
        return values[0]  # exactly the measured value, without rounding errors from logarithms
    return geometric_mean(values) if min(values) > 0 else fmean(values)


@dataclass(frozen=True, slots=True)
class Noise:
    """How far single measurements of one config scatter.

    Attributes:
        sd_log: Standard deviation of a measurement's logarithm; 0.05 is about 5 %.
        degrees_of_freedom: Degrees of freedom of the estimate; `_ASSUMED_WEIGHT` while there are no repeats.
    """

    sd_log: float
    degrees_of_freedom: int

    @property
    def is_assumed(self) -> bool:
        """Whether the noise is only assumed, because there are no repeats yet."""
        return self.degrees_of_freedom <= _ASSUMED_WEIGHT

    @classmethod
    def of(
        cls,
        groups: Iterable[Sequence[float]],
        assumed_ratio: float = ASSUMED_NOISE_RATIO,
        assumed_weight: int = _ASSUMED_WEIGHT,
    ) -> Self:
        """Return the noise, pooled over the repeats of all configs.

        An assumed noise counts too, as if it had been measured with `assumed_weight` degrees of freedom. So a few
        repeats that happen to agree do not make the noise look like 0.

        Args:
            groups: One sequence of positive values per config; a config measured once does not count.
            assumed_ratio: The noise assumed before there are repeats.
            assumed_weight: The weight of the assumption, in degrees of freedom.
        """
        squares, freedom = assumed_ratio**2 * assumed_weight, assumed_weight
        for group in groups:
            logs = [log(value) for value in group if value > 0]
            if len(logs) > 1:
                mean = fmean(logs)
                squares += sum((each - mean) ** 2 for each in logs)
                freedom += len(logs) - 1
        return cls(sqrt(squares / freedom), freedom)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The mean of a config's repeats, with the confidence interval of the mean.

    Attributes:
        value: Geometric mean.
        low: Lower end of the confidence interval.
        high: Upper end of the confidence interval.
        repeats: How many measurements the mean was computed from.
    """

    value: float
    low: float
    high: float
    repeats: int

    def __str__(self) -> str:
        """Return the mean with its confidence interval, such as `12.3 (11.9 to 12.8)`."""
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"
