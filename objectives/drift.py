"""How the target's own speed wanders while a study runs: seen in the baseline, which is measured again and again.

The logarithm of the baseline's value is taken for a random walk seen through noise, the local level model (Durbin and
Koopman, "Time Series Analysis by State Space Methods", chapter 2). A walk without steps is a constant. How much it
walks is fitted by maximum likelihood, and is nothing as long as a constant explains the baselines about as well:
correcting for a drift that is none only adds noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log, pi
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from objectives.repeats import ASSUMED_NOISE_RATIO

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
        best: dict[bool, tuple[float, float, float]] = {}
        for step in _STEPS:
            for noise in _NOISES:
                likelihood = _log_likelihood(centred, _covariance(shared, step, noise))
                walks = step > 0
                if walks not in best or likelihood > best[walks][0]:
                    best[walks] = (likelihood, step, noise)
        _, step, noise = best[True] if best[True][0] > best[False][0] + _EVIDENCE else best[False]
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
