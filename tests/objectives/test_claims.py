"""Several claims together contain a false one in at most 5 % of cases, and each decision agrees with its interval."""

import math
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from objectives.claims import Decision, claims_about_configs, confirmation_error_rate, decide
from objectives.ratios import ERROR_RATE, p_value, ratio_of

GOALS = ("throughput", "latency", "balanced")


def proven(found: dict[str, Decision]) -> set[str]:
    return {claim for claim, decision in found.items() if decision.proven}


def test_claims_are_proven_as_in_the_example_with_two_doses_and_two_endpoints() -> None:
    """An example as in Bretz et al. (2009), computed by hand: H3 and H4 get a share only from H1 and H2."""
    transfers = {
        "H1": {"H2": 0.5, "H3": 0.5},
        "H2": {"H1": 0.5, "H4": 0.5},
        "H3": {"H2": 1.0},
        "H4": {"H1": 1.0},
    }
    found = decide({"H1": 0.01, "H2": 0.03, "H3": 0.005, "H4": 0.02}, {"H1": 0.0125, "H2": 0.0125}, transfers)
    assert proven(found) == {"H1", "H3"}
    assert found["H1"].error_rate == 0.0125
    assert found["H3"].error_rate == pytest.approx(0.00625)
    assert found["H2"].error_rate == pytest.approx(0.025), "all that H1 and H3 had, which is not enough for 0.03"
    assert found["H4"].error_rate == 0.0
    everything = decide({"H1": 0.01, "H2": 0.025, "H3": 0.005, "H4": 0.02}, {"H1": 0.0125, "H2": 0.0125}, transfers)
    assert proven(everything) == {"H1", "H2", "H3", "H4"}
    assert everything["H4"].error_rate == pytest.approx(0.025)


def test_equal_shares_that_go_to_all_others_are_holms_procedure() -> None:
    names = ("a", "b", "c", "d")
    transfers = {one: {other: 1 / 3 for other in names if other != one} for one in names}
    rng = np.random.default_rng(1)
    for p_values in (dict(zip(names, rng.uniform(0, 0.06, 4).tolist(), strict=True)) for _ in range(200)):
        holm: set[str] = set()
        for place, name in enumerate(sorted(names, key=lambda each: p_values[each])):
            if p_values[name] > 0.05 / (4 - place):
                break
            holm.add(name)
        assert proven(decide(p_values, dict.fromkeys(names, 0.0125), transfers)) == holm


def test_one_share_that_is_passed_on_gives_a_fixed_sequence() -> None:
    transfers = {"a": {"b": 1.0}, "b": {"c": 1.0}}
    found = decide({"a": 0.04, "b": 0.05, "c": 0.051}, {"a": 0.05}, transfers)
    assert proven(found) == {"a", "b"}
    assert [found[name].error_rate for name in "abc"] == [0.05, 0.05, 0.05]
    found = decide({"a": 0.06, "b": 0.001, "c": 0.001}, {"a": 0.05}, transfers)
    assert proven(found) == set()
    assert (found["b"].error_rate, found["b"].level) == (0.0, None)


def test_other_goals_of_a_proven_config_come_before_other_configs() -> None:
    nominated = [("fast", "throughput"), ("quick", "latency")]
    p_values = {(config, goal): 1.0 for config in ("fast", "quick") for goal in GOALS}
    p_values |= {("fast", "throughput"): 0.0, ("quick", "latency"): 0.03}
    found = claims_about_configs(p_values, nominated, 0.05)
    assert found["fast", "latency"].error_rate == pytest.approx(0.0125, rel=1e-4)
    assert found["quick", "latency"].error_rate == pytest.approx(0.025, rel=1e-4)
    assert not found["quick", "throughput"].error_rate
    p_values |= dict.fromkeys((("fast", "latency"), ("fast", "balanced"), ("quick", "latency")), 0.0126)
    found = claims_about_configs(p_values, nominated, 0.025)
    assert not found["fast", "latency"].proven
    p_values |= {("fast", "latency"): 0.006, ("fast", "balanced"): 0.006, ("quick", "latency"): 0.024}
    found = claims_about_configs(p_values, nominated, 0.025)
    assert found["quick", "latency"].proven, "a config that is proven for everything leaves its share to the others"
    assert found["quick", "latency"].error_rate == pytest.approx(0.025)


