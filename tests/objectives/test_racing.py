"""Tests of racing: a trial is stopped early only if the rest of it can't change the outcome."""

from collections.abc import Mapping, Sequence
from math import exp, log

import numpy as np
import pytest

from objectives.forecasts import Forecast, PredictedRange
from objectives.front import dominates
from objectives.racing import MIN_WINDOWS, Race, Stop
from objectives.scoring import Constraint, Objective
from tests.objectives.test_forecasts import NOISE, WINDOWS, ended

CAPACITY, P99 = Objective("mb_per_s"), Objective("latency_p99_ms")
FRONT = {3: (100.0, 2.0), 7: (200.0, 5.0), 9: (300.0, 20.0)}


def sure(**values: float) -> dict[str, PredictedRange]:
    """Return intervals for values that are known for certain."""
    return {name: PredictedRange(value, value) for name, value in values.items()}


def race(
    rivals: Mapping[int, tuple[float, ...]] = FRONT,
    *,
    objectives: tuple[Objective, ...] = (CAPACITY, P99),
    others: Sequence[tuple[float, ...]] = (),
    constraints: Sequence[tuple[Constraint, float | None]] = (),
) -> Race:
    return Race(objectives, rivals, tuple(others), tuple(constraints), {})


def test_a_trial_that_the_front_beats_in_every_objective_is_stopped() -> None:
    stop = race().judge(sure(mb_per_s=90, latency_p99_ms=4), last=True)
    assert stop == Stop(
        "mb_per_s is at most 90 and latency_p99_ms is at least 4; trial 3 (mb_per_s 100, latency_p99_ms 2) is better",
        ends_trial=True,
    )


@pytest.mark.parametrize(("capacity", "p99"), [(110, 4), (90, 1), (310, 99), (100, 2), (100, 4), (90, 2)])
def test_a_trial_that_is_not_beaten_in_every_objective_continues(capacity: float, p99: float) -> None:
    assert race().judge(sure(mb_per_s=capacity, latency_p99_ms=p99), last=True) is None


def test_a_trial_continues_while_its_interval_reaches_the_front() -> None:
    lost = {"mb_per_s": PredictedRange(60, 90), "latency_p99_ms": PredictedRange(4, 8)}
    assert race().judge(lost, last=True) is not None
    assert race().judge({**lost, "mb_per_s": PredictedRange(60, 101)}, last=True) is None
    assert race().judge({**lost, "latency_p99_ms": PredictedRange(1.9, 8)}, last=True) is None


def test_a_single_objective_is_compared_with_the_best_trial() -> None:
    alone = race({4: (200.0,)}, objectives=(CAPACITY,))
    assert alone.judge(sure(mb_per_s=199), last=True) is not None
    assert alone.judge(sure(mb_per_s=200), last=True) is None


def test_without_a_front_nothing_is_stopped() -> None:
    assert race({}).judge(sure(mb_per_s=1, latency_p99_ms=99), last=True) is None
    assert race({}, others=[(100.0, 2.0)] * 20).judge(sure(latency_p99_ms=99), last=False) is None


def test_an_objective_without_window_values_prevents_a_stop() -> None:
    asked = (CAPACITY, Objective("wire_bytes_per_value_byte"))
    assert race({1: (100.0, 0.5)}, objectives=asked).judge(sure(mb_per_s=1), last=True) is None


def test_racing_works_with_three_objectives() -> None:
    asked = (CAPACITY, P99, Objective("latency_p50_ms"))
    three = race({1: (100.0, 5.0, 1.0)}, objectives=asked)
    assert three.judge(sure(mb_per_s=90, latency_p99_ms=6, latency_p50_ms=2), last=True) is not None
    assert three.judge(sure(mb_per_s=90, latency_p99_ms=6, latency_p50_ms=0.9), last=True) is None


# The paced phase.


