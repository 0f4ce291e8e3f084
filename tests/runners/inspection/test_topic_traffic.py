"""Figures of a topic's batches: what is counted, and what is not known."""

from collections.abc import Sequence
from dataclasses import astuple

import pytest

from runners.inspection.record_batch import BatchSequence, MergedBatches, RecordBatch
from runners.inspection.topic_traffic import Spread, TopicTraffic, traffic_of
from tests.helpers.batches import arrivals, batch, batch_of, batched, sample_of


def traffic(*sequences: Sequence[RecordBatch]) -> TopicTraffic:
    found = traffic_of(sample_of(*sequences))
    assert found is not None
    return found


def test_records_bytes_and_codecs_are_counted() -> None:
    found = traffic(
        [batch(records=1, bytes=100), batch(records=3, bytes=300, codec="lz4", plain_bytes=900)],
        [batch(records=8, bytes=800)],
    )
    assert (found.partitions, found.partitions_read, found.batches, found.records, found.bytes) == (2, 2, 3, 12, 1_200)
    assert astuple(found.records_per_batch) == pytest.approx((4.0, 3.0, 7.0))
    assert found.codecs == {"none": 2, "lz4": 1}
    assert found.compressed_ratio == pytest.approx(1 / 3)
    assert found.coded_bytes == {"gzip": 300, "snappy": 360, "lz4": 330, "zstd": 315}
    assert found.largest_partition_ratio == pytest.approx(8 / 12)


def test_times_between_batches_are_those_of_one_producer_in_one_partition() -> None:
    found = traffic(
        [
            batch(producer_id=1, first_created_ms=1_000, last_created_ms=1_004),
            batch(producer_id=2, first_created_ms=1_001, last_created_ms=1_001),
            batch(producer_id=1, first_created_ms=1_010, last_created_ms=1_016),
        ],
        [batch(producer_id=1, first_created_ms=1_500, last_created_ms=1_502)],
    )
    assert found.between_ms == Spread(10.0, 10.0, 10.0)
    assert found.wait_ms is not None
    assert astuple(found.wait_ms) == pytest.approx((3.0, 3.0, 5.4))
    assert (found.producers, found.idempotent_ratio, found.several_producers) == (2, 1.0, False)


def test_only_topics_with_the_broker_s_time_have_a_lag() -> None:
    assert traffic([batch()]).append_lag_ms is None
    found = traffic([batch(first_created_ms=1_000, last_created_ms=1_020, appended_ms=1_023)])
    assert found.append_lag_ms == Spread(23.0, 23.0, 23.0)
    assert found.wait_ms == Spread(20.0, 20.0, 20.0)


def test_batches_without_times_have_no_wait_and_no_interval() -> None:
    found = traffic([batch(first_created_ms=-1, last_created_ms=-1)] * 3)
    assert (found.wait_ms, found.between_ms) == (None, None)


def test_batches_that_overlap_are_of_several_producers() -> None:
    one = [batch_of(each) for each in batched(arrivals(500, 1), 50, 10**9)]
    assert not traffic(one).several_producers
    other = [batch_of(each) for each in batched(arrivals(500, 1, seed=1), 50, 10**9)]
    assert traffic(sorted([*one, *other], key=lambda each: each.last_created_ms)).several_producers


def test_a_producer_that_was_restarted_counts_once() -> None:
    batches = batched(arrivals(1_000, 1), 20, 10**9)
    sent = [batch_of(each, producer_id=place // 10) for place, each in enumerate(batches)]
    found = traffic(sent)
    assert (found.producers, found.producers_at_once, found.partitions_of_each) == (-(-len(sent) // 10), 1, 1.0)


def test_producers_that_send_at_the_same_time_are_counted() -> None:
    def of(producer: int) -> list[RecordBatch]:
        return [batch_of(each, producer_id=producer) for each in batched(arrivals(500, 1, seed=producer), 20, 10**9)]

    apart = traffic(of(1), of(2), of(3), of(4))
    assert (apart.producers_at_once, apart.partitions_of_each) == (4, 1.0)
    together = traffic(sorted([*of(1), *of(2)], key=lambda each: each.last_created_ms), [*of(1), *of(2)])
    assert (together.producers_at_once, together.partitions_of_each) == (2, 2.0)


def test_a_topic_without_usable_batches_has_no_figures() -> None:
    assert traffic_of(sample_of([])) is None


def test_sequences_and_merged_batches_add_up() -> None:
    one = BatchSequence((batch(),), MergedBatches(2, 1, 3, 4, 5, {"lz4": 6}), {"control": 1})
    both = one + BatchSequence(
        (batch(records=2),), MergedBatches(10, 2, 30, 40, 50, {"lz4": 60}), {"control": 1, "damaged": 2}
    )
    assert [each.records for each in both.batches] == [1, 2]
    assert both.merged == MergedBatches(12, 3, 33, 44, 55, {"lz4": 66})
    assert both.set_aside == {"control": 2, "damaged": 2}
