"""What a study will take is added up from its trials, burn-in runs, rounds and pauses."""

from dataclasses import replace
from typing import Any

import pytest

from tests.helpers.studies import simulated_study
from tuner.execution.budgets.estimate import gap_s, least_bytes, least_s, least_spread_s, most_s, spread_s
from tuner.model.goals import Goal
from tuner.model.spec import ConfirmSpec, Executor, NewBroker, StudySpec
from tuner.model.study_time import burn_in_trials
from tuner.model.target import Target

EACH_S = 7.0
"""A trial of `simulated_study`: two phases of three seconds, and a second besides."""
BURN_IN_S = EACH_S
ROUNDS = ConfirmSpec(3, 5, goals=(Goal.BALANCED,), nominees=1, nominee_repeats=0, undo_rounds=0)


def study(confirm: ConfirmSpec = ROUNDS, *sizes: int, **search: Any) -> StudySpec:
    """Return a study with one burn-in run."""
    return replace(simulated_study(sizes or (100,), **{"burn_in_max": 1, **search}), confirm=confirm)


def test_a_study_takes_burn_in_trials_and_rounds_of_each_record_size() -> None:
    assert most_s(study(), [10]) == BURN_IN_S + 10 * EACH_S + 5 * 2 * EACH_S
    assert most_s(study(ROUNDS, 100, 1000), [10, 4]) == 2 * BURN_IN_S + 14 * EACH_S + 2 * 5 * 2 * EACH_S
    assert least_s(study()) == BURN_IN_S + 6 * EACH_S + 3 * 2 * EACH_S
    assert least_s(study(ROUNDS, 100, 1000)) == 2 * least_s(study())


def test_few_trials_and_no_confirmation_need_less() -> None:
    assert least_s(study(trials=2)) == BURN_IN_S + 2 * EACH_S + 3 * 2 * EACH_S
    assert least_s(study(trials=None)) == least_s(study(trials=60))
    assert least_s(study(replace(ROUNDS, rounds=0), trials=2)) == BURN_IN_S + 2 * EACH_S
    assert most_s(study(replace(ROUNDS, rounds=0)), [2]) == BURN_IN_S + 2 * EACH_S


def test_the_first_load_without_a_pause_takes_up_to_24_seconds() -> None:
    spec = study(replace(ROUNDS, rounds=0), burn_in_max=2)
    assert most_s(spec, [0]) == 25.0 + (burn_in_trials(spec) - 1) * EACH_S


def test_several_targets_share_only_the_search() -> None:
    spec = replace(study(), targets=(Target(), Target()))
    assert most_s(study(), [10]) - most_s(spec, [10]) == 5 * EACH_S


@pytest.mark.parametrize(("spread_over_s", "gap_s"), [(500.0, 100.0), (5.0, 0.0)])
def test_a_pause_lasts_for_the_part_of_the_gap_that_a_round_leaves(spread_over_s: float, gap_s: float) -> None:
    spec = study(replace(ROUNDS, spread_over_s=spread_over_s))
    # Of the rounds, each but the last is followed by a pause. Each begins with a burn-in run.
    pauses_s = 4 * max(0.0, gap_s - 3 * EACH_S)
    assert most_s(spec, [10]) - most_s(study(), [10]) == pytest.approx(5 * EACH_S + pauses_s)


def test_new_brokers_take_their_start_and_burn_in_runs() -> None:
    own = replace(study(replace(ROUNDS, new_broker=NewBroker.EACH_ROUND)), executor=Executor.LOCAL)
    assert most_s(own, [10]) - most_s(study(), [10]) == 5 * (20.0 + 2 * EACH_S)
    assert least_s(own) - least_s(study()) == 3 * (20.0 + 2 * EACH_S)


def test_the_least_bytes_follow_from_the_throughput() -> None:
    # A trial sends for 3 s at full speed, and for 3 s at 0.3 of it. There are 1 + 6 + 6 of them.
    assert least_bytes(study(), 100.0) == pytest.approx(13 * (3 + 3 * 0.3) * 100e6)


def test_rounds_on_a_users_cluster_get_a_third_of_the_time_or_what_they_need_to_be_apart() -> None:
    theirs = replace(study(hours=9.0), targets=(Target(bootstrap="broker:9092"),), executor=Executor.LOCAL)
    # Three rounds of two configs, each with a burn-in run. Only the last one comes after the last pause.
    least_s = 3 * EACH_S + 2 * 900.0
    assert least_spread_s(theirs, EACH_S) == least_s
    assert spread_s(theirs, 9000.0, EACH_S) == 3000.0
    assert spread_s(theirs, 3000.0, EACH_S) == least_s
    assert spread_s(theirs, 2700.0, EACH_S) == 0.0, "the search would have less than a third"
    assert spread_s(study(hours=9.0), 9000.0, EACH_S) == 0.0
    assert gap_s(theirs, least_s, EACH_S) == 900.0
    assert gap_s(theirs, least_s - 60.0, EACH_S) == 870.0, "the search took a little longer"
    assert gap_s(theirs, 1500.0, EACH_S) == 0.0
    assert gap_s(theirs, 3600.0, EACH_S) == 900.0, "so that later rounds are apart too"
    assert gap_s(theirs, 8 * 3600.0, EACH_S) == pytest.approx((8 * 3600.0 - 3 * EACH_S) / 4)
