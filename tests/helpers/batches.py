"""Builders of record batches, and of samples of them."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

from runners.clusters.topics.stored_topics import BrokerAddress, StoredPartition, StoredTopic
from runners.inspection.batch_sampling import BatchSample
from runners.inspection.record_batch import BatchSequence, MergedBatches, RecordBatch

BROKER = BrokerAddress(1, "127.0.0.1", 9092)
HEADER_BYTES = 61
RECORD_BYTES = 100


def batch(**changes: object) -> RecordBatch:
    """Return a batch with one record of 100 B that was created at 1,000 ms, of a producer without an id."""
    made = RecordBatch(
        base_offset=0,
        last_offset=0,
        records=1,
        bytes=HEADER_BYTES + RECORD_BYTES,
        plain_bytes=HEADER_BYTES + RECORD_BYTES,
        codec="none",
        producer_id=None,
        transactional=False,
        first_created_ms=1_000,
        last_created_ms=1_000,
        appended_ms=None,
        first_record_bytes=RECORD_BYTES,
        coded_bytes={"gzip": 100, "snappy": 120, "lz4": 110, "zstd": 105},
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def batch_of(
    records: Sequence[tuple[float, int]],
    codec: str = "none",
    ratio: float = 1.0,
    producer_id: int | None = None,
) -> RecordBatch:
    """Return a batch of the given records.

    Args:
        records: For each record, when it was created, in milliseconds, and its size in bytes.
        codec: How it is compressed.
        ratio: The compressed size of the records, divided by their plain size.
        producer_id: The id of its producer.
    """
    size = sum(size for _, size in records)
    return batch(
        records=len(records),
        bytes=HEADER_BYTES + round(ratio * size),
        plain_bytes=HEADER_BYTES + size,
        codec=codec,
        producer_id=producer_id,
        first_created_ms=int(records[0][0]),
        last_created_ms=int(records[-1][0]),
        first_record_bytes=records[0][1],
        coded_bytes={"lz4": HEADER_BYTES + size // 2},
    )


def arrivals(count: int, mean_ms: float, seed: int = 0, sizes: Sequence[int] = (200, 1_000)) -> list[tuple[float, int]]:
    """Return records that are created at random times: for each, its time in milliseconds and its size in bytes."""
    drawn, now_ms, records = random.Random(seed), 1_000_000.0, []
    for _ in range(count):
        now_ms += drawn.expovariate(1 / mean_ms)
        records.append((now_ms, drawn.choice(list(sizes))))
    return records


def batched(records: Iterable[tuple[float, int]], linger_ms: float, batch_bytes: int) -> list[list[tuple[float, int]]]:
    """Divide records into batches, as a producer does that is never slowed down."""
    batches: list[list[tuple[float, int]]] = []
    for at_ms, size in records:
        last = batches[-1] if batches else None
        room = last is not None and HEADER_BYTES + sum(each for _, each in last) + size <= batch_bytes
        if last is not None and room and at_ms - last[0][0] <= linger_ms:
            last.append((at_ms, size))
        else:
            batches.append([(at_ms, size)])
    return batches


def stored(*offsets: tuple[int, int], name: str = "orders", recent: int | None = None) -> StoredTopic:
    """Return a topic with one partition for each pair of the first offset and the offset after the last record."""
    partitions = [
        StoredPartition(number, BROKER, begin, end, end - begin if recent is None else recent)
        for number, (begin, end) in enumerate(offsets)
    ]
    return StoredTopic(name, tuple(partitions))


def sample_of(
    *sequences: Sequence[RecordBatch], merged: MergedBatches | None = None, name: str = "orders"
) -> BatchSample:
    """Return a sample with a partition for each sequence of batches; the first partition has `merged`."""
    found = {
        number: BatchSequence(tuple(batches), (merged if merged and not number else None) or MergedBatches())
        for number, batches in enumerate(sequences)
    }
    ends = [(0, max(1, sum(each.records for each in batches))) for batches in sequences]
    return BatchSample(stored(*ends, name=name), found, {})