def test_a_latency_worse_than_the_whole_front_ends_the_paced_phase() -> None:
    stop = race().judge(sure(latency_p99_ms=21), last=False)
    assert stop is not None
    assert not stop.ends_trial, "a record throughput could still make up for it"
    assert stop.because == (
        "latency_p99_ms is at least 21, worse than trial 3 (mb_per_s 100, latency_p99_ms 2) "
        "and all other trials of the front"
    )
    assert race().judge(sure(latency_p99_ms=19), last=False) is None


def test_a_high_latency_ends_the_phase_only_if_few_trials_had_the_throughput_to_make_up_for_it() -> None:
    slow = [(150.0, 9.0)] * 18
    assert race(others=[*slow, (250.0, 9.0)]).judge(sure(latency_p99_ms=6), last=False) == Stop(
        "latency_p99_ms is at least 6, worse than trial 3 (mb_per_s 100, latency_p99_ms 2); "
        "only 1 of 19 trials had a mb_per_s good enough to make up for it",
        ends_trial=False,
    )
    assert race(others=[*slow, *[(250.0, 9.0)] * 13]).judge(sure(latency_p99_ms=6), last=False) is None
    assert race(others=slow[:5]).judge(sure(latency_p99_ms=6), last=False) is None, (
        "too few trials to tell what is rare"
    )


def test_the_best_latency_is_measured_in_full() -> None:
    assert race(others=[(1.0, 1.0)] * 50).judge(sure(latency_p99_ms=1), last=False) is None


def test_a_paced_phase_is_not_shortened_if_its_maximum_is_needed() -> None:
    with_limit = race(constraints=[(Constraint("latency_max_ms", at_most=True, limit=100), None)])
    assert with_limit.judge(sure(latency_p99_ms=21), last=False) is None
    objectives = (CAPACITY, P99, Objective("latency_max_ms"))
    assert race({1: (9.0, 2.0, 3.0)}, objectives=objectives).judge(sure(latency_p99_ms=21), last=False) is None


def test_the_last_phase_is_run_even_if_all_objectives_are_worse() -> None:
    """Constraints may depend on the last phase, and a sampler must not be told a throughput that was not measured."""
    stop = race({1: (2.0,)}, objectives=(P99,)).judge(sure(latency_p99_ms=3), last=False)
    assert stop is not None
    assert not stop.ends_trial


def test_a_trial_would_join_the_front_if_it_is_unbeaten_and_meets_the_constraints() -> None:
    limit = Constraint("latency_p99_ms", at_most=True, limit=2.0, of_baseline=True)
    asked = race(constraints=[(limit, 10.0)])
    whole = {"delivered_ratio": 1.0, "held_rate_ratio": 1.0}
    assert asked.would_join_front({**whole, "mb_per_s": 110, "latency_p99_ms": 4})
    assert asked.would_join_front({**whole, "mb_per_s": 100, "latency_p99_ms": 2}), "equal trials are both on the front"
    assert not asked.would_join_front({**whole, "mb_per_s": 90, "latency_p99_ms": 4})
    assert not asked.would_join_front({**whole, "mb_per_s": 400, "latency_p99_ms": 21})
    assert not asked.would_join_front({**whole, "mb_per_s": 400})
    assert not asked.would_join_front({**whole, "mb_per_s": 400, "latency_p99_ms": 1, "delivered_ratio": 0.9})


# Constraints.


@pytest.mark.parametrize(
    ("constraint", "baseline", "kept", "broken", "words"),
    [
        (
            Constraint("latency_p99_ms", True, 10),
            None,
            PredictedRange(9, 30),
            PredictedRange(11, 30),
            "at least 11, but must be <= 10",
        ),
        (
            Constraint("mb_per_s", False, 50),
            None,
            PredictedRange(20, 51),
            PredictedRange(20, 49),
            "at most 49, but must be >= 50",
        ),
        (
            Constraint("mb_per_s", False, 0.9, of_baseline=True),
            100.0,
            PredictedRange(20, 91),
            PredictedRange(20, 89),
            "at most 89, but must be >= 0.9 x baseline",
        ),
    ],
)
def test_a_constraint_that_can_no_longer_be_kept_ends_the_trial(
    constraint: Constraint, baseline: float | None, kept: PredictedRange, broken: PredictedRange, words: str
) -> None:
    asked = race({}, constraints=[(constraint, baseline)])
    assert asked.judge({constraint.metric: kept}, last=False) is None
    stop = asked.judge({constraint.metric: broken}, last=False)
    assert stop is not None
    assert stop.ends_trial
    assert words in stop.because


