"""Ratios of rounds taken in turn: a disturbed round disturbs both sides, and the interval says what is sure."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from objectives.ratios import ratio_of

ROUNDS = st.lists(st.tuples(st.floats(0.1, 1e6), st.floats(0.1, 1e6)), min_size=1, max_size=12)


@settings(max_examples=40)
@given(ROUNDS, st.floats(0.01, 100))
def test_a_ratio_is_the_geometric_mean_within_its_interval(pairs: list[tuple[float, float]], scale: float) -> None:
    ours, theirs = [our for our, _ in pairs], [their for _, their in pairs]
    ratio = ratio_of(ours, theirs)
    logs = [math.log(our / their) for our, their in pairs]
    assert ratio.value == pytest.approx(math.exp(sum(logs) / len(logs)))
    assert ratio.low * (1 - 1e-9) <= ratio.value <= ratio.high * (1 + 1e-9)
    assert math.exp(min(logs)) * (1 - 1e-9) <= ratio.low
    assert ratio.high <= math.exp(max(logs)) * (1 + 1e-9)
    assert ratio.rounds == len(pairs)
    assert ratio_of([our * scale for our in ours], theirs).value == pytest.approx(scale * ratio.value)


@settings(max_examples=20)
@given(ROUNDS)
def test_the_other_way_round_it_is_the_inverse(pairs: list[tuple[float, float]]) -> None:
    ours, theirs = [our for our, _ in pairs], [their for _, their in pairs]
    assert ratio_of(theirs, ours).value == pytest.approx(1 / ratio_of(ours, theirs).value)


def test_a_round_that_disturbs_both_sides_alike_does_not_widen_the_interval() -> None:
    rounds = np.array([100.0, 20.0, 90.0, 55.0])
    ratio = ratio_of((rounds * 1.3).tolist(), rounds.tolist())
    assert (ratio.low, ratio.value, ratio.high) == pytest.approx((1.3, 1.3, 1.3))


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for seed in range(100):
        noise = rng.lognormal(0.0, 0.1, size=(2, 12))
        ratio = ratio_of((1.2 * noise[0]).tolist(), noise[1].tolist(), seed=seed)
        held += ratio.low <= 1.2 <= ratio.high
    # Of 100 intervals at 95 % with the bootstrap's narrowness for 12 rounds; four standard errors below 0.91.
    assert held >= 80


def test_the_same_seed_gives_the_same_interval() -> None:
    ours, theirs = [1.0, 2.0, 3.0, 5.0], [2.0, 1.0, 2.0, 3.0]
    assert ratio_of(ours, theirs, seed=4) == ratio_of(ours, theirs, seed=4)


def test_a_higher_level_is_a_wider_interval() -> None:
    ours, theirs = [1.0, 2.0, 3.0, 5.0, 4.0], [2.0, 1.0, 2.0, 3.0, 7.0]
    wide, narrow = ratio_of(ours, theirs, level=0.99), ratio_of(ours, theirs, level=0.5)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_it_reads_as_value_and_interval() -> None:
    assert str(ratio_of([2.0, 2.0], [1.0, 1.0])) == "2.00 (2.00 to 2.00)"


@pytest.mark.parametrize(
    ("ours", "theirs"), [([], []), ([1.0], []), ([1.0, 2.0], [1.0]), ([0.0], [1.0]), ([1.0], [-1.0])]
)
def test_rounds_that_cannot_be_compared_are_refused(ours: list[float], theirs: list[float]) -> None:
    with pytest.raises(ValueError, match=r"one value per round|above 0"):
        ratio_of(ours, theirs)
