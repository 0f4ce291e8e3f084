"""Gaussian processes: what they predict near values and far away from them, and that noise does not mislead them."""

import math

import numpy as np
import pytest

from tuner.regression.gaussian_process import GaussianProcess, Prior
from tuner.regression.solving import Array


def prior(axes: int = 1, *, mean: float = 0.0, length: float = 0.5) -> Prior:
    return Prior(mean, 0.5, 1.0, 0.5, np.full(axes, length), 1.0, 0.1)


def fitted(points: Array, values: Array, noise_sd: float = 1e-3, *, mean: float = 0.0) -> GaussianProcess:
    axes = points.shape[1]
    return GaussianProcess.fitted(
        points, np.arange(axes), values, np.full(len(values), noise_sd), prior(axes, mean=mean)
    )


def test_a_process_is_certain_at_its_values_and_uncertain_far_away() -> None:
    points = np.linspace(0, 1, 6)[:, None]
    process = fitted(points, np.sin(3 * points[:, 0]), mean=0.5)
    mean, sd = process.posterior(points)
    assert mean == pytest.approx(np.sin(3 * points[:, 0]), abs=0.01)
    assert sd.max() < 0.01
    (between,), (near_sd,) = process.posterior(np.array([[0.5]]))
    assert between == pytest.approx(math.sin(1.5), abs=0.02)
    _, (far_sd,) = process.posterior(np.array([[30.0]]))
    assert far_sd > 10 * near_sd


def test_a_process_does_not_follow_the_noise() -> None:
    chance = np.random.default_rng(0)
    points = chance.random((60, 1))
    values = 2 * points[:, 0] + chance.normal(size=60) * 0.3
    mean, sd = fitted(points, values, noise_sd=0.3).posterior(np.array([[0.25], [0.75]]))
    assert mean == pytest.approx([0.5, 1.5], abs=0.25)
    assert sd.max() < 0.25


def test_an_axis_that_does_not_matter_is_given_a_long_length() -> None:
    points = np.random.default_rng(1).random((30, 3))
    process = fitted(points, np.sin(5 * points[:, 1]))
    assert min(process.lengths[0], process.lengths[2]) > 2 * process.lengths[1]


def test_without_values_a_process_predicts_its_prior() -> None:
    empty = fitted(np.zeros((0, 2)), np.zeros(0), mean=3.0)
    mean, sd = empty.posterior(np.array([[0.5, 0.5]]))
    assert (mean[0], sd[0]) == pytest.approx((3.0, math.sqrt(1.25)))


def test_the_leave_one_out_density_is_that_of_processes_fitted_without_each_value() -> None:
    points = np.array([[0.0], [0.2], [0.5], [0.9]])
    process = fitted(points, np.array([0.1, 0.4, -0.2, 0.3]), noise_sd=0.1)
    covariance, left_over = process.root @ process.root.T, process.root @ (process.root.T @ process.weights)
    total = 0.0
    for index in range(len(points)):
        others = np.arange(len(points)) != index
        pull = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, index])
        variance = covariance[index, index] - covariance[index, others] @ pull
        off = left_over[index] - pull @ left_over[others]
        total -= 0.5 * (math.log(2 * math.pi * variance) + off**2 / variance)
    assert process.leave_one_out_log_density() == pytest.approx(total)
    assert fitted(np.zeros((0, 1)), np.zeros(0)).leave_one_out_log_density() == 0.0


def test_an_error_that_the_values_show_is_learnt() -> None:
    """The first values are measured where the error is 0, so they say nothing about it."""
    at, far = np.linspace(0.0, 1.0, 9), np.array([[9.0, 1.0, 2.0]])
    prior = Prior(0.0, 0.1, 0.05, 0.7, np.array([0.7]), 1.2, 0.3, trend=1, trend_spread=0.1, errors=[2])

    def fitted(error: Array) -> GaussianProcess:
        points = np.stack([at, at, error], axis=1)
        return GaussianProcess.fitted(points, np.array([0]), at + 0.5 * error, np.full(9, 0.01), prior)

    (unknown,), (unknown_sd,) = fitted(np.zeros(9)).posterior(far)
    (shown,), (shown_sd,) = fitted(np.array([0.0, 1.0] * 4 + [0.0])).posterior(far)
    assert unknown == pytest.approx(1.0, abs=0.2)
    assert unknown_sd > 1.5
    assert shown == pytest.approx(2.0, abs=0.3)
    assert shown_sd < 0.4


def process_with_trend(slope: float) -> GaussianProcess:
    """A process that expects a trend of x, fitted to values of `slope * x` at points from 0 to 1."""
    at = np.linspace(0.0, 1.0, 9)
    points = np.stack([at, at], axis=1)
    prior = Prior(0.0, 0.1, 0.2, 0.7, np.array([0.7]), 1.2, 0.3, trend=1, trend_spread=0.3)
    return GaussianProcess.fitted(points, np.array([0]), slope * at, np.full(9, 0.01), prior)


def test_a_process_predicts_its_trend_where_nothing_was_measured() -> None:
    far = np.array([[9.0, 3.0]])
    assert process_with_trend(1.0).posterior(far)[0] == pytest.approx(3.0, abs=0.4)


def test_values_that_contradict_the_trend_lower_its_factor() -> None:
    far = np.array([[9.0, 3.0]])
    agreed, _ = process_with_trend(1.0).posterior(far)
    contradicted, _ = process_with_trend(0.0).posterior(far)
    assert contradicted[0] < 0.75 * agreed[0]


def test_a_process_without_a_trend_returns_to_its_mean() -> None:
    at = np.linspace(0.0, 1.0, 9)[:, None]
    prior = Prior(0.5, 0.01, 0.2, 0.7, np.array([0.3]), 0.1, 0.3)
    process = GaussianProcess.fitted(at, np.array([0]), 0.5 + 0.2 * at[:, 0], np.full(9, 0.01), prior)
    assert process.posterior(np.array([[30.0]]))[0] == pytest.approx(0.5, abs=0.05)
