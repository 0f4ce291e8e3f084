"""The same config measured several times: how far its numbers scatter, and what its mean is worth.

Everything is done on logarithms: noise of throughputs and latencies is a matter of per cent, whatever the size.

The baseline, measured again and again, also shows how the target's own speed wanders while a study runs. The logarithm
of its value is taken for a random walk seen through noise, the local level model (Durbin and Koopman, "Time Series
Analysis by State Space Methods", chapter 2). A walk without steps is a constant. How much it walks is fitted by maximum
likelihood, and is nothing as long as a constant explains the baselines about as well: correcting for a drift that is
none only adds noise.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import cos, inf, log, pi, sin, sqrt, tan
from statistics import NormalDist, fmean
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

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


_STEPS: Final = (0.0, *np.geomspace(1e-4, 0.1, 13).tolist())
"""Tried standard deviations of the walk per trial."""
_NOISES: Final = tuple((ASSUMED_NOISE_RATIO * np.geomspace(0.2, 20.0, 14)).tolist())
"""Tried standard deviations of a measurement: a single stall can make five of a p99, which is no drift."""
_EVIDENCE: Final = 2.0
"""A walk must be more likely than a constant by a factor of e to this: the likelihood ratio test at 5 %, about."""
_VAGUE: Final = 100.0
"""Variance of the level before anything was measured."""
_MOST: Final = 60
"""More baselines are averaged with their neighbours, so that a long study costs little more than a short one."""


@dataclass(frozen=True, slots=True)
class Drift:
    """The baseline's level over a study.

    Attributes:
        step_log: Standard deviation of the walk per trial, on logarithms; 0 is a constant.
        numbers: Trials at which the baseline was measured, or means of neighbours. Shape: (baselines,).
    """

    step_log: float
    numbers: tuple[float, ...]
    _reference: float = 0.0
    _weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)

    @classmethod
    def of(cls, numbers: Sequence[int], values: Sequence[float]) -> Self:
        """Fit a study's baselines.

        Args:
            numbers: Of the trials.
            values: What was measured in each, above 0.
        """
        if len(values) < 3:
            return cls(0.0, tuple(map(float, numbers)))
        parts = np.array_split(np.arange(len(values)), min(_MOST, len(values)))
        at = np.array([np.asarray(numbers, dtype=float)[part].mean() for part in parts])
        logs = np.array([np.log(np.asarray(values, dtype=float)[part]).mean() for part in parts])
        centred = logs - logs.mean()
        shared = np.minimum.outer(at - at[0], at - at[0])
        likelihoods = {
            tried: _log_likelihood(centred, _covariance(shared, *tried)) for tried in product(_STEPS, _NOISES)
        }
        constant = max((tried for tried in likelihoods if tried[0] == 0), key=likelihoods.__getitem__)
        walk = max((tried for tried in likelihoods if tried[0] > 0), key=likelihoods.__getitem__)
        step, noise = walk if likelihoods[walk] > likelihoods[constant] + _EVIDENCE else constant
        weights = np.linalg.solve(_covariance(shared, step, noise), centred)
        found = cls(step, tuple(at.tolist()), 0.0, weights)
        return cls(step, found.numbers, found._level(at[0]), weights)

    def factor(self, number: int) -> float:
        """By what a value of that trial is multiplied to be as at the first baseline's time; 1 without drift."""
        if not self.step_log:
            return 1.0
        return float(np.exp(self._reference - self._level(number)))

    def _level(self, number: float) -> float:
        at = np.asarray(self.numbers, dtype=float)
        # Before the first baseline and after the last, the walk stays where they saw it.
        shared = np.clip(np.minimum(at, number) - at[0], 0.0, None)
        return float((self.step_log**2 * shared + _VAGUE) @ self._weights)


def _covariance(shared: NDArray[np.float64], step: float, noise: float) -> NDArray[np.float64]:
    return step**2 * shared + _VAGUE + noise**2 * np.eye(len(shared))


def _log_likelihood(values: NDArray[np.float64], covariance: NDArray[np.float64]) -> float:
    lower = np.linalg.cholesky(covariance)
    scaled = np.linalg.solve(lower, values)
    return float(-0.5 * scaled @ scaled - np.log(np.diag(lower)).sum() - 0.5 * len(values) * log(2 * pi))
