"""Figures of a topic's record batches (`TopicTraffic`): sizes, codecs, times between batches, number of producers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Self

import numpy as np

from runners.inspection.batch_sampling import BatchSample
from runners.inspection.record_batch import UNCOMPRESSED, MergedBatches, RecordBatch

_OUT_OF_ORDER_MS: Final = 1
"""Threads of one producer may create records in another order than they send them."""
_SEVERAL_RATIO: Final = 0.05


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean, median and 90th percentile of a number over batches.

    Attributes:
        mean: Arithmetic mean over the batches.
        median: Median over the batches.
        p90: The 90th percentile.
    """

    mean: float
    median: float
    p90: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self | None:
        """Return the spread of numbers; None if there are none."""
        if not values:
            return None
        return cls(float(np.mean(values)), float(np.median(values)), float(np.quantile(values, 0.9)))


@dataclass(frozen=True, slots=True)
class TopicTraffic:
    """Figures of a topic's record batches.

    Attributes:
        partitions: The number of partitions of the topic.
        partitions_read: The number of partitions that batches were read from.
        batches: The number of batches.
        set_aside: How many more batches were left out, by the reason (`BatchSequence.set_aside`).
        records: The records in the batches.
        bytes: The size of the batches in the log.
        plain_bytes: Their size without compression.
        records_per_batch: Records of a batch.
        bytes_per_batch: Size of a batch in the log.
        codecs: The number of batches by codec; `none` for those that are not compressed.
        compressed_ratio: The size of the compressed batches, divided by their size without compression; None if no
            batch is compressed.
        wait_ms: Time from the first record of a batch to its newest one. None without times.
        between_ms: Time from the first record of a batch to the first record of the same producer's next one in the
            same partition. None without times.
        append_lag_ms: Time from the creation of a batch's first record until the broker appended the batch. None if the
            topic has the times of the producers only.
        producers: The number of different producer ids.
        producers_at_once: How many producers send at the same time, at least 1. A producer that was started again has a
            new id, so ids that follow one another count as one producer.
        partitions_of_each: Mean number of partitions, of those that were read, to which one producer sends.
        several_producers: Whether batches without a producer id overlap in time, so that they are of several producers.
        idempotent_ratio: The share of the batches with a producer id.
        transactional_ratio: The share of the batches that belong to transactions.
        coded_bytes: The size that all batches have with each codec, by codec.
        merged: The batches put together, as if their producers had waited longer.
        stored_records: Records that lie in the topic. Transaction markers, which take an offset each, are left out by
            their share in what was read.
        recent_records: Records that were written since the `since_ms` with which the topic was read, also without
            markers.
        recent_records_read: The part of `recent_records` in the partitions that batches were read from.
        largest_partition_ratio: The share of the records that lie in the partition with the most.
    """

    partitions: int
    partitions_read: int
    batches: int
    set_aside: Mapping[str, int]
    records: int
    bytes: int
    plain_bytes: int
    records_per_batch: Spread
    bytes_per_batch: Spread
    codecs: Mapping[str, int]
    compressed_ratio: float | None
    wait_ms: Spread | None
    between_ms: Spread | None
    append_lag_ms: Spread | None
    producers: int
    producers_at_once: int
    partitions_of_each: float
    several_producers: bool
    idempotent_ratio: float
    transactional_ratio: float
    coded_bytes: Mapping[str, int]
    merged: MergedBatches
    stored_records: int
    recent_records: int
    recent_records_read: int
    largest_partition_ratio: float


