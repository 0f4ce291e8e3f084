"""Repeats of one config: how far its values scatter, and how precise their mean is.

Nearly all computations use logarithms, because the noise of throughput and latency is proportional to the value.

The baseline is measured again and again. This also shows the drift of the target: how the speed of the cluster itself
changes while a study runs. The logarithm of the baseline's value is modelled as a random walk observed with noise. This
is the local level model (Durbin and Koopman, "Time Series Analysis by State Space Methods", chapter 2). A walk with a
step of 0 is a constant. The step is fitted by maximum likelihood. The step is set to 0 if a constant explains the
measurements of the baseline about as well, because correcting a drift that does not exist only adds noise.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import atan2, cos, inf, log, pi, sin, sqrt, tan
from statistics import NormalDist, fmean, geometric_mean
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

ASSUMED_NOISE_RATIO: Final = 0.05
"""The noise that is assumed until repeats show the true noise: the scatter of short benchmarks on a shared machine."""
_ASSUMED_WEIGHT: Final = 2
"""The weight of the assumed noise, in degrees of freedom. The more repeats there are, the less it counts."""
_MANY_DEGREES: Final = 300


def mean_of_repeats(values: Sequence[float]) -> float:
    """Return the mean of one config's values in one metric.

    The mean is geometric, because noise is proportional to the value. It is arithmetic if a value is 0 or less.

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


@lru_cache(maxsize=1_000)
def t_quantile(level: float, degrees_of_freedom: int) -> float:
    """Return the quantile of Student's t distribution for a two-sided interval.

    It is the number of standard errors that the interval extends to each side. It is computed here, because importing
    scipy.special takes longer than reading a study of 3,000 trials. For many degrees of freedom, a series is used.

    Args:
        level: The interval's level, such as 0.95.
        degrees_of_freedom: Degrees of freedom of the standard error; below 1, the result is infinite.

    Source: Abramowitz and Stegun (1964), Handbook of Mathematical Functions, 26.7.3 to
    26.7.5.
    """
    if degrees_of_freedom < 1:
        return inf
    if degrees_of_freedom > _MANY_DEGREES:
        z, many = NormalDist().inv_cdf((1 + level) / 2), degrees_of_freedom
        return z + (z**3 + z) / (4 * many) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * many**2)
    # Bisect the angle whose tangent is t / sqrt(degrees of freedom): unlike t itself, the angle is bounded.
    low, high = 0.0, pi / 2
    while low < (middle := (low + high) / 2) < high:
        if _within(middle, degrees_of_freedom) < level:
            low = middle
        else:
            high = middle
    return sqrt(degrees_of_freedom) * tan(high)


def t_tail(mean: float, standard_error: float, degrees_of_freedom: int) -> float:
    """Return the one-sided p-value of a mean: how probable it is that Student's t exceeds mean / standard error.

    Without any scatter, the p-value is 0 for a mean above 0, and 1 otherwise.

    Args:
        mean: The mean, of any sign.
        standard_error: The standard error of the mean, in the unit of the mean; at least 0.
        degrees_of_freedom: The degrees of freedom of the standard error; at least 1.

    Returns:
        A probability from 0 to 1; below 0.5 for a mean above 0.
    """
    if mean <= 0 and standard_error == 0:
        return 1.0
    within = _within(atan2(abs(mean), standard_error * sqrt(degrees_of_freedom)), degrees_of_freedom)
    return (1 - within) / 2 if mean > 0 else (1 + within) / 2


def _within(angle: float, degrees_of_freedom: int) -> float:
    """Return the probability that Student's |t| is at most sqrt(degrees of freedom) times the angle's tangent."""
    odd, square = degrees_of_freedom % 2, cos(angle) ** 2
    term = sin(angle) * (cos(angle) if odd else 1.0)
    total = term if degrees_of_freedom > 1 else 0.0
    for number in range(2 + odd, degrees_of_freedom, 2):
        term *= square * (number - 1) / number
        total += term
    return 2 / pi * (angle + total) if odd else total


