"""Tests of drift: it is corrected if the baseline shows a drift, and nothing is corrected otherwise."""

import numpy as np
import pytest

from objectives.drift import Drift

EVERY_TENTH = list(range(0, 100, 10))


def baselines(seed: int, drift: list[float], noise: float = 0.03) -> list[float]:
    rng = np.random.default_rng(seed)
    return [float(100 * np.exp(each) * rng.lognormal(0, noise)) for each in drift]


def test_without_drift_almost_nothing_is_corrected() -> None:
    found = [Drift.of(EVERY_TENTH, baselines(seed, [0.0] * 10)) for seed in range(100)]
    assert sum(each.step_log > 0 for each in found) <= 10
    assert all(each.factor(37) == 1.0 for each in found if not each.step_log)


@pytest.mark.parametrize("noise", [0.05, 0.2, 0.5])
def test_noise_is_not_drift_however_large_it_is(noise: float) -> None:
    found = [Drift.of(EVERY_TENTH, baselines(seed, [0.0] * 10, noise)) for seed in range(100)]
    assert sum(each.step_log > 0 for each in found) <= 10


@pytest.mark.parametrize("place", range(6))
def test_one_stall_is_not_drift(place: int) -> None:
    p99_ms = [9.5, 10.0, 9.0, 11.0, 10.5, 9.2]
    p99_ms[place] *= 6
    drift = Drift.of(EVERY_TENTH[:6], p99_ms)
    assert [drift.factor(number) for number in EVERY_TENTH[:6]] == [1.0] * 6


@pytest.mark.parametrize("slope", [-0.4, 0.4])
def test_a_steady_drift_is_corrected(slope: float) -> None:
    true = [slope * number / 100 for number in EVERY_TENTH]
    left = []
    for seed in range(20):
        drift = Drift.of(EVERY_TENTH, baselines(seed, true))
        corrected = [slope * number / 100 + np.log(drift.factor(number)) for number in range(95)]
        left.append(np.std(corrected))
    assert np.mean(left) < 0.35 * np.std([slope * number / 100 for number in range(95)])


def test_a_step_in_the_speed_is_corrected() -> None:
    drift = Drift.of(EVERY_TENTH, baselines(1, [0.0] * 5 + [-0.5] * 5))
    assert drift.factor(95) == 1.0, "values are corrected to the newest level"
    assert drift.factor(95) / drift.factor(5) == pytest.approx(np.exp(0.5), rel=0.06)


def test_the_level_is_constant_before_the_first_and_after_the_last() -> None:
    drift = Drift.of(EVERY_TENTH, baselines(2, [-0.05 * place for place in range(10)]))
    assert drift.factor(-5) == drift.factor(0)
    assert drift.factor(500) == drift.factor(90)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_two_baselines_are_too_few_to_tell_drift_from_noise(count: int) -> None:
    assert Drift.of(EVERY_TENTH[:count], [100.0, 50.0][:count]).factor(7) == 1.0


def test_many_baselines_are_averaged_with_their_neighbours() -> None:
    numbers = list(range(0, 5000, 10))
    drift = Drift.of(numbers, baselines(3, [0.4 * number / 5000 for number in numbers]))
    assert len(drift.numbers) == 60
    assert drift.factor(0) / drift.factor(4990) == pytest.approx(np.exp(0.4), rel=0.05)
