"""The dependencies between the values of librdkafka's knobs."""

from functools import lru_cache
from typing import Final

from search_spaces.client_facts.bounds import UNBOUNDED, Bounds, Ordering, limit
from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.client_facts.knobs import IN_FLIGHT, QUEUING_STRATEGY
from search_spaces.client_facts.rules import IDEMPOTENT_MAX_IN_FLIGHT
from search_spaces.client_facts.sizes import Sizes
from search_spaces.librdkafka.limits import QUEUE_KBYTES, QUEUE_MESSAGES

_BACKPRESSURE: Final = "queue.buffering.backpressure.threshold"
_FILL_RULE: Final = "queue-fills-a-batch"


@lru_cache
def _orderings(sizes: Sizes) -> tuple[Ordering, ...]:
    """Return the rules by which one numeric property bounds another, for the given sizes of records and topic."""
    timeout, backoff = "delivery.timeout.ms", "retry.backoff.max.ms"
    refresh = "topic.metadata.refresh.fast.interval.ms"
    return (
        Ordering("message.max.bytes", QUEUE_KBYTES, "message-within-queue-bytes", factor=1024),
        Ordering("batch.size", QUEUE_KBYTES, "batch-within-queue-bytes", factor=1024),
        Ordering("batch.size", "message.max.bytes", "batch-within-message-max", if_given=True),
        # Not a rule of the client. But a batch that the queue can't fill waits for linger.ms with the queue full.
        Ordering("batch.size", QUEUE_MESSAGES, _FILL_RULE, factor=sizes.in_batch_bytes, unlimited=0),
        Ordering("batch.num.messages", QUEUE_MESSAGES, "batch-within-queue-messages", unlimited=0),
        Ordering("linger.ms", timeout, "linger-within-delivery-timeout", gap=1, unlimited=0),
        Ordering("request.timeout.ms", timeout, "request-timeout-within-delivery-timeout", unlimited=0),
        Ordering("request.timeout.ms", "socket.timeout.ms", "request-timeout-within-socket-timeout"),
        Ordering("retry.backoff.ms", backoff, "retry-backoff-within-limit"),
        Ordering(refresh, backoff, "metadata-backoff-within-limit"),
        Ordering(
            "reconnect.backoff.ms", "reconnect.backoff.max.ms", "reconnect-backoff-within-limit", with_default=True
        ),
    )


def _adjusted(config: EffectiveValues, sizes: Sizes) -> dict[str, str]:
    """Return new values of properties, by name, so that client and topic accept the config's batches and records.

    If a batch or the record is larger than the default of `message.max.bytes`, this property is raised. If the config
    leaves `batch.size` at its default and the topic does not accept batches of that size, `batch.size` is lowered.
    """
    following: dict[str, str] = {}
    needed = sizes.message_bytes
    if config.is_given("batch.size"):
        needed = max(needed, config.integer("batch.size"))
    elif config.integer("batch.size") > sizes.topic_max_message_bytes:
        limits = (limit(ordering, config) for ordering in _orderings(sizes) if ordering.small == "batch.size")
        following["batch.size"] = str(int(min(sizes.topic_max_message_bytes, *limits)))
    if not config.is_given("message.max.bytes") and needed > config.integer("message.max.bytes"):
        following["message.max.bytes"] = str(needed)
    return following


BOUNDS: Final = Bounds(
    orderings=_orderings,
    idempotent_numbers={
        IN_FLIGHT: (1, IDEMPOTENT_MAX_IN_FLIGHT),
        "retries": (1, UNBOUNDED[1]),
        _BACKPRESSURE: (1, 1),
    },
    idempotent_words={QUEUING_STRATEGY: "fifo"},
    drawn_early=("retries", QUEUING_STRATEGY, _BACKPRESSURE, "delivery.timeout.ms", "socket.timeout.ms"),
    drawn_late=(
        "retry.backoff.max.ms",
        "reconnect.backoff.max.ms",
        "request.timeout.ms",
        "retry.backoff.ms",
        "topic.metadata.refresh.fast.interval.ms",
    ),
    adjusted=_adjusted,
    # A compression level belongs to its codec. The limit of a message is only raised to allow larger batches.
    undone_with={"compression.level": "compression.type", "message.max.bytes": "batch.size"},
    statements={_FILL_RULE: "the queue must hold the records of one full batch"},
)
