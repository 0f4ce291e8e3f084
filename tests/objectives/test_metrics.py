"""Tests of metrics: the values they read, the phase of a trial that they come from, and where they are shown."""

import math
from types import MappingProxyType
from typing import Any

import pytest

from objectives import metrics
from objectives.metrics import (
    COMPARED_WITH_BASELINE,
    OUTCOME_METRICS,
    SATURATED_PREFIX,
    Direction,
    Metric,
    ShownIn,
    delivered_ratio,
    metrics_of,
    shown_in,
)
from runners.measurements.histogram import Histogram
from runners.measurements.measurement import Measurement
from runners.measurements.resources import Resources
from runners.workload import RecordSizes, Workload
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
CAPACITY = [name for name in VALUES if name not in LATENCIES]
PACED_RATE = 400.0


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


def test_a_metric_without_records_is_never_nan() -> None:
    empty = measurement(latency=Histogram.of([]))
    readings = [metric.read(empty) for metric in OUTCOME_METRICS.values()]
    assert not any(value is not None and math.isnan(value) for value in readings)


def test_titles_contain_the_unit_and_the_full_queue() -> None:
    assert OUTCOME_METRICS["latency_p999_ms"].title == "latency p99.9, ms"
    assert OUTCOME_METRICS["saturated_latency_p99_ms"].title == "latency p99 with a full queue, ms"
    assert OUTCOME_METRICS["delivered_ratio"].title == "share delivered"
    titles = [metric.title for metric in OUTCOME_METRICS.values()]
    assert len(set(titles)) == len(titles)


def test_each_output_shows_its_metrics() -> None:
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


def saturated(**changes: Any) -> Measurement:
    """Return a saturating phase with ten times the records of `paced`, and a latency of 100 ms."""
    good: dict[str, Any] = {
        "records": 8_000,
        "value_bytes": 800_000.0,
        "latency": Histogram.of([100_000] * 100),
        "resources": Resources(broker_cpu_cores=0.8, process_cpu_cores=1.2),
    }
    return measurement(**{**good, **changes})


def paced(**changes: Any) -> Measurement:
    """Return a paced phase that holds the fixed rate, with a latency of 2 ms."""
    good: dict[str, Any] = {
        "workload": Workload(RecordSizes.fixed(100), rate_records_per_s=PACED_RATE),
        "records": 800,
        "value_bytes": 80_000.0,
        "latency": Histogram.of([2_000] * 100),
    }
    return measurement(**{**good, **changes})


def test_capacity_comes_from_the_saturating_phase() -> None:
    found = metrics_of(saturated(), paced(resources=Resources(broker_cpu_cores=0.1)))
    assert (found["records_per_s"], found["mb_per_s"]) == (4_000, 0.4)
    assert found["wire_bytes_per_value_byte"] == pytest.approx(50_000 / 800_000)
    assert found["broker_cpu_ms_per_mb"] == pytest.approx(2_000)
    assert found["client_cpu_ms_per_mb"] == pytest.approx(3_000)


@pytest.mark.parametrize("name", LATENCIES)
def test_latencies_of_both_phases_have_different_names(name: str) -> None:
    found = metrics_of(saturated(), paced())
    assert found[name] == pytest.approx(2, rel=0.01)
    assert found[SATURATED_PREFIX + name] == pytest.approx(100, rel=0.01)


def test_without_a_paced_phase_there_is_no_latency_at_a_rate() -> None:
    found = metrics_of(saturated(), None)
    assert set(found) == {*CAPACITY, *(SATURATED_PREFIX + name for name in LATENCIES), "delivered_ratio"}


@pytest.mark.parametrize(
    ("changes", "share"),
    [
        ({"acknowledged": 900, "failed": {"_MSG_TIMED_OUT": 100}}, 0.9),
        ({"stored": 800, "acks": 0}, 0.8),
        ({"stored": 800, "sole_writer": False}, 1.0),
        ({"stored": 1_100}, 1.0),
        ({"acknowledged": 600, "failed": {"_PURGE_QUEUE": 400}, "stored": 600, "purged": 400}, 1.0),
        ({"acknowledged": 600, "failed": {"_PURGE_QUEUE": 400}, "stored": 500, "purged": 300}, 500 / 700),
    ],
    ids=["given up", "not in the topic", "others write, too", "duplicates", "purged by us", "all of it"],
)
def test_records_that_the_topic_lacks_are_lost_and_those_that_we_purge_are_not(
    changes: dict[str, Any], share: float
) -> None:
    assert delivered_ratio(saturated(counts=counts(**changes))) == pytest.approx(share)


def test_without_a_saturating_phase_there_is_no_throughput() -> None:
    assert set(metrics_of(None, paced())) == {*LATENCIES, "delivered_ratio", "held_rate_ratio"}


def test_without_any_phase_there_are_no_metrics() -> None:
    assert metrics_of(None, None) == {}


def test_latencies_with_acks_0_are_left_out_of_both_phases() -> None:
    unanswered = counts(acks=0)
    found = metrics_of(saturated(counts=unanswered), paced(counts=unanswered))
    assert set(found) == {*CAPACITY, "delivered_ratio", "held_rate_ratio"}


def test_metrics_without_their_statistics_are_left_out() -> None:
    found = metrics_of(saturated(activity=activity(wire_bytes=None), resources=Resources()), paced())
    assert not found.keys() & {"wire_bytes_per_value_byte", "broker_cpu_ms_per_mb", "client_cpu_ms_per_mb"}


def test_the_delivered_share_is_that_of_the_worse_phase() -> None:
    lossy = counts(acknowledged=900, failed={"_MSG_TIMED_OUT": 60, "_QUEUE": 40})
    assert metrics_of(saturated(counts=lossy), paced())["delivered_ratio"] == 0.9
    assert metrics_of(saturated(), paced(counts=lossy))["delivered_ratio"] == 0.9
    assert metrics_of(saturated(), paced())["delivered_ratio"] == 1.0


def test_without_records_the_delivered_share_is_1() -> None:
    assert delivered_ratio(measurement(counts=counts(handed_over=0, acknowledged=0))) == 1.0


@pytest.mark.parametrize(("records", "ratio"), [(800, 1.0), (600, 0.75), (820, 1.025)])
def test_the_held_share_is_the_delivered_share_of_the_fixed_rate(records: int, ratio: float) -> None:
    assert metrics_of(saturated(), paced(records=records))["held_rate_ratio"] == pytest.approx(ratio)


def test_every_metric_of_a_trial_is_described_in_the_table() -> None:
    everything = metrics_of(saturated(), paced(end_to_end=end_to_end()))
    assert set(everything) == set(OUTCOME_METRICS)
    assert all(metric.name == name and metric.meaning for name, metric in OUTCOME_METRICS.items())


def test_only_metrics_of_the_paced_phase_need_it() -> None:
    without = metrics_of(saturated(), None)
    assert {name for name, metric in OUTCOME_METRICS.items() if metric.paced} == set(OUTCOME_METRICS) - set(without)
