"""Tests of verdicts on published numbers that were explained differently, or not at all."""

import pytest

from objectives.bottlenecks import Bottleneck
from objectives.producer_verdict import Evidence, judge

BUFFER_BYTES = 33_554_432  # the Java producer's default buffer.memory
MIB = 1.048576  # the thesis's megabyte, see tests.benchmarks.problems.test_table


@pytest.mark.parametrize(
    ("buffered_records", "record_bytes", "mib_per_s", "latency_ms", "expected_ms"),
    [
        (2_048 * 16, 1_000, 119.42, 261.591, 261.68),
        (2_048, 10_000, 101.71, 192.018, 192.03),
        (335, 100_000, 336.44, 94.841, 94.96),
    ],
)
def test_the_thesis_latencies_of_1_10_and_100_kb_are_its_buffer(
    buffered_records: int, record_bytes: int, mib_per_s: float, latency_ms: float, expected_ms: float
) -> None:
    """The thesis found that latency falls as records get larger, called this surprising, and blamed batching.

    In fact the latency is the time that a full buffer takes to drain. The buffer holds whole batches of 16,384 bytes,
    with 16 records of 1 kB or one of 10 kB. A record of 100 kB forms a batch of its own size.

    Source: VU Amsterdam bachelor thesis on the Kafka producer, section 5.1 and appendix tables: throughput 119.42,
    101.71 and 336.44 MB/s, mean latency 261.591, 192.018 and 94.841 ms; records-per-request-avg 15.99 and 1.0, table 5.
    """
    seen = Evidence(
        records_per_s=1.0,
        mb_per_s=mib_per_s * MIB,
        mean_latency_ms=latency_ms,
        queued_bytes=buffered_records * record_bytes,
    )
    assert seen.buffer_latency_ms == pytest.approx(expected_ms, abs=0.005)
    assert seen.buffer_latency_ms == pytest.approx(latency_ms, rel=0.005)
    verdict = judge(seen)
    assert verdict.latency_is_buffer
    assert verdict.bound is Bottleneck.CLIENT_BUFFER
    assert f"take {expected_ms:.0f} ms" in verdict.because


@pytest.mark.parametrize(("mib_per_s", "latency_ms"), [(2.87, 0.535), (27.67, 0.582)])
def test_the_thesis_latencies_of_10_and_100_b_do_not_come_from_a_full_buffer(
    mib_per_s: float, latency_ms: float
) -> None:
    """With a full buffer, these latencies would be seconds. Here the sender was the slower side. Source: as above."""
    seen = Evidence(records_per_s=1.0, mb_per_s=mib_per_s * MIB, mean_latency_ms=latency_ms, queued_bytes=BUFFER_BYTES)
    assert judge(seen).latency_is_buffer is False
    assert judge(seen).bound is Bottleneck.UNKNOWN


def test_the_vendors_production_rate_is_its_own_rate_cap() -> None:
    """The vendor says that a batch.size of 16 kB reaches 102,399 records/s, but its command has --throughput 102400.

    Source: Huawei Cloud DMS for Kafka, Kafka Production Rate and CPU Usage, updated 2024-05-24: "102399.318430
    records/sec (100.00 MB/sec), 4.62 ms avg latency".
    """
    seen = Evidence(records_per_s=102_399.318430, offered_records_per_s=102_400, mb_per_s=104.857, mean_latency_ms=4.62)
    verdict = judge(seen)
    assert verdict.bound is Bottleneck.OFFERED_RATE
    assert "102,399 records/s were delivered at a fixed rate of 102,400" in verdict.because


def test_the_vendors_run_with_batches_of_1_kb_is_below_the_cap() -> None:
    """At 37,697 records/s with a mean latency of 797 ms, the cap was not reached. Source: as above."""
    seen = Evidence(records_per_s=37_696.729809, offered_records_per_s=102_400, mb_per_s=38.6, mean_latency_ms=796.54)
    assert judge(seen).bound is not Bottleneck.OFFERED_RATE
