"""A Gaussian process: what is believed of a number over a space, from noisy values at some of its points.

Source: Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, chapters 2 and 5; the kernel is Matern
5/2 with a length for each parameter. Lengths, amplitude and noise are those of the greatest posterior density.
"""

import math
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from tuner.search.bayesian.solving import Array, inverse_and_log_root, least, root_of, solved, whitened

_ROOT_5: Final = math.sqrt(5.0)
_JITTER: Final = 1e-8
_MANY: Final = 60
_STEPS, _STEPS_OF_MANY = 25, 12
"""A step's cost grows with the cube of the values, and what many values say shows in a few."""
_FARTHEST: Final = 3.0
"""How many standard deviations of its prior a hyperparameter may go."""


@dataclass(frozen=True, slots=True)
class Prior:
    """What is believed before there is any value. Spreads are standard deviations of logarithms.

    Attributes:
        mean: Of the number, anywhere.
        mean_sd: How far the number's general level may be from that.
        amplitude: By how much the number differs from place to place: a standard deviation.
        amplitude_spread: Of the amplitude.
        lengths: How far one has to go, per axis, for the number to be another; shape (axes,).
        length_spread: Of each length.
        noise_spread: Of the noise that is given with the values.
    """

    mean: float
    mean_sd: float
    amplitude: float
    amplitude_spread: float
    lengths: Array
    length_spread: float
    noise_spread: float


@dataclass(frozen=True, slots=True)
class GaussianProcess:
    """What is believed after some values were seen.

    Attributes:
        points: Where they were, shape (points, features).
        lengths: Per feature.
        variance: Of the kernel.
        level_variance: Of the general level.
        mean: Of the prior.
        root: Lower Cholesky factor of the covariance of the values.
        weights: The covariance's inverse times the values, less the mean.
    """

    points: Array
    lengths: Array
    variance: float
    level_variance: float
    mean: float
    root: Array
    weights: Array

    @classmethod
    def fitted(cls, points: Array, groups: NDArray[np.int64], values: Array, noise_sd: Array, prior: Prior) -> Self:
        """Learn from values.

        Args:
            points: Shape (points, features).
            groups: The axis behind each feature, shape (features,).
            values: Shape (points,).
            noise_sd: Standard deviation of each value's noise, shape (points,).
            prior: What is believed without them.
        """
        posterior = _Posterior(points, groups, values, noise_sd, prior)
        best = posterior.best()
        kernel, _ = posterior.kernel(best)
        kernel += prior.mean_sd**2
        noisy = kernel + np.diag(posterior.noise(best) + _JITTER)
        root = root_of(noisy)
        lengths = np.exp(best[:-2])[groups]
        return cls(
            points,
            lengths,
            math.exp(2 * best[-2]),
            prior.mean_sd**2,
            prior.mean,
            root,
            solved(root, values - prior.mean),
        )

    @property
    def prior_variance(self) -> float:
        """Of the number at any place before a value was seen."""
        return self.variance + self.level_variance

    def covariance(self, ours: Array, theirs: Array) -> Array:
        """Prior covariance between points, shape (ours, theirs)."""
        first, second = ours / self.lengths, theirs / self.lengths
        squares = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1)[None, :] - 2 * first @ second.T
        return self.variance * _matern(np.sqrt(np.maximum(squares, 0.0))) + self.level_variance

    def believed(self, points: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the number at points, noise left aside; shapes (points,)."""
        cross = self.covariance(points, self.points)
        seen = whitened(self.root, cross.T)
        variance = np.maximum(self.prior_variance - (seen**2).sum(axis=0), _JITTER)
        return self.mean + cross @ self.weights, np.sqrt(variance)

    def believed_together(self, points: Array) -> tuple[Array, Array]:
        """Mean, shape (points,), and covariance between points, shape (points, points)."""
        cross = self.covariance(points, self.points)
        seen = whitened(self.root, cross.T)
        return self.mean + cross @ self.weights, self.covariance(points, points) - seen.T @ seen


class _Posterior:
    """Density of hyperparameters: logarithms of the lengths, of the amplitude, and of a factor on the noise."""

    def __init__(self, points: Array, groups: NDArray[np.int64], values: Array, noise_sd: Array, prior: Prior) -> None:
        squares = (points[:, None, :] - points[None, :, :]) ** 2
        axes = len(prior.lengths)
        self._squares = np.stack([squares[:, :, groups == axis].sum(axis=2).ravel() for axis in range(axes)])
        self._values = values - prior.mean
        self._noise = noise_sd**2
        self._level = prior.mean_sd**2
        self._start = np.concatenate([np.log(prior.lengths), [math.log(prior.amplitude), 0.0]])
        self._spread = np.concatenate(
            [np.full(axes, prior.length_spread), [prior.amplitude_spread, prior.noise_spread]]
        )

    def best(self) -> Array:
        """Those of the greatest density; the prior's own where there is next to nothing to learn from."""
        if len(self._values) < 3:
            return self._start
        reach = _FARTHEST * self._spread
        bounds = list(zip(self._start - reach, self._start + reach, strict=True))
        steps = _STEPS if len(self._values) <= _MANY else _STEPS_OF_MANY
        return least(self._cost, self._start, bounds, steps)

    def noise(self, at: Array) -> Array:
        """Variances of the values' noise."""
        found: Array = self._noise * math.exp(2 * at[-1])
        return found

    def kernel(self, at: Array) -> tuple[Array, Array]:
        """The kernel's matrix, and what its derivatives by the logarithms of lengths have in common."""
        count = len(self._values)
        distances = np.sqrt((np.exp(-2 * at[:-2]) @ self._squares).reshape(count, count))
        fading = math.exp(2 * at[-2]) * np.exp(-_ROOT_5 * distances)
        slope = 1.0 + _ROOT_5 * distances
        return (slope + 5.0 / 3.0 * distances**2) * fading, 5.0 / 3.0 * slope * fading

    def _cost(self, at: Array) -> tuple[float, Array]:
        """Negative logarithm of the density, but for a constant, and its gradient."""
        kernel, common = self.kernel(at)
        noise = self.noise(at)
        noisy = kernel + self._level
        noisy.flat[:: len(noise) + 1] += noise + _JITTER
        inverse, log_root = inverse_and_log_root(noisy)
        weights = inverse @ self._values
        slack = inverse - np.outer(weights, weights)
        gradient = np.empty_like(at)
        gradient[:-2] = 0.5 * np.exp(-2 * at[:-2]) * (self._squares @ (slack * common).ravel())
        gradient[-2] = float((slack * kernel).sum())
        gradient[-1] = float(np.diag(slack) @ noise)
        away = (at - self._start) / self._spread
        cost = 0.5 * self._values @ weights + log_root + 0.5 * away @ away
        return float(cost), gradient + away / self._spread


def _matern(distances: Array) -> Array:
    near: Array = (1.0 + _ROOT_5 * distances + 5.0 / 3.0 * distances**2) * np.exp(-_ROOT_5 * distances)
    return near
