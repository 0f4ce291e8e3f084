"""Each confirmation measures the carry-over, by which one measurement slows the next, and warns if there is one."""

from pathlib import Path
from statistics import fmean

import pytest

from tests.helpers.trials import OBJECTIVES, SIZE, baseline, confirming, plan_of, trial
from tests.tuner.confirmation.carried_out import WINNERS, carried_out, plan_for
from tuner.confirmation.carry_over import CarryOver, carry_overs_of
from tuner.confirmation.plan import ConfirmationPlan
from tuner.model.goals import Goal
from tuner.model.trial import Trial
from tuner.results.recommendations.recommend import recommend
from tuner.results.study_results import StudyResults, size_results

METRICS = [objective.metric for objective in OBJECTIVES]


def measured(plan: ConfirmationPlan, carry_over: float, seed: int, noise: float = 0.02) -> list[Trial]:
    """Return the trials of a confirmation whose winners are 1.2 times better than the baseline."""
    searched = [baseline(), trial(1, config=WINNERS[0]), trial(2, config=WINNERS[-1])]
    return carried_out(plan, carry_over, seed, searched, gain=1.2, noise=noise)


@pytest.mark.parametrize("winners", [1, 2, 3])
def test_a_carry_over_is_measured_and_reported(winners: int) -> None:
    plan = plan_for(winners)
    throughput, latency = carry_overs_of(measured(plan, 0.1, 1), [plan], METRICS)
    assert (throughput.metric, latency.metric) == tuple(METRICS)
    assert throughput.low < 0.9 < throughput.high
    assert latency.low < 1 / 0.9 < latency.high
    assert throughput.matters
    assert latency.matters


@pytest.mark.parametrize("winners", [1, 2, 3])
def test_after_a_pause_the_burn_in_run_is_what_was_measured_before(winners: int) -> None:
    plan = plan_for(winners, gap_s=60.0)
    studies = [carry_overs_of(measured(plan, 0.1, seed), [plan], METRICS) for seed in range(10)]
    assert fmean(throughput.value for throughput, _ in studies) == pytest.approx(0.9, abs=0.01)
    assert fmean(latency.value for _, latency in studies) == pytest.approx(1 / 0.9, abs=0.01)


@pytest.mark.parametrize("winners", [1, 2, 3])
def test_without_a_carry_over_hardly_any_confirmation_warns(winners: int) -> None:
    plan = plan_for(winners)
    studies = [carry_overs_of(measured(plan, 0.0, seed, 0.05), [plan], METRICS) for seed in range(40)]
    assert all(len(each) == 2 for each in studies)
    assert sum(any(each.matters for each in study) for study in studies) <= 5


@pytest.mark.parametrize(
    ("low", "value", "high", "shows"),
    [(0.9, 0.95, 0.99, True), (0.9, 0.95, 1.01, False), (0.97, 0.98, 0.99, False), (1.02, 1.05, 1.08, True)],
)
def test_a_carry_over_is_reported_if_it_is_certain_and_not_small(
    low: float, value: float, high: float, shows: bool
) -> None:
    assert CarryOver("mb_per_s", value, low, high).matters is shows


def test_a_recommendation_warns_of_a_carry_over() -> None:
    def warnings(slower: float) -> str:
        plan = plan_for(1)
        trials = measured(plan, slower, 1)
        size = size_results(SIZE, OBJECTIVES, trials, 20_000.0, [plan])
        return " ".join(
            recommend(StudyResults("s", Path(), "", {"name": "s"}, OBJECTIVES, (size,)), SIZE, Goal.BALANCED).warnings
        )

    assert "throughput was 0.9" in warnings(0.1)
    assert "influence" not in warnings(0.0)


def test_too_few_rounds_say_nothing_about_a_carry_over() -> None:
    rounds = [(100.0, 10.0), (101.0, 11.0)]
    trials = [baseline(), *confirming(1, rounds, rounds, WINNERS[0])]
    assert carry_overs_of(trials, [plan_of(trials)], METRICS) == ()
    assert carry_overs_of(trials, [], METRICS) == ()
