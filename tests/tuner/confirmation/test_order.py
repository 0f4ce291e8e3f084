"""The order within rounds, in which the effect of one measurement on the next cancels out in the gains."""

from collections import Counter
from itertools import pairwise

import pytest

from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.trials import OBJECTIVES, baseline, trial
from tests.tuner.confirmation.carried_out import BASELINE, WINNERS, carried_out, plan_for
from tuner.confirmation.gains import confirmations_of
from tuner.confirmation.order import measured_before, measured_rounds, order_of_round
from tuner.confirmation.winners import MeasuredPlan
from tuner.model.trial import TrialKind


def ordered(members: str, rounds: int, last: str | None, seed: int = 1) -> list[list[str]]:
    done: list[list[str]] = []
    for number in range(rounds):
        before = last if not done or last is None else done[-1][-1]
        order = order_of_round(members, done, before, f"{seed} {number}")
        done.append([order[0] if before is None else before, *order])
    return done


def test_two_configs_alternate_so_that_each_also_follows_itself() -> None:
    orders = ["".join(each[1:]) for each in ordered("AB", 8, "A")]
    assert set(pairwise(orders)) == {("AB", "BA"), ("BA", "AB")}


@pytest.mark.parametrize("last", ["A", "other", None])
@pytest.mark.parametrize("members", ["AB", "ABC", "ABCD", "ABCDEFG"])
def test_every_config_follows_every_config_about_equally_often(members: str, last: str | None) -> None:
    rounds = ordered(members, 3 * len(members), last)
    assert all(sorted(each[1:]) == list(members) for each in rounds)
    pairs = Counter(pair for each in rounds for pair in pairwise(each) if pair[0] != "other")
    counts = [pairs[before, after] for before in members for after in members]
    assert max(counts) - min(counts) <= (2 if len(members) <= 4 else 5), pairs


def test_chance_decides_the_first_order() -> None:
    assert {ordered("AB", 1, "other", seed)[0][1] for seed in range(20)} == {"A", "B"}


@pytest.mark.parametrize("gap_s", [0.0, 60.0])
@pytest.mark.parametrize("winners", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_a_carry_over_cancels_out_in_the_gains(winners: int, seed: int, gap_s: float) -> None:
    trials = carried_out(plan_for(winners, gap_s=gap_s), 0.1, seed, [baseline()])
    found = confirmations_of([MeasuredPlan(plan_for(winners), trials, BASELINE, OBJECTIVES)])
    assert len(found) == winners
    for each in found:
        # In a random order, each of these gains is 1.03 to 1.05 in the mean.
        assert each.gains["mb_per_s"].value == pytest.approx(1.0, abs=0.014 if winners == 1 else 0.03)


@pytest.mark.parametrize("winners", [1, 2, 3])
def test_the_first_config_of_a_round_follows_its_own_burn_in_run(winners: int) -> None:
    trials = carried_out(plan_for(winners, gap_s=60.0), 0.0, 1, [baseline()])
    before, confirming = measured_before(trials), [each for each in trials if each.kind is TrialKind.CONFIRM]
    rounds = measured_rounds(trials, confirming)
    assert len(rounds) == 8
    for number, (previous, *configs) in rounds.items():
        assert previous == configs[0]
        assert [before[each.number] for each in confirming if each.round == number] == [previous, *configs[:-1]]


@pytest.mark.parametrize("kept", range(1, 12))
def test_an_interrupted_confirmation_continues_in_the_same_order(kept: int) -> None:
    whole = carried_out(plan_for(2, 4), 0.0, 1, [baseline()])
    assert carried_out(plan_for(2, 4), 0.0, 1, whole[: 1 + kept]) == whole


def test_rounds_that_were_begun_in_another_order_are_completed() -> None:
    order = [{}, WINNERS[0], WINNERS[1], {}, WINNERS[0]]
    begun = [trial(1 + n, kind=TrialKind.CONFIRM, round=n // 3, config=config) for n, config in enumerate(order)]
    steps = [(each.round, each.fingerprint) for each in carried_out(plan_for(2, 4), 0.0, 1, [baseline(), *begun])[1:]]
    missing = ProducerConfig.parse(WINNERS[1]).fingerprint
    assert steps[5] == (1, missing)
    assert len(set(steps)) == len(steps) == 4 * 3
