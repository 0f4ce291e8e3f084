"""Translation of a librdkafka config for Kafka's Java producer. The translated config is not measured.

Properties that affect speed are written out even if the config leaves them at librdkafka's default, because the Java
producer has other defaults.

The names, types, ranges and defaults of the Java producer are in `search_spaces.java_client`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from search_spaces.client import Client, ClientKind, java
from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.configs.transactions import effective_values_within
from search_spaces.java_client.levels import FAST_LZ4
from search_spaces.librdkafka.knobs import LEVEL_PROPERTY
from search_spaces.properties.catalogue import INT_MAX, shown_value
from search_spaces.translation.levels import java_level

LABEL: Final = "translated, not measured"
MEASURED: Final = "measured with this client"
# Properties with the same name and (nearly) the same meaning in both clients. They are written only if they are given.
_SAME: Final = (
    "retry.backoff.ms",
    "retry.backoff.max.ms",
    "reconnect.backoff.ms",
    "reconnect.backoff.max.ms",
    "socket.connection.setup.timeout.ms",
    "metadata.recovery.strategy",
    "metadata.recovery.rebootstrap.trigger.ms",
    "enable.metrics.push",
)
TWINS: Final[Mapping[str, str]] = {
    "acks": "acks",
    "enable.idempotence": "enable.idempotence",
    "max.in.flight.requests.per.connection": "max.in.flight.requests.per.connection",
    "retries": "retries",
    "batch.size": "batch.size",
    "linger.ms": "linger.ms",
    "queue.buffering.max.kbytes": "buffer.memory",
    "message.max.bytes": "max.request.size",
    "compression.type": "compression.type",
    "delivery.timeout.ms": "delivery.timeout.ms",
    "request.timeout.ms": "request.timeout.ms",
    "socket.send.buffer.bytes": "send.buffer.bytes",
    "socket.receive.buffer.bytes": "receive.buffer.bytes",
    "connections.max.idle.ms": "connections.max.idle.ms",
    "topic.metadata.refresh.interval.ms": "metadata.max.age.ms",
    **{name: name for name in _SAME},
}
"""The Java producer's names of librdkafka's properties. For `LEVEL_PROPERTY`, Java has one property for each codec."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A config translated for the Java producer.

    Attributes:
        properties: Java property names and values, sorted by name.
        without_twin: Names of the given librdkafka properties that have no counterpart in the Java producer.
        notes: The differences between librdkafka and the Java producer that matter for this config, one sentence each.
        label: "translated, not measured", or "measured with this client"; show it wherever the properties are shown.
    """

    properties: dict[str, str]
    without_twin: tuple[str, ...]
    notes: tuple[str, ...]
    label: str = LABEL


def translate_to_java(
    config: ProducerConfig, client: Client | None = None, transaction_timeout_ms: int | None = None
) -> Translation:
    """Return the properties of the Java producer that come closest to a librdkafka config.

    Args:
        config: The config of librdkafka.
        client: The Java client that they are for; None for the newest one.
        transaction_timeout_ms: The timeout of the producer's transactions; None if it is not transactional.
    """
    client = client or java()
    effective_values = effective_values_within(config, transaction_timeout_ms)
    notes: list[str] = []
    properties = {
        "acks": shown_value("acks", effective_values.text("acks")),
        "enable.idempotence": "true" if config.idempotent else "false",
        "max.in.flight.requests.per.connection": effective_values.text("max.in.flight"),
        "retries": effective_values.text("retries"),
        # A batch of the Java client must fit in its buffer; one of librdkafka never grows beyond its queue.
        "batch.size": str(min(config.max_batch_bytes, config.queue_bytes)),
        "max.request.size": effective_values.text("message.max.bytes"),
        "send.buffer.bytes": _system_default(effective_values.text("socket.send.buffer.bytes")),
        "receive.buffer.bytes": _system_default(effective_values.text("socket.receive.buffer.bytes")),
        **_buffer(effective_values, notes),
        **_compression(config, notes),
        **_timing(effective_values, notes),
        **{name: effective_values.text(name) for name in _SAME if effective_values.is_given(name)},
    }
    if effective_values.is_given("connections.max.idle.ms"):
        idle_ms = effective_values.text("connections.max.idle.ms")
        properties["connections.max.idle.ms"] = "-1" if idle_ms == "0" else idle_ms
    if effective_values.is_given("topic.metadata.refresh.interval.ms"):
        refresh_ms = effective_values.integer("topic.metadata.refresh.interval.ms")
        # librdkafka takes 0 or less for "never". Java has no such value; its largest one is 24 days.
        properties["metadata.max.age.ms"] = str(refresh_ms if refresh_ms > 0 else INT_MAX)
    unknown = sorted(name for name in properties if name not in client.catalogue)
    if unknown:
        notes.append(f"{client.label} has no {', '.join(unknown)}, so its default is used")
    known = {name: value for name, value in sorted(properties.items()) if name not in unknown}
    return Translation(known, _without_twin(config, notes), tuple(notes))


def for_java(config: ProducerConfig) -> Translation:
    """Return a config of either client for the Java producer: as it is if it is for Java, and else translated."""
    match config.client.kind:
        case ClientKind.LIBRDKAFKA:
            return translate_to_java(config)
        case ClientKind.JAVA:
            properties = {name: shown_value(name, value) for name, value in config.values.items()}
            return Translation(properties, (), (), MEASURED)


def _system_default(socket_bytes: str) -> str:
    # The operating system chooses the size: librdkafka writes this as 0, Java as -1.
    return "-1" if socket_bytes == "0" else socket_bytes


def _buffer(effective_values: EffectiveValues, notes: list[str]) -> dict[str, str]:
    buffer_bytes = effective_values.integer("queue.buffering.max.kbytes") * 1024
    messages = effective_values.integer("queue.buffering.max.messages")
    if messages:
        notes.append(
            f"librdkafka's queue is also full at {messages} records, but Java limits its buffer by bytes only. "
            "buffer.memory holds more small records than that, and a full buffer means a longer latency"
        )
    notes.append(f"buffer.memory may use up to {buffer_bytes} bytes of the Java heap; set -Xmx accordingly")
    return {"buffer.memory": str(buffer_bytes)}


def _compression(config: ProducerConfig, notes: list[str]) -> dict[str, str]:
    codec = config.compression
    level = config.effective_values.integer(LEVEL_PROPERTY)
    nearest = java_level(codec, level)
    if (codec, level) == ("gzip", 0):
        notes.append("Java has no gzip level 0 (no compression), so the Java producer uses its default level")
    elif (codec, level) == ("lz4", FAST_LZ4):
        notes.append(
            f"lz4 level {level} selects the fast compressor in Java, so level {nearest} is used: "
            "the closest level with the strong compressor"
        )
    given = {} if nearest is None else {f"compression.{codec}.level": str(nearest)}
    return {"compression.type": codec, **given}


def _timing(effective_values: EffectiveValues, notes: list[str]) -> dict[str, str]:
    exact_ms = Decimal(effective_values.text("linger.ms"))
    linger_ms = int(exact_ms.quantize(Decimal(1), ROUND_HALF_UP))
    if exact_ms and not linger_ms:
        linger_ms = 1
    if linger_ms != exact_ms:
        notes.append(
            f"linger.ms must be a whole number in Java: {effective_values.text('linger.ms')} became {linger_ms}"
        )
    delivery_ms = effective_values.integer("delivery.timeout.ms") or INT_MAX
    request_ms = effective_values.integer("request.timeout.ms")
    if linger_ms + request_ms > delivery_ms:
        # The Java producer does not start if both are given and their sum exceeds the delivery timeout.
        request_ms = max(1, delivery_ms - linger_ms)
        linger_ms = min(linger_ms, delivery_ms - request_ms)
        notes.append(
            "in Java linger.ms and request.timeout.ms together must not exceed delivery.timeout.ms: "
            f"they became {linger_ms} and {request_ms}"
        )
    return {
        "linger.ms": str(linger_ms),
        "delivery.timeout.ms": str(delivery_ms),
        "request.timeout.ms": str(request_ms),
    }


def _without_twin(config: ProducerConfig, notes: list[str]) -> tuple[str, ...]:
    names = [name for name in config.values if name not in TWINS and name != LEVEL_PROPERTY]
    partitioner = config.effective("partitioner")
    if partitioner == "murmur2_random":
        names = [name for name in names if name != "partitioner"]
        notes.append("murmur2_random sends keyed records to the same partitions as Java's own partitioner")
    else:
        notes.append(
            f"Java has no partitioner like {partitioner}; it hashes keys with murmur2, so partitions will differ"
        )
    notes.append(
        "for records without a key, Java stays on a partition for batch.size bytes and prefers fast brokers; "
        "librdkafka stays on a partition for sticky.partitioning.linger.ms"
    )
    return tuple(names)
