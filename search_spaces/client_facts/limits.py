"""The limits on the sizes of records and batches, which the client, its queue and the topic set.

The limits of each client are in its folder.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.client_facts.record_format import single_record_batch_bytes
from search_spaces.errors import RuleBroken

SMALLER_RECORDS: Final = (
    "measure smaller records, or name a topic with a larger max.message.bytes (target.topic or target.like in a file, "
    "--topic or --like)"
)
"""What the user can do about records that are too large for the topic.

A topic that the tuner makes has the limit of the brokers, or with `like` that of the named topic.
"""


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """The limits of a client on the sizes of records and batches.

    Attributes:
        largest_message: The property that limits the size of a record.
        least_message_bytes: The smallest value of this property that a search space starts from.
        queue: The property that limits the client's queue (its buffer).
        max_batch_bytes: Returns the size of a full batch of a config in bytes, with framing.
        queue_bytes: Returns how many bytes fit into a config's queue.
        framing_bytes: Returns how many bytes the client adds to a record before it compares the record with
            `largest_message`, for the sizes of value and key in bytes.
        batch_holds: Returns how many uncompressed records of a size a batch holds, by each property that limits it.
        queue_holds: Returns how many records of a size the queue holds, by each property that limits it.
        memory: Returns in one sentence how much memory a config's full queue takes; the size of the records in bytes
            may be None.
        when_full: What the client does while its queue is full.
        check: Checks that a config can write records of one size, see `check_record` in
            `search_spaces.configs.producer_config`.
    """

    largest_message: str
    least_message_bytes: int
    queue: str
    max_batch_bytes: Callable[[EffectiveValues], int]
    queue_bytes: Callable[[EffectiveValues], int]
    framing_bytes: Callable[[int, int], int]
    batch_holds: Callable[[EffectiveValues, int], Mapping[str, int]]
    queue_holds: Callable[[EffectiveValues, int], Mapping[str, int]]
    memory: Callable[[EffectiveValues, int | None], str]
    when_full: str
    check: Callable[[EffectiveValues, int, int | None, int | None], None]


def check_topic(
    config: EffectiveValues,
    full_bytes: int,
    most_records: int | None,
    record_bytes: int,
    key_bytes: int | None,
    topic_max_message_bytes: int | None,
) -> None:
    """Check that the topic accepts a config's batches.

    The topic's limit applies to compressed batches, so it is checked only if the config does not compress.

    Args:
        config: The effective values.
        full_bytes: Size of a full batch, in bytes.
        most_records: The most records that a batch may hold; None for no limit.
        record_bytes: Size of a record's value, in bytes.
        key_bytes: Size of a record's key, in bytes; None for no key.
        topic_max_message_bytes: The topic's `max.message.bytes`; None if it is not known.

    Raises:
        RuleBroken: A batch of one record, or a full batch, exceeds the topic's limit.
    """
    if topic_max_message_bytes is None or config.text("compression.type") != "none":
        return
    alone_bytes = single_record_batch_bytes(record_bytes, key_bytes)
    if alone_bytes > topic_max_message_bytes:
        raise RuleBroken(
            "record-within-topic",
            "a batch of one record must fit in the topic's max.message.bytes",
            f"{sizes_text(record_bytes, key_bytes)} make a batch of {alone_bytes} bytes, "
            f"but max.message.bytes={topic_max_message_bytes}; {SMALLER_RECORDS}",
        )
    if most_records is not None:
        full_bytes = min(full_bytes, most_records * alone_bytes)
    if full_bytes > topic_max_message_bytes:
        raise RuleBroken(
            "batch-within-topic",
            "a full batch must fit in the topic's max.message.bytes, or the broker refuses the whole batch",
            f"batches grow to {full_bytes} bytes, but max.message.bytes={topic_max_message_bytes}; lower batch.size",
        )


def sizes_text(record_bytes: int, key_bytes: int | None) -> str:
    """Return the sizes of a record in words."""
    key = "no key" if key_bytes is None else f"a key of {key_bytes} bytes"
    return f"a value of {record_bytes} bytes and {key}"
