"""What is measured next follows from the record alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.study_tests.trials import baseline, failed, trial
from tuner.study.schedule import ConfirmStep, burnt_in, confirm_steps, missing_steps, next_kind
from tuner.study.spec import SearchSpec
from tuner.study.trial import Kind

FINGERPRINTS = ("base", "fast", "quick")


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


@settings(max_examples=30)
@given(st.lists(st.text(max_size=4), min_size=1, max_size=5, unique=True), st.integers(0, 6), st.integers())
def test_every_config_is_measured_once_a_round(fingerprints: list[str], rounds: int, seed: int) -> None:
    steps = confirm_steps(fingerprints, rounds, seed)
    assert [step.round for step in steps] == [n for n in range(rounds) for _ in fingerprints]
    for number in range(rounds):
        assert sorted(step.fingerprint for step in steps if step.round == number) == sorted(fingerprints)
    assert confirm_steps(fingerprints, rounds, seed) == steps


def test_the_order_is_drawn_anew_for_each_round_and_seed() -> None:
    def orders(seed: int) -> list[tuple[str, ...]]:
        steps = [step.fingerprint for step in confirm_steps(FINGERPRINTS, 12, seed)]
        return [tuple(steps[place : place + 3]) for place in range(0, 36, 3)]

    assert len(set(orders(0))) > 2
    assert orders(0) != orders(1)
    firsts = [order[0] for seed in range(10) for order in orders(seed)]
    assert all(firsts.count(fingerprint) > 15 for fingerprint in FINGERPRINTS), "no config is always first"


def test_a_step_is_missing_until_it_is_on_record_failed_or_not() -> None:
    fast = {"linger.ms": "7"}
    first, other = trial(0, config=fast), baseline()
    steps = confirm_steps([other.fingerprint, first.fingerprint], 2, seed=0)
    assert missing_steps(steps, [first, other]) == steps, "the search's own trials are no confirmation"
    done = [
        trial(5, kind=Kind.CONFIRM, config={}, round=0),
        failed(6, kind=Kind.CONFIRM, config=fast, round=1),
    ]
    assert missing_steps(steps, done) == [
        step for step in steps if step not in (ConfirmStep(0, other.fingerprint), ConfirmStep(1, first.fingerprint))
    ]
    assert len(missing_steps(steps, done)) == 2


def test_a_later_confirmation_has_rounds_of_its_own() -> None:
    earlier, later = confirm_steps(["a", "b"], 2, seed=1), confirm_steps(["a", "b"], 2, seed=1, first_round=2)
    assert {step.round for step in earlier} == {0, 1}
    assert {step.round for step in later} == {2, 3}
