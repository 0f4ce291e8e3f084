"""The three counts and the two latencies are compared, and each difference is named correctly."""

import math

import pytest

from runners.measurements.histogram import Histogram
from runners.measurements.measurement import LATENCY_AGREEMENT_RATIO, LatencyCheck, TimePoint
from runners.measurements.resources import Resources
from tests.helpers.measurements import activity, counts, measurement, window


def test_equal_counts_agree() -> None:
    assert counts().agree
    assert counts().differences() == ()


def test_unknown_counts_are_not_compared() -> None:
    assert counts(transmitted=None, stored=None).agree


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"acknowledged": 990, "failed": {"_MSG_TIMED_OUT": 10}, "stored": 990, "transmitted": 990}, "10 .*_MSG_TIMED"),
        ({"handed_over": 1_005}, "^5 accepted records were neither acknowledged nor given up"),
        ({"stored": 995}, "^LOSS: 5 acknowledged records are not in the topic"),
        ({"stored": 995, "acks": 0}, "^5 records were lost on the way: with acks=0 the broker sends no response"),
        ({"stored": 1_200, "retries": 2}, "^200 records are duplicates: .* without enable.idempotence"),
        ({"stored": 1_200, "retries": 2, "idempotent": True}, "200 records that were never acknowledged"),
        ({"stored": 1_001}, "1 records that were never acknowledged: stored, but reported as failed"),
        ({"stored": 1_700, "sole_writer": False}, r"growth differs .* by \+700: other producers"),
        ({"stored": 900, "sole_writer": False}, "growth differs .* by -100: other producers"),
        ({"transmitted": 1_100, "retries": 3}, "transmitted 100 records more .*: 3 requests were retried"),
        ({"transmitted": 1_100}, "transmitted 100 records more .*: requests failed"),
        ({"transmitted": 990}, "count 10 records fewer than were acknowledged"),
    ],
)
def test_each_kind_of_difference_has_its_own_sentence(changes: dict[str, object], words: str) -> None:
    seen = counts(**changes)
    assert not seen.agree
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(*seen.differences())


def test_each_difference_and_each_error_name_has_its_own_sentence() -> None:
    seen = counts(acknowledged=900, failed={"B": 60, "A": 30}, transmitted=1_000, stored=950)
    assert [sentence.split(":")[0] for sentence in seen.differences()] == [
        "30 records failed",
        "60 records failed",
        "10 accepted records were neither acknowledged nor given up before the run ended",
        "the client transmitted 100 records more than were acknowledged",
        "the topic holds 50 records that were never acknowledged",
    ]
    assert seen.failed_records == 90


def check(seen_us: float, client_us: float) -> LatencyCheck:
    return LatencyCheck(seen_us, client_us, queue_us=client_us, outbuf_us=0.0, rtt_us=0.0, drain_us=None)


@pytest.mark.parametrize(
    ("seen_ms", "client_ms", "ratio"),
    [
        # Source: VU thesis, table 4, 10 B and 100 kB. Its "internal" is the client's mean, its "check" is ours.
        (0.531, 0.535, -0.0075),
        (96.088, 94.841, 0.0131),
    ],
)
def test_the_pairs_of_the_thesis_agree_within_its_bound(seen_ms: float, client_ms: float, ratio: float) -> None:
    seen = check(seen_ms * 1e3, client_ms * 1e3)
    assert seen.difference_ratio == pytest.approx(ratio, abs=5e-5)
    assert seen.agrees


def test_means_agree_if_they_differ_by_at_most_3_percent() -> None:
    assert LATENCY_AGREEMENT_RATIO == 0.03
    assert check(1_030, 1_000).agrees
    assert check(970, 1_000).agrees
    assert check(1_031, 1_000).agrees is False
    assert check(969, 1_000).agrees is False


def test_a_missing_side_can_neither_agree_nor_differ() -> None:
    assert check(1_000, math.nan).agrees is None
    assert check(math.nan, 1_000).agrees is None
    assert check(1_000, 0.0).agrees is None


def test_rates_are_per_second_of_the_measured_phase() -> None:
    assert measurement().records_per_s == 500
    assert measurement().mb_per_s == pytest.approx(0.05)
    assert (window().records_per_s, window().mb_per_s) == (500, 0.05)


def test_wire_bytes_and_cpu_are_per_value_byte() -> None:
    assert measurement().wire_bytes_per_value_byte == 0.5
    assert measurement(activity=activity(wire_bytes=None)).wire_bytes_per_value_byte is None
    assert measurement(activity=None).wire_bytes_per_value_byte is None
    # Half a core, while 0.05 MB arrived each second.
    assert measurement(resources=Resources(broker_cpu_cores=0.5)).broker_cpu_ms_per_mb == pytest.approx(10_000)
    assert measurement().broker_cpu_ms_per_mb is None
    assert measurement(value_bytes=0.0, resources=Resources(broker_cpu_cores=0.5)).broker_cpu_ms_per_mb is None
    assert measurement(resources=Resources(process_cpu_cores=0.5)).client_cpu_ms_per_mb == pytest.approx(10_000)
    assert measurement().client_cpu_ms_per_mb is None
    assert measurement(value_bytes=0.0, resources=Resources(process_cpu_cores=0.5)).client_cpu_ms_per_mb is None


def test_without_acknowledgements_the_latency_is_local() -> None:
    assert measurement(counts=counts(acks=0)).latency_is_local
    assert not measurement(counts=counts(acks=1)).latency_is_local


def test_the_summary_of_a_window_has_rate_percentiles_and_queue() -> None:
    point = TimePoint.of(window())
    assert (point.at_s, point.records_per_s, point.queue_full_ratio) == (1.0, 500, 0.25)
    assert (point.p50_ms, point.p99_ms) == pytest.approx((2.0, 3.0), rel=0.001)
    assert math.isnan(TimePoint.of(window(latency=Histogram.of([]))).p50_ms)
