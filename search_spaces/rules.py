"""Rules between knobs: what librdkafka refuses to start with, and what it takes in silence and does not do.

A rule that only says "this has no effect" looks at values that were given; a default is never blamed. The conditions
by which rules are broken come first: each answers with the values at fault, or None.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from search_spaces.effective import IDEMPOTENT_MAX_IN_FLIGHT, Effective
from search_spaces.errors import RuleBroken

Condition = Callable[[Effective], str | None]

# Source: the description of compression.level in librdkafka 2.16.0 (zstd is cut at 12 by the range of the
# property, and takes 0 for its own default of 3). gzip above 9 is lowered to 9.
CODEC_LEVELS: Final = {"gzip": (0, 9), "lz4": (0, 12), "zstd": (0, 12)}
NO_LEVEL: Final = -1
_REFUSED: Final = "librdkafka 2.16.0 refuses to create the producer"
_SILENT: Final = "librdkafka 2.16.0 takes it and does otherwise"


def show(config: Effective, *names: str) -> str:
    """Return `name=value` of each property, defaults marked as such."""
    return ", ".join(f"{name}={config.text(name)}" + ("" if config.is_given(name) else " (default)") for name in names)


def when_idempotent(knob: str, holds: Callable[[Effective], bool]) -> Condition:
    """Broken when the config is idempotent and `holds` says no; `knob` is what `holds` looks at."""

    def broken(config: Effective) -> str | None:
        if not config.flag("enable.idempotence") or holds(config):
            return None
        return show(config, "enable.idempotence", knob)

    return broken


def above(upper: str, lower: str, *, unlimited: int | None = None) -> Condition:
    """Broken when `upper`, given, is above `lower` in force; `unlimited` is the value meaning no limit."""

    def broken(config: Effective) -> str | None:
        limit = config.number(lower)
        if not config.is_given(upper) or limit == unlimited or config.number(upper) <= limit:
            return None
        return show(config, upper, lower)

    return broken


def above_queue(name: str) -> Condition:
    """Broken when the size `name`, given, is above what the client's queue holds, both in bytes."""

    def broken(config: Effective) -> str | None:
        queue_bytes = config.integer("queue.buffering.max.kbytes") * 1024
        if not config.is_given(name) or config.integer(name) <= queue_bytes:
            return None
        return show(config, name, "queue.buffering.max.kbytes") + f", which is {queue_bytes} bytes"

    return broken


def odd_acks(config: Effective) -> str | None:
    """Broken when acks is a number of replicas, which brokers no longer take."""
    return None if config.integer("acks") in (-1, 0, 1) else show(config, "acks")


def level_beyond_codec(config: Effective) -> str | None:
    """Broken when a level is given that the codec in force does not have."""
    level = config.integer("compression.level")
    low, high = CODEC_LEVELS.get(config.text("compression.type"), (NO_LEVEL, NO_LEVEL))
    if level == NO_LEVEL or low <= level <= high:
        return None
    takes = "which has no levels" if high == NO_LEVEL else f"whose levels are {low} to {high}"
    return f"compression.level={level} with {show(config, 'compression.type')}, {takes}"


