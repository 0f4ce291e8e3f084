"""Translation of a Java producer's properties to the nearest librdkafka config. The translated config is not measured.

The Java producer's own defaults and the values that it derives are filled in first. So the translated config guarantees
at least what the Java producer guarantees.
"""

from typing import Final

from search_spaces.client import librdkafka
from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.client_facts.knobs import IDEMPOTENCE, IN_FLIGHT
from search_spaces.configs.guarantee import GUARANTEE_PROPERTIES
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.librdkafka.rules import SOCKET_BEYOND_TRANSACTION_MS
from search_spaces.properties.catalogue import INT_MAX, TRANSACTION_TIMEOUT
from search_spaces.translation.levels import librdkafka_level

# Producer properties for which librdkafka has nothing that does the same.
_WITHOUT_TWIN: Final = frozenset(
    {
        "metadata.max.idle.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.class",
        "socket.connection.setup.timeout.max.ms",
    }
)
# The ranges of librdkafka 2.16.0 that are narrower than Java's.
_LARGEST_MESSAGE_BYTES: Final = 1_000_000_000
_SMALLEST_MESSAGE_BYTES: Final = 1000
_LONGEST_LINGER_MS: Final = 900_000
_LONGEST_SOCKET_TIMEOUT_MS: Final = 300_000
_DEFAULT_SOCKET_TIMEOUT_MS: Final = 60_000
_SHORTEST_TRANSACTION_MS: Final = 1_000


def translate_from_java(
    config: ProducerConfig, transaction_timeout_ms: int | None = None
) -> tuple[ProducerConfig, tuple[str, ...]]:
    """Return librdkafka's config that comes closest to a Java producer's, and the differences, one sentence each.

    Properties are left out if librdkafka's default is the same, except the properties that decide the guarantee.

    Args:
        config: The config of the Java producer.
        transaction_timeout_ms: Its timeout of transactions; None if it is not transactional. librdkafka refuses a
            transactional producer whose other timeouts are longer.
    """
    notes: list[str] = []
    effective = config.effective_values
    values = {
        "acks": effective.text("acks"),
        IDEMPOTENCE: effective.text(IDEMPOTENCE),
        IN_FLIGHT: str(min(1_000_000, effective.integer(IN_FLIGHT))),
        "retries": effective.text("retries"),
        "socket.send.buffer.bytes": _socket_bytes(effective.integer("send.buffer.bytes")),
        "socket.receive.buffer.bytes": _socket_bytes(effective.integer("receive.buffer.bytes")),
        "partitioner": "random"
        if _value_if_known(effective, "partitioner.ignore.keys") == "true"
        else "murmur2_random",
        **_sizes(effective, notes),
        **_compression(effective, notes),
        **_timing(effective, notes, transaction_timeout_ms),
        **_backoff(effective),
        **_if_given(effective),
    }
    if effective.is_given("partitioner.class"):
        notes.append("librdkafka can't run a Java partitioner.class, so records go to other partitions")
    for name in [name for name in values if name not in GUARANTEE_PROPERTIES]:
        rest = {other: value for other, value in values.items() if other != name}
        if librdkafka().effective_values(rest).text(name) == values[name]:
            values = rest
    without = [name for name in config.values if name in _WITHOUT_TWIN]
    if without:
        notes.append(f"librdkafka has no counterpart of {', '.join(without)}")
    return ProducerConfig.parse(values), tuple(notes)


def _value_if_known(effective: EffectiveValues, name: str) -> str | None:
    """Return the effective value; None if the release has no such property."""
    return effective.text(name) if name in effective.catalogue else None


def _socket_bytes(java_bytes: int) -> str:
    # The operating system chooses the size: Java writes this as -1, librdkafka as 0.
    return str(min(100_000_000, max(0, java_bytes)))


