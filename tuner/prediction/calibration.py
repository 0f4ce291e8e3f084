"""Fits the constants of the performance model to measurements, and says how uncertain they are.

The logarithms of the constants are fitted by least squares. The fit begins with the constants of a host that is as
similar as possible, and their prior (`fitted_constants.py`) counts as one more measurement of each constant. So a dozen
measurements are enough. A constant that they say nothing about keeps its value and its uncertainty.

A measurement that a stall has spoilt must not distort the fit. So values far from the model count by their distance
instead of its square (the "soft L1" loss). Source: Triggs et al. (2000), Bundle Adjustment, section 3.3, as in
`scipy.optimize.least_squares`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, log, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runners.performance_model.constants import EMBEDDED, ClusterConstants
from runners.performance_model.performance import all_performances, performance_columns
from runners.performance_model.settings import Settings
from runners.workload import Workload
from tuner.prediction.correction import (
    Correction,
    corrections,
    limit_outliers,
    logs_above_model,
    modelled_for,
    noise_ratio,
    unsteadiness,
)
from tuner.prediction.fitted_constants import (
    PRIOR_SD_LOG,
    STEP,
    prior_covariance,
    raised_in_turn,
    with_shifted_logs,
)
from tuner.prediction.observations import Observation
from tuner.prediction.predicted_metrics import ALL_LATENCIES, FACTORED, FITTED

_MOST_EVALUATIONS: Final = 60
"""After how many evaluations of the model a fit ends at the latest."""
_FULL_LEVERAGE: Final = 0.9
"""The greatest leverage of a value: how much the fit follows this single value, from 0 to 1."""


@dataclass(frozen=True)
class Calibration:
    """The constants of the performance model, fitted to measurements.

    Attributes:
        constants: The fitted constants.
        covariance: Covariance of the logarithms of the fitted constants, in the order of `PRIOR_SD_LOG`, shape
            (constants, constants).
        scatter: For each metric, the standard deviation of a measurement's logarithm around the model.
        observations: The measurements to which the constants were fitted.
        factors: For each measured metric of `FACTORED`, the factor by which the model's value is multiplied.
    """

    constants: ClusterConstants
    covariance: NDArray[np.float64]
    scatter: Mapping[str, float]
    observations: tuple[Observation, ...]
    factors: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def corrections(self) -> Mapping[str, Correction]:
        """The correction of the model with these constants, by metric."""
        return corrections(self.observations, self.constants)

    @cached_property
    def perturbed(self) -> tuple[ClusterConstants, ...]:
        """The constants once for each fitted one, with that one raised, as `raised_in_turn` returns them."""
        return tuple(raised_in_turn(self.constants))

    @property
    def undetermined(self) -> tuple[str, ...]:
        """The constants that the measurements say little about: more than half of their uncertainty is left."""
        spreads = np.sqrt(np.diag(self.covariance))
        return tuple(
            name for (name, prior_sd), sd in zip(PRIOR_SD_LOG.items(), spreads, strict=True) if sd > prior_sd / 2
        )


def uncalibrated(start: ClusterConstants) -> Calibration:
    """Return a calibration without measurements: the constants of a host, with the uncertainty of the prior."""
    scatter = {name: each.model_sd_log for name, each in FITTED.items()}
    return Calibration(start, prior_covariance(), scatter, ())


def calibrate(observations: Sequence[Observation], start: ClusterConstants = EMBEDDED) -> Calibration:
    """Fit the constants of the performance model to measurements.

    Args:
        observations: The measurements; at least one.
        start: The constants of a host that is as similar as possible.
    """
    data = _MeasuredValues.of(observations, start)
    constants = _fitted(data, start)
    base, *beside = data.deviations([constants, *raised_in_turn(constants)])
    jacobian = np.column_stack([(raised - base) / STEP for raised in beside])
    covariance: NDArray[np.float64] = np.linalg.inv(jacobian.T @ jacobian + np.linalg.inv(prior_covariance())).astype(
        np.float64
    )
    # The fit comes closer to the values than it would to new ones, and closest to values with a high leverage. So the
    # deviations are enlarged to what they would be from new values (studentised residuals).
    leverage = np.clip(np.einsum("ij,jk,ik->i", jacobian, covariance, jacobian), 0.0, _FULL_LEVERAGE)
    enlarged = base / np.sqrt(1.0 - leverage)
    scatter = {name: data.noise[name] * _robust_sd(enlarged[data.metrics == name]) for name in data.noise}
    widening = max(1.0, _robust_sd(enlarged) ** 2)
    factors, scatter_of_factors = _factors(observations, constants)
    scatter |= scatter_of_factors
    return Calibration(constants, covariance * widening, scatter, tuple(observations), factors)


def _fitted(data: "_MeasuredValues", start: ClusterConstants) -> ClusterConstants:
    """Return the constants with which the model is closest to the measured values and to the prior around `start`."""
    prior = prior_covariance()
    # Deviations from the prior, in independent parts of standard deviation 1 each.
    parts = np.linalg.inv(np.linalg.cholesky(prior))
    steps = STEP * np.eye(len(prior))

    def residuals_of_all(logs: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.hstack(
            [_softened(data.deviations([with_shifted_logs(start, each) for each in logs])), logs @ parts.T]
        )

    def residuals(logs: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(residuals_of_all(logs[None, :])[0])

    def slopes(logs: NDArray[np.float64]) -> NDArray[np.float64]:
        base, *beside = residuals_of_all(logs + np.vstack([np.zeros(len(prior)), steps]))
        return np.column_stack([(raised - base) / STEP for raised in beside])

    # Imported here, because it takes a sixth of a second, and every search imports this module.
    from scipy.optimize import least_squares

    # mypy takes the function for the module of the same name.
    fit = least_squares(  # type: ignore[operator,unused-ignore]
        residuals, np.zeros(len(prior)), jac=slopes, max_nfev=_MOST_EVALUATIONS, xtol=1e-4, ftol=1e-4
    )
    return with_shifted_logs(start, fit.x)


def _factors(
    observations: Sequence[Observation], constants: ClusterConstants
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the factor of each measured metric of `FACTORED`, and how much measurements scatter around it."""
    corrected: Mapping[str, Correction] = {}
    factors, scatter = {}, {}
    for name, usual in FACTORED.items():
        if seen := [each for each in observations if name in each.values]:
            if name in ALL_LATENCIES:
                corrected = corrected or corrections(observations, constants)
            logs = logs_above_model(name, seen, modelled_for(name, seen, constants, corrected))
            middle = float(np.median(logs))
            factors[name] = exp(middle)
            scatter[name] = usual * _robust_sd((logs - middle) / usual)
            if name in ALL_LATENCIES:
                # They may have been measured at low rates, at which they scatter less.
                scatter[name] = max(usual, scatter[name])
    return factors, scatter


