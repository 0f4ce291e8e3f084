"""Finds out what ends a producer's batches: the size, the wait (`linger.ms`), or that no second record comes in time.

Two rules of both clients show this in the batches of one producer in one partition. A batch that ended because it was
full has no room for the next record. A batch that ended after a wait has only records of that time, and the next record
came later. So if one size, or one wait, explains nearly all batches, it is the producer's setting.

Source: `RecordAccumulator` and `ProducerBatch` of kafka-clients 4.3; `rd_kafka_broker_produce_toppar` and
`rd_kafka_msgset_writer_write_msgq` of librdkafka 2.16.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runners.inspection.batch_sampling import BatchSample
from runners.inspection.record_batch import UNCOMPRESSED, RecordBatch
from runners.inspection.topic_traffic import overlapping, streams, successions

_LEAST_BATCHES: Final = 5
_NEARLY_ALL: Final = 0.9
_RECORD_OVERHEAD_BYTES: Final = 64
"""A client reserves up to this many bytes more than a record takes, because its exact size is not known yet."""
_COMPRESSED_FILL: Final = 0.85
"""A compressed batch counts as full if it has this share of the size of the largest batch near it."""
_NEIGHBOURS: Final = 5
"""Batches are near each other if they are at most this many places apart."""
_DIFFERENT_RECORDS: Final = 3
"""If the numbers of records in batches differ by at least this, a wait is unlikely to have made all of them full."""
_MUCH_MORE: Final = 2.0
"""Sizes differ much more than times if their relative spread is at least this many times as large."""
_CLOCK_MS: Final = 1
"""Times are whole milliseconds."""
_LATE_MS: Final = 2.0
_LATE_RATIO: Final = 0.05
"""A batch may be sent late by this share of its wait."""
_CLEAR_MS: Final = 10.0
"""Waits of at least this length can't be mistaken for a delay of the client."""
_MANY_RECORDS: Final = 1_000
"""If the largest batches have the same number of records, and at least this many, a limit of the client ends them."""
_USUAL_PAUSES: Final = 5.0
"""A record comes soon after a batch within this many times the mean pause between the records of the batch."""


class Ending(StrEnum):
    """What ends a producer's batches."""

    SIZE = "size"
    WAIT = "wait"
    SIZE_OR_WAIT = "size or wait"
    EACH_RECORD = "each record"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class BatchEnding:
    """What ends the batches of a topic's producers.

    Attributes:
        ending: What ends the batches.
        linger_at_least_ms: The lowest possible value of `linger.ms`.
        linger_at_most_ms: The highest possible value of `linger.ms`; None if the batches do not show it.
        full_bytes: The size of a full batch, as `batch.size` counts it; None if the batches are not full.
        producers_differ: Whether the batches of different producers end for different reasons.
        one_producer_assumed: Whether `linger_at_most_ms` holds only if a single producer writes to each partition,
            because the batches have no producer id.
    """

    ending: Ending
    linger_at_least_ms: float = 0.0
    linger_at_most_ms: float | None = None
    full_bytes: int | None = None
    producers_differ: bool = False
    one_producer_assumed: bool = False


@dataclass(frozen=True, slots=True)
class _Batches:
    """Properties of batches, also in relation to the producer's next batch, as arrays of shape (batches,).

    Attributes:
        span_ms: Time from the first to the newest record.
        between_ms: Time from the first record to the first record of the next batch.
        records: Number of records.
        bytes: Size in the log.
        full: Whether the next record had no room in the batch, judged by the size of the stream's largest batch.
        exact: Whether `full` is known to one record; if not, the batch is only about as large as those near it.
        compared: Whether the stream has enough batches to assume that its largest batch is full.
        full_bytes: The size of the producer's largest batch, as `batch.size` counts it.
    """

    span_ms: NDArray[np.float64]
    between_ms: NDArray[np.float64]
    records: NDArray[np.float64]
    bytes: NDArray[np.float64]
    full: NDArray[np.bool_]
    exact: NDArray[np.bool_]
    compared: NDArray[np.bool_]
    full_bytes: NDArray[np.float64]


def ending_of(sample: BatchSample) -> BatchEnding:
    """Return what ends the batches of a sample."""
    by_producer: dict[int | None, list[list[RecordBatch]]] = {}
    for stream in streams(sample):
        by_producer.setdefault(stream[0].producer_id, []).append(stream)
    several = overlapping(sample)
    each = {name: _ending(_joined(own), name is not None, several) for name, own in by_producer.items()}
    known = [found for found in each.values() if found is not None]
    if len(known) > 1 and not all(_alike(found, other) for found in known for other in known):
        highest = [found.linger_at_most_ms for found in known]
        at_most = None if None in highest else max(value for value in highest if value is not None)
        return BatchEnding(Ending.UNCLEAR, min(found.linger_at_least_ms for found in known), at_most, None, True)
    pooled = _ending(
        _joined([stream for own in by_producer.values() for stream in own]), None not in by_producer, several
    )
    return pooled or BatchEnding(Ending.UNCLEAR)


def _alike(one: BatchEnding, other: BatchEnding) -> bool:
    highest = [math.inf if each.linger_at_most_ms is None else each.linger_at_most_ms for each in (one, other)]
    lowest = max(one.linger_at_least_ms, other.linger_at_least_ms)
    return lowest <= min(highest) and (one.full_bytes is None) == (other.full_bytes is None)