def test_a_limit_relative_to_an_unknown_baseline_is_kept() -> None:
    asked = race({}, constraints=[(Constraint("mb_per_s", False, 0.9, of_baseline=True), None)])
    assert asked.judge(sure(mb_per_s=1), last=True) is None


# How often a trial is stopped wrongly.


def outcome_of(
    rng: np.random.Generator,
    truth: tuple[float, float],
    learnt: Mapping[str, Forecast],
    rivals: Mapping[int, tuple[float, float]],
) -> tuple[int | None, tuple[float, float]]:
    """Simulate a trial; return the window at which it was stopped (None if it was not), and its values at the end."""
    of_trial = np.exp(rng.normal(0, NOISE, 2))
    phases = [
        (value * luck * np.exp(rng.normal(0, NOISE, WINDOWS))).tolist()
        for value, luck in zip(truth, of_trial, strict=True)
    ]
    capacity, p99 = (exp(float(np.log(values).mean())) for values in phases)
    asked = race(rivals)
    for count in range(MIN_WINDOWS, WINDOWS):
        seen = learnt["mb_per_s"].range(phases[0][:count])
        assert seen is not None
        if asked.judge({"mb_per_s": seen, **sure(latency_p99_ms=p99)}, last=True):
            return count, (capacity, p99)
    return None, (capacity, p99)


def learnt_forecasts(rng: np.random.Generator) -> dict[str, Forecast]:
    known = [ended(np.exp(rng.normal(0, NOISE, WINDOWS)).tolist()) for _ in range(12)]
    return {"mb_per_s": Forecast.of(known, WINDOWS), "latency_p99_ms": Forecast.of(known, WINDOWS)}


@pytest.mark.parametrize("better", [1.0, 1.05])
def test_configs_as_good_as_the_front_are_hardly_ever_stopped_wrongly(better: float) -> None:
    """A stop is wrong if the trial would have joined the front. The noise of trials and of windows is 5 % each."""
    rng = np.random.default_rng(11)
    directions = [CAPACITY.direction, P99.direction]
    wrong, joining = 0, 0
    for _ in range(600):
        rivals = {
            number: (values[0] * exp(rng.normal(0, NOISE)), values[1] * exp(rng.normal(0, NOISE)))
            for number, values in FRONT.items()
        }
        capacity, p99 = FRONT[int(rng.choice(list(FRONT)))]
        stopped_at, whole = outcome_of(rng, (capacity * better, p99 / better), learnt_forecasts(rng), rivals)
        joins = not any(dominates(values, whole, directions) for values in rivals.values())
        joining += joins
        wrong += joins and stopped_at is not None
    assert joining > 300
    assert wrong / joining <= 0.05


def test_configs_far_behind_the_front_are_stopped_at_once() -> None:
    rng = np.random.default_rng(12)
    stops = [outcome_of(rng, (60.0, 4.0), learnt_forecasts(rng), FRONT)[0] for _ in range(100)]
    assert stops.count(MIN_WINDOWS) >= 99


def test_intervals_are_about_as_wide_as_the_noise() -> None:
    """An interval that is about as wide as the noise stops a config that is 20 % worse soon."""
    rng = np.random.default_rng(13)
    learnt = learnt_forecasts(rng)["mb_per_s"]
    seen = learnt.range([100.0, 100.0])
    assert seen is not None
    assert 0.05 < log(seen.high / 100.0) < 0.2
