"""Counts, latencies and activity follow from the reports of the Java process."""

import pytest

from runners.errors import WorkloadRefused
from runners.java_client.heap import check_heap, default_heap_bytes
from runners.java_client.java_runner import activity_of, counts_of, latency_check_of, resources_of, warnings_of
from runners.java_client.reports import ClientTotals
from runners.java_client.warm_up import WarmUpEnd
from runners.measurements.histogram import Histogram
from runners.runner import WatchDecision
from runners.workload import RecordSizes, Workload
from search_spaces.client import java
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.measurements import window
from tests.runners.java_client.builders import METRICS, java_result, report

CONFIG = ProducerConfig.parse({"acks": 1}, client=java())


def test_counts_are_of_the_whole_run() -> None:
    last = report(acknowledged=990, failed={"TimeoutException": 10})
    seen = counts_of(java_result(last=last), CONFIG)
    assert (seen.handed_over, seen.acknowledged, seen.failed) == (1_000, 990, {"TimeoutException": 10})
    assert (seen.transmitted, seen.acks, seen.idempotent) == (1_000, 1, False)


def test_retried_records_count_as_batches() -> None:
    last = report(metrics={**METRICS, "record-retry-total": 100.0})
    assert counts_of(java_result(last=last), CONFIG).retries == 2
    last = report(metrics={**METRICS, "record-retry-total": 1.0})
    assert counts_of(java_result(last=last), CONFIG).retries == 1


def test_the_client_s_latency_is_that_of_a_batch_less_its_age_plus_the_request() -> None:
    check = latency_check_of(java_result())
    assert check is not None
    assert (check.queue_us, check.rtt_us, check.client_us) == pytest.approx((4_000 - 1_000, 2_500, 5_500))
    assert check.seen_us == pytest.approx(5_500 - 0.5), "the call of send itself took half a microsecond"
    assert check.agrees


def test_a_record_waits_for_the_callbacks_before_its_own() -> None:
    check = latency_check_of(java_result(at_end=report(callback_ns=25_000_000)))
    assert check is not None
    assert check.batch_us == pytest.approx(250)
    assert check.client_us == pytest.approx(5_500 + 250)


def test_the_fractions_that_the_client_s_clock_leaves_out_are_put_back() -> None:
    """Responses arrive 0.7 ms after a whole millisecond."""
    check = latency_check_of(java_result(at_end=report(response_fraction_ns=8 * 700_000)))
    assert check is not None
    assert check.client_us == pytest.approx(5_500 + 700)


def test_a_batch_begins_when_there_is_room_for_it() -> None:
    """Each of the 20 batches waited 0.1 ms for room in the buffer."""
    end = report(metrics={**METRICS, "bufferpool-wait-time-ns-total": 20 * 1e5})
    check = latency_check_of(java_result(at_end=end))
    assert check is not None
    assert check.queue_us == pytest.approx(4_000 - (1_250 - 100))


def test_the_latencies_cover_the_measured_phase_only() -> None:
    """Before it, batches waited 4 ms. In it, as many wait 8 ms, so that the average of all is 6 ms."""
    twice = {name: 2 * value for name, value in METRICS.items() if name.endswith("-total")}
    end = report(
        sampled=200, timed=200, batch_age_ns=250_000_000, metrics={**METRICS, **twice, "record-queue-time-avg": 6.0}
    )
    check = latency_check_of(java_result(at_start=report(), at_end=end))
    assert check is not None
    assert check.queue_us == pytest.approx(8_000 - 1_000)


def test_our_send_delay_is_subtracted_from_our_latency() -> None:
    check = latency_check_of(java_result(send_delay=Histogram.of([400, 600])))
    assert check is not None
    assert check.seen_us == pytest.approx(5_000 - 0.5)


@pytest.mark.parametrize("missing", [{"at_end": report(metrics={})}, {"served": Histogram.of([])}])
def test_one_latency_alone_gives_no_latency_check(missing: dict[str, object]) -> None:
    assert latency_check_of(java_result(**missing)) is None


