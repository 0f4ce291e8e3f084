"""The limits of librdkafka: how large records and batches may be, and how much its queue holds."""

from collections.abc import Mapping
from typing import Final

from search_spaces.amounts import size_text
from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.client_facts.limits import ClientLimits, check_topic, sizes_text
from search_spaces.client_facts.record_format import records_in_batch
from search_spaces.errors import RuleBroken

QUEUE_MESSAGES: Final = "queue.buffering.max.messages"
QUEUE_KBYTES: Final = "queue.buffering.max.kbytes"

# The client reserves this many bytes for the framing of a record without headers, whatever the record's size.
# Source: RD_KAFKAP_MESSAGE_V2_MAX_OVERHEAD of librdkafka. Checked with the mock cluster of 2.16.0, message.max.bytes
# from 1,000 to 1,000,000 and keys from 0 to 500 bytes: produce() refuses a record that is one byte larger.
RECORD_OVERHEAD_BYTES: Final = 36
# Memory that a queued record needs besides its key and value. Measured with 2.16.0: the resident memory of a process
# grew by 241 bytes per record with 400,000 queued records of 10 bytes, and by 1,216 with 100,000 of 1,000 bytes.
QUEUED_RECORD_BYTES: Final = 232


def _max_batch_bytes(config: EffectiveValues) -> int:
    return min(config.integer("batch.size"), config.integer("message.max.bytes"))


def _queue_bytes(config: EffectiveValues) -> int:
    return config.integer(QUEUE_KBYTES) * 1024


def _check(
    config: EffectiveValues, record_bytes: int, key_bytes: int | None, topic_max_message_bytes: int | None
) -> None:
    payload_bytes = record_bytes + (key_bytes or 0)
    limit_bytes = config.integer("message.max.bytes")
    if payload_bytes + RECORD_OVERHEAD_BYTES > limit_bytes:
        raise RuleBroken(
            "record-within-message-max",
            f"a record's key, its value and {RECORD_OVERHEAD_BYTES} bytes of framing must fit in message.max.bytes",
            f"{sizes_text(record_bytes, key_bytes)}, but message.max.bytes={limit_bytes}; "
            f"set message.max.bytes to at least {payload_bytes + RECORD_OVERHEAD_BYTES}",
        )
    queue_bytes = _queue_bytes(config)
    if record_bytes > queue_bytes:
        raise RuleBroken(
            "record-within-queue",
            "a record's value must fit in queue.buffering.max.kbytes",
            f"a value of {record_bytes} bytes, but the queue holds {queue_bytes} bytes; "
            "raise queue.buffering.max.kbytes",
        )
    full_bytes = min(_max_batch_bytes(config), queue_bytes)
    records = config.integer("batch.num.messages")
    check_topic(config, full_bytes, records, record_bytes, key_bytes, topic_max_message_bytes)


def _batch_holds(config: EffectiveValues, record_bytes: int) -> Mapping[str, int]:
    return {
        "batch.size": records_in_batch(config.integer("batch.size"), record_bytes),
        "message.max.bytes": records_in_batch(config.integer("message.max.bytes"), record_bytes),
        "batch.num.messages": config.integer("batch.num.messages"),
    }


def _queue_holds(config: EffectiveValues, record_bytes: int) -> Mapping[str, int]:
    messages = config.integer(QUEUE_MESSAGES)
    limits = {QUEUE_MESSAGES: messages} if messages else {}
    return {**limits, QUEUE_KBYTES: _queue_bytes(config) // record_bytes}


def _memory(config: EffectiveValues, record_bytes: int | None) -> str:
    if record_bytes is None:
        messages = config.integer(QUEUE_MESSAGES)
        of = f"of up to {messages:,} records" if messages else "record"
        text = f"a full queue takes up to {size_text(_queue_bytes(config))} of keys and values"
        return f"{text}, and {QUEUED_RECORD_BYTES} B for each {of}"
    records = min(_queue_holds(config, record_bytes).values())
    taken = size_text(records * (record_bytes + QUEUED_RECORD_BYTES))
    each = f"{QUEUED_RECORD_BYTES} B for each"
    return f"a full queue takes {taken}: {records:,} records of {record_bytes:,} B, and {each}"


LIMITS: Final = ClientLimits(
    largest_message="message.max.bytes",
    least_message_bytes=1_000,
    queue=QUEUE_KBYTES,
    max_batch_bytes=_max_batch_bytes,
    queue_bytes=_queue_bytes,
    framing_bytes=lambda _, __: RECORD_OVERHEAD_BYTES,
    batch_holds=_batch_holds,
    queue_holds=_queue_holds,
    memory=_memory,
    when_full="produce() reports that the queue is full",
    check=_check,
)
