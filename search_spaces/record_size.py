"""Record sizes: the check that a config can write records of a size, and the sizes that knob ranges depend on."""

from dataclasses import dataclass
from typing import Final

from search_spaces.effective import Effective
from search_spaces.errors import RuleBroken
from search_spaces.producer_config import ProducerConfig

# The client reserves this many bytes for the framing of a record without headers, whatever the record's size.
# Source: RD_KAFKAP_MESSAGE_V2_MAX_OVERHEAD of librdkafka. Checked with the mock cluster of 2.16.0, message.max.bytes
# from 1,000 to 1,000,000 and keys from 0 to 500 bytes: produce() refuses a record that is one byte larger.
RECORD_OVERHEAD_BYTES: Final = 36
# The size of the header of a batch in format 2. Source: "Record Batch" in the protocol guide of Apache Kafka.
BATCH_HEADER_BYTES: Final = 61
# The other fields of a record that is the first in its batch and has no headers. The attributes, the timestamp delta,
# the offset delta and the header count take one byte each. Source: "Record" in the same guide.
_RECORD_FIXED_BYTES: Final = 4
QUEUE_MESSAGES: Final = "queue.buffering.max.messages"
QUEUE_KBYTES: Final = "queue.buffering.max.kbytes"

# With smaller batches, the cost of more requests exceeds the gain from less waiting. Source: De Vos Meaker (2020),
# table 10: batch.size=1000 costs 62 % of the throughput of 100-byte records, and 88 % of that of 1,000-byte records.
_SMALL_BATCH_BYTES: Final = 4_096
_LARGE_BATCH_BYTES: Final = 10_000_000


def check_record(
    config: ProducerConfig,
    record_bytes: int,
    key_bytes: int | None = None,
    topic_max_message_bytes: int | None = None,
) -> None:
    """Check that a config can queue and send records of one size, and that the topic accepts them.

    The topic's limit applies to compressed batches, so it is checked only if the config does not compress.

    Args:
        config: The config to write with.
        record_bytes: Size of a record's value, in bytes.
        key_bytes: Size of a record's key, in bytes; None for no key.
        topic_max_message_bytes: The topic's `max.message.bytes`; None if it is not known.

    Raises:
        RuleBroken: The record exceeds one of the limits, or full batches exceed the topic's limit.
    """
    payload_bytes = record_bytes + (key_bytes or 0)
    limit_bytes = int(config.effective("message.max.bytes"))
    if payload_bytes + RECORD_OVERHEAD_BYTES > limit_bytes:
        raise RuleBroken(
            "record-within-message-max",
            f"a record's key, its value and {RECORD_OVERHEAD_BYTES} bytes of framing must fit in message.max.bytes",
            f"{_sizes(record_bytes, key_bytes)}, but message.max.bytes={limit_bytes}; "
            f"set message.max.bytes to at least {payload_bytes + RECORD_OVERHEAD_BYTES}",
        )
    if record_bytes > config.queue_bytes:
        raise RuleBroken(
            "record-within-queue",
            "a record's value must fit in queue.buffering.max.kbytes",
            f"a value of {record_bytes} bytes, but the queue holds {config.queue_bytes} bytes; "
            "raise queue.buffering.max.kbytes",
        )
    if topic_max_message_bytes is None or config.compression != "none":
        return
    alone_bytes = single_record_batch_bytes(record_bytes, key_bytes)
    if alone_bytes > topic_max_message_bytes:
        raise RuleBroken(
            "record-within-topic",
            "a batch of one record must fit in the topic's max.message.bytes",
            f"{_sizes(record_bytes, key_bytes)} make a batch of {alone_bytes} bytes, "
            f"but max.message.bytes={topic_max_message_bytes}; raise max.message.bytes on the topic",
        )
    records = int(config.effective("batch.num.messages"))
    full_bytes = min(config.max_batch_bytes, config.queue_bytes, records * alone_bytes)
    if full_bytes > topic_max_message_bytes:
        raise RuleBroken(
            "batch-within-topic",
            "a full batch must fit in the topic's max.message.bytes, or the broker refuses the whole batch",
            f"batches grow to {full_bytes} bytes, but max.message.bytes={topic_max_message_bytes}; lower batch.size",
        )


def single_record_batch_bytes(record_bytes: int, key_bytes: int | None = None) -> int:
    """Return the size in bytes that a broker counts for an uncompressed batch of one record without record headers."""
    body_bytes = _RECORD_FIXED_BYTES
    for length in (key_bytes, record_bytes):
        body_bytes += _varint_bytes(-1 if length is None else length) + (length or 0)
    return BATCH_HEADER_BYTES + _varint_bytes(body_bytes) + body_bytes


def _varint_bytes(number: int) -> int:
    zigzag = (number << 1) ^ (number >> 63)
    return max(1, -(-zigzag.bit_length() // 7))


def _sizes(record_bytes: int, key_bytes: int | None) -> str:
    key = "no key" if key_bytes is None else f"a key of {key_bytes} bytes"
    return f"a value of {record_bytes} bytes and {key}"


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of records, topic and queue memory that the ranges of knobs depend on.

    Attributes:
        record_bytes: Size of a record's value, in bytes.
        key_bytes: Size of a record's key, in bytes; 0 for no key.
        partitions: Number of partitions of the topic.
        topic_max_message_bytes: The topic's `max.message.bytes`.
        queue_memory_bytes: How much memory the client's queue may use, in bytes.
    """

    record_bytes: int
    key_bytes: int
    partitions: int
    topic_max_message_bytes: int
    queue_memory_bytes: int

    @property
    def alone_bytes(self) -> int:
        """Size of an uncompressed batch of one record, in bytes."""
        return single_record_batch_bytes(self.record_bytes, self.key_bytes or None)

    @property
    def in_batch_bytes(self) -> int:
        """Size of a record within a batch, in bytes, without the batch's header."""
        return self.alone_bytes - BATCH_HEADER_BYTES

    @property
    def message_bytes(self) -> int:
        """The smallest `message.max.bytes` with which the client accepts the record."""
        return self.record_bytes + self.key_bytes + RECORD_OVERHEAD_BYTES

    @property
    def batch_low_bytes(self) -> int:
        """The smallest `batch.size` that is worth trying, in bytes; such a batch has room for at least one record."""
        return max(_SMALL_BATCH_BYTES, self.alone_bytes, self.message_bytes)

    @property
    def batch_high_bytes(self) -> int:
        """The largest `batch.size` that is worth trying, in bytes; the topic accepts such a batch uncompressed."""
        return max(self.batch_low_bytes, min(self.topic_max_message_bytes, _LARGE_BATCH_BYTES))

    @property
    def several_in_batch(self) -> bool:
        """Whether two records fit in the largest `batch.size` worth trying; otherwise `batch.size` has no effect."""
        return BATCH_HEADER_BYTES + 2 * self.in_batch_bytes <= min(self.topic_max_message_bytes, _LARGE_BATCH_BYTES)

    def messages_bind(self, baseline: Effective) -> bool:
        """Return whether the client's queue reaches its limit on records before its limit on bytes."""
        messages = baseline.integer(QUEUE_MESSAGES)
        return messages > 0 and messages * self.record_bytes <= baseline.integer(QUEUE_KBYTES) * 1024