def test_no_claim_has_an_interval_below_95_percent() -> None:
    found = claims_about_configs({("only", "throughput"): 0.03}, [("only", "throughput")], 0.05)
    assert not found["only", "throughput"].proven
    assert found["only", "throughput"].level == pytest.approx(0.95)


def test_every_claim_that_equal_shares_would_prove_is_proven() -> None:
    rng = np.random.default_rng(2)
    configs = ("a", "b", "c")
    nominated = list(zip(configs, GOALS, strict=True))
    for _ in range(300):
        p_values = {claim: float(p) for claim, p in zip(product(configs, GOALS), rng.beta(0.3, 6, 9), strict=True)}
        found = claims_about_configs(p_values, nominated, 0.05)
        assert all(found[claim].proven for claim in nominated if p_values[claim] <= 0.05 / 3)


@pytest.mark.parametrize("true_nulls", [9, 6, 4, 1])
def test_at_most_one_study_in_twenty_has_a_false_claim(true_nulls: int) -> None:
    """The p-values of all false claims are uniform and independent, which is the worst case for equal shares."""
    rng = np.random.default_rng(3)
    family = [(config, goal) for goal in GOALS for config in ("a", "b", "c")]
    nominated = list(zip(("a", "b", "c"), GOALS, strict=True))
    false = [family[place] for place in rng.permutation(9)[:true_nulls]]
    wrong = 0
    for p in rng.uniform(0, 1, (1500, 9)):
        p_values = {claim: float(p[place]) if claim in false else 0.0 for place, claim in enumerate(family)}
        found = claims_about_configs(p_values, nominated, 0.05)
        wrong += any(found[claim].proven for claim in false)
    assert wrong <= 75 + 34, "5 % of 1,500, plus four standard errors"


@pytest.mark.parametrize("first_rounds", [None, 4])
def test_a_p_value_agrees_with_the_interval(first_rounds: int | None) -> None:
    rng = np.random.default_rng(4)
    for _ in range(100):
        ours, theirs = (rng.lognormal(mean, 0.05, 8).tolist() for mean in (0.06, 0.0))
        p = p_value(ours, theirs, first_rounds=first_rounds)
        if p < 0.5:
            at_p = ratio_of(ours, theirs, level=1 - 2 * p, first_rounds=first_rounds)
            assert math.log(at_p.low) == pytest.approx(0.0, abs=1e-9)
        assert p_value(theirs, ours) == pytest.approx(1 - p_value(ours, theirs))


def test_a_p_value_is_the_larger_one_of_first_and_all_rounds() -> None:
    calm, wild = [1.1, 1.11, 1.1, 1.11], [1.5, 0.8, 1.4, 0.9]
    ones = [1.0] * 8
    stalled = p_value([*calm, *wild], ones, first_rounds=4)
    assert stalled == p_value([*calm, *wild], ones) > 0.01
    assert p_value([*wild, *calm], ones, first_rounds=4) > p_value([*wild, *calm], ones)


@pytest.mark.parametrize(("ours", "p"), [([2.0, 2.0], 0.0), ([1.0, 1.0], 1.0), ([0.5, 0.5], 1.0)])
def test_rounds_without_scatter_are_certain(ours: list[float], p: float) -> None:
    assert p_value(ours, [1.0, 1.0]) == p


def test_p_values_hold_although_the_scatter_decides_the_number_of_rounds() -> None:
    rng = np.random.default_rng(5)

    def rounds(noise: NDArray[np.float64]) -> int:
        return 8 if noise[:8].std() < 0.05 else 20

    noises = rng.normal(0, 0.05 * math.sqrt(2), (2000, 20))
    values = (np.exp(noise[: rounds(noise)]).tolist() for noise in noises)
    wrong = sum(p_value(each, [1.0] * len(each), first_rounds=8) <= 0.025 for each in values)
    assert wrong <= 50 + 28, "2.5 % of 2,000, plus four standard errors"


def test_all_confirmations_together_keep_the_error_rate() -> None:
    assert confirmation_error_rate(1) / 3 == pytest.approx(0.0125)
    assert confirmation_error_rate(1) > confirmation_error_rate(2) > confirmation_error_rate(3) > 0
    assert sum(map(confirmation_error_rate, range(1, 40))) <= ERROR_RATE * (1 + 1e-9)
