"""A budget counts over all runs of a study, and the study ends at the first limit that it reaches."""

import datetime
import json
import time

import pytest

from tests.helpers.trials import trial
from tuner.execution.budgets.budget import Budget, WallClock, next_occurrence, spent_s
from tuner.model.errors import DeadlinePassed
from tuner.model.spec import SearchSpec
from tuner.model.trial import Trial

EVENING = datetime.datetime(2026, 3, 1, 23, 30)
ABOUT = 120.0
"""Tolerance in seconds, as a test may take long on a busy machine."""


def spent(*durations_s: float, value_bytes: float = 0.0) -> list[Trial]:
    return [trial(n, duration_s=seconds, value_bytes=value_bytes) for n, seconds in enumerate(durations_s)]


def left_s(search: SearchSpec, *durations_s: float, now: datetime.datetime = EVENING) -> float:
    deadline = None if search.until is None else next_occurrence(search.until, now)
    left = Budget(search, spent(*durations_s), deadline, WallClock(lambda: now)).left_s()
    assert left is not None
    return left


def test_without_limits_a_study_never_ends() -> None:
    budget = Budget(SearchSpec(), spent(1e9, value_bytes=1e18))
    assert budget.left_s() is None
    assert budget.left_bytes() is None


def test_hours_count_over_all_runs() -> None:
    search = SearchSpec(hours=2)
    assert left_s(search) == pytest.approx(7_200, abs=ABOUT)
    assert left_s(search, 1_800, 3_600) == pytest.approx(1_800, abs=ABOUT)
    assert left_s(search, 7_000, 3_600) == 0.0


def test_trials_that_ran_at_the_same_time_count_once() -> None:
    began = datetime.datetime(2026, 3, 1, 20, 0, tzinfo=datetime.UTC)
    at = [0, 100, 600]
    trials = [
        trial(n, duration_s=300.0, started_at=(began + datetime.timedelta(seconds=each)).isoformat())
        for n, each in enumerate(at)
    ]
    assert spent_s(trials) == 400 + 300
    assert spent_s(list(reversed(trials))) == 700


def test_a_night_in_which_clocks_are_put_back_is_an_hour_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    try:
        evening = datetime.datetime(2026, 10, 24, 23, 0)
        assert left_s(SearchSpec(until="07:00"), now=evening) == pytest.approx(9 * 3600, abs=ABOUT)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_time_left_never_grows() -> None:
    budget = Budget(SearchSpec(hours=1), [])
    first, second = budget.left_s(), budget.left_s()
    assert first is not None
    assert second is not None
    assert second <= first <= 3_600


@pytest.mark.parametrize(
    ("now", "until", "when"),
    [
        (EVENING, "23:45", datetime.datetime(2026, 3, 1, 23, 45)),
        (EVENING, "06:00", datetime.datetime(2026, 3, 2, 6, 0)),
        (EVENING, "00:00", datetime.datetime(2026, 3, 2, 0, 0)),
        (EVENING, "23:30", datetime.datetime(2026, 3, 2, 23, 30)),
        (EVENING, "23:29", datetime.datetime(2026, 3, 2, 23, 29)),
        (datetime.datetime(2026, 3, 1, 5, 59, 59, 999_999), "06:00", datetime.datetime(2026, 3, 1, 6, 0)),
        (datetime.datetime(2026, 12, 31, 22, 0), "6:05", datetime.datetime(2027, 1, 1, 6, 5)),
        (EVENING, "2026-02-01 06:00", datetime.datetime(2026, 2, 1, 6, 0)),
        (datetime.datetime(2028, 2, 28, 22, 0), "06:00", datetime.datetime(2028, 2, 29, 6, 0)),
    ],
)
def test_a_time_of_day_that_has_passed_means_tomorrow(
    now: datetime.datetime, until: str, when: datetime.datetime
) -> None:
    assert next_occurrence(until, now) == when


def test_a_time_of_day_ends_a_run_however_long_earlier_runs_took() -> None:
    assert left_s(SearchSpec(until="06:00"), 36_000) == pytest.approx(6.5 * 3_600, abs=ABOUT)


def test_a_study_ends_at_the_earlier_of_hours_and_time_of_day() -> None:
    assert left_s(SearchSpec(hours=1, until="06:00")) == pytest.approx(3_600, abs=ABOUT)
    assert left_s(SearchSpec(hours=10, until="06:00")) == pytest.approx(6.5 * 3_600, abs=ABOUT)
    assert left_s(SearchSpec(hours=1, until="06:00"), 4_000) == 0.0


BYTES = SearchSpec(max_bytes=1_000)


