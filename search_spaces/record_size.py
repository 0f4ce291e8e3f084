"""Whether records of a given size can be written with a config at all, and the sizes that ranges of knobs depend on."""

from dataclasses import dataclass
from typing import Final

from search_spaces.effective import Effective
from search_spaces.errors import RuleBroken
from search_spaces.producer_config import ProducerConfig

# What the client allows for the framing of one record without headers, whatever its size. Source:
# RD_KAFKAP_MESSAGE_V2_MAX_OVERHEAD of librdkafka; measured against the mock cluster of 2.16.0 with
# message.max.bytes from 1,000 to 1,000,000 and keys from 0 to 500 bytes: one byte more is refused by
# produce().
RECORD_OVERHEAD_BYTES: Final = 36
# Source: "Record Batch" in the protocol guide of Apache Kafka, the header of a batch of format 2.
BATCH_HEADER_BYTES: Final = 61
# The rest of a record that is first in its batch and has no headers: attributes, the deltas of time and
# offset, and the count of headers, a byte each. Source: "Record" in the same guide.
_RECORD_FIXED_BYTES: Final = 4
QUEUE_MESSAGES: Final = "queue.buffering.max.messages"
QUEUE_KBYTES: Final = "queue.buffering.max.kbytes"

# Below this a batch costs more in requests than it saves in waiting. Source: De Vos Meaker (2020), table 10:
# batch.size 1,000 loses 62 % of the throughput of 100-byte records and 88 % of that of 1,000-byte ones.
_SMALL_BATCH_BYTES: Final = 4_096
_LARGE_BATCH_BYTES: Final = 10_000_000


def check_record(
    config: ProducerConfig,
    record_bytes: int,
    key_bytes: int | None = None,
    topic_max_message_bytes: int | None = None,
) -> None:
    """Check that records of one size can be queued, sent, and taken by the topic.

    A topic judges a batch after compression, so its limit is applied only when the config does not compress.

    Args:
        config: the config to write with.
        record_bytes: size of a record's value, in bytes.
        key_bytes: size of its key, in bytes; None for no key.
        topic_max_message_bytes: the topic's `max.message.bytes`; None when it is not known.

    Raises:
        RuleBroken: the record is larger than one of the limits, or full batches are larger than the topic
            takes.
    """
    payload_bytes = record_bytes + (key_bytes or 0)
    limit_bytes = int(config.effective("message.max.bytes"))
    if payload_bytes + RECORD_OVERHEAD_BYTES > limit_bytes:
        raise RuleBroken(
            "record-within-message-max",
            f"key and value and {RECORD_OVERHEAD_BYTES} bytes of framing fit in message.max.bytes",
            f"{_sizes(record_bytes, key_bytes)}, message.max.bytes={limit_bytes}; "
            f"it must be at least {payload_bytes + RECORD_OVERHEAD_BYTES}",
        )
    if record_bytes > config.queue_bytes:
        raise RuleBroken(
            "record-within-queue",
            "a value fits in queue.buffering.max.kbytes",
            f"a value of {record_bytes} bytes, and the queue holds {config.queue_bytes}",
        )
    if topic_max_message_bytes is None or config.compression != "none":
        return
    alone_bytes = single_record_batch_bytes(record_bytes, key_bytes)
    if alone_bytes > topic_max_message_bytes:
        raise RuleBroken(
            "record-within-topic",
            "a batch of one record fits in the topic's max.message.bytes",
            f"{_sizes(record_bytes, key_bytes)} make a batch of {alone_bytes}, "
            f"max.message.bytes={topic_max_message_bytes}",
        )
    records = int(config.effective("batch.num.messages"))
    full_bytes = min(config.max_batch_bytes, config.queue_bytes, records * alone_bytes)
    if full_bytes > topic_max_message_bytes:
        raise RuleBroken(
            "batch-within-topic",
            "a full batch fits in the topic's max.message.bytes, for a broker refuses a larger one whole",
            f"they grow to {full_bytes} bytes, max.message.bytes={topic_max_message_bytes}; lower batch.size",
        )


def single_record_batch_bytes(record_bytes: int, key_bytes: int | None = None) -> int:
    """Return the bytes of an uncompressed batch of one record without headers, as a broker counts them."""
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
    """What the ranges depend on.

    Attributes:
        record_bytes: size of a record's value, in bytes.
        key_bytes: size of its key, in bytes; 0 for no key.
        partitions: partitions of the topic.
        topic_max_message_bytes: the topic's `max.message.bytes`.
        queue_memory_bytes: memory that the client's queue may take, in bytes.
    """

    record_bytes: int
    key_bytes: int
    partitions: int
    topic_max_message_bytes: int
    queue_memory_bytes: int

    @property
    def alone_bytes(self) -> int:
        """Bytes of a batch of one record, uncompressed."""
        return single_record_batch_bytes(self.record_bytes, self.key_bytes or None)

    @property
    def in_batch_bytes(self) -> int:
        """Bytes of a record within a batch."""
        return self.alone_bytes - BATCH_HEADER_BYTES

    @property
    def message_bytes(self) -> int:
        """The least `message.max.bytes` that takes the record."""
        return self.record_bytes + self.key_bytes + RECORD_OVERHEAD_BYTES

    @property
    def batch_low_bytes(self) -> int:
        """The smallest batch worth a try: room for one record at least."""
        return max(_SMALL_BATCH_BYTES, self.alone_bytes, self.message_bytes)

    @property
    def batch_high_bytes(self) -> int:
        """The largest batch that the topic takes uncompressed."""
        return max(self.batch_low_bytes, min(self.topic_max_message_bytes, _LARGE_BATCH_BYTES))

    @property
    def several_in_batch(self) -> bool:
        """Whether the largest batch holds two records or more, so that its size means anything."""
        return BATCH_HEADER_BYTES + 2 * self.in_batch_bytes <= min(self.topic_max_message_bytes, _LARGE_BATCH_BYTES)

    def messages_bind(self, baseline: Effective) -> bool:
        """Whether the queue is full by its number of records before it is by their bytes."""
        messages = baseline.integer(QUEUE_MESSAGES)
        return messages > 0 and messages * self.record_bytes <= baseline.integer(QUEUE_KBYTES) * 1024
