"""The sizes of records and of the topic, which the ranges of knobs depend on."""

from dataclasses import dataclass
from typing import Final

from search_spaces.client_facts.record_format import BATCH_HEADER_BYTES, single_record_batch_bytes

DEFAULT_MAX_MESSAGE_BYTES: Final = 1_048_588
"""The default limit on the size of a record batch in a topic, in bytes, including the batch's header.

Source: topic config `max.message.bytes`, Kafka 4.3.
"""

# With smaller batches, the cost of more requests exceeds the gain from less waiting. Source: De Vos Meaker (2020),
# table 10: batch.size=1000 costs 62 % of the throughput of 100-byte records, and 88 % of that of 1,000-byte records.
_SMALL_BATCH_BYTES: Final = 4_096
_LARGE_BATCH_BYTES: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of records, topic and queue memory that the ranges of knobs depend on.

    Attributes:
        record_bytes: Size of a record's value, in bytes; of the largest one if there are several sizes.
        key_bytes: Size of a record's key, in bytes; 0 for no key.
        partitions: Number of partitions of the topic.
        topic_max_message_bytes: The topic's `max.message.bytes`.
        queue_memory_bytes: How much memory the client's queue may use, in bytes.
        framing_bytes: How many bytes the client adds to a record's key and value before it compares the record with its
            limit.
        mean_record_bytes: Mean size of the records' values, in bytes.
    """

    record_bytes: int
    key_bytes: int
    partitions: int
    topic_max_message_bytes: int
    queue_memory_bytes: int
    framing_bytes: int
    mean_record_bytes: float

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
        """The smallest limit on the size of a message with which the client accepts the record."""
        return self.record_bytes + self.key_bytes + self.framing_bytes

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
