"""Tests of ratios of two configs measured in turn, and of their intervals."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from objectives.ratios import SESSION_SD, claim_level, ratio_of, ratio_to_limit, rounds_needed

ROUNDS = st.lists(st.tuples(st.floats(0.1, 1e6), st.floats(0.1, 1e6)), min_size=2, max_size=8)


@settings(max_examples=30)
@given(ROUNDS, st.floats(0.01, 100.0))
def test_the_ratio_is_the_geometric_mean_and_lies_in_its_intervals(
    pairs: list[tuple[float, float]], scale: float
) -> None:
    ours, theirs = [our for our, _ in pairs], [their for _, their in pairs]
    ratio = ratio_of(ours, theirs)
    logs = [math.log(our / their) for our, their in pairs]
    assert ratio.value == pytest.approx(math.exp(sum(logs) / len(logs)))
    assert ratio.repeat_low * (1 - 1e-9) <= ratio.low * (1 - 1e-9) <= ratio.value
    assert ratio.value <= ratio.high * (1 + 1e-9) <= ratio.repeat_high * (1 + 2e-9)
    assert ratio.rounds == len(pairs)
    assert ratio_of([our * scale for our in ours], theirs).value == pytest.approx(scale * ratio.value)


@settings(max_examples=20)
@given(ROUNDS)
def test_the_ratio_of_swapped_sides_is_the_inverse(pairs: list[tuple[float, float]]) -> None:
    ours, theirs = [our for our, _ in pairs], [their for _, their in pairs]
    one, other = ratio_of(ours, theirs), ratio_of(theirs, ours)
    assert other.value == pytest.approx(1 / one.value)
    assert other.low == pytest.approx(1 / one.high)
    inverse = one.inverse
    for name in ("value", "low", "high", "repeat_low", "repeat_high"):
        assert getattr(inverse, name) == pytest.approx(getattr(other, name)), name
    assert (inverse.rounds, inverse.level) == (one.rounds, one.level)


def test_a_disturbance_of_both_sides_does_not_widen_the_interval() -> None:
    rounds = np.array([100.0, 20.0, 90.0, 55.0])
    ratio = ratio_of((rounds * 1.3).tolist(), rounds.tolist())
    assert (ratio.low, ratio.value, ratio.high) == pytest.approx((1.3, 1.3, 1.3))


def test_the_interval_uses_students_t() -> None:
    # The logarithms 0, 0.1 and 0.2 have mean 0.1 and standard deviation 0.1. With 2 degrees of freedom, t is 4.3027.
    ratio = ratio_of([1.0, math.exp(0.1), math.exp(0.2)], [1.0, 1.0, 1.0])
    assert math.log(ratio.high) == pytest.approx(0.1 + 4.3027 * 0.1 / math.sqrt(3), abs=1e-5)
    assert math.log(ratio.low) == pytest.approx(0.1 - 4.3027 * 0.1 / math.sqrt(3), abs=1e-5)
    again = math.hypot(4.3027 * 0.1 * math.sqrt(4 / 3), 1.95996 * SESSION_SD * math.sqrt(2))
    assert math.log(ratio.repeat_high) == pytest.approx(0.1 + again, abs=1e-5)


def truth_held(rng: np.random.Generator, truth: float, level: float) -> tuple[bool, float]:
    """Simulate a confirmation; return whether its interval holds the truth, and the interval's relative width."""
    ours, theirs = truth * rng.lognormal(0.0, 0.05, 400), rng.lognormal(0.0, 0.05, 400)
    rounds = min(400, rounds_needed(ours[:6].tolist(), theirs[:6].tolist(), level=level, width_ratio=0.1))
    ratio = ratio_of(ours[:rounds].tolist(), theirs[:rounds].tolist(), level=level, first_rounds=6)
    return ratio.low <= truth <= ratio.high, (ratio.high - ratio.low) / ratio.value


def test_the_confidence_level_holds_although_rounds_stop_when_the_interval_is_narrow() -> None:
    rng = np.random.default_rng(3)
    found = [truth_held(rng, 1.2, 0.95) for _ in range(1000)]
    # 950 of 1,000, plus or minus four standard errors.
    assert 950 - 28 <= sum(held for held, _ in found) <= 950 + 28
    assert np.median([width for _, width in found]) <= 0.1001, "the median width is as narrow as requested"


@pytest.mark.parametrize("stalls", [0.03, 0.1])
def test_a_stall_after_a_calm_beginning_counts(stalls: float) -> None:
    """Occasional stalls make a p99 several times higher. Calm first rounds alone would give too narrow an interval."""
    rng = np.random.default_rng(6)

    def side() -> NDArray[np.float64]:
        return rng.lognormal(0.0, 0.08, 20) * np.where(rng.random(20) < stalls, rng.uniform(3, 6, 20), 1.0)

    claimed = 0
    for _ in range(2000):
        ours, theirs = side(), side()
        rounds = min(20, rounds_needed(ours[:8].tolist(), theirs[:8].tolist(), level=0.95, width_ratio=0.1))
        claimed += ratio_of(ours[:rounds].tolist(), theirs[:rounds].tolist(), first_rounds=8).low > 1.0
    assert claimed <= 0.025 * 2000, "both sides are alike, so every claim is wrong"