@dataclass(frozen=True)
class _MeasuredValues:
    """The measured values to which the model is fitted, and the model's deviations from them.

    Attributes:
        loads: The settings and the load of each observation.
        observation_indices: For each value, the number of its observation, shape (values,).
        metrics: For each value, the name of its metric, shape (values,).
        logs: The logarithms of the values, shape (values,).
        noise: The expected scatter of each metric that has values.
        expected: The expected scatter of each value, shape (values,). It is larger for an unsteady median latency
            (`correction.unsteadiness`), so that one in its second state hardly bends the constants.
    """

    loads: tuple[tuple[Settings, Workload], ...]
    observation_indices: NDArray[np.int64]
    metrics: NDArray[np.str_]
    logs: NDArray[np.float64]
    noise: Mapping[str, float]
    expected: NDArray[np.float64]

    @classmethod
    def of(cls, observations: Sequence[Observation], start: ClusterConstants) -> "_MeasuredValues":
        loads = tuple((each.settings, each.workload) for each in observations)
        [modelled] = all_performances([start], loads)
        values = [
            (index, name, log(value), noise_ratio(unsteadiness(name, each.settings, modelled[index])))
            for index, each in enumerate(observations)
            for name, value in each.values.items()
            if name in FITTED
        ]
        observation_indices, metrics, logs, noise_ratios = zip(*values, strict=True)
        noise = {name: FITTED[name].model_sd_log for name in dict.fromkeys(metrics)}
        expected = np.array([noise[name] for name in metrics]) * noise_ratios
        return cls(loads, np.array(observation_indices), np.array(metrics), np.array(logs), noise, expected)

    def deviations(self, constants: Sequence[ClusterConstants]) -> NDArray[np.float64]:
        """Compute the model with each of the constants, and compare it with the measured values.

        Returns:
            How far the model is above each value, in expected standard deviations, shape (constants, values).
        """
        modelled = performance_columns(constants, self.loads)
        values = zip(self.observation_indices, self.metrics, strict=True)
        columns = np.array([modelled[name][:, index] for index, name in values]).T.tolist()
        # numpy's logarithm differs in the last digits between processors, which is enough to change a proposal.
        model = [[log(each) for each in row] for row in columns]
        found: NDArray[np.float64] = (np.array(model) - self.logs) / self.expected
        return found


def _softened(deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return deviations whose squares are the soft L1 loss of the given ones."""
    softened: NDArray[np.float64] = np.sign(deviations) * np.sqrt(2.0 * (np.sqrt(1.0 + deviations**2) - 1.0))
    return softened


def _robust_sd(deviations: NDArray[np.float64]) -> float:
    """Return the root mean square of the deviations, after outliers are limited.

    One deviation of the expected size, 1.0, is added. It matters only if there are few others.
    """
    near = limit_outliers(deviations, 1e-3)
    return sqrt((1.0 + float(near @ near)) / (1 + len(near)))