def test_an_interrupted_trial_counts_with_all_that_was_reserved() -> None:
    first = Budget(BYTES, ())
    assert first.reserve(trial(0).key, 300, free=1, largest_bytes=0) == 300
    assert first.left_bytes() == 1_000, "what is reserved is not spent yet"
    killed = Budget(BYTES, (), reserved=json.loads(json.dumps(first.reserved())))
    assert killed.left_bytes() == 700
    assert killed.reserve(trial(0).key, 300, free=1, largest_bytes=0) == 300, "its number is free again"
    again = Budget(BYTES, (), reserved=killed.reserved())
    assert again.left_bytes() == 400
    stored = Budget(BYTES, [trial(0, sent_bytes=120)], reserved=killed.reserved())
    assert stored.left_bytes() == 1_000 - 300 - 120, "a stored trial counts with what it sent"


GB = 10**9


def test_a_trial_reserves_what_it_will_probably_send() -> None:
    """A killed trial counts with its reservation, so one kill must not use up the whole budget."""
    first = Budget(SearchSpec(max_bytes=40 * GB), ())
    key = trial(0).key
    assert first.reserve(key, 10**12, free=1, largest_bytes=0) == 10 * GB, "nothing is known of its size yet"
    assert first.was_cut(key)
    killed = Budget(SearchSpec(max_bytes=40 * GB), (), reserved=json.loads(json.dumps(first.reserved())))
    assert killed.left_bytes() == 30 * GB
    assert killed.reserve(key, 10**12, free=1, largest_bytes=0.6 * GB) == 6 * GB
    nearly_spent = Budget(SearchSpec(max_bytes=4 * GB), ())
    assert nearly_spent.reserve(key, 10**12, free=1, largest_bytes=0.6 * GB) == 2.4 * GB
    assert nearly_spent.reserve(trial(1).key, 10**12, free=1, largest_bytes=0.6 * GB) == 1.6 * GB, "all that is left"
    assert not nearly_spent.was_cut(trial(1).key)
    assert Budget(SearchSpec(), ()).reserve(key, 10**12, free=1, largest_bytes=1) == 10**12, "there is no budget"


def test_a_trial_interrupted_by_ctrl_c_counts_with_what_it_sent() -> None:
    budget = Budget(BYTES, ())
    budget.reserve(trial(0).key, 300, free=1, largest_bytes=0)
    budget.interrupt(trial(0).key, 120)
    assert budget.left_bytes() == 880
    assert Budget(BYTES, (), reserved=json.loads(json.dumps(budget.reserved()))).left_bytes() == 880
    budget.reserve(trial(0).key, 300, free=1, largest_bytes=0)
    budget.interrupt(trial(0).key, 10**12)
    assert budget.left_bytes() == 580, "no trial sends more than its reservation"


def test_trials_that_run_at_the_same_time_share_what_is_left() -> None:
    budget = Budget(BYTES, ())
    assert [budget.reserve(trial(n).key, 10**9, free, largest_bytes=0) for n, free in enumerate((3, 2, 1))] == [
        333,
        333,
        334,
    ]
    budget.spend(trial(1, sent_bytes=100))
    assert budget.reserve(trial(3).key, 10**9, free=1, largest_bytes=100) == 233
    alone = Budget(BYTES, ())
    assert alone.reserve(trial(0).key, 10**9, free=3, largest_bytes=600) == 1_000, "not enough for two such trials"
    assert alone.reserve(trial(1).key, 10**9, free=2, largest_bytes=600) == 0


def test_a_trial_of_an_older_release_counts_with_its_acknowledged_bytes() -> None:
    old = {name: value for name, value in trial(0, value_bytes=250).as_json().items() if name != "sent_bytes"}
    assert Budget(BYTES, [Trial.from_json(old)]).left_bytes() == 750


def test_a_deadline_is_compared_with_the_wall_clock() -> None:
    """While the host sleeps, only the wall clock goes on."""
    clock = [EVENING]
    budget = Budget(SearchSpec(until="06:00"), [], next_occurrence("06:00", EVENING), WallClock(lambda: clock[0]))
    budget.check_deadline()
    clock[0] = datetime.datetime(2026, 3, 2, 5, 59)
    assert budget.left_s() == 60.0
    clock[0] = datetime.datetime(2026, 3, 2, 6, 5)
    assert (budget.left_s(), budget.late_s()) == (0.0, 300.0)
    budget.check_deadline(allowed_s=301.0)
    with pytest.raises(
        DeadlinePassed, match=r"after 2026-03-02 06:00 .* is 2026-03-02 06:05.*--until '2026-03-03 06:00'"
    ):
        budget.check_deadline(allowed_s=299.0)


def test_bytes_count_over_all_runs_and_while_a_run_writes() -> None:
    budget = Budget(SearchSpec(max_bytes=1_000), spent(1, 1, value_bytes=200))
    assert budget.left_bytes() == 600
    budget.spend(trial(2, value_bytes=450))
    assert budget.left_bytes() == 150
    budget.spend(trial(3, value_bytes=450))
    assert budget.left_bytes() == -300
    assert budget.left_s() is None
