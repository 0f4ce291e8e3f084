"""Tests of a trial's metrics: every metric comes from the right phase, and is left out if it is unknown."""

from typing import Any

import pytest

from objectives.metrics import OUTCOME_METRICS, SATURATED_PREFIX, ShownIn, delivered_ratio, metrics_of, shown_in
from runners.measurements.histogram import Histogram
from runners.measurements.measurement import Measurement
from runners.measurements.resources import Resources
from runners.workload import RecordSizes, Workload
from tests.helpers.measurements import activity, counts, end_to_end, measurement

PACED_RATE = 400.0
LATENCIES = [name for name in shown_in(ShownIn.MEASUREMENT) if name.startswith("latency_")]
CAPACITY = [name for name in shown_in(ShownIn.MEASUREMENT) if name not in LATENCIES]


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
