"""Drift of the target: how the speed of the cluster itself changes while a study runs.

The baseline is measured again and again, which shows the drift. The logarithm of the baseline's value is modelled as a
random walk observed with noise. This is the local level model (Durbin and Koopman, "Time Series Analysis by State Space
Methods", chapter 2). The step of the walk is fitted by maximum likelihood. A walk with a step of 0 is a constant. If a
constant explains the measurements of the baseline about as well, the step is set to 0, because correcting a drift that
does not exist only adds noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from math import log, pi
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from objectives.repeats import ASSUMED_NOISE_RATIO

_STEPS: Final = (0.0, *np.geomspace(1e-4, 0.1, 13).tolist())
"""Candidates for the standard deviation of the drift: of the random walk's step per trial, on logarithms."""
_NOISES: Final = tuple((ASSUMED_NOISE_RATIO * np.geomspace(0.2, 20.0, 14)).tolist())
"""Candidates for a measurement's standard deviation; some are large, as a stall can make a p99 five times higher."""
_LEAST_LIKELIHOOD_GAIN: Final = 2.0
"""How much larger the log-likelihood with drift must be than without, before drift is corrected.

A likelihood ratio test at 5 % requires about as much (1.92).
"""
_LEVEL_VARIANCE: Final = 100.0
"""Prior variance of the baseline's level; so large that only the measurements decide."""
_MOST_FITTED: Final = 60
"""The most measurements of the baseline to fit. If there are more, neighbours are averaged, to keep the fit fast."""


@dataclass(frozen=True, slots=True)
class Drift:
    """How the baseline's speed changes during a study, fitted as a random walk.

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
        parts = np.array_split(np.arange(len(values)), min(_MOST_FITTED, len(values)))
        at = np.array([np.asarray(numbers, dtype=float)[part].mean() for part in parts])
        logs = np.array([np.log(np.asarray(values, dtype=float)[part]).mean() for part in parts])
        centred = logs - logs.mean()
        shared = np.minimum.outer(at - at[0], at - at[0])
        candidates = list(product(_STEPS, _NOISES))
        covariances = np.stack([_covariance(shared, *candidate) for candidate in candidates])
        likelihoods = dict(zip(candidates, _log_likelihoods(centred, covariances), strict=True))
        constant = max((candidate for candidate in likelihoods if candidate[0] == 0), key=likelihoods.__getitem__)
        walk = max((candidate for candidate in likelihoods if candidate[0] > 0), key=likelihoods.__getitem__)
        step, noise = walk if likelihoods[walk] > likelihoods[constant] + _LEAST_LIKELIHOOD_GAIN else constant
        weights = np.linalg.solve(_covariance(shared, step, noise), centred)
        fitted = cls(step, tuple(at.tolist()), 0.0, weights)
        return cls(step, fitted.numbers, fitted._level(at[-1]), weights)

    def factor(self, number: int) -> float:
        """Return the factor by which to multiply a value of the trial `number` to remove the drift; 1 without drift.

        The product is the value that the trial would have had when the baseline was last measured. We use the last
        measurement because it shows the speed that the user gets now.
        """
        if not self.step_log:
            return 1.0
        return float(np.exp(self._reference - self._level(number)))

    def _level(self, number: float) -> float:
        at = np.asarray(self.numbers, dtype=float)
        # Before the first baseline and after the last one, the level is constant.
        shared = np.clip(np.minimum(at, number) - at[0], 0.0, None)
        return float((self.step_log**2 * shared + _LEVEL_VARIANCE) @ self._weights)


def _covariance(shared: NDArray[np.float64], step: float, noise: float) -> NDArray[np.float64]:
    return step**2 * shared + _LEVEL_VARIANCE + noise**2 * np.eye(len(shared))


def _log_likelihoods(values: NDArray[np.float64], covariances: NDArray[np.float64]) -> list[float]:
    """Return the log-likelihood of the values under each of the covariances, shape (covariances, values, values)."""
    lower = np.linalg.cholesky(covariances)
    scaled = np.linalg.solve(lower, values[:, np.newaxis])[..., 0]
    halves = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    found: list[float] = (-0.5 * (scaled**2).sum(axis=1) - halves - 0.5 * len(values) * log(2 * pi)).tolist()
    return found
