"""The limits of the Java client: how large records and batches may be, and how much its buffer holds."""

from collections.abc import Mapping
from typing import Final

from search_spaces.amounts import size_text
from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.client_facts.limits import ClientLimits, check_topic, sizes_text
from search_spaces.client_facts.record_format import (
    BATCH_HEADER_BYTES,
    records_in_batch,
    single_record_batch_bytes,
    varint_bytes,
)
from search_spaces.client_facts.sizes import Sizes
from search_spaces.errors import RuleBroken

LARGEST: Final = "max.request.size"
BUFFER: Final = "buffer.memory"
# The most bytes that a record's fixed fields can take. Source: MAX_RECORD_OVERHEAD of DefaultRecord in kafka-clients.
_MOST_FIELDS_BYTES: Final = 21
QUEUED_RECORD_BYTES: Final = 150
"""Bytes of heap for a record that waits, besides its data: its callback, its future and an entry of its batch."""
MOST_HEAP_BYTES: Final = 4 << 30
"""The largest heap that a measurement gives the client.

It is enough for a `buffer.memory` of 256 MiB that is full of records of 10 B: their objects take another 2.3 GiB, and
the garbage collector still has room.
"""
_HEAP_ROOM_BYTES: Final = 256 << 20
"""Bytes of heap besides the waiting records: the payload pool, classes, and room for the garbage collector."""
_LEAST_FRAMING_BYTES: Final = 7
"""The least that a record takes in a batch besides key and value. Source: record format v2."""


def heap_bytes_for(buffer_bytes: int, record_bytes: float, key_bytes: int) -> int:
    """Return how large the heap must be to hold a full buffer.

    Args:
        buffer_bytes: The size of the buffer.
        record_bytes: The mean size of a record's value.
        key_bytes: The size of a record's key; 0 for no key.
    """
    return round(buffer_bytes * _heap_factor(record_bytes, key_bytes)) + _HEAP_ROOM_BYTES


def buffer_bytes_within(heap_bytes: int, record_bytes: float, key_bytes: int) -> int:
    """Return the largest buffer that a heap can hold when it is full; 0 if it can hold none.

    Args:
        heap_bytes: The size of the heap.
        record_bytes: The mean size of a record's value.
        key_bytes: The size of a record's key; 0 for no key.
    """
    return max(0, int((heap_bytes - _HEAP_ROOM_BYTES) / _heap_factor(record_bytes, key_bytes)))


def _heap_factor(record_bytes: float, key_bytes: int) -> float:
    return 1 + QUEUED_RECORD_BYTES / (record_bytes + key_bytes + _LEAST_FRAMING_BYTES)


def most_buffer_bytes(sizes: Sizes) -> int:
    """Return the largest `buffer.memory` that is worth trying: the largest heap can hold it when it is full."""
    held_bytes = buffer_bytes_within(MOST_HEAP_BYTES, sizes.mean_record_bytes, sizes.key_bytes)
    return max(sizes.message_bytes, min(sizes.queue_memory_bytes, held_bytes))


def framing_bytes(record_bytes: int, key_bytes: int | None) -> int:
    """Return how many bytes the client adds to a record before it compares the record with `max.request.size`.

    Source: `AbstractRecords.estimateSizeInBytesUpperBound` of kafka-clients, for records without headers.
    """
    lengths = varint_bytes(key_bytes or -1) + varint_bytes(record_bytes) + varint_bytes(0)
    return BATCH_HEADER_BYTES + _MOST_FIELDS_BYTES + lengths


def _check(
    config: EffectiveValues, record_bytes: int, key_bytes: int | None, topic_max_message_bytes: int | None
) -> None:
    needed_bytes = record_bytes + (key_bytes or 0) + framing_bytes(record_bytes, key_bytes)
    for name, rule in ((LARGEST, "record-within-request"), (BUFFER, "record-within-buffer")):
        if needed_bytes > config.integer(name):
            raise RuleBroken(
                rule,
                f"a record with its framing must fit in {name}",
                f"{sizes_text(record_bytes, key_bytes)} take up to {needed_bytes} bytes, but "
                f"{name}={config.integer(name)}; set {name} to at least {needed_bytes}",
            )
    check_topic(config, config.integer("batch.size"), None, record_bytes, key_bytes, topic_max_message_bytes)


def _batch_holds(config: EffectiveValues, record_bytes: int) -> Mapping[str, int]:
    return {"batch.size": records_in_batch(config.integer("batch.size"), record_bytes)}


def _buffer_holds(config: EffectiveValues, record_bytes: int) -> Mapping[str, int]:
    batch_bytes = max(config.integer("batch.size"), single_record_batch_bytes(record_bytes))
    records = config.integer(BUFFER) // batch_bytes * records_in_batch(batch_bytes, record_bytes)
    return {BUFFER: records}


def _memory(config: EffectiveValues, record_bytes: int | None) -> str:
    buffer_bytes, batch_bytes = config.integer(BUFFER), config.integer("batch.size")
    text = f"a full buffer takes {size_text(buffer_bytes)} of the Java heap"
    if record_bytes is not None:
        objects_bytes = _buffer_holds(config, record_bytes)[BUFFER] * QUEUED_RECORD_BYTES
        text += f", and the objects of its records of {record_bytes:,} B take another {size_text(objects_bytes)}"
    if batch_bytes == 0:  # each record is sent in a batch of its own, so no batch is open
        return text
    # The client takes the memory of a whole batch when it opens the batch, and more if the first record needs more.
    batches = buffer_bytes // max(batch_bytes, single_record_batch_bytes(record_bytes or 0))
    if batches == 0:  # not even one record fits
        return text
    open_batches = "the open batch of 1 partition" if batches == 1 else f"the open batches of {batches:,} partitions"
    return f"{text}; it has room for {open_batches}, and with more of them send() waits"


LIMITS: Final = ClientLimits(
    largest_message=LARGEST,
    least_message_bytes=1,
    queue=BUFFER,
    max_batch_bytes=lambda config: max(1, config.integer("batch.size")),
    queue_bytes=lambda config: config.integer(BUFFER),
    framing_bytes=framing_bytes,
    batch_holds=_batch_holds,
    queue_holds=_buffer_holds,
    memory=_memory,
    when_full="send() waits, at most for max.block.ms",
    check=_check,
)
