"""Tests of the noise of repeats, pooled over configs."""

import numpy as np
import pytest
from scipy.special import stdtrit

from objectives.front import surely_dominates
from objectives.metrics import Direction
from objectives.repeats import ASSUMED_NOISE_RATIO, Estimate, Noise, mean_of_repeats
from objectives.students_t import t_quantile

UP, DOWN = Direction.MAXIMIZE, Direction.MINIMIZE


@pytest.mark.parametrize(
    ("values", "mean"), [([7.1], 7.1), ([7.1] * 3, 7.1), ([-2.0, 0.0, 5.0], 1.0), ([0.0, 0.0], 0.0)]
)
def test_equal_values_have_an_exact_mean_and_values_not_above_0_an_arithmetic_mean(
    values: list[float], mean: float
) -> None:
    assert mean_of_repeats(values) == mean


def test_the_mean_of_repeats_is_geometric() -> None:
    assert mean_of_repeats([2.0, 8.0]) == pytest.approx(4.0)


def test_without_repeats_noise_is_assumed() -> None:
    assert Noise.of([]).sd_log == Noise.of([[100.0], [7.0]]).sd_log == pytest.approx(ASSUMED_NOISE_RATIO)


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.2])
def test_noise_is_pooled_over_the_repeats_of_all_configs(noise: float) -> None:
    rng = np.random.default_rng(1)
    groups = [(level * rng.lognormal(0, noise, 20)).tolist() for level in (1.0, 100.0, 1e4)]
    found = Noise.of(groups)
    assert found.sd_log == pytest.approx(noise, rel=0.3)  # the assumption still has some weight
    assert found.degrees_of_freedom == 3 * 19 + 2


def test_quantiles_are_those_of_students_t() -> None:
    assert t_quantile(0.95, 2) == pytest.approx(4.302653)
    assert t_quantile(0.99, 10) == pytest.approx(3.169273)
    assert t_quantile(0.95, 0) == float("inf")
    for level in (0.5, 0.9, 0.95, 0.99, 0.9999):
        for freedom in (*range(1, 40), 99, 100, 199, 200, 201, 5_000):
            assert t_quantile(level, freedom) == pytest.approx(stdtrit(freedom, (1 + level) / 2), rel=1e-6)


def around(value: float, ratio: float = 0.05) -> Estimate:
    return Estimate(value, value / (1 + ratio), value * (1 + ratio), 1)


def test_a_difference_within_noise_does_not_dominate_surely() -> None:
    directions = (UP, DOWN)
    assert surely_dominates((around(150), around(9.9)), (around(100), around(10)), directions)
    assert not surely_dominates((around(102), around(9.9)), (around(100), around(10)), directions)
    assert not surely_dominates((around(150), around(10.1)), (around(100), around(10)), directions)
    assert not surely_dominates((around(100), around(10)), (around(100), around(10)), directions)
    assert surely_dominates((around(100), around(5)), (around(100), around(10)), directions)