_STEPS: Final = (0.0, *np.geomspace(1e-4, 0.1, 13).tolist())
"""Candidates for the standard deviation of the drift: of the random walk's step per trial, on logarithms."""
_NOISES: Final = tuple((ASSUMED_NOISE_RATIO * np.geomspace(0.2, 20.0, 14)).tolist())
"""Candidates for a measurement's standard deviation; some are large, as a stall can make a p99 five times higher."""
_EVIDENCE: Final = 2.0
"""How much larger the log-likelihood with drift must be than without, before drift is corrected.

This is about a likelihood ratio test at 5 %.
"""
_VAGUE: Final = 100.0
"""Prior variance of the baseline's level; so large that only the measurements decide."""
_MOST: Final = 60
"""The most measurements of the baseline to fit. If there are more, neighbours are averaged, to keep the fit fast."""


@dataclass(frozen=True, slots=True)
class Drift:
    """How the baseline's speed changes over the course of a study, fitted as a random walk.

    Attributes:
        step_log: Standard deviation of the random walk's step per trial, on logarithms; 0 means no drift.
        numbers: Numbers of the trials that measured the baseline. In a long study, neighbouring measurements are
            averaged, and so are the numbers of their trials. Shape (measurements of the baseline,).
    """

    step_log: float
    numbers: tuple[float, ...]
    _reference: float = 0.0
    _weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)

    @classmethod
    def of(cls, numbers: Sequence[int], values: Sequence[float]) -> Self:
        """Fit the drift to a study's baseline measurements.

        Args:
            numbers: Numbers of the trials that measured the baseline.
            values: The measured values, above 0.
        """
        if len(values) < 3:
            return cls(0.0, tuple(map(float, numbers)))
        parts = np.array_split(np.arange(len(values)), min(_MOST, len(values)))
        at = np.array([np.asarray(numbers, dtype=float)[part].mean() for part in parts])
        logs = np.array([np.log(np.asarray(values, dtype=float)[part]).mean() for part in parts])
        centred = logs - logs.mean()
        shared = np.minimum.outer(at - at[0], at - at[0])
        candidates = list(product(_STEPS, _NOISES))
        covariances = np.stack([_covariance(shared, *candidate) for candidate in candidates])
        likelihoods = dict(zip(candidates, _log_likelihoods(centred, covariances), strict=True))
        constant = max((candidate for candidate in likelihoods if candidate[0] == 0), key=likelihoods.__getitem__)
        walk = max((candidate for candidate in likelihoods if candidate[0] > 0), key=likelihoods.__getitem__)
        step, noise = walk if likelihoods[walk] > likelihoods[constant] + _EVIDENCE else constant
        weights = np.linalg.solve(_covariance(shared, step, noise), centred)
        fitted = cls(step, tuple(at.tolist()), 0.0, weights)
        return cls(step, fitted.numbers, fitted._level(at[-1]), weights)

    def factor(self, number: int) -> float:
        """Return the factor by which to multiply a value of the trial `number` to remove the drift; 1 without drift.

        The product is the value that the trial would have had when the baseline was last measured. A target warms up
        and changes, and what a user gets is what the target does now.
        """
        if not self.step_log:
            return 1.0
        return float(np.exp(self._reference - self._level(number)))

    def _level(self, number: float) -> float:
        at = np.asarray(self.numbers, dtype=float)
        # Before the first baseline and after the last one, the level is constant.
        shared = np.clip(np.minimum(at, number) - at[0], 0.0, None)
        return float((self.step_log**2 * shared + _VAGUE) @ self._weights)


def _covariance(shared: NDArray[np.float64], step: float, noise: float) -> NDArray[np.float64]:
    return step**2 * shared + _VAGUE + noise**2 * np.eye(len(shared))


def _log_likelihoods(values: NDArray[np.float64], covariances: NDArray[np.float64]) -> list[float]:
    """Return the log-likelihood of the values under each of the covariances, shape (covariances, values, values)."""
    lower = np.linalg.cholesky(covariances)
    scaled = np.linalg.solve(lower, values[:, np.newaxis])[..., 0]
    halves = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    found: list[float] = (-0.5 * (scaled**2).sum(axis=1) - halves - 0.5 * len(values) * log(2 * pi)).tolist()
    return found
