"""Which configs of a search are measured again: the best ones, and for the goal balanced also small losers."""

import pytest

from tests.helpers.trials import baseline, results, trial
from tuner.model.goals import Goal
from tuner.results.recommendations.nominees import nominees


def numbers(*pairs: tuple[float, float], goal: Goal = Goal.BALANCED, most: int = 9, loss: float = 0.1) -> list[int]:
    """Return which of these configs are measured again; the baseline has 100 MB/s and 10 ms."""
    searched = [trial(number, *pair) for number, pair in enumerate(pairs, start=1)]
    return [each.number for each in nominees(results([baseline(0), *searched]), goal, most, loss)]


def test_the_best_come_first_and_the_baseline_and_worse_configs_never() -> None:
    assert numbers((110, 9), (150, 5), (90, 12), (100, 10)) == [2, 1]
    assert numbers((110, 9), (150, 5), most=1) == [2]


def test_a_config_that_loses_a_little_too_much_comes_after_all_others() -> None:
    assert numbers((80, 2), (101, 9.9)) == [2, 1]
    assert numbers((80, 2), (85, 3)) == [1, 2], "in a search, each config has one trial, which noise may have slowed"


@pytest.mark.parametrize(("loss", "kept"), [(0.1, []), (0.25, [1])])
def test_a_config_that_loses_far_too_much_is_not_measured_again(loss: float, kept: list[int]) -> None:
    assert numbers((75, 2), loss=loss) == kept


def test_the_nominees_for_throughput_or_latency_are_chosen_by_that_objective_alone() -> None:
    assert numbers((50, 2), (90, 11), goal=Goal.LATENCY) == [1]
    assert numbers((50, 2), (120, 30), goal=Goal.THROUGHPUT) == [2]
