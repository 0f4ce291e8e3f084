"""Tests of metrics: the values they read, when they have no value, and where they are shown."""

import math
from types import MappingProxyType

import pytest

from objectives import metrics
from objectives.metrics import (
    COMPARED_WITH_BASELINE,
    OUTCOME_METRICS,
    SATURATED_PREFIX,
    Direction,
    Metric,
    ShownIn,
    metrics_of,
    shown_in,
)
from runners.measurements.histogram import Histogram
from runners.measurements.resources import Resources
from tests.helpers.measurements import activity, counts, end_to_end, measurement

RESOURCES = Resources(broker_cpu_cores=0.5, process_cpu_cores=0.4)
VALUES = {
    "records_per_s": 500,
    "mb_per_s": 0.05,
    "latency_mean_ms": 500.5,
    "latency_p50_ms": 500,
    "latency_p90_ms": 900,
    "latency_p95_ms": 950,
    "latency_p99_ms": 990,
    "latency_p999_ms": 999,
    "latency_max_ms": 1_000,
    "wire_bytes_per_value_byte": 0.5,
    "broker_cpu_ms_per_mb": 10_000,
    "client_cpu_ms_per_mb": 8_000,
}
OF_CONSUMERS = {
    "end_to_end_mean_ms": 20.5,
    "end_to_end_p50_ms": 20,
    "end_to_end_p95_ms": 38,
    "end_to_end_p99_ms": 40,
    "end_to_end_p999_ms": 40,
    "consumer_cpu_ms_per_mb": 3.0,
}
LATENCIES = [name for name in VALUES if name.startswith("latency")]


def test_every_metric_is_in_the_table_by_its_name() -> None:
    saturated = {SATURATED_PREFIX + name for name in LATENCIES}
    assert set(OUTCOME_METRICS) == {*VALUES, *saturated, *OF_CONSUMERS, "delivered_ratio", "held_rate_ratio"}
    assert all(metric.name == name and metric.meaning and metric.label for name, metric in OUTCOME_METRICS.items())


@pytest.mark.parametrize("name", VALUES)
def test_a_metric_is_read_in_the_unit_of_its_name(name: str) -> None:
    value = OUTCOME_METRICS[name].value_in(measurement(resources=RESOURCES))
    assert value == pytest.approx(VALUES[name], rel=0.001)


@pytest.mark.parametrize("name", OF_CONSUMERS)
def test_a_metric_of_consumers_needs_consumers(name: str) -> None:
    assert OUTCOME_METRICS[name].value_in(measurement()) is None
    seen = measurement(end_to_end=end_to_end())
    assert OUTCOME_METRICS[name].value_in(seen) == pytest.approx(OF_CONSUMERS[name], rel=0.001)


def test_more_is_better_only_for_throughput_and_shares() -> None:
    better_more = {name for name, metric in OUTCOME_METRICS.items() if metric.direction is Direction.MAXIMIZE}
    assert better_more == {"records_per_s", "mb_per_s", "delivered_ratio", "held_rate_ratio"}


@pytest.mark.parametrize("name", LATENCIES)
def test_a_latency_with_acks_0_is_readable_but_has_no_value_in_a_trial(name: str) -> None:
    unanswered = measurement(counts=counts(acks=0))
    assert OUTCOME_METRICS[name].value_in(unanswered) is None
    assert OUTCOME_METRICS[name].read(unanswered) == pytest.approx(VALUES[name], rel=0.001)


@pytest.mark.parametrize("name", ["records_per_s", "mb_per_s", "wire_bytes_per_value_byte"])
def test_throughput_with_acks_0_has_a_value(name: str) -> None:
    assert OUTCOME_METRICS[name].value_in(measurement(counts=counts(acks=0))) == pytest.approx(VALUES[name])


@pytest.mark.parametrize("name", LATENCIES)
def test_an_empty_histogram_has_no_latency(name: str) -> None:
    assert OUTCOME_METRICS[name].value_in(measurement(latency=Histogram.of([]))) is None


@pytest.mark.parametrize("name", ["wire_bytes_per_value_byte", "broker_cpu_ms_per_mb", "client_cpu_ms_per_mb"])
def test_a_metric_without_its_statistics_has_no_value(name: str) -> None:
    assert OUTCOME_METRICS[name].value_in(measurement(activity=activity(wire_bytes=None))) is None


def test_a_reading_is_never_nan() -> None:
    empty = measurement(latency=Histogram.of([]))
    readings = [metric.read(empty) for metric in OUTCOME_METRICS.values()]
    assert not any(value is not None and math.isnan(value) for value in readings)


def test_titles_contain_the_unit_and_the_full_queue() -> None:
    assert OUTCOME_METRICS["latency_p999_ms"].title == "latency p99.9, ms"
    assert OUTCOME_METRICS["saturated_latency_p99_ms"].title == "latency p99, ms with a full queue"
    assert OUTCOME_METRICS["delivered_ratio"].title == "share delivered"
    titles = [metric.title for metric in OUTCOME_METRICS.values()]
    assert len(set(titles)) == len(titles)


def test_the_metrics_that_every_place_shows() -> None:
    assert set(shown_in(ShownIn.MEASUREMENT)) == set(VALUES)
    assert shown_in(ShownIn.FRONT) == ("mb_per_s", "latency_p99_ms")
    assert set(shown_in(ShownIn.TABLES)) == {
        "mb_per_s",
        "records_per_s",
        "latency_p50_ms",
        "latency_p99_ms",
        "latency_p999_ms",
        "wire_bytes_per_value_byte",
        "broker_cpu_ms_per_mb",
        "end_to_end_p50_ms",
        "end_to_end_p99_ms",
        "consumer_cpu_ms_per_mb",
    }
    assert set(shown_in(ShownIn.MLFLOW)) == {
        "mb_per_s",
        "records_per_s",
        "latency_p50_ms",
        "latency_p99_ms",
        "latency_p999_ms",
        "saturated_latency_p99_ms",
        "delivered_ratio",
        "held_rate_ratio",
    }


def test_every_config_is_compared_with_the_baseline_in_throughput_and_p99() -> None:
    assert COMPARED_WITH_BASELINE == ("mb_per_s", "latency_p99_ms")


@pytest.mark.parametrize("where", ShownIn)
def test_a_new_metric_is_measured_and_shown_where_its_flags_say(
    where: ShownIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = Metric(
        "retries_per_s",
        "repeats",
        "1/s",
        Direction.MINIMIZE,
        "requests sent again per second",
        lambda seen: 3.0,
        shown=frozenset({where}),
    )
    monkeypatch.setattr(metrics, "OUTCOME_METRICS", MappingProxyType({**OUTCOME_METRICS, new.name: new}))
    assert [each for each in ShownIn if new.name in shown_in(each)] == [where]
    assert metrics_of(measurement(), None)[new.name] == 3.0
