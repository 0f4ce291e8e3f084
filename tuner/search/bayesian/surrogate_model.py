"""The surrogate model: predicts the objectives and constraints of configs from the observations so far."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tuner.regression.gaussian_process import GaussianProcess, Prior
from tuner.regression.solving import Array, normal_cdf
from tuner.search.bayesian.axes import Space, features_of
from tuner.search.bayesian.improvement import Draws, Improvement
from tuner.search.bayesian.observations import Observations

AMPLITUDE: Final = 0.2
"""How much an objective is assumed to differ between configs: the standard deviation of its logarithm."""
_AMPLITUDE_SPREAD: Final = 0.7
"""How uncertain `AMPLITUDE` is, as a standard deviation of its logarithm.

One objective may differ by 5 % between good configs, and another objective by a factor of 2; the data show which.
"""
_RESIDUAL: Final = 0.1
"""How far an objective may differ from the expected gains: a standard deviation of its logarithm.

It replaces `AMPLITUDE` if gains are expected. With the value of `AMPLITUDE`, searches measured many configs that the
model rates as bad.
"""
_RESIDUAL_SPREAD: Final = 1.0
"""How uncertain `_RESIDUAL` is, as a standard deviation of its logarithm."""
_NEGLIGIBLE: Final = 0.02
"""The weight below which a prediction is left out, to save time."""
_DRAWS: Final = 8
"""How often the values of the measured configs are drawn, to compute the expected improvement."""
_SOFTENED: Final = 0.05
"""The distance below the reference from which values are compressed noticeably, as a difference of logarithms.

Values far below the reference are moved closer to it. Otherwise very bad configs would dominate the fit, although they
say little about where the good configs are.
"""
_MISS_NOISE: Final = 0.2
"""The assumed standard deviation of how far a config misses a constraint."""
_LENGTH: Final = 0.7
"""The distance on an axis over which an objective is assumed to change: the prior of the kernel's length scale."""
_LENGTH_SPREAD: Final = 1.2
"""How uncertain `_LENGTH` is, as a standard deviation of its logarithm."""
_TREND_SPREAD: Final = 0.3
"""How far the gains that are expected before the first trial may be wrong as a whole, as a share of their logarithm."""
_ASSUMED_WEIGHT: Final = 2
"""Weight of the assumed noise, in degrees of freedom.

The more configs are measured repeatedly, the more the noise estimated from them outweighs the assumed noise.
"""


