"""The order within rounds, in which the effect of one measurement on the next cancels out in the gains."""

from collections import Counter
from itertools import pairwise

import pytest

from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.trials import OBJECTIVES, baseline, trial
from tuner.confirmation.gains import confirmations_of
from tuner.confirmation.order import measured_before, measured_rounds, order_of_round
from tuner.confirmation.plan import ConfirmationPlan
from tuner.confirmation.steps import next_step
from tuner.confirmation.winners import MeasuredPlan
from tuner.model.goals import Goal
from tuner.model.trial import Trial, TrialKind

BASELINE = {"mb_per_s": 100.0, "latency_p99_ms": 10.0}
WINNERS = [{"linger.ms": "20"}, {"linger.ms": "30"}, {"linger.ms": "1"}]
BASE = baseline().fingerprint


def ordered(members: str, rounds: int, last: str | None, seed: int = 1) -> list[list[str]]:
    done: list[list[str]] = []
    for number in range(rounds):
        before = last if not done or last is None else done[-1][-1]
        order = order_of_round(members, done, before, f"{seed} {number}")
        done.append([order[0] if before is None else before, *order])
    return done


def plan_for(winners: int, rounds: int, gap_s: float = 0.0) -> ConfirmationPlan:
    made = [ProducerConfig.parse(each).fingerprint for each in WINNERS[:winners]]
    nominees = {goal: (made[min(place, winners - 1)],) for place, goal in enumerate(Goal)}
    return ConfirmationPlan(BASE, nominees, rounds=rounds, max_rounds=rounds, gap_s=gap_s)


def measured(
    winners: int, rounds: int, carry_over: float, seed: int, stored: list[Trial], gap_s: float = 0.0
) -> list[Trial]:
    """Return the trials of equal configs, of which each is slower when it follows one of the winners.

    After a pause, a round begins with a burn-in run of its first config.
    """
    configs = {each.fingerprint: each for each in map(ProducerConfig.parse, [{}, *WINNERS])}
    done = list(stored)
    while step := next_step(MeasuredPlan(plan_for(winners, rounds, gap_s), done, BASELINE, OBJECTIVES), configs, seed):
        if gap_s and len(step.order) == winners + 1:
            done.append(trial(len(done), kind=TrialKind.BURN_IN, config=dict(step.config.values)))
        factor = 1.0 if done[-1].fingerprint == BASE else 1 - carry_over
        numbers = (100 * factor, 10 / factor)
        kept = {"kind": step.kind, "round": step.round, "config": dict(step.config.values)}
        done.append(trial(len(done), *numbers, **kept))  # type: ignore[arg-type]
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
    trials = measured(winners, 8, 0.1, seed, [baseline()], gap_s)
    found = confirmations_of([MeasuredPlan(plan_for(winners, 8), trials, BASELINE, OBJECTIVES)])
    assert len(found) == winners
    for each in found:
        # In a random order, each of these gains is 1.03 to 1.05 in the mean.
        assert each.gains["mb_per_s"].value == pytest.approx(1.0, abs=0.014 if winners == 1 else 0.03)


@pytest.mark.parametrize("winners", [1, 2, 3])
def test_the_first_config_of_a_round_follows_its_own_burn_in_run(winners: int) -> None:
    trials = measured(winners, 8, 0.0, 1, [baseline()], gap_s=60.0)
    before, confirming = measured_before(trials), [each for each in trials if each.kind is TrialKind.CONFIRM]
    rounds = measured_rounds(trials, confirming)
    assert len(rounds) == 8
    for number, (previous, *configs) in rounds.items():
        assert previous == configs[0]
        assert [before[each.number] for each in confirming if each.round == number] == [previous, *configs[:-1]]


@pytest.mark.parametrize("kept", range(1, 12))
def test_an_interrupted_confirmation_continues_in_the_same_order(kept: int) -> None:
    whole = measured(2, 4, 0.0, 1, [baseline()])
    assert measured(2, 4, 0.0, 1, whole[: 1 + kept]) == whole


def test_rounds_that_were_begun_in_another_order_are_completed() -> None:
    order = [{}, WINNERS[0], WINNERS[1], {}, WINNERS[0]]
    begun = [trial(1 + n, kind=TrialKind.CONFIRM, round=n // 3, config=config) for n, config in enumerate(order)]
    steps = [(each.round, each.fingerprint) for each in measured(2, 4, 0.0, 1, [baseline(), *begun])[1:]]
    missing = ProducerConfig.parse(WINNERS[1]).fingerprint
    assert steps[5] == (1, missing)
    assert len(set(steps)) == len(steps) == 4 * 3
