"""What is believed of objectives and constraints after some observations."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tuner.search.bayesian.axes import Space, features_of
from tuner.search.bayesian.gaussian_process import GaussianProcess, Prior
from tuner.search.bayesian.improvement import Draws, Improvement
from tuner.search.bayesian.observations import Observations
from tuner.search.bayesian.solving import Array, normal_below

AMPLITUDE: Final = 0.2
"""By how much the logarithm of an objective differs between configs: a standard deviation."""
_AMPLITUDE_SPREAD: Final = 0.7
"""One objective may differ by 5 % between good configs where another differs by a factor: data say which it is."""
_DRAWS: Final = 8
_SOFTENED: Final = 0.05
"""What is worse than the reference by far is just bad: how bad teaches little of where the good ones are."""
_MISS_NOISE: Final = 0.2
_LENGTH: Final = 0.7
_LENGTH_SPREAD: Final = 1.2
_ASSUMED_WEIGHT: Final = 2
"""In degrees of freedom: what is assumed of the noise fades as repeats come in."""


@dataclass(frozen=True, slots=True)
class Belief:
    """What is believed.

    Attributes:
        space: The parameters.
        observations: What was measured; values as they are in the study, more is better.
        pending: Rows of the configs that are being measured, shape (pending, axes).
        reference: What nobody wants to fall behind, one value per objective.
        factors: By what values are multiplied, per objective, so that they differ by `AMPLITUDE`.
        noise_sd: Assumed of such values until there are repeats.
    """

    space: Space
    observations: Observations
    pending: Sequence[Array]
    reference: Array
    factors: Array
    noise_sd: float

    def worth(self, rng: np.random.Generator) -> Callable[[Array], Array]:
        """What says of rows how much their configs are worth measuring: the expected improvement of the front."""
        seen, pending = self.observations, [*self.pending]
        rows = seen.rows()
        support = self._features(np.concatenate([rows, np.stack(pending)]) if pending else rows)
        usable = np.concatenate([seen.feasible(), np.full(len(pending), True)])
        draws = [Draws.of(self._objective(index), support, _DRAWS, rng) for index in range(len(self.reference))]
        improvement = Improvement(draws, usable, self.reference * self.factors, rng)
        constraints = [self._constraint(name) for name in seen.missed_constraints()]

        def worth(wanted: Array) -> Array:
            points = self._features(wanted)
            expected = improvement.of(points)
            for process in constraints:
                mean, sd = process.believed(points)
                expected = expected * normal_below(-mean / sd)
            return expected

        return worth

    def _objective(self, index: int) -> GaussianProcess:
        factor = float(self.factors[index])
        reference = float(self.reference[index]) * factor
        told = [(each.row, each.mean(index) * factor, len(each.values[index])) for each in self.observations]
        told = [(row, mean, count) for row, mean, count in told if count]
        values = np.array([mean for _, mean, _ in told])
        behind = np.maximum(reference - values, 0.0)
        softened = np.maximum(values, reference) - _SOFTENED * np.log1p(behind / _SOFTENED)
        noise_sd = self._noise_sd(index) / np.sqrt([count for _, _, count in told])
        lengths = np.full(len(self.space.axes), _LENGTH)
        prior = Prior(reference, 0.5, AMPLITUDE, _AMPLITUDE_SPREAD, lengths, _LENGTH_SPREAD, 0.3)
        return self._fitted([row for row, _, _ in told], softened, noise_sd, prior)

    def _constraint(self, name: str) -> GaussianProcess:
        """What is believed of how a constraint is missed."""
        told = [(each.row, each.misses[name]) for each in self.observations if name in each.misses]
        values = np.array([float(np.mean(misses)) for _, misses in told])
        prior = Prior(-0.5, 0.5, 1.0, 0.3, np.full(len(self.space.axes), _LENGTH), 0.8, 0.3)
        return self._fitted([row for row, _ in told], values, np.full(len(told), _MISS_NOISE), prior)

    def _fitted(self, rows: list[Array], values: Array, noise_sd: Array, prior: Prior) -> GaussianProcess:
        axes = self.space.axes
        groups = np.repeat(np.arange(len(axes)), [axis.features for axis in axes])
        points = self._features(np.stack(rows)) if rows else np.zeros((0, len(groups)))
        return GaussianProcess.fitted(points, groups, values, noise_sd, prior)

    def _noise_sd(self, index: int) -> float:
        """Standard deviation of a single value, pooled over all configs that were measured more than once."""
        squares, freedom = self.noise_sd**2 * _ASSUMED_WEIGHT, _ASSUMED_WEIGHT
        for values in self.observations.repeated(index):
            scaled = np.array(values) * self.factors[index]
            squares += float(((scaled - scaled.mean()) ** 2).sum())
            freedom += len(values) - 1
        return math.sqrt(squares / freedom)

    def _features(self, rows: Array) -> Array:
        return features_of(self.space.axes, rows)
