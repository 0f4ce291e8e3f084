"""The limits of the Java client: how large records and batches may be, and how much its buffer holds."""

from typing import Final

from search_spaces.effective import Effective
from search_spaces.errors import RuleBroken
from search_spaces.limits import Limits, check_topic, sizes_text
from search_spaces.sizes import BATCH_HEADER_BYTES, varint_bytes

LARGEST: Final = "max.request.size"
BUFFER: Final = "buffer.memory"
# The most bytes that a record's fixed fields can take. Source: MAX_RECORD_OVERHEAD of DefaultRecord in kafka-clients.
_MOST_RECORD_BYTES: Final = 21


def framing_bytes(record_bytes: int, key_bytes: int | None) -> int:
    """Return how many bytes the client adds to a record before it compares the record with `max.request.size`.

    Source: `AbstractRecords.estimateSizeInBytesUpperBound` of kafka-clients, for records without headers.
    """
    lengths = varint_bytes(key_bytes or -1) + varint_bytes(record_bytes) + varint_bytes(0)
    return BATCH_HEADER_BYTES + _MOST_RECORD_BYTES + lengths


def _check(config: Effective, record_bytes: int, key_bytes: int | None, topic_max_message_bytes: int | None) -> None:
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


LIMITS: Final = Limits(
    largest_message=LARGEST,
    least_message_bytes=1,
    queue=BUFFER,
    max_batch_bytes=lambda config: max(1, config.integer("batch.size")),
    queue_bytes=lambda config: config.integer(BUFFER),
    framing_bytes=framing_bytes,
    check=_check,
)
