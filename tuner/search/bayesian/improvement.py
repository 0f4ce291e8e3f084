"""By how much a config is expected to improve the front: what makes it worth measuring.

The front itself is only known through noise, so it is drawn from what is believed, several times, and each draw asks
what a config would add to *its* front. A config like one that was measured already adds nothing to it: what the two
have in common is drawn along.

Source: Daulton, Balandat and Bakshy (2021), Parallel Bayesian Optimization of Multiple Noisy Objectives with Expected
Hypervolume Improvement; for one draw and two objectives, the exact formula by strips, as in Emmerich et al. (2011).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from tuner.search.bayesian.gaussian_process import GaussianProcess
from tuner.search.bayesian.solving import Array, normal_below, root_of, solved, whitened

_JITTER_RATIO: Final = 1e-5
"""Of the prior variance: what differs by less is the same to a draw. 0.2 % or so; with more, gains of 1 % are lost."""
_LEAST_SD: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Draws:
    """One objective, drawn several times at the configs that were measured or are under way.

    Attributes:
        process: What is believed.
        support: Features of those configs, shape (support, features).
        values: Shape (support, draws).
        root: Lower Cholesky factor of the prior covariance at the support.
        weights: Its inverse times the values, less the mean; shape (support, draws).
    """

    process: GaussianProcess
    support: Array
    values: Array
    root: Array
    weights: Array

    @classmethod
    def of(cls, process: GaussianProcess, support: Array, count: int, rng: np.random.Generator) -> Self:
        """Draw at `support`, `count` times."""
        jitter = np.eye(len(support)) * (_JITTER_RATIO * process.prior_variance)
        mean, covariance = process.believed_together(support)
        chance = rng.standard_normal((len(support), count))
        values = mean[:, None] + root_of(covariance + jitter) @ chance
        root = root_of(process.covariance(support, support) + jitter)
        return cls(process, support, values, root, solved(root, values - process.mean))

    def elsewhere(self, points: Array) -> tuple[Array, Array]:
        """Given each draw, mean at other points, shape (points, draws), and standard deviation, shape (points,)."""
        cross = self.process.covariance(points, self.support)
        seen = whitened(self.root, cross.T)
        variance = self.process.prior_variance - (seen**2).sum(axis=0)
        return self.process.mean + cross @ self.weights, np.sqrt(np.maximum(variance, _LEAST_SD**2))


class Improvement:
    """The expected improvement of a front, over a reference point that nobody wants to fall behind.

    Args:
        draws: One per objective; more is better.
        usable: Which of the support may be on the front, shape (support,).
        reference: One value per objective.
        rng: For three objectives and more.
    """

    def __init__(self, draws: Sequence[Draws], usable: Array, reference: Array, rng: np.random.Generator) -> None:
        self._draws, self._reference = draws, reference
        self._count = draws[0].values.shape[1]
        known = np.stack([each.values[usable.astype(bool)] for each in draws], axis=2)
        self._fronts = [known[:, draw, :] for draw in range(self._count)]
        self._weights = np.abs(rng.standard_normal((self._count, len(draws)))) + _LEAST_SD
        self._chances = rng.standard_normal((self._count, len(draws)))

    def of(self, points: Array) -> Array:
        """Of each point, shape (points,); features as in the draws."""
        believed = [each.elsewhere(points) for each in self._draws]
        means = np.stack([mean for mean, _ in believed], axis=2)
        sds = np.stack([sd for _, sd in believed], axis=1)
        added = np.zeros(len(points))
        for draw, front in enumerate(self._fronts):
            if means.shape[2] <= 2:
                added += _by_strips(means[:, draw, :], sds, front, self._reference)
            else:
                added += self._by_scalars(means[:, draw, :], sds, front, draw)
        return np.asarray(added / self._count)

    def _by_scalars(self, means: Array, sds: Array, front: Array, draw: int) -> Array:
        """One draw's share for three objectives and more, in one random direction.

        Source: Golovin and Zhang (2020), Random Hypervolume Scalarizations: the mean over directions is the volume.
        """
        weights = self._weights[draw] / np.linalg.norm(self._weights[draw])

        def length(values: Array) -> Array:
            reach: Array = np.maximum(((values - self._reference) / weights).min(axis=1), 0.0)
            return np.asarray(reach ** values.shape[1])

        best = float(length(front).max(initial=0.0))
        return np.asarray(np.maximum(length(means + sds * self._chances[draw]) - best, 0.0))


def _by_strips(means: Array, sds: Array, front: Array, reference: Array) -> Array:
    """Expected growth of the area under a front, exact for independent normal values; shape (points,).

    Between the first values of two neighbours on the front, what is new lies above the second value of the right one.
    With one objective, the second is a constant.
    """
    lefts, heights = _strips(front, reference)
    over = _surpassing(lefts[:, None], means[:, 0], sds[:, 0])
    widths = over - np.concatenate([over[1:], np.zeros((1, len(means)))])
    if means.shape[1] == 1:
        return np.asarray(widths[-1])
    return np.asarray((widths * _surpassing(heights[:, None], means[:, 1], sds[:, 1])).sum(axis=0))


def _strips(front: Array, reference: Array) -> tuple[Array, Array]:
    """Left edges of the strips, ascending, and the height of the front in each."""
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
    """Expected excess of a normal number over a limit, 0 where it stays below."""
    away = (mean - limit) / sd
    density = np.exp(-0.5 * away**2) / math.sqrt(2 * math.pi)
    return np.asarray(sd * (density + away * normal_below(away)))
