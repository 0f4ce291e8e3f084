"""Tests of racing: a trial is stopped early only if the rest of it can't change the outcome."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from objectives.front import dominates
from objectives.metrics import OUTCOME_METRICS
from objectives.racing import (
    MIN_WINDOWS,
    WINDOW_METRICS,
    Forecast,
    PredictedRange,
    Race,
    Stop,
    metrics_in_windows,
    window_value,
)
from objectives.scoring import Constraint, Objective
from runners.measurements.histogram import Histogram
from tests.helpers.measurements import counts, measurement, window

CAPACITY, P99 = Objective("mb_per_s"), Objective("latency_p99_ms")
WINDOWS = 10
NOISE = 0.05
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


# Windows.


@pytest.mark.parametrize("name", sorted(WINDOW_METRICS))
def test_a_window_has_the_values_of_a_measurement_of_the_same_length(name: str) -> None:
    latency = Histogram.of([900, 1_000, 2_000, 3_000, 50_000])
    one = window(records=5_000, value_bytes=5e6, duration_s=0.5, latency=latency)
    whole = measurement(
        records=5_000, value_bytes=5e6, duration_s=0.5, latency=latency, counts=counts(acknowledged=5_000)
    )
    assert window_value(name, one) == pytest.approx(OUTCOME_METRICS[name].value_in(whole))


def test_metrics_that_windows_do_not_have_are_not_predicted() -> None:
    others = {name for name in OUTCOME_METRICS if name not in WINDOW_METRICS}
    assert {name for name in others if "latency" in name} == {"latency_max_ms", "saturated_latency_max_ms"}
    asked = (CAPACITY, Objective("wire_bytes_per_value_byte"), Objective("latency_max_ms"))
    assert metrics_in_windows(asked, [Constraint("latency_p99_ms", True, 1), Constraint("mb_per_s", False, 1)]) == (
        "mb_per_s",
        "latency_p99_ms",
    )


def test_a_window_without_records_has_no_values() -> None:
    empty = window(records=0, value_bytes=0.0, latency=Histogram.of([]))
    assert {window_value(name, empty) for name in WINDOW_METRICS} == {None}


# Forecasts.

PHASES = st.lists(st.floats(0.5, 2.0), min_size=WINDOWS, max_size=WINDOWS)


def ended(values: Sequence[float], over_mean: float = 1.0) -> tuple[Sequence[float], float]:
    return values, over_mean * exp(float(np.log(values).mean()))


@given(st.lists(PHASES, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_trials_and_windows_does_not_matter(phases: list[list[float]], luck: object) -> None:
    known = [ended(values) for values in phases]
    mixed = [*known]
    luck.shuffle(mixed)  # type: ignore[attr-defined]
    one, other = Forecast.of(known, WINDOWS), Forecast.of(mixed, WINDOWS)
    assert one.shift_log == pytest.approx(other.shift_log)
    assert one.sd_log == pytest.approx(other.sd_log)
    seen = one.range(phases[0][:4])
    again = one.range(phases[0][:4][::-1])
    assert seen is not None
    assert again is not None
    assert (seen.low, seen.high) == pytest.approx((again.low, again.high))


@given(st.lists(PHASES, max_size=5), PHASES)
def test_the_unit_does_not_matter(phases: list[list[float]], values: list[float]) -> None:
    plain = Forecast.of([ended(each) for each in phases], WINDOWS).range(values[:3])
    scaled = Forecast.of([ended([1e3 * x for x in each]) for each in phases], WINDOWS)
    ranged = scaled.range([1e3 * x for x in values[:3]])
    assert plain is not None
    assert ranged is not None
    assert (ranged.low, ranged.high) == pytest.approx((1e3 * plain.low, 1e3 * plain.high))


def test_a_forecast_from_more_windows_is_more_certain() -> None:
    rng = np.random.default_rng(1)
    forecast = Forecast.of([ended(np.exp(rng.normal(0, NOISE, WINDOWS)).tolist()) for _ in range(30)], WINDOWS)
    assert all(later < earlier for earlier, later in pairwise(forecast.sd_log))
    assert forecast.sd_log[1] == pytest.approx(NOISE * (1 / 2 - 1 / 10) ** 0.5, rel=0.3)


def test_a_slow_start_of_all_trials_is_learnt() -> None:
    """If all phases start slowly for two windows, the forecast lies above the values of these windows."""
    known = [ended([50.0, 50.0, *[100.0] * 8], over_mean=1.1) for _ in range(20)]
    seen = Forecast.of(known, WINDOWS).range([25.0, 25.0])
    whole = ended([25.0, 25.0, *[50.0] * 8], over_mean=1.1)[1]
    assert seen is not None
    assert seen.low < whole < seen.high
    assert seen.high / seen.low < 1.2


def test_the_forecast_of_a_phase_that_stalls_is_less_certain() -> None:
    forecast = Forecast.of([ended([100.0 + number] * WINDOWS) for number in range(20)], WINDOWS)
    calm, stalled = forecast.range([10.0, 10.0]), forecast.range([10.0, 100.0])
    assert calm is not None
    assert stalled is not None
    assert stalled.high / stalled.low > 2 * calm.high / calm.low


def test_without_values_there_is_no_forecast() -> None:
    forecast = Forecast.of([], WINDOWS)
    assert forecast.range([]) is None
    assert forecast.range([1.0, 0.0]) is None
    assert forecast.range([1.0] * WINDOWS) is None, "nothing is left to predict"
    assert forecast.range([1.0]) is not None
    assert Forecast.of([ended([1.0] * 5)], WINDOWS) == forecast, "a phase of another length is ignored"
    assert Forecast.of([], 1).range([1.0]) is None


def test_the_interval_holds_the_value_as_often_as_its_level_says() -> None:
    rng = np.random.default_rng(7)
    outside, tried = 0, 400
    for _ in range(tried):
        trials = np.exp(rng.normal(0, 0.3, 16)[:, None] + rng.normal(0, NOISE, (16, WINDOWS)))
        known = [ended(values.tolist()) for values in trials[1:]]
        values = trials[0].tolist()
        seen = Forecast.of(known, WINDOWS).range(values[:MIN_WINDOWS])
        assert seen is not None
        outside += not seen.low <= ended(values)[1] <= seen.high
    assert outside / tried <= 0.05


# Races.


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


@pytest.mark.parametrize("asked", ["latency_max_ms"])
def test_a_paced_phase_is_not_shortened_if_its_maximum_is_needed(asked: str) -> None:
    with_limit = race(constraints=[(Constraint(asked, at_most=True, limit=100), None)])
    assert with_limit.judge(sure(latency_p99_ms=21), last=False) is None
    objectives = (CAPACITY, P99, Objective(asked))
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
