"""The rules between librdkafka's knobs, and their conditions."""

from typing import Final

from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.client_facts.rules import (
    Condition,
    Rule,
    RuleOutcome,
    above,
    idempotence_limits_in_flight,
    idempotence_needs_acks_all,
    idempotence_needs_retries,
    idempotence_rule,
    show,
    transactional_needs_idempotence,
    when_transactional,
)
from search_spaces.librdkafka.levels import CODEC_LEVELS, NO_LEVEL
from search_spaces.properties.catalogue import TRANSACTION_TIMEOUT, TRANSACTIONAL_ID

_REFUSED: Final = "librdkafka refuses to create the producer"
# How much longer than a transaction a request may take.
SOCKET_BEYOND_TRANSACTION_MS: Final = 100
_SILENT: Final = "librdkafka accepts it but does not do it"


def _above_queue(name: str) -> Condition:
    """Return the condition of a rule that a config breaks if it sets `name` to more bytes than the queue holds."""

    def broken(config: EffectiveValues) -> str | None:
        queue_bytes = config.integer("queue.buffering.max.kbytes") * 1024
        if not config.is_given(name) or config.integer(name) <= queue_bytes:
            return None
        return show(config, name, "queue.buffering.max.kbytes") + f", which is {queue_bytes} bytes"

    return broken


def _level_beyond_codec(config: EffectiveValues) -> str | None:
    """Return the given compression level and the codec, as text, if the codec has no such level; None otherwise."""
    level = config.integer("compression.level")
    low, high = CODEC_LEVELS.get(config.text("compression.type"), (NO_LEVEL, NO_LEVEL))
    if level == NO_LEVEL or low <= level <= high:
        return None
    takes = "which has no levels" if high == NO_LEVEL else f"which has the levels {low} to {high}"
    return f"compression.level={level} with {show(config, 'compression.type')}, {takes}"


def _linger_beyond_timeout(config: EffectiveValues) -> str | None:
    """Return linger and delivery timeout, as text, if a record may time out while it waits for its batch.

    The result is None if that can't happen. A timeout of 0 means that there is no timeout.
    """
    timeout_ms = config.number("delivery.timeout.ms")
    if timeout_ms == 0 or config.number("linger.ms") < timeout_ms:
        return None
    return show(config, "linger.ms", "delivery.timeout.ms")