def _sizes(effective: EffectiveValues, notes: list[str]) -> dict[str, str]:
    stated_bytes, most_bytes = effective.integer("batch.size"), _LARGEST_MESSAGE_BYTES
    batch_bytes = min(most_bytes, max(1, stated_bytes))
    if batch_bytes != stated_bytes:
        notes.append(f"librdkafka takes batch.size from 1 to {most_bytes}: {stated_bytes} became {batch_bytes}")
    # Java never sends a batch that is larger than its buffer, and librdkafka's queue must hold the largest message.
    kbytes = min(INT_MAX, -(-max(effective.integer("buffer.memory"), batch_bytes, _SMALLEST_MESSAGE_BYTES) // 1024))
    # Java sends a batch that is larger than max.request.size alone; librdkafka would make such a batch smaller.
    request_bytes = min(effective.integer("max.request.size"), kbytes * 1024, most_bytes)
    message_bytes = max(batch_bytes, _SMALLEST_MESSAGE_BYTES, request_bytes)
    notes.append(
        "librdkafka's queue is full at 100000 records or at buffer.memory, whichever is first; Java counts only bytes"
    )
    return {
        "batch.size": str(batch_bytes),
        "message.max.bytes": str(message_bytes),
        "queue.buffering.max.kbytes": str(kbytes),
    }


def _compression(effective: EffectiveValues, notes: list[str]) -> dict[str, str]:
    codec = effective.text("compression.type")
    name = f"compression.{codec}.level"
    properties = {"compression.type": codec}
    if _value_if_known(effective, name) is None or not effective.is_given(name):
        return properties
    level = effective.integer(name)
    nearest = librdkafka_level(codec, level)
    if nearest is None:
        return properties
    if nearest != level:
        notes.append(f"librdkafka has no {codec} level {level}, so the nearest one is used: {nearest}")
    return {**properties, "compression.level": str(nearest)}


def _timing(effective: EffectiveValues, notes: list[str], transaction_ms: int | None) -> dict[str, str]:
    longest_ms = INT_MAX if transaction_ms is None else max(_SHORTEST_TRANSACTION_MS, transaction_ms)
    linger_ms = min(_LONGEST_LINGER_MS, longest_ms - 1, effective.integer("linger.ms"))
    # The default socket.timeout.ms of a transactional producer is a little shorter than its transactions.
    longest_request_ms = min(_LONGEST_SOCKET_TIMEOUT_MS, longest_ms - SOCKET_BEYOND_TRANSACTION_MS)
    request_ms = min(longest_request_ms, max(1, effective.integer("request.timeout.ms")))
    delivery_ms = min(longest_ms, max(effective.integer("delivery.timeout.ms"), linger_ms + 1, request_ms))
    because = "" if transaction_ms is None else f" in a producer with {TRANSACTION_TIMEOUT}={transaction_ms}"
    for name, before, now in (
        ("linger.ms", effective.integer("linger.ms"), linger_ms),
        ("request.timeout.ms", effective.integer("request.timeout.ms"), request_ms),
        ("delivery.timeout.ms", effective.integer("delivery.timeout.ms"), delivery_ms),
    ):
        if before != now:
            notes.append(f"librdkafka does not take {name}={before}{because}: it became {now}")
    socket_ms = max(_DEFAULT_SOCKET_TIMEOUT_MS, request_ms)
    return {
        "linger.ms": str(linger_ms),
        "request.timeout.ms": str(request_ms),
        "delivery.timeout.ms": str(delivery_ms),
        # librdkafka gives a request up after socket.timeout.ms, which must not come first.
        "socket.timeout.ms": str(min(longest_ms, socket_ms)),
    }


def _backoff(effective: EffectiveValues) -> dict[str, str]:
    retry_ms = min(300_000, max(1, effective.integer("retry.backoff.ms")))
    reconnect_ms = min(3_600_000, effective.integer("reconnect.backoff.ms"))
    # Before 3.7, the backoff did not grow.
    longest_ms = int(_value_if_known(effective, "retry.backoff.max.ms") or retry_ms)
    return {
        "retry.backoff.ms": str(retry_ms),
        "retry.backoff.max.ms": str(min(300_000, max(retry_ms, longest_ms))),
        "reconnect.backoff.ms": str(reconnect_ms),
        "reconnect.backoff.max.ms": str(
            min(3_600_000, max(reconnect_ms, effective.integer("reconnect.backoff.max.ms")))
        ),
    }


def _if_given(effective: EffectiveValues) -> dict[str, str]:
    def given(name: str) -> bool:
        return _value_if_known(effective, name) is not None and effective.is_given(name)

    values = {
        name: effective.text(name) for name in ("enable.metrics.push", "metadata.recovery.strategy") if given(name)
    }
    for name, twin, low, high in (
        ("connections.max.idle.ms", "connections.max.idle.ms", 0, INT_MAX),
        ("metadata.max.age.ms", "topic.metadata.refresh.interval.ms", 10, 3_600_000),
        ("metadata.recovery.rebootstrap.trigger.ms", "metadata.recovery.rebootstrap.trigger.ms", 0, INT_MAX),
        ("socket.connection.setup.timeout.ms", "socket.connection.setup.timeout.ms", 1000, INT_MAX),
    ):
        if given(name):
            values[twin] = str(min(high, max(low, effective.integer(name))))
    return values
