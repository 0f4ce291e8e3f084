"""Tests of several configs measured in the same few rounds: ratios whose intervals use each config's own scatter."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from objectives.ratios import Ratio, ValuesByRound, variant_ratio
from objectives.repeats import Noise

LEVELS = st.lists(st.floats(0.1, 1e3), min_size=2, max_size=6)
ROUNDS = st.lists(st.floats(0.1, 10.0), min_size=2, max_size=5)


def table(
    levels: list[float], rounds: list[float], rng: np.random.Generator | None = None, sd: float = 0.0
) -> list[ValuesByRound]:
    """Return configs with these levels, measured in rounds that disturb all of them alike, with noise."""
    rng = rng or np.random.default_rng(0)
    return [
        {turn: level * factor * float(np.exp(rng.normal(0, sd))) for turn, factor in enumerate(rounds)}
        for level in levels
    ]


def ratio(ours: ValuesByRound, *others: ValuesByRound, noise: Noise | None = None) -> Ratio:
    found = variant_ratio(ours, *others, noise=noise)
    assert found is not None
    return found


@settings(max_examples=30)
@given(LEVELS, ROUNDS)
def test_a_disturbed_round_does_not_change_ratios(levels: list[float], rounds: list[float]) -> None:
    ours, *others = table(levels, rounds)
    found = ratio(ours, others[0])
    assert (found.low, found.value, found.high) == pytest.approx((levels[0] / levels[1],) * 3)
    assert found.rounds == len(rounds)


def test_known_noise_adds_four_degrees_of_freedom_to_a_ratios_own_scatter() -> None:
    # The logarithms 0.1 and 0.3 have mean 0.2 and a sum of squares of 0.02. With 1 degree of freedom, t is 12.7062.
    ours: ValuesByRound = {1: math.exp(0.1), 2: math.exp(0.3)}
    other: ValuesByRound = {1: 1.0, 2: 1.0}
    alone = ratio(ours, other)
    assert math.log(alone.high) == pytest.approx(0.2 + 12.7062 * math.sqrt(0.02 / 2), abs=1e-5)
    # With 5 degrees of freedom, t is 2.5706.
    known = ratio(ours, other, noise=Noise(0.2, 7))
    assert math.log(known.high) == pytest.approx(0.2 + 2.5706 * math.sqrt((0.02 + 4 * 0.04) / 5 / 2), abs=1e-5)
    few = ratio(ours, other, noise=Noise(0.2, 2))
    assert math.log(few.high) == pytest.approx(0.2 + 3.1824 * math.sqrt((0.02 + 2 * 0.04) / 3 / 2), abs=1e-5)


@settings(max_examples=30)
@given(LEVELS, ROUNDS, st.integers(0, 99))
def test_the_ratio_to_several_is_the_product_of_the_ratios(levels: list[float], rounds: list[float], seed: int) -> None:
    ours, *others = table(levels, rounds, np.random.default_rng(seed), 0.1)
    noise = Noise(0.1, 5)
    single = [ratio(ours, other, noise=noise) for other in others]
    product = ratio(ours, *others, noise=noise)
    assert product.value == pytest.approx(math.prod(each.value for each in single))
    back = ratio(others[0], ours, noise=noise)
    assert back.low == pytest.approx(1 / single[0].high)


def test_only_rounds_that_measured_all_configs_count() -> None:
    ours, one, other = table([1.0, 2.0, 3.0], [1.0, 5.0, 0.2], np.random.default_rng(1), 0.05)
    once: ValuesByRound = {0: other[0]}
    assert ratio(ours, one).rounds == 3
    assert ratio(ours, one, once, noise=Noise(0.05, 4)).rounds == 1
    assert variant_ratio(ours, once) is None, "one round does not show how much the ratio scatters"
    assert variant_ratio({0: 1.0}, {1: 1.0}, noise=Noise(0.05, 4)) is None, "no round in common"


@pytest.mark.parametrize("sd", [0.03, 0.15])
def test_intervals_from_two_rounds_hold_as_often_as_they_say(sd: float) -> None:
    """The config scatters by 3 or 15 %, and the others by 3 %."""
    rng = np.random.default_rng(6)
    truths = [1 / 1.1, 1 / 0.8, 1 / 1.3]
    single = product = repeated = 0
    for _ in range(1000):
        others = table([1.1, 0.8, 1.3], [1.0, 1.5, 0.7], rng, 0.03)
        (ours,) = table([1.0], [1.0, 1.5, 0.7], rng, sd)
        noise = Noise(float(np.std(rng.normal(0, sd, 8) - rng.normal(0, 0.03, 8), ddof=1)), 7)
        last = ours[2] / others[1][2]
        seen: list[ValuesByRound] = [{turn: each[turn] for turn in (0, 1)} for each in (ours, *others)]
        found = ratio(seen[0], seen[2], noise=noise)
        whole = ratio(*seen, noise=noise)
        single += found.low <= truths[1] <= found.high
        repeated += found.repeat_low <= last <= found.repeat_high
        product += whole.low <= math.prod(truths) <= whole.high
    # 950 of 1,000, minus four standard errors.
    assert min(single, repeated, product) >= 950 - 28