def _ending(batches: _Batches, has_producer_ids: bool, several: bool) -> BatchEnding | None:
    """Return what ends batches; None if there are too few.

    Args:
        batches: The batches of one producer, or of several that are alike.
        has_producer_ids: Whether the batches have producer ids, so that the next batch of a producer is known.
        several: Whether batches without a producer id are of several producers.
    """
    several = several and not has_producer_ids
    if batches.span_ms.size < _LEAST_BATCHES:
        return None
    # Some batches are sent late, or early, for example by a flush. Quartiles leave them out.
    least, low = (float(value) for value in np.quantile(batches.span_ms, [0.25, 0.75]))
    high = float(np.quantile(batches.between_ms, 0.25))
    if float(np.mean(batches.records == 1)) >= _NEARLY_ALL:
        at_most = None if several else high + _CLOCK_MS
        return BatchEnding(Ending.EACH_RECORD, 0.0, at_most, one_producer_assumed=not has_producer_ids and not several)
    waited = low <= high + _LATE_MS + _LATE_RATIO * low
    at_least = max(0.0, min(least, high) - _CLOCK_MS)
    if batches.compared.any() and float(np.mean(batches.full[batches.compared])) >= _NEARLY_ALL:
        full_bytes = int(np.median(batches.full_bytes[batches.compared]))
        if not waited or low < _CLEAR_MS or _only_size_explains(batches):
            return BatchEnding(Ending.SIZE, 0.0, None, full_bytes)
        if not _only_wait_explains(batches):
            return BatchEnding(Ending.SIZE_OR_WAIT, at_least, None, full_bytes)
    if several:
        return BatchEnding(Ending.UNCLEAR, at_least, None)
    if not waited:
        return BatchEnding(Ending.UNCLEAR, 0.0, high + _CLOCK_MS, one_producer_assumed=not has_producer_ids)
    at_most = max(low, high) + _CLOCK_MS
    if at_most <= 2 * at_least + 2 * (_LATE_MS + _CLOCK_MS):
        return BatchEnding(Ending.WAIT, at_least, at_most)
    return BatchEnding(Ending.UNCLEAR, at_least, at_most, one_producer_assumed=not has_producer_ids)


def _only_size_explains(batches: _Batches) -> bool:
    """Return whether batches with different numbers of records are all full, which a wait is unlikely to cause."""
    low, high = np.quantile(batches.records, [1 - _NEARLY_ALL, _NEARLY_ALL])
    return bool(np.mean(batches.exact) >= _NEARLY_ALL) and float(high - low) >= _DIFFERENT_RECORDS


def _only_wait_explains(batches: _Batches) -> bool:
    """Return whether the times of the batches differ much less than their sizes."""
    by_time = (_quartile_distance(batches.span_ms) + _CLOCK_MS) / float(np.median(batches.span_ms))
    by_size = _quartile_distance(batches.bytes) / float(np.median(batches.bytes))
    return not np.any(batches.exact) and by_size >= _MUCH_MORE * by_time


def _quartile_distance(values: NDArray[np.float64]) -> float:
    low, high = np.quantile(values, [0.25, 0.75])
    return float(high - low)


def _joined(several: Iterable[Sequence[RecordBatch]]) -> _Batches:
    """Return the batches of streams. The last batch of a stream has no next batch and is left out."""
    rows = [row for stream in several for row in _rows(stream)]
    columns = np.array(rows, dtype=np.float64).reshape(len(rows), 8).T
    span_ms, between_ms, records, size, full_bytes, *flags = columns
    full, exact, compared = (each > 0 for each in flags)
    return _Batches(span_ms, between_ms, records, size, full, exact, compared, full_bytes)


def _rows(stream: Sequence[RecordBatch]) -> Iterator[tuple[float, ...]]:
    pairs = list(successions(stream))
    by_plain, by_size = _full_by_plain_size(stream, pairs), _full_by_size(pairs)
    # librdkafka limits the size without compression. The Java client limits the compressed size, which it estimates.
    plainly = sum(by_plain) >= _NEARLY_ALL * len(by_plain)
    compared = len(pairs) >= _LEAST_BATCHES
    full_bytes = max(each.plain_bytes if plainly else each.bytes for each in stream)
    for (before, after), full in zip(pairs, by_plain if plainly else by_size, strict=True):
        between_ms = after.first_created_ms - before.first_created_ms
        ends_full = full and _next_came_soon(before, after)
        yield before.span_ms, between_ms, before.records, before.bytes, full_bytes, ends_full, plainly, compared


def _full_by_plain_size(stream: Sequence[RecordBatch], pairs: Iterable[tuple[RecordBatch, RecordBatch]]) -> list[bool]:
    """Return for each batch whether, with the next record, it would be larger than the largest batch of the stream."""
    most_bytes, most_records = max(each.plain_bytes for each in stream), max(each.records for each in stream)
    return [
        before.plain_bytes + after.first_record_bytes + _RECORD_OVERHEAD_BYTES > most_bytes
        or before.records == most_records >= _MANY_RECORDS
        for before, after in pairs
    ]


def _full_by_size(pairs: Sequence[tuple[RecordBatch, RecordBatch]]) -> list[bool]:
    """Return for each batch whether it is compressed, and almost as large as the largest batch near it.

    The Java client fills a batch by an estimate of the compression ratio, which it corrects slowly. So the sizes of
    full batches differ a little, and grow over the first hundred batches.
    """
    sizes = [before.bytes for before, _ in pairs]
    largest = [max(sizes[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS + 1]) for at in range(len(sizes))]
    return [
        before.codec != UNCOMPRESSED and before.bytes >= _COMPRESSED_FILL * most
        for (before, _), most in zip(pairs, largest, strict=True)
    ]


def _next_came_soon(before: RecordBatch, after: RecordBatch) -> bool:
    """Return whether the next record came about as soon as the batch's own records, so that it may have lacked room."""
    pause_ms = after.first_created_ms - before.last_created_ms
    return pause_ms <= _LATE_MS + _USUAL_PAUSES * before.span_ms / max(1, before.records - 1)
