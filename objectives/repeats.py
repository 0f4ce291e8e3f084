"""The same config measured several times: how far its numbers scatter, and what its mean is worth.

Everything is done on logarithms: noise of throughputs and latencies is a matter of per cent, whatever the size.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import cos, inf, log, pi, sin, sqrt, tan
from statistics import NormalDist, fmean
from typing import Final, Self

ASSUMED_NOISE_RATIO: Final = 0.05
"""What repeats of short benchmarks differ by on a shared machine, as long as nothing better is known."""
_ASSUMED_WEIGHT: Final = 2
"""In degrees of freedom: what was assumed fades as repeats come in."""
_MANY_DEGREES: Final = 300


@dataclass(frozen=True, slots=True)
class Noise:
    """How far single measurements of one config scatter.

    Attributes:
        sd_log: Standard deviation of a measurement's logarithm; 0.05 is some 5 %.
        degrees_of_freedom: What the estimate stands on; an assumption has `_ASSUMED_WEIGHT`.
    """

    sd_log: float
    degrees_of_freedom: int

    @property
    def is_assumed(self) -> bool:
        """Whether nothing of it was measured."""
        return self.degrees_of_freedom <= _ASSUMED_WEIGHT

    @classmethod
    def of(
        cls,
        groups: Iterable[Sequence[float]],
        assumed_ratio: float = ASSUMED_NOISE_RATIO,
        assumed_weight: int = _ASSUMED_WEIGHT,
    ) -> Self:
        """Pooled over configs, with an assumption that fades as repeats come in.

        Args:
            groups: One sequence of positive values per config; single ones say nothing.
            assumed_ratio: What is assumed before there are repeats.
            assumed_weight: What that is worth, in degrees of freedom.
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
    """What repeats of one config say: a mean with its interval.

    Attributes:
        value: Geometric mean.
        low: Lower end of the interval.
        high: Upper end of the interval.
        repeats: Measurements it stands on.
    """

    value: float
    low: float
    high: float
    repeats: int

    def __str__(self) -> str:
        """`12.3 (11.9 to 12.8)`."""
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


@lru_cache(maxsize=1_000)
def t_quantile(level: float, degrees_of_freedom: int) -> float:
    """How many standard errors a two-sided interval of that level reaches to each side (Student 1908).

    Written out, as scipy.special takes longer to import than a study of 3,000 trials takes to read. For many degrees of
    freedom by a series. Source: Abramowitz and Stegun (1964), Handbook of Mathematical Functions, 26.7.3 to 26.7.5.
    """
    if degrees_of_freedom < 1:
        return inf
    if degrees_of_freedom > _MANY_DEGREES:
        z, many = NormalDist().inv_cdf((1 + level) / 2), degrees_of_freedom
        return z + (z**3 + z) / (4 * many) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * many**2)
    # By the angle whose tangent is t over the root of the degrees of freedom: it has an end.
    low, high = 0.0, pi / 2
    while low < (middle := (low + high) / 2) < high:
        if _within(middle, degrees_of_freedom) < level:
            low = middle
        else:
            high = middle
    return sqrt(degrees_of_freedom) * tan(high)


def _within(angle: float, degrees_of_freedom: int) -> float:
    """Probability that |t| is at most sqrt(degrees of freedom) times the angle's tangent."""
    odd, square = degrees_of_freedom % 2, cos(angle) ** 2
    term = sin(angle) * (cos(angle) if odd else 1.0)
    total = term if degrees_of_freedom > 1 else 0.0
    for number in range(2 + odd, degrees_of_freedom, 2):
        term *= square * (number - 1) / number
        total += term
    return 2 / pi * (angle + total) if odd else total
