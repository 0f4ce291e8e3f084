"""Tests of several configs measured in the same rounds: their common noise, and ratios with intervals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from objectives.ratios import ValuesByRound, noise_in_turns, ratio_in_turns
from objectives.repeats import Noise

LEVELS = st.lists(st.floats(0.1, 1e3), min_size=2, max_size=6)
ROUNDS = st.lists(st.floats(0.1, 10.0), min_size=2, max_size=5)


def table(
    levels: list[float], rounds: list[float], rng: np.random.Generator | None = None, sd: float = 0.0
) -> dict[str, ValuesByRound]:
    """Return configs with these levels, measured in rounds that disturb all of them alike, with noise."""
    rng = rng or np.random.default_rng(0)
    return {
        str(thing): {turn: level * factor * float(np.exp(rng.normal(0, sd))) for turn, factor in enumerate(rounds)}
        for thing, level in enumerate(levels)
    }


@settings(max_examples=30)
@given(LEVELS, ROUNDS)
def test_a_disturbed_round_does_not_change_ratios(levels: list[float], rounds: list[float]) -> None:
    things = table(levels, rounds)
    noise = noise_in_turns(things)
    assert noise is not None
    assert noise.sd_log == pytest.approx(0.0, abs=1e-9)
    assert noise.degrees_of_freedom == (len(levels) - 1) * (len(rounds) - 1)
    ratio = ratio_in_turns(things["0"], things["1"], noise=noise)
    assert (ratio.low, ratio.value, ratio.high) == pytest.approx((levels[0] / levels[1],) * 3)
    assert ratio.rounds == len(rounds)


def test_the_noise_is_the_residual_of_levels_and_rounds() -> None:
    # The logarithms are 0.3, -0.1 and -0.3, 0.1. The interaction in every cell of this 2 x 2 table is 0.2.
    things: dict[str, ValuesByRound] = {
        "a": {1: math.exp(0.3), 2: math.exp(-0.1)},
        "b": {1: math.exp(-0.3), 2: math.exp(0.1)},
    }
    noise = noise_in_turns(things)
    assert noise is not None
    assert noise.sd_log == pytest.approx(0.4)
    assert noise.degrees_of_freedom == 1


@pytest.mark.parametrize("things", [{}, {"a": {1: 2.0}}, {"a": {1: 2.0, 2: 3.0}}, {"a": {1: 2.0}, "b": {1: 3.0}}])
def test_one_config_or_one_round_is_too_little_for_noise(things: dict[str, ValuesByRound]) -> None:
    assert noise_in_turns(things) is None


@settings(max_examples=30)
@given(LEVELS, ROUNDS, st.integers(0, 99))
def test_the_ratio_to_several_is_the_product_of_the_ratios(levels: list[float], rounds: list[float], seed: int) -> None:
    things = table(levels, rounds, np.random.default_rng(seed), 0.1)
    ours, *others = things.values()
    noise = Noise(0.1, 5)
    single = [ratio_in_turns(ours, other, noise=noise) for other in others]
    product = ratio_in_turns(ours, *others, noise=noise)
    assert product.value == pytest.approx(math.prod(each.value for each in single))
    assert product.high / product.low >= max(each.high / each.low for each in single) * (1 - 1e-9)
    back = ratio_in_turns(others[0], ours, noise=noise)
    assert back.low == pytest.approx(1 / single[0].high)


def test_a_round_counts_for_the_configs_that_were_measured_in_it() -> None:
    things = table([1.0, 2.0, 3.0], [1.0, 5.0, 0.2], np.random.default_rng(1), 0.05)
    short: dict[str, ValuesByRound] = {**things, "2": {0: things["2"][0]}}
    noise = noise_in_turns(short)
    assert noise is not None
    assert noise.degrees_of_freedom == 2
    whole, once = (ratio_in_turns(short["0"], short[name], noise=noise) for name in ("1", "2"))
    assert (whole.rounds, once.rounds) == (3, 1)
    assert math.log(once.high / once.low) == pytest.approx(math.log(whole.high / whole.low) * math.sqrt(3))
    with pytest.raises(ValueError, match="a round in common"):
        ratio_in_turns({0: 1.0}, {1: 1.0}, noise=noise)


def test_intervals_from_two_rounds_hold_as_often_as_they_say() -> None:
    rng = np.random.default_rng(6)
    single = product = repeated = 0
    for _ in range(1000):
        things = table([1.0, 1.1, 0.8, 1.3], [1.0, 1.5, 0.7], rng, 0.05)
        last = {name: turns[2] for name, turns in things.items()}
        seen: dict[str, ValuesByRound] = {name: {0: turns[0], 1: turns[1]} for name, turns in things.items()}
        noise = noise_in_turns(seen)
        assert noise is not None
        ratio = ratio_in_turns(seen["0"], seen["2"], noise=noise)
        whole = ratio_in_turns(seen["0"], seen["1"], seen["2"], seen["3"], noise=noise)
        single += ratio.low <= 1 / 0.8 <= ratio.high
        repeated += ratio.repeat_low <= last["0"] / last["2"] <= ratio.repeat_high
        product += whole.low <= 1 / (1.1 * 0.8 * 1.3) <= whole.high
    # 950 of 1,000, plus or minus four standard errors.
    for held in (single, repeated, product):
        assert 950 - 28 <= held <= 950 + 28
