"""What is measured next follows from the record alone."""

import pytest

from tuner.study.schedule import burnt_in, next_kind
from tuner.study.spec import SearchSpec
from tuner.study.trial import Kind


def test_the_baseline_is_first_and_returns_every_few_trials() -> None:
    search = SearchSpec(trials=9, baseline_every=4)
    kinds = [next_kind(counted, search) for counted in range(9)]
    assert [place for place, kind in enumerate(kinds) if kind is Kind.BASELINE] == [0, 4, 8]
    assert kinds.count(Kind.SEARCH) == 6


def test_nothing_is_measured_beyond_the_trials_asked_for() -> None:
    search = SearchSpec(trials=9, baseline_every=3)
    assert next_kind(8, search) is Kind.SEARCH
    assert next_kind(9, search) is next_kind(10, search) is None
    assert next_kind(0, SearchSpec(trials=0)) is None


def test_without_a_number_of_trials_there_is_always_a_next_one() -> None:
    search = SearchSpec(trials=None, baseline_every=10)
    assert next_kind(10**6, search) is Kind.BASELINE
    assert next_kind(10**6 + 1, search) is Kind.SEARCH


def test_a_baseline_every_trial_leaves_no_search() -> None:
    assert {next_kind(n, SearchSpec(trials=5, baseline_every=1)) for n in range(5)} == {Kind.BASELINE}


@pytest.mark.parametrize(
    ("capacities", "over"),
    [
        ([], False),
        ([100.0], False),
        ([100.0, 95.0], True),
        ([95.0, 100.0], True),
        ([94.9, 100.0], False),
        ([100.0, 94.9], False),
        ([100.0, 100.0, 50.0], False),
        ([50.0, 100.0, 101.0], True),
        ([10.0, 20.0, 30.0, 40.0], True),
    ],
)
def test_the_burn_in_ends_when_two_in_a_row_agree_or_enough_were_measured(capacities: list[float], over: bool) -> None:
    assert burnt_in(capacities, 4) is over


@pytest.mark.parametrize("at_most", [0, 1])
def test_a_burn_in_that_does_without_still_takes_one(at_most: int) -> None:
    assert not burnt_in([], at_most)
    assert burnt_in([100.0], at_most)