def test_activity_is_of_the_measured_phase() -> None:
    seen = activity_of(java_result(), partitions=3)
    assert seen is not None
    assert (seen.queued_records, seen.queued_bytes, seen.in_flight_requests) == (20, 3_000, 2)
    assert (seen.batch_records, seen.batch_bytes, seen.wire_bytes, seen.retries) == (50, 2_000, 45_000, 0)
    assert seen.queue_full_ratio == pytest.approx(5e6 / 2e9)
    assert seen.queue_growth_ratio == pytest.approx(10 / 990)
    assert seen.throttle_ms == pytest.approx(1.5)
    assert seen.partitions_used == 3


def test_a_client_that_reported_nothing_has_no_activity() -> None:
    assert activity_of(java_result(gauges=()), partitions=3) is None
    assert activity_of(java_result(at_end=report(metrics={})), partitions=3) is None


def test_time_in_the_client_s_code_leaves_out_the_wait_for_room() -> None:
    """Calls of 500 ns for 1,000 records are 0.5 ms, of which the full buffer took 0.1 ms, in a phase of 1 ms."""
    end = report(metrics={**METRICS, "bufferpool-wait-time-ns-total": 1e5})
    used = resources_of(java_result(duration_s=1e-3, at_end=end))
    assert used.sender_in_client_ratio == pytest.approx(0.4)
    assert used.collector_cpu_cores == pytest.approx(0.25)


def test_long_pauses_of_the_collector_are_worth_a_warning() -> None:
    assert warnings_of(java_result()) == ()
    (said,) = warnings_of(java_result(at_end=report(collector_ms=500)))
    assert "0.5 s of 2.0 s (25 %)" in said
    assert "lower buffer.memory" in said


def test_a_heap_must_hold_the_full_buffer_with_its_objects() -> None:
    small = Workload(RecordSizes.fixed(10))
    check_heap(ProducerConfig.parse({"buffer.memory": 64 << 20}, client=java()), small, 1 << 30)
    with pytest.raises(WorkloadRefused, match=r"buffer\.memory=268435456 full of records of 10 B"):
        check_heap(ProducerConfig.parse({"buffer.memory": 256 << 20}, client=java()), small, 1 << 30)
    with pytest.raises(WorkloadRefused, match=r"to at most \d+, or .* with at least 6\.8 GiB") as refused:
        check_heap(ProducerConfig.parse({"buffer.memory": 256 << 20}, client=java()), small, 1 << 30)
    held = int(str(refused.value).split("to at most ")[1].split(",")[0])
    check_heap(ProducerConfig.parse({"buffer.memory": held}, client=java()), small, 1 << 30)
    with pytest.raises(WorkloadRefused, match=r"to at most \d+$"):  # no host has a heap for this
        check_heap(ProducerConfig.parse({"buffer.memory": 1 << 30}, client=java()), small, 4 << 30)
    check_heap(
        ProducerConfig.parse({"buffer.memory": 256 << 20}, client=java()), Workload(RecordSizes.fixed(1_000)), 1 << 30
    )


def test_the_default_heap_is_part_of_the_memory() -> None:
    assert 0 < default_heap_bytes() <= 4 << 30


def test_a_warm_up_ends_when_the_throughput_no_longer_grows() -> None:
    end = WarmUpEnd()
    rates = (100, 200, 400, 410, 415, 420)
    decisions = [end(window(records=rate, duration_s=1.0)) for rate in rates]
    assert decisions == [WatchDecision.GO_ON] * 5 + [WatchDecision.STOP]


def test_a_warm_up_also_ends_when_it_has_sent_enough() -> None:
    end = WarmUpEnd(enough_bytes=3e9)
    decisions = [end(window(records=number, value_bytes=1e9, duration_s=1.0)) for number in (100, 200, 400)]
    assert decisions == [WatchDecision.GO_ON] * 2 + [WatchDecision.STOP]


def test_totals_without_records_are_0() -> None:
    assert ClientTotals.of({"record-queue-time-avg": 3.0}).queue_us == 0