def linger_beyond_timeout(config: Effective) -> str | None:
    """Broken when a record may time out while it waits for its batch; a timeout of 0 is none."""
    timeout_ms = config.number("delivery.timeout.ms")
    if timeout_ms == 0 or config.number("linger.ms") < timeout_ms:
        return None
    return show(config, "linger.ms", "delivery.timeout.ms")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule between knobs, as data.

    Attributes:
        name: what the error and the documents call it.
        knobs: the properties it ties together, by the names users write.
        statement: the rule in one sentence.
        source: how we know.
        broken: the values that break it, in words; None when it holds.
    """

    name: str
    knobs: tuple[str, ...]
    statement: str
    source: str
    broken: Condition

    def check(self, config: Effective) -> None:
        """Raise `RuleBroken` when `config` breaks the rule."""
        detail = self.broken(config)
        if detail is not None:
            raise RuleBroken(self.name, self.statement, detail)


RULES: Final = (
    Rule(
        name="idempotence-needs-acks-all",
        knobs=("enable.idempotence", "acks"),
        statement="an idempotent producer needs acks=all",
        source=_REFUSED,
        broken=when_idempotent("acks", lambda config: config.integer("acks") == -1),
    ),
    Rule(
        name="idempotence-limits-in-flight",
        knobs=("enable.idempotence", "max.in.flight"),
        statement=f"an idempotent producer has at most {IDEMPOTENT_MAX_IN_FLIGHT} requests in flight",
        source=_REFUSED,
        broken=when_idempotent(
            "max.in.flight", lambda config: config.integer("max.in.flight") <= IDEMPOTENT_MAX_IN_FLIGHT
        ),
    ),
    Rule(
        name="idempotence-needs-retries",
        knobs=("enable.idempotence", "retries"),
        statement="an idempotent producer retries at least once",
        source=_REFUSED,
        broken=when_idempotent("retries", lambda config: config.integer("retries") >= 1),
    ),
    Rule(
        name="idempotence-needs-fifo",
        knobs=("enable.idempotence", "queuing.strategy"),
        statement="an idempotent producer sends in the order of production",
        source=_REFUSED,
        broken=when_idempotent("queuing.strategy", lambda config: config.text("queuing.strategy") == "fifo"),
    ),
    Rule(
        name="idempotence-fixes-backpressure",
        knobs=("enable.idempotence", "queue.buffering.backpressure.threshold"),
        statement="an idempotent producer needs queue.buffering.backpressure.threshold=1",
        source=_REFUSED,
        broken=when_idempotent(
            "queue.buffering.backpressure.threshold",
            lambda config: config.integer("queue.buffering.backpressure.threshold") == 1,
        ),
    ),
    Rule(
        name="acks-is-none-one-or-all",
        knobs=("acks",),
        statement="acks is 0, 1 or all",
        source="librdkafka 2.16.0 takes up to 1000; Kafka's ReplicaManager.isValidRequiredAcks does not",
        broken=odd_acks,
    ),
    Rule(
        name="batch-within-message-max",
        knobs=("batch.size", "message.max.bytes"),
        statement="a batch never grows beyond message.max.bytes, so a larger batch.size does nothing",
        source=f"{_SILENT}: batches of at most 4,868 bytes with message.max.bytes=5000 and batch.size=100000",
        broken=above("batch.size", "message.max.bytes"),
    ),
    Rule(
        name="batch-within-queue-bytes",
        knobs=("batch.size", "queue.buffering.max.kbytes"),
        statement="a batch never grows beyond the queue it waits in, so a larger batch.size does nothing",
        source=f"{_SILENT}: batches of at most 10,720 bytes with a queue of 10 KiB and batch.size=100000",
        broken=above_queue("batch.size"),
    ),
    Rule(
        name="batch-within-queue-messages",
        knobs=("batch.num.messages", "queue.buffering.max.messages"),
        statement="a batch never has more records than the queue it waits in",
        source=f"{_SILENT}: produce() answers that the queue is full until linger.ms has passed",
        broken=above("batch.num.messages", "queue.buffering.max.messages", unlimited=0),
    ),
    Rule(
        name="message-within-queue-bytes",
        knobs=("message.max.bytes", "queue.buffering.max.kbytes"),
        statement="a value larger than the queue is never taken, so message.max.bytes must fit in the queue",
        source=f"{_SILENT}: a queue of 1 KiB takes a value of 1,024 bytes and never one of 1,025",
        broken=above_queue("message.max.bytes"),
    ),
    Rule(
        name="level-fits-codec",
        knobs=("compression.type", "compression.level"),
        statement="compression.level is within what the codec takes, and left out for a codec without levels",
        source=f"{_SILENT}: levels above the codec's last are lowered, those of none and snappy ignored",
        broken=level_beyond_codec,
    ),
    Rule(
        name="linger-within-delivery-timeout",
        knobs=("linger.ms", "delivery.timeout.ms"),
        statement="linger.ms is less than delivery.timeout.ms, unless that is 0 (no limit)",
        source=f"{_REFUSED}; when only linger.ms is given, it refuses the topic at the first record instead",
        broken=linger_beyond_timeout,
    ),
    Rule(
        name="request-timeout-within-socket-timeout",
        knobs=("request.timeout.ms", "socket.timeout.ms"),
        statement="the client gives up a request after socket.timeout.ms, so request.timeout.ms is no longer",
        source="the description of socket.timeout.ms in librdkafka 2.16.0",
        broken=above("request.timeout.ms", "socket.timeout.ms"),
    ),
    Rule(
        name="request-timeout-within-delivery-timeout",
        knobs=("request.timeout.ms", "delivery.timeout.ms"),
        statement="the client gives a record up after delivery.timeout.ms; request.timeout.ms is no longer",
        source="the description of delivery.timeout.ms in librdkafka 2.16.0",
        broken=above("request.timeout.ms", "delivery.timeout.ms", unlimited=0),
    ),
    Rule(
        name="retry-backoff-within-limit",
        knobs=("retry.backoff.ms", "retry.backoff.max.ms"),
        statement="retry.backoff.ms is at most retry.backoff.max.ms, which it starts to double towards",
        source=f"{_SILENT}: it warns of a static backoff of retry.backoff.max.ms",
        broken=above("retry.backoff.ms", "retry.backoff.max.ms"),
    ),
    Rule(
        name="metadata-backoff-within-limit",
        knobs=("topic.metadata.refresh.fast.interval.ms", "retry.backoff.max.ms"),
        statement="topic.metadata.refresh.fast.interval.ms is at most retry.backoff.max.ms",
        source=f"{_SILENT}: it warns of a static backoff of retry.backoff.max.ms",
        broken=above("topic.metadata.refresh.fast.interval.ms", "retry.backoff.max.ms"),
    ),
    Rule(
        name="reconnect-backoff-within-limit",
        knobs=("reconnect.backoff.ms", "reconnect.backoff.max.ms"),
        statement="reconnect.backoff.ms is at most reconnect.backoff.max.ms",
        source=_REFUSED,
        broken=lambda config: (
            show(config, "reconnect.backoff.ms", "reconnect.backoff.max.ms")
            if config.number("reconnect.backoff.ms") > config.number("reconnect.backoff.max.ms")
            else None
        ),
    ),
)