@pytest.mark.parametrize("new_brokers", [False, True])
def test_the_prediction_interval_holds_as_often_as_it_says(new_brokers: bool) -> None:
    """One more round is in a new session. The other rounds share a session, or have one each on new brokers."""
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(2000):
        ours, theirs = 1.5 * rng.lognormal(0.0, 0.02, 9), rng.lognormal(0.0, 0.02, 9)
        sessions = rng.lognormal(0.0, SESSION_SD, 9)
        ours *= sessions if new_brokers else np.where(np.arange(9) < 8, sessions[0], sessions[8])
        before = {"ours": ours[:8].tolist(), "theirs": theirs[:8].tolist()}
        ratio = ratio_of(**before, apart_sd=0.0) if new_brokers else ratio_of(**before)
        held += ratio.repeat_low <= ours[8] / theirs[8] <= ratio.repeat_high
    assert 1900 - 39 <= held <= 1900 + 39, "95 % of 2,000, plus or minus four standard errors"


def test_equal_rounds_still_allow_for_another_session() -> None:
    ratio = ratio_of([120.0] * 4, [100.0] * 4)
    assert ratio.low == pytest.approx(ratio.high)
    assert ratio.repeat_low < 1.2 * (1 - SESSION_SD) < 1.2 * (1 + SESSION_SD) < ratio.repeat_high


def test_all_claims_together_keep_the_error_rate() -> None:
    rng = np.random.default_rng(5)
    for claims in (1, 3, 6):
        level = claim_level(claims)
        wrong = 0
        for _ in range(600):
            theirs = rng.lognormal(0.0, 0.05, 8)
            wrong += any(
                ratio_of(rng.lognormal(0.0, 0.05, 8).tolist(), theirs.tolist(), level=level).low > 1.0
                for _ in range(claims)
            )
        assert wrong <= 30 + 22, "5 % of 600, plus four standard errors"


def test_two_unequal_rounds_have_an_interval_at_a_level_of_nearly_1() -> None:
    """We saw such p99 latencies on a machine that stalls. `tuner verify` asks at this level whether it can stop."""
    ratio = ratio_of([8.5, 140.0], [10.0, 9.0], level=0.999)
    assert math.isfinite(ratio.high)
    assert 0.0 <= ratio.low < ratio.value < ratio.high


def test_up_to_two_claims_share_the_error_rate_at_95_percent() -> None:
    assert claim_level(0) == claim_level(1) == claim_level(2) == 0.95
    assert claim_level(3) == pytest.approx(1 - 0.1 / 3)


def test_a_higher_level_gives_a_wider_interval() -> None:
    ours, theirs = [1.0, 2.0, 3.0, 5.0, 4.0], [2.0, 1.0, 2.0, 3.0, 7.0]
    wide, narrow = ratio_of(ours, theirs, level=0.99), ratio_of(ours, theirs, level=0.5)
    assert wide.low < narrow.low < narrow.high < wide.high
    assert (wide.repeat_low, wide.repeat_high) == (narrow.repeat_low, narrow.repeat_high)


def test_more_scatter_or_a_narrower_interval_needs_more_rounds() -> None:
    theirs = [100.0] * 6
    calm, wild = [110, 111, 109, 110, 112, 110], [90, 130, 110, 100, 125, 105]
    ask = {"level": 0.95, "width_ratio": 0.1}
    assert rounds_needed([float(each) for each in calm], theirs, **ask) == 6
    some = rounds_needed([float(each) for each in wild], theirs, **ask)
    assert some > 20
    assert rounds_needed([float(each) for each in wild], theirs, level=0.95, width_ratio=0.05) > 3 * some


@pytest.mark.parametrize(
    ("low", "high", "inconclusive"),
    [(0.4, 2.5, True), (0.9, 1.7, False), (1.1, 9.0, False), (0.1, 0.9, False), (0.0, math.inf, True)],
)
def test_an_interval_that_says_nothing_is_inconclusive(low: float, high: float, inconclusive: bool) -> None:
    ratio = ratio_of([1.0, 1.0], [1.0, 1.0])
    assert replace(ratio, low=low, high=high).inconclusive is inconclusive


def test_a_ratio_as_text_has_its_interval() -> None:
    assert str(ratio_of([2.0, 2.0], [1.0, 1.0])) == "2.00 (2.00 to 2.00)"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [([], []), ([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([0.0, 1.0], [1.0, 1.0]), ([1.0, 1.0], [-1.0, 1.0])],
)
def test_rounds_that_cannot_be_compared_are_refused(ours: list[float], theirs: list[float]) -> None:
    with pytest.raises(ValueError, match=r"the same two or more rounds|above 0"):
        ratio_of(ours, theirs)


def test_a_mean_near_zero_has_a_bounded_interval_against_a_limit() -> None:
    found = ratio_to_limit([0.0, 0.003, 0.006], 0.03)
    assert found.value == pytest.approx(0.1)
    assert found.low == 0.0
    # t of 95 % with two degrees of freedom is 4.303; the standard error is 0.003 / sqrt(3).
    assert found.high == pytest.approx((0.003 + 4.303 * 0.003 / 3**0.5) / 0.03, rel=1e-3)
    assert ratio_to_limit([5.0, 5.0], 4.0).low == pytest.approx(1.25)
    with pytest.raises(ValueError, match="at least two rounds"):
        ratio_to_limit([1.0], 1.0)
