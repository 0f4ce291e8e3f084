"""The sizes that the ranges of knobs depend on."""

from dataclasses import dataclass
from typing import Final

from search_spaces.effective import Effective
from search_spaces.record_size import BATCH_HEADER_BYTES, RECORD_OVERHEAD_BYTES, single_record_batch_bytes

QUEUE_MESSAGES: Final = "queue.buffering.max.messages"
QUEUE_KBYTES: Final = "queue.buffering.max.kbytes"

# Below this a batch costs more in requests than it saves in waiting. Source: De Vos Meaker (2020), table 10:
# batch.size 1,000 loses 62 % of the throughput of 100-byte records and 88 % of that of 1,000-byte ones.
_SMALL_BATCH_BYTES: Final = 4_096
_LARGE_BATCH_BYTES: Final = 10_000_000


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