@dataclass(frozen=True, slots=True)
class SurrogateModel:
    """Predicts objectives and constraints for all configs of a space, given the configs that were measured.

    Attributes:
        space: The parameters.
        observations: The configs that were measured, with the values of the Optuna study. The signs of the values are
            such that more is better.
        pending: The coordinates of the configs that are being measured now, each of shape (axes,).
        reference: The value of each objective that an improvement has to surpass, usually the baseline's.
        factors: The factor by which the values of each objective are multiplied, so that they get a standard deviation
            of `AMPLITUDE`.
        noise_sd: The assumed standard deviation of the noise, after multiplying by `factors`. The more configs
            are measured repeatedly, the less this assumption counts.
        gains: Takes the coordinates of configs, shape (configs, axes), and predicts their gains over the
            reference, as `expected` of `BayesianSampler` describes. None for no predictions.
    """

    space: Space
    observations: Observations
    pending: Sequence[Array]
    reference: Array
    factors: Array
    noise_sd: float
    gains: Callable[[Array], Array] | None

    def acquisition(self, rng: np.random.Generator) -> Callable[[Array], Array]:
        """Return a function that rates configs: the higher the number, the more a measurement is expected to bring.

        The number is the expected improvement of the Pareto front, times the probability that the config meets all
        constraints. The function takes the coordinates of configs, shape (configs, axes), and returns one number per
        config.

        Expected gains may be wrong, so each objective is predicted both with and without them. The two predictions are
        weighted by how well each of them predicts the measured values in leave-one-out cross-validation. Each objective
        has its own weights, because the expected gains of one objective may be right and those of another wrong.

        Args:
            rng: The source of randomness.
        """
        seen, pending = self.observations, [*self.pending]
        rows = seen.rows()
        support = self._points(np.concatenate([rows, np.stack(pending)]) if pending else rows)
        measured = support[: len(seen)]
        expectations = [False] if self.gains is None else [True, False]
        choices = [
            _weighted([self._objective(index, measured, expects) for expects in expectations])
            for index in range(len(self.reference))
        ]
        usable = np.concatenate([seen.feasible(), np.full(len(pending), True)])
        improvements = []
        for chosen in product(*choices):
            draws = [Draws.of(process, support, _DRAWS, rng) for _, process in chosen]
            weight = math.prod(weight for weight, _ in chosen)
            improvements.append((weight, Improvement(draws, usable, self.reference * self.factors, rng)))
        constraints = [self._constraint(name, measured) for name in seen.missed_constraints()]

        def acquisition(wanted: Array) -> Array:
            # Many candidates are equal, above all if most parameters have few values. Their bytes are compared, because
            # NaN, which stands for a parameter that is not in use, does not equal itself.
            keys = np.ascontiguousarray(wanted).view(f"V{wanted.shape[1] * wanted.itemsize}").ravel()
            _, first, which = np.unique(keys, return_index=True, return_inverse=True)
            points = self._points(wanted[first])
            expected = sum(weight * improvement.of(points) for weight, improvement in improvements)
            for process in constraints:
                mean, sd = process.posterior(points)
                expected = expected * normal_cdf(-mean / sd)
            return np.asarray(expected)[which]

        return acquisition

    def _objective(self, index: int, measured: Array, expects_gains: bool) -> GaussianProcess:
        """Return a Gaussian process, fitted to the observations, that predicts one objective.

        Args:
            index: The index of the objective.
            measured: The points of the measured configs, shape (configs, columns).
            expects_gains: Whether the expected gains are the trend of the process.
        """
        factor = float(self.factors[index])
        reference = float(self.reference[index]) * factor
        counts = np.array([len(each.values[index]) for each in self.observations])
        known = counts > 0
        values = self.observations.means()[known, index] * factor
        softened = reference + _softened(values - reference)
        noise_sd = self._noise_sd(index) / np.sqrt(counts[known])
        prior = Prior(
            mean=reference,
            mean_sd=0.5,
            amplitude=AMPLITUDE,
            amplitude_spread=_AMPLITUDE_SPREAD,
            lengths=np.full(len(self.space.axes), _LENGTH),
            length_spread=_LENGTH_SPREAD,
            noise_spread=0.3,
        )
        if expects_gains:
            trend, *errors = range(len(self._groups) + index, measured.shape[1], len(self.reference))
            prior = replace(
                prior,
                amplitude=_RESIDUAL,
                amplitude_spread=_RESIDUAL_SPREAD,
                trend=trend,
                trend_spread=_TREND_SPREAD,
                errors=errors,
            )
        return GaussianProcess.fitted(measured[known], self._groups, softened, noise_sd, prior)

    def _constraint(self, name: str, measured: Array) -> GaussianProcess:
        """Return a Gaussian process, fitted to the observations, that predicts how far configs miss a constraint.

        Args:
            name: The name of the constraint.
            measured: The points of the measured configs, shape (configs, columns).
        """
        judged = np.array([name in each.misses for each in self.observations])
        values = np.array([np.mean(each.misses[name]) for each in self.observations if name in each.misses])
        prior = Prior(
            mean=-0.5,
            mean_sd=0.5,
            amplitude=1.0,
            amplitude_spread=0.3,
            lengths=np.full(len(self.space.axes), _LENGTH),
            length_spread=0.8,
            noise_spread=0.3,
        )
        return GaussianProcess.fitted(measured[judged], self._groups, values, np.full(len(values), _MISS_NOISE), prior)

    @property
    def _groups(self) -> NDArray[np.int64]:
        """The index of the axis that each feature belongs to, shape (features,)."""
        return np.repeat(np.arange(len(self.space.axes)), [axis.feature_count for axis in self.space.axes])

    def _noise_sd(self, index: int) -> float:
        """Return the standard deviation of the noise in a single measured value of an objective.

        It is estimated from all configs that were measured repeatedly, and from the assumed noise.
        """
        squares, freedom = self.noise_sd**2 * _ASSUMED_WEIGHT, _ASSUMED_WEIGHT
        for values in self.observations.repeated(index):
            scaled = np.array(values) * self.factors[index]
            squares += float(((scaled - scaled.mean()) ** 2).sum())
            freedom += len(values) - 1
        return math.sqrt(squares / freedom)

    def _points(self, rows: Array) -> Array:
        """Return the points of the Gaussian processes for the configs whose coordinates are the `rows`.

        A point has first the features that the kernel takes, and then the expected gain in each objective (0 if it is
        unknown). Last, for each possible error of the expectation, it has the changes of these gains by the error.
        """
        features = features_of(self.space.axes, rows)
        if self.gains is None:
            return features
        likeliest, *others = _softened(np.nan_to_num(self.gains(rows) * self.factors))
        return np.concatenate([features, likeliest, *(other - likeliest for other in others)], axis=1)


def _weighted(processes: Sequence[GaussianProcess]) -> list[tuple[float, GaussianProcess]]:
    """Return the weight of each prediction of an objective. Predictions with a negligible weight are left out."""
    densities = np.array([each.leave_one_out_log_density() for each in processes])
    weights = np.exp(densities - densities.max())
    weights /= weights.sum()
    return [(float(weight), each) for weight, each in zip(weights, processes, strict=True) if weight > _NEGLIGIBLE]


def _softened(gains: Array) -> Array:
    """Return gains over the reference. Those far below 0 are moved closer to 0."""
    behind = np.maximum(-gains, 0.0)
    return np.asarray(np.maximum(gains, 0.0) - _SOFTENED * np.log1p(behind / _SOFTENED))
