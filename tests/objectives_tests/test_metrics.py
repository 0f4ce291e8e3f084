"""Metrics read what they name, and refuse to be an objective where they mean nothing."""

import math

import pytest

from objectives.metrics import METRICS, Direction, UnusableMetric, value_of
from runners.histogram import Histogram
from runners.measurement import Resources
from tests.runners_tests.builders import activity, counts, measurement

RESOURCES = Resources(broker_cpu_cores=0.5)
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
}
LATENCIES = [name for name in METRICS if name.startswith("latency")]


def test_every_metric_is_known_by_its_name() -> None:
    assert set(METRICS) == set(VALUES)
    assert all(metric.name == name for name, metric in METRICS.items())


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_read_in_the_unit_of_its_name(name: str) -> None:
    assert value_of(name, measurement(resources=RESOURCES)) == pytest.approx(VALUES[name], rel=0.001)


def test_more_is_better_of_throughput_only() -> None:
    better_more = {name for name, metric in METRICS.items() if metric.direction is Direction.MAXIMIZE}
    assert better_more == {"records_per_s", "mb_per_s"}


@pytest.mark.parametrize("name", LATENCIES)
def test_a_latency_without_acknowledgements_is_refused(name: str) -> None:
    with pytest.raises(UnusableMetric, match=f"{name} needs acknowledgements, but acks=0 asks for none"):
        value_of(name, measurement(counts=counts(acks=0)))


@pytest.mark.parametrize("name", ["records_per_s", "mb_per_s", "wire_bytes_per_value_byte"])
def test_throughput_without_acknowledgements_is_not(name: str) -> None:
    assert value_of(name, measurement(counts=counts(acks=0))) == pytest.approx(VALUES[name])


@pytest.mark.parametrize("name", LATENCIES)
def test_no_latency_is_no_number(name: str) -> None:
    with pytest.raises(UnusableMetric, match="could not be measured"):
        value_of(name, measurement(latency=Histogram.of([])))


@pytest.mark.parametrize("name", ["wire_bytes_per_value_byte", "broker_cpu_ms_per_mb"])
def test_what_was_not_read_is_no_number(name: str) -> None:
    with pytest.raises(UnusableMetric, match="could not be measured"):
        value_of(name, measurement(activity=activity(wire_bytes=None)))


def test_a_name_that_is_none_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        value_of("latency_p42_ms", measurement())


def test_a_reading_is_never_nan() -> None:
    empty = measurement(latency=Histogram.of([]))
    readings = [metric.read(empty) for metric in METRICS.values()]
    assert not any(value is not None and math.isnan(value) for value in readings)
