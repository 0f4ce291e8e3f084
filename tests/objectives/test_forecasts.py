"""Forecasts of a phase from its first windows."""

from collections.abc import Sequence
from itertools import pairwise
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from objectives.forecasts import WINDOW_METRICS, Forecast, metrics_in_windows, window_value
from objectives.metrics import OUTCOME_METRICS
from objectives.racing import MIN_WINDOWS
from objectives.scoring import Constraint, Objective
from runners.measurements.histogram import Histogram
from tests.helpers.measurements import counts, measurement, window

WINDOWS = 10
NOISE = 0.05
PHASES = st.lists(st.floats(0.5, 2.0), min_size=WINDOWS, max_size=WINDOWS)


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
    asked = (Objective("mb_per_s"), Objective("wire_bytes_per_value_byte"), Objective("latency_max_ms"))
    assert metrics_in_windows(asked, [Constraint("latency_p99_ms", True, 1), Constraint("mb_per_s", False, 1)]) == (
        "mb_per_s",
        "latency_p99_ms",
    )


def test_a_window_without_records_has_no_values() -> None:
    empty = window(records=0, value_bytes=0.0, latency=Histogram.of([]))
    assert {window_value(name, empty) for name in WINDOW_METRICS} == {None}


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