RULES: Final = (
    idempotence_needs_acks_all(_REFUSED),
    idempotence_limits_in_flight(_REFUSED, "max.in.flight"),
    idempotence_needs_retries(_REFUSED),
    idempotence_rule(
        "idempotence-needs-fifo",
        "queuing.strategy",
        "needs queuing.strategy=fifo",
        _REFUSED,
        lambda config: config.text("queuing.strategy") == "fifo",
    ),
    idempotence_rule(
        "idempotence-fixes-backpressure",
        "queue.buffering.backpressure.threshold",
        "needs queue.buffering.backpressure.threshold=1",
        _REFUSED,
        lambda config: config.integer("queue.buffering.backpressure.threshold") == 1,
    ),
    Rule(
        name="acks-is-none-one-or-all",
        knobs=("acks",),
        statement="acks must be 0, 1 or all",
        source="librdkafka accepts up to 1000, but Kafka's ReplicaManager.isValidRequiredAcks does not",
        broken=lambda config: None if config.integer("acks") in (-1, 0, 1) else show(config, "acks"),
    ),
    Rule(
        name="batch-within-message-max",
        knobs=("batch.size", "message.max.bytes"),
        statement="a batch never grows beyond message.max.bytes, so a larger batch.size does nothing",
        source=f"{_SILENT}: batches of at most 4,868 bytes with message.max.bytes=5000 and batch.size=100000",
        outcome=RuleOutcome.IGNORED,
        broken=above("batch.size", "message.max.bytes"),
    ),
    Rule(
        name="batch-within-queue-bytes",
        knobs=("batch.size", "queue.buffering.max.kbytes"),
        statement="a batch never grows beyond the queue it waits in, so a larger batch.size does nothing",
        source=f"{_SILENT}: batches of at most 10,720 bytes with a queue of 10 KiB and batch.size=100000",
        outcome=RuleOutcome.IGNORED,
        broken=_above_queue("batch.size"),
    ),
    Rule(
        name="batch-within-queue-messages",
        knobs=("batch.num.messages", "queue.buffering.max.messages"),
        statement="batch.num.messages must be at most queue.buffering.max.messages, as a batch waits in the queue",
        source=f"{_SILENT}: produce() reports a full queue until linger.ms has passed",
        outcome=RuleOutcome.IGNORED,
        broken=above("batch.num.messages", "queue.buffering.max.messages", unlimited=0),
    ),
    Rule(
        name="message-within-queue-bytes",
        knobs=("message.max.bytes", "queue.buffering.max.kbytes"),
        statement="message.max.bytes must fit in the queue, as the client never accepts a value larger than the queue",
        source=f"{_SILENT}: a queue of 1 KiB accepts a value of 1,024 bytes but never one of 1,025",
        outcome=RuleOutcome.IGNORED,
        broken=_above_queue("message.max.bytes"),
    ),
    Rule(
        name="level-fits-codec",
        knobs=("compression.level", "compression.type"),
        statement="compression.level must be a level of the codec, and must be left out for a codec without levels",
        source=f"{_SILENT}: levels above the codec's highest are lowered, and levels for none and snappy are ignored",
        outcome=RuleOutcome.IGNORED,
        broken=_level_beyond_codec,
    ),
    Rule(
        name="linger-within-delivery-timeout",
        knobs=("linger.ms", "delivery.timeout.ms"),
        statement="linger.ms must be less than delivery.timeout.ms, unless that is 0 (no limit)",
        source=f"{_REFUSED}; if only linger.ms is given, it refuses the topic at the first record instead",
        broken=_linger_beyond_timeout,
    ),
    Rule(
        name="request-timeout-within-socket-timeout",
        knobs=("request.timeout.ms", "socket.timeout.ms"),
        statement="request.timeout.ms must be at most socket.timeout.ms, after which the client gives up a request",
        source="the description of socket.timeout.ms in librdkafka's CONFIGURATION.md",
        outcome=RuleOutcome.IGNORED,
        broken=above("request.timeout.ms", "socket.timeout.ms"),
    ),
    Rule(
        name="request-timeout-within-delivery-timeout",
        knobs=("request.timeout.ms", "delivery.timeout.ms"),
        statement="request.timeout.ms must be at most delivery.timeout.ms, after which the client gives up a record",
        source="the description of delivery.timeout.ms in librdkafka's CONFIGURATION.md",
        outcome=RuleOutcome.IGNORED,
        broken=above("request.timeout.ms", "delivery.timeout.ms", unlimited=0),
    ),
    Rule(
        name="retry-backoff-within-limit",
        knobs=("retry.backoff.ms", "retry.backoff.max.ms"),
        statement="retry.backoff.ms must be at most retry.backoff.max.ms, the limit up to which it doubles",
        source=f"{_SILENT}: it warns of a static backoff of retry.backoff.max.ms",
        outcome=RuleOutcome.IGNORED,
        broken=above("retry.backoff.ms", "retry.backoff.max.ms"),
    ),
    Rule(
        name="metadata-backoff-within-limit",
        knobs=("topic.metadata.refresh.fast.interval.ms", "retry.backoff.max.ms"),
        statement="topic.metadata.refresh.fast.interval.ms must be at most retry.backoff.max.ms",
        source=f"{_SILENT}: it warns of a static backoff of retry.backoff.max.ms",
        outcome=RuleOutcome.IGNORED,
        broken=above("topic.metadata.refresh.fast.interval.ms", "retry.backoff.max.ms"),
    ),
    Rule(
        name="reconnect-backoff-within-limit",
        knobs=("reconnect.backoff.ms", "reconnect.backoff.max.ms"),
        statement="reconnect.backoff.ms must be at most reconnect.backoff.max.ms",
        source=_REFUSED,
        broken=lambda config: (
            show(config, "reconnect.backoff.ms", "reconnect.backoff.max.ms")
            if config.number("reconnect.backoff.ms") > config.number("reconnect.backoff.max.ms")
            else None
        ),
    ),
)

TRANSACTION_RULES: Final = (
    transactional_needs_idempotence(_REFUSED),
    Rule(
        name="delivery-within-transaction",
        knobs=("delivery.timeout.ms", TRANSACTIONAL_ID, TRANSACTION_TIMEOUT),
        statement=f"the delivery.timeout.ms of a transactional producer must be at most {TRANSACTION_TIMEOUT}",
        source=_REFUSED,
        broken=when_transactional(
            lambda config: config.integer("delivery.timeout.ms") <= config.integer(TRANSACTION_TIMEOUT),
            "delivery.timeout.ms",
            TRANSACTION_TIMEOUT,
        ),
    ),
    Rule(
        name="socket-timeout-within-transaction",
        knobs=("socket.timeout.ms", TRANSACTIONAL_ID, TRANSACTION_TIMEOUT),
        statement=(
            f"the socket.timeout.ms of a transactional producer must be at most {TRANSACTION_TIMEOUT} + "
            f"{SOCKET_BEYOND_TRANSACTION_MS}"
        ),
        source=_REFUSED,
        broken=when_transactional(
            lambda config: (
                config.integer("socket.timeout.ms")
                <= config.integer(TRANSACTION_TIMEOUT) + SOCKET_BEYOND_TRANSACTION_MS
            ),
            "socket.timeout.ms",
            TRANSACTION_TIMEOUT,
        ),
    ),
)
"""The rules of transactional producers."""