def traffic_of(sample: BatchSample) -> TopicTraffic | None:
    """Return the figures of a topic's batches; None if there are no batches."""
    batches = [batch for sequence in sample.sequences.values() for batch in sequence.batches]
    records, size = Spread.of([each.records for each in batches]), Spread.of([each.bytes for each in batches])
    if records is None or size is None:
        return None
    compressed = [each for each in batches if each.codec != UNCOMPRESSED]
    timed = [each for each in batches if each.timed]
    pairs = [pair for stream in streams(sample) for pair in successions(stream)]
    stored = [each.records for each in sample.topic.partitions]
    ids = {each.producer_id for each in batches}
    set_aside = _summed(each.set_aside for each in sample.sequences.values())
    record_count = sum(each.records for each in batches)
    records_per_offset = record_count / (record_count + set_aside.get("control", 0))
    return TopicTraffic(
        partitions=len(sample.topic.partitions) + len(sample.topic.unknown),
        partitions_read=len(sample.sequences),
        batches=len(batches),
        set_aside=set_aside,
        records=record_count,
        bytes=sum(each.bytes for each in batches),
        plain_bytes=sum(each.plain_bytes for each in batches),
        records_per_batch=records,
        bytes_per_batch=size,
        codecs=dict(Counter(each.codec for each in batches).most_common()),
        compressed_ratio=_ratio(compressed),
        wait_ms=Spread.of([each.span_ms for each in timed]),
        between_ms=Spread.of([after.first_created_ms - before.first_created_ms for before, after in pairs]),
        append_lag_ms=Spread.of(
            [each.appended_ms - each.first_created_ms for each in timed if each.appended_ms is not None]
        ),
        producers=len(ids - {None}),
        producers_at_once=at_once(sample),
        partitions_of_each=sum(1 for _ in streams(sample)) / len(ids),
        several_producers=overlapping(sample),
        idempotent_ratio=sum(each.producer_id is not None for each in batches) / len(batches),
        transactional_ratio=sum(each.transactional for each in batches) / len(batches),
        coded_bytes=_summed(each.coded_bytes for each in batches),
        merged=sum((each.merged for each in sample.sequences.values()), MergedBatches()),
        stored_records=round(sum(stored) * records_per_offset),
        recent_records=round(sample.topic.recent * records_per_offset),
        recent_records_read=round(
            sum(each.recent or 0 for each in sample.topic.partitions if each.number in sample.sequences)
            * records_per_offset
        ),
        largest_partition_ratio=max(stored) / sum(stored) if sum(stored) else 0.0,
    )


def streams(sample: BatchSample) -> Iterator[list[RecordBatch]]:
    """Yield the batches that one producer has sent to one partition, in order.

    Batches without a producer id count as one producer's.
    """
    for sequence in sample.sequences.values():
        yield from _by_producer(sequence.batches).values()


def _by_producer(batches: Sequence[RecordBatch]) -> dict[int | None, list[RecordBatch]]:
    found: dict[int | None, list[RecordBatch]] = {}
    for batch in batches:
        found.setdefault(batch.producer_id, []).append(batch)
    return found


def at_once(sample: BatchSample) -> int:
    """Return how many producers send at the same time, at least 1. Those without an id count as one.

    A producer that sends for half of the time counts as half a producer. The time is that of the partition in which the
    producer sends for the largest share. A producer with a single batch there counts as one.
    """
    shares: dict[int | None, float] = {}
    for sequence in sample.sequences.values():
        whole_ms = _lasted_ms(sequence.batches)
        for producer, batches in _by_producer(sequence.batches).items():
            share = 1.0 if len(batches) == 1 or not whole_ms else min(1.0, _lasted_ms(batches) / whole_ms)
            shares[producer] = max(share, shares.get(producer, 0.0))
    return max(1, round(sum(shares.values())))


def _lasted_ms(batches: Sequence[RecordBatch]) -> int:
    """Return the time from the first record to the last one; 0 if it is unknown."""
    timed = [each for each in batches if each.timed]
    if not timed:
        return 0
    return max(each.last_created_ms for each in timed) - min(each.first_created_ms for each in timed)


def successions(stream: Sequence[RecordBatch]) -> Iterator[tuple[RecordBatch, RecordBatch]]:
    """Yield each batch of a producer with its next one, if their times are known and in order."""
    for before, after in pairwise(stream):
        if before.timed and after.timed and after.first_created_ms >= before.first_created_ms:
            yield before, after


def overlapping(sample: BatchSample) -> bool:
    """Return whether batches without a producer id overlap in time, as those of several producers do."""
    pairs = crossed = 0
    for stream in streams(sample):
        if stream[0].producer_id is not None:
            continue
        for before, after in pairwise(stream):
            if before.timed and after.timed:
                pairs += 1
                crossed += after.first_created_ms < before.last_created_ms - _OUT_OF_ORDER_MS
    return crossed > _SEVERAL_RATIO * pairs


def _ratio(batches: Sequence[RecordBatch]) -> float | None:
    return sum(each.bytes for each in batches) / sum(each.plain_bytes for each in batches) if batches else None


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)
