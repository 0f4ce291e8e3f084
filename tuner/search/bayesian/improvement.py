"""Expected improvement of the Pareto front, by which the next config to measure is chosen.

The front itself is uncertain, because its values are noisy. So the values of all measured configs are drawn several
times from the Gaussian processes. Each draw has its own front, and the improvement that a config brings is the mean
over all draws. A config that resembles a measured config improves none of these fronts, because each draw predicts
nearly the same values for both configs.

Source: Daulton, Balandat and Bakshy (2021), Parallel Bayesian Optimization of Multiple Noisy Objectives with Expected
Hypervolume Improvement. With two objectives, the improvement of one draw's front is computed exactly, as in Emmerich
et al. (2011), by cutting the area under the front into strips.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from tuner.regression.gaussian_process import GaussianProcess
from tuner.regression.solving import Array, cholesky_factor, normal_cdf, solve, whiten

_JITTER_RATIO: Final = 1e-5
"""The variance that is added on the diagonal for numerical stability, as a share of the prior variance.

A draw can't resolve differences smaller than this, about 0.2 %. With a larger share, gains of 1 % would be lost.
"""
_LEAST_SD: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Draws:
    """Random draws of one objective from its Gaussian process.

    Each draw has a value for every config that was measured or is being measured.

    Attributes:
        process: The Gaussian process of the objective.
        support: The measured configs and those being measured, as points of the process, shape (support, columns).
        values: The drawn values, shape (support, draws).
        root: The lower Cholesky factor of the prior covariance between the configs in `support`.
        weights: The drawn values minus the prior means, multiplied by the inverse of that covariance; shape (support,
            draws).
    """

    process: GaussianProcess
    support: Array
    values: Array
    root: Array
    weights: Array

    @classmethod
    def of(cls, process: GaussianProcess, support: Array, count: int, rng: np.random.Generator) -> Self:
        """Draw values of the objective at the configs in `support`, `count` times."""
        jitter = np.diag(_JITTER_RATIO * process.prior_variance(support))
        mean, covariance = process.joint_posterior(support)
        chance = rng.standard_normal((len(support), count))
        values = mean[:, None] + cholesky_factor(covariance + jitter) @ chance
        root = cholesky_factor(process.covariance(support, support) + jitter)
        return cls(process, support, values, root, solve(root, values - process.expected(support)[:, None]))

    def predicted(self, points: Array) -> tuple[Array, Array]:
        """Predict the objective at other points, once for each draw, as if the drawn values were the true values.

        Returns:
            The means, shape (points, draws), and the standard deviations, shape (points,).
        """
        cross = self.process.covariance(points, self.support)
        seen = whiten(self.root, cross.T)
        variance = self.process.prior_variance(points) - (seen**2).sum(axis=0)
        mean = self.process.expected(points)[:, None] + cross @ self.weights
        return mean, np.sqrt(np.maximum(variance, _LEAST_SD**2))


class Improvement:
    """Computes by how much configs are expected to improve the Pareto front.

    Args:
        draws: The drawn values of each objective; more is better.
        usable: Whether each config that has drawn values may be on the Pareto front, shape (support,).
        reference: The value of each objective that an improvement has to surpass.
        rng: The source of randomness, used with three objectives or more.
    """

    def __init__(
        self, draws: Sequence[Draws], usable: NDArray[np.bool_], reference: Array, rng: np.random.Generator
    ) -> None:
        self._draws, self._reference = draws, reference
        self._count = draws[0].values.shape[1]
        known = np.stack([each.values[usable] for each in draws], axis=2)
        self._fronts = [known[:, draw, :] for draw in range(self._count)]
        self._weights = np.abs(rng.standard_normal((self._count, len(draws)))) + _LEAST_SD
        self._chances = rng.standard_normal((self._count, len(draws)))

    def of(self, points: Array) -> Array:
        """Return the expected improvement by each config, shape (configs,).

        Args:
            points: The configs as points of the processes, shape (configs, columns).
        """
        predicted = [each.predicted(points) for each in self._draws]
        means = np.stack([mean for mean, _ in predicted], axis=2)
        sds = np.stack([sd for _, sd in predicted], axis=1)
        added = np.zeros(len(points))
        for draw, front in enumerate(self._fronts):
            if means.shape[2] <= 2:
                added += _by_strips(means[:, draw, :], sds, front, self._reference)
            else:
                added += self._by_scalars(means[:, draw, :], sds, front, draw)
        return np.asarray(added / self._count)

    def _by_scalars(self, means: Array, sds: Array, front: Array, draw: int) -> Array:
        """Return the improvement of one draw's front along one random direction, for three objectives or more.

        The mean improvement over all directions is the improvement of the hypervolume, up to a constant factor.

        Source: Golovin and Zhang (2020), Random Hypervolume Scalarizations.
        """
        weights = self._weights[draw] / np.linalg.norm(self._weights[draw])

        def length(values: Array) -> Array:
            reach: Array = np.maximum(((values - self._reference) / weights).min(axis=1), 0.0)
            return np.asarray(reach ** values.shape[1])

        best = float(length(front).max(initial=0.0))
        return np.asarray(np.maximum(length(means + sds * self._chances[draw]) - best, 0.0))


def _by_strips(means: Array, sds: Array, front: Array, reference: Array) -> Array:
    """Return by how much each config is expected to enlarge the area under a front.

    The result is exact if the values of the two objectives are independent and normally distributed. The area is cut
    into strips at the values of the first objective. Within a strip, only what lies above the front enlarges the area.
    With one objective there is one strip, and its height does not matter.

    Args:
        means: The expected values of the configs, shape (points, objectives).
        sds: The standard deviations of these values, in the same shape.
        front: The values of the configs that may be on the front, shape (configs, objectives).
        reference: The value of each objective that an improvement has to surpass.

    Returns:
        The expected growth for each config, shape (points,).
    """
    lefts, heights = _strips(front, reference)
    over = _surpassing(lefts[:, None], means[:, 0], sds[:, 0])
    widths = over - np.concatenate([over[1:], np.zeros((1, len(means)))])
    if means.shape[1] == 1:
        return np.asarray(widths[-1])
    return np.asarray((widths * _surpassing(heights[:, None], means[:, 1], sds[:, 1])).sum(axis=0))


def _strips(front: Array, reference: Array) -> tuple[Array, Array]:
    """Cut the area under a front into vertical strips.

    Returns:
        The left edges of the strips, in ascending order, and the height of the front in each strip.
    """
    if len(reference) == 1:
        return np.array([max(float(reference[0]), float(front.max(initial=-math.inf)))]), np.zeros(1)
    better = front[(front > reference).all(axis=1)]
    lefts, heights = [float(reference[0])], []
    members = []
    highest = float(reference[1])
    for first, second in better[np.lexsort((-better[:, 1], -better[:, 0]))]:
        if second > highest:
            members.append((float(first), float(second)))
            highest = float(second)
    for first, second in reversed(members):
        lefts.append(first)
        heights.append(second)
    return np.array(lefts), np.array([*heights, float(reference[1])])


def _surpassing(limit: Array, mean: Array, sd: Array) -> Array:
    """Return by how much a normally distributed number is expected to exceed a limit.

    A number below the limit exceeds the limit by 0.
    """
    away = (mean - limit) / sd
    density = np.exp(-0.5 * away**2) / math.sqrt(2 * math.pi)
    return np.asarray(sd * (density + away * normal_cdf(away)))
