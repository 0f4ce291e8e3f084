"""A record batch as a broker stores it: sizes, times and ids, without the content of its records."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

UNCOMPRESSED: Final = "none"
CODECS_BY_COST: Final = ("lz4", "zstd", "snappy", "gzip")
"""Kafka's codecs, in ascending order of the CPU time that they usually take for what they save."""


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """A batch that a producer has sent. It holds no key, no value and no header of a record.

    Attributes:
        base_offset: Offset of its first record.
        last_offset: Offset of its last record.
        records: How many records it has now; compaction may have removed some.
        bytes: Its size in the log.
        plain_bytes: Its size without compression.
        codec: How it is compressed: `none`, `gzip`, `snappy`, `lz4` or `zstd`.
        producer_id: The id of its producer; None if the producer has none, because it is not idempotent.
        transactional: Whether it belongs to a transaction.
        first_created_ms: When its first record was created, in milliseconds since 1970; -1 if unknown.
        last_created_ms: When its newest record was created; -1 if unknown.
        appended_ms: When the broker appended it; None if the topic keeps only the time of the producer.
        first_record_bytes: The size of its first record in the batch, without compression.
        coded_bytes: The size that the batch has with each codec, by codec.
    """

    base_offset: int
    last_offset: int
    records: int
    bytes: int
    plain_bytes: int
    codec: str
    producer_id: int | None
    transactional: bool
    first_created_ms: int
    last_created_ms: int
    appended_ms: int | None
    first_record_bytes: int
    coded_bytes: Mapping[str, int]

    @property
    def timed(self) -> bool:
        """Whether the times are known at which its records were created."""
        return 0 <= self.first_created_ms <= self.last_created_ms

    @property
    def span_ms(self) -> int:
        """Milliseconds between the creation of its first and of its newest record.

        The first record waited for at least this time.
        """
        return self.last_created_ms - self.first_created_ms


@dataclass(frozen=True, slots=True)
class MergedBatches:
    """Sizes of batches that were merged, as if their producers had waited longer; sums over all of them.

    Attributes:
        before: The number of batches before merging.
        after: The number of batches after merging.
        records: Their records.
        bytes: Their size before merging.
        plain_bytes: Their size after merging, without compression.
        coded_bytes: Their size after merging with each codec, by codec.
    """

    before: int = 0
    after: int = 0
    records: int = 0
    bytes: int = 0
    plain_bytes: int = 0
    coded_bytes: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.before + other.before,
            self.after + other.after,
            self.records + other.records,
            self.bytes + other.bytes,
            self.plain_bytes + other.plain_bytes,
            dict(Counter(self.coded_bytes) + Counter(other.coded_bytes)),
        )


@dataclass(frozen=True, slots=True)
class BatchSequence:
    """Batches of a partition that follow each other.

    Attributes:
        batches: The batches of producers, in the order of their offsets.
        merged: What they would become if their producers waited longer.
        set_aside: How many batches were left out, by the reason: `control` (they end transactions), `compacted` (they
            have lost records to compaction), `old format` (of producers before Kafka 0.11), `damaged`, `too large`
            (without compression).
    """

    batches: tuple[RecordBatch, ...] = ()
    merged: MergedBatches = MergedBatches()
    set_aside: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.batches + other.batches,
            self.merged + other.merged,
            dict(Counter(self.set_aside) + Counter(other.set_aside)),
        )
