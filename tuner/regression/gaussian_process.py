"""A Gaussian process, which predicts a number everywhere in a space from noisy values at some points.

The kernel is Matern 5/2, with a length scale for each parameter. The length scales, the amplitude and the noise are
chosen to maximise their posterior density.

The expected value before any measurement is a constant. A trend may be added to it: the predictions of another model.
The trend is multiplied by an unknown factor near 1. If measurements contradict the trend, they lower the factor. The
caller may also give possible errors of the trend: functions that are added to the trend, each multiplied by an unknown
factor near 0. The process learns these factors, and the remaining differences.

Source: Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, chapters 2 (2.7 for the trend) and 5.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from tuner.regression.solving import Array, argmin, cholesky_factor, inverse_and_log_root, solve, whiten

_ROOT_5: Final = math.sqrt(5.0)
_JITTER: Final = 1e-8
_MANY: Final = 60
_STEPS, _STEPS_OF_MANY = 25, 12
"""The maximum number of steps of the fit: for up to `_MANY` values, and for more values.

The time of a step grows with the cube of the number of values, and with many values fewer steps are enough.
"""
_FARTHEST: Final = 3.0
"""How far a hyperparameter may move from the mean of its prior, in standard deviations of the prior."""


@dataclass(frozen=True, slots=True)
class Prior:
    """The assumptions of a Gaussian process before it has any values.

    Each attribute called `..._spread` is the standard deviation of a logarithm.

    Attributes:
        mean: The expected value, the same everywhere in the space.
        mean_sd: The standard deviation of the overall level around that mean.
        amplitude: The standard deviation of the values between different points of the space.
        amplitude_spread: The uncertainty of the amplitude.
        lengths: The length scale of each parameter, shape (axes,). It is the distance over which the value changes
            noticeably.
        length_spread: The uncertainty of each length scale.
        noise_spread: The uncertainty of the noise that comes with the values.
        trend: The index of the column of the points that contains the trend; None without a trend.
        trend_spread: The standard deviation of the factor of the trend, whose expected value is 1.
        errors: The indices of the columns of the points that contain possible errors of the trend. The factor of each
            error has the expected value 0 and the standard deviation 1.
    """

    mean: float
    mean_sd: float
    amplitude: float
    amplitude_spread: float
    lengths: Array
    length_spread: float
    noise_spread: float
    trend: int | None = None
    trend_spread: float = 0.0
    errors: Sequence[int] = ()

    def trend_at(self, points: Array) -> Array:
        """Return the trend at each point, shape (points,); 0 without a trend."""
        return np.zeros(len(points)) if self.trend is None else points[:, self.trend]

    def common_at(self, points: Array) -> Array:
        """Return the functions with unknown factors at each point: level, trend and errors; shape (points, functions).

        Each function is multiplied by the standard deviation of its factor.
        """
        level, trend = np.full(len(points), self.mean_sd), self.trend_spread * self.trend_at(points)
        return np.column_stack([level, trend, points[:, list(self.errors)]])


@dataclass(frozen=True, slots=True)
class GaussianProcess:
    """A Gaussian process that was fitted to some values.

    A point is a row of numbers: its features, and after them possibly further columns, one of which may have the trend.

    Attributes:
        points: The points at which the values were measured, shape (points, columns).
        lengths: The length scale of each feature, shape (features,).
        variance: The variance of the kernel.
        prior: The assumptions before the values were known.
        root: The lower Cholesky factor of the covariance of the values.
        weights: The inverse of that covariance, multiplied by the differences between the values and their expectation.
        noise_ratio: The noise divided by the assumed noise.
    """

    points: Array
    lengths: Array
    variance: float
    prior: Prior
    root: Array
    weights: Array
    noise_ratio: float

    @classmethod
    def fitted(cls, points: Array, groups: NDArray[np.int64], values: Array, noise_sd: Array, prior: Prior) -> Self:
        """Fit a Gaussian process to values.

        Args:
            points: The points at which the values were measured, shape (points, columns).
            groups: The index of the axis that each feature belongs to, shape (features,).
            values: The values, shape (points,).
            noise_sd: The standard deviation of the noise of each value, shape (points,).
            prior: The assumptions before the values are known.
        """
        posterior = _Posterior(points, groups, values, noise_sd, prior)
        best = posterior.best()
        kernel, _ = posterior.kernel(best)
        kernel += posterior.common
        noisy = kernel + np.diag(posterior.noise(best) + _JITTER)
        root = cholesky_factor(noisy)
        lengths = np.exp(best[:-2])[groups]
        left_over = values - prior.mean - prior.trend_at(points)
        return cls(points, lengths, math.exp(2 * best[-2]), prior, root, solve(root, left_over), math.exp(best[-1]))

    def expected(self, points: Array) -> Array:
        """Return the number that is predicted at each point before there are any values, shape (points,)."""
        return self.prior.mean + self.prior.trend_at(points)

    def prior_variance(self, points: Array) -> Array:
        """Return the variance of the number at each point before there are any values, shape (points,)."""
        variance: Array = self.variance + (self.prior.common_at(points) ** 2).sum(axis=1)
        return variance

    def covariance(self, ours: Array, theirs: Array) -> Array:
        """Return the prior covariance between two sets of points, shape (ours, theirs)."""
        features = len(self.lengths)
        first, second = ours[:, :features] / self.lengths, theirs[:, :features] / self.lengths
        squares = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1)[None, :] - 2 * first @ second.T
        common = self.prior.common_at(ours) @ self.prior.common_at(theirs).T
        return self.variance * _matern(np.sqrt(np.maximum(squares, 0.0))) + common

    def posterior(self, points: Array) -> tuple[Array, Array]:
        """Predict the number at each point.

        Returns:
            The means and the standard deviations, without the noise of a measurement; shapes (points,).
        """
        cross = self.covariance(points, self.points)
        seen = whiten(self.root, cross.T)
        variance = np.maximum(self.prior_variance(points) - (seen**2).sum(axis=0), _JITTER)
        return self.expected(points) + cross @ self.weights, np.sqrt(variance)

    def leave_one_out_log_density(self) -> float:
        """Return the leave-one-out log predictive density: the sum over the values, each predicted from the others.

        Source: Rasmussen and Williams (2006), equations 5.10 to 5.12.
        """
        halves = whiten(self.root, np.eye(len(self.weights)))
        precision = (halves**2).sum(axis=0)
        return float(0.5 * (np.log(precision / (2 * math.pi)) - self.weights**2 / precision).sum())

    def joint_posterior(self, points: Array) -> tuple[Array, Array]:
        """Predict the numbers at all points together, without the noise of a measurement.

        Returns:
            The means, shape (points,), and the covariance between the points, shape (points, points).
        """
        cross = self.covariance(points, self.points)
        seen = whiten(self.root, cross.T)
        return self.expected(points) + cross @ self.weights, self.covariance(points, points) - seen.T @ seen


class _Posterior:
    """The posterior density of the hyperparameters of a Gaussian process.

    The hyperparameters are, in this order, the logarithms of the length scales, of the amplitude, and of a factor on
    the noise.

    Attributes:
        common: The part of the prior covariance between the values that depends on no hyperparameter, shape
            (points, points). It is the covariance of the level and of the factors of the trend and its errors.
    """

    def __init__(self, points: Array, groups: NDArray[np.int64], values: Array, noise_sd: Array, prior: Prior) -> None:
        features, axes, common = points[:, : len(groups)], len(prior.lengths), prior.common_at(points)
        squares = (features[:, None, :] - features[None, :, :]) ** 2
        self._squares = np.stack([squares[:, :, groups == axis].sum(axis=2).ravel() for axis in range(axes)])
        self._values = values - prior.mean - prior.trend_at(points)
        self._noise = noise_sd**2
        self.common: Array = common @ common.T
        self._start = np.concatenate([np.log(prior.lengths), [math.log(prior.amplitude), 0.0]])
        self._spread = np.concatenate(
            [np.full(axes, prior.length_spread), [prior.amplitude_spread, prior.noise_spread]]
        )

    def best(self) -> Array:
        """Return the hyperparameters with the greatest posterior density.

        With fewer than three values to learn from, return the means of the prior.
        """
        if len(self._values) < 3:
            return self._start
        reach = _FARTHEST * self._spread
        bounds = list(zip(self._start - reach, self._start + reach, strict=True))
        steps = _STEPS if len(self._values) <= _MANY else _STEPS_OF_MANY
        return argmin(self._cost, self._start, bounds, steps)

    def noise(self, at: Array) -> Array:
        """Return the variance of the noise of each value, for the given hyperparameters."""
        found: Array = self._noise * math.exp(2 * at[-1])
        return found

    def kernel(self, at: Array) -> tuple[Array, Array]:
        """Return the kernel matrix, and the common factor of its derivatives with respect to the length scales."""
        count = len(self._values)
        distances = np.sqrt((np.exp(-2 * at[:-2]) @ self._squares).reshape(count, count))
        fading = math.exp(2 * at[-2]) * np.exp(-_ROOT_5 * distances)
        slope = 1.0 + _ROOT_5 * distances
        return (slope + 5.0 / 3.0 * distances**2) * fading, 5.0 / 3.0 * slope * fading

    def _cost(self, at: Array) -> tuple[float, Array]:
        """Return the negative logarithm of the posterior density, up to a constant, and its gradient."""
        kernel, derivative = self.kernel(at)
        noise = self.noise(at)
        noisy = kernel + self.common
        noisy.flat[:: len(noise) + 1] += noise + _JITTER
        inverse, log_root = inverse_and_log_root(noisy)
        weights = inverse @ self._values
        slack = inverse - np.outer(weights, weights)
        gradient = np.empty_like(at)
        gradient[:-2] = 0.5 * np.exp(-2 * at[:-2]) * (self._squares @ (slack * derivative).ravel())
        gradient[-2] = float((slack * kernel).sum())
        gradient[-1] = float(np.diag(slack) @ noise)
        away = (at - self._start) / self._spread
        cost = 0.5 * self._values @ weights + log_root + 0.5 * away @ away
        return float(cost), gradient + away / self._spread


def _matern(distances: Array) -> Array:
    """Return the Matern 5/2 correlation at the given distances, which are in units of the length scale."""
    near: Array = (1.0 + _ROOT_5 * distances + 5.0 / 3.0 * distances**2) * np.exp(-_ROOT_5 * distances)
    return near
