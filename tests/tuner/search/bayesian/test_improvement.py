"""Expected improvement over the front."""

import numpy as np
import pytest
from numpy.typing import NDArray

from objectives.front import hypervolume
from tests.tuner.test_gaussian_process import fitted
from tuner.regression.solving import Array
from tuner.search.bayesian.improvement import Draws, Improvement

POINTS = np.array([[0.0], [0.5], [1.0]])


def improvement(
    points: Array, values: Array, usable: NDArray[np.bool_] | None = None, draws: int = 4, noise_sd: float = 1e-3
) -> Improvement:
    """Return the improvement over a front with these values, shape (points, objectives), above a reference of zeros."""
    rng = np.random.default_rng(0)
    made = [Draws.of(fitted(points, column, noise_sd), points, draws, rng) for column in values.T]
    reference = np.zeros(values.shape[1])
    return Improvement(made, np.ones(len(points), dtype=np.bool_) if usable is None else usable, reference, rng)


@pytest.mark.campaign
@pytest.mark.parametrize("objectives", [1, 2])
def test_expected_improvement_is_the_mean_growth_of_the_volume(objectives: int) -> None:
    values = np.array([[1.0, 0.2], [0.8, 0.7], [0.1, 0.9]])[:, :objectives]
    expected = improvement(POINTS, values, draws=1)
    wanted = np.array([[0.25], [0.7], [1.6]])
    chance = np.random.default_rng(3)
    before = hypervolume(values.tolist())
    for at in wanted:
        sampled = []
        for _ in range(4_000):
            new = []
            for draw in expected._draws:
                (mean,), (sd,) = (each.ravel() for each in draw.predicted(at[None, :]))
                new.append(max(0.0, mean + sd * chance.standard_normal()))
            sampled.append(hypervolume([*values.tolist(), new]) - before)
        assert expected.of(at[None, :])[0] == pytest.approx(np.mean(sampled), rel=0.15, abs=0.003)


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_a_measured_config_improves_nothing_even_with_much_noise(objectives: int) -> None:
    values = np.array([[1.0, 0.2, 0.5], [0.8, 0.7, 0.5], [0.1, 0.9, 0.5]])[:, :objectives]
    expected = improvement(POINTS, values, noise_sd=0.3, draws=16)
    again, new = expected.of(np.array([[0.5], [1.8]]))
    assert new > 10 * again


def test_a_config_that_breaks_a_constraint_is_not_on_the_front() -> None:
    values = np.array([[1.0, 0.2], [0.8, 0.7], [0.1, 0.9]])
    all_of_them = improvement(POINTS, values).of(np.array([[0.6]]))
    without = improvement(POINTS, values, usable=np.array([True, False, True])).of(np.array([[0.6]]))
    assert without > all_of_them
