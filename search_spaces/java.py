"""A config that was measured with librdkafka, written for Kafka's Java producer: translated, not measured.

Source for names, types, ranges and defaults of the Java side: `ProducerConfig` of kafka-clients 4.3.1.
Properties that bear on speed are written out even where librdkafka's default is in force, because the
defaults differ.
"""

import shlex
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from search_spaces.effective import Effective
from search_spaces.producer_config import ProducerConfig

LABEL: Final = "translated, not measured"
_INT_MAX: Final = 2**31 - 1
# One name in both clients and one meaning, or near enough; written only when the config sets them.
_SAME: Final = {
    "retry.backoff.ms": "retry.backoff.ms",
    "retry.backoff.max.ms": "retry.backoff.max.ms",
    "reconnect.backoff.ms": "reconnect.backoff.ms",
    "reconnect.backoff.max.ms": "reconnect.backoff.max.ms",
    "socket.connection.setup.timeout.ms": "socket.connection.setup.timeout.ms",
    "metadata.recovery.strategy": "metadata.recovery.strategy",
    "metadata.recovery.rebootstrap.trigger.ms": "metadata.recovery.rebootstrap.trigger.ms",
    "enable.metrics.push": "enable.metrics.push",
}
_TRANSLATED: Final = frozenset(
    {
        "acks",
        "enable.idempotence",
        "max.in.flight.requests.per.connection",
        "retries",
        "batch.size",
        "linger.ms",
        "queue.buffering.max.kbytes",
        "message.max.bytes",
        "compression.type",
        "compression.level",
        "delivery.timeout.ms",
        "request.timeout.ms",
        "socket.send.buffer.bytes",
        "socket.receive.buffer.bytes",
        "connections.max.idle.ms",
        "topic.metadata.refresh.interval.ms",
        *_SAME,
    }
)


@dataclass(frozen=True, slots=True)
class Translation:
    """A config in the words of the Java producer.

    Attributes:
        properties: Java property names and values, sorted by name.
        without_twin: the given librdkafka properties that the Java producer has nothing for.
        notes: what is not quite the same on the other side, one sentence each.
        label: "translated, not measured"; show it wherever the properties are shown.
    """

    properties: dict[str, str]
    without_twin: tuple[str, ...]
    notes: tuple[str, ...]
    label: str = LABEL


def translate_to_java(config: ProducerConfig) -> Translation:
    """Return the Java producer's properties that come nearest to `config`, for Kafka 4.3."""
    seen = config.in_force
    notes: list[str] = []
    properties = {
        "acks": str(config.acks),
        "enable.idempotence": "true" if config.idempotent else "false",
        "max.in.flight.requests.per.connection": seen.text("max.in.flight"),
        "retries": seen.text("retries"),
        "batch.size": str(config.max_batch_bytes),
        "max.request.size": seen.text("message.max.bytes"),
        "send.buffer.bytes": _system_default(seen.text("socket.send.buffer.bytes")),
        "receive.buffer.bytes": _system_default(seen.text("socket.receive.buffer.bytes")),
        **_buffer(seen, notes),
        **_compression(config, notes),
        **_timing(config, notes),
        **{java: seen.text(name) for name, java in _SAME.items() if seen.is_given(name)},
    }
    if seen.is_given("connections.max.idle.ms"):
        idle_ms = seen.text("connections.max.idle.ms")
        properties["connections.max.idle.ms"] = "-1" if idle_ms == "0" else idle_ms
    if seen.is_given("topic.metadata.refresh.interval.ms"):
        refresh_ms = seen.integer("topic.metadata.refresh.interval.ms")
        # Up to 0 means never to librdkafka; Java cannot say never, and this is 24 days.
        properties["metadata.max.age.ms"] = str(refresh_ms if refresh_ms > 0 else _INT_MAX)
    without_twin = _without_twin(config, notes)
    return Translation(dict(sorted(properties.items())), without_twin, tuple(notes))


def _system_default(socket_bytes: str) -> str:
    # librdkafka says 0 for the system's own size, Java -1.
    return "-1" if socket_bytes == "0" else socket_bytes


def _buffer(seen: Effective, notes: list[str]) -> dict[str, str]:
    buffer_bytes = seen.integer("queue.buffering.max.kbytes") * 1024
    messages = seen.integer("queue.buffering.max.messages")
    if messages:
        notes.append(
            f"librdkafka also stops at {messages} queued records. Java counts bytes only: of small records "
            "buffer.memory holds more, and a full buffer makes for longer latency"
        )
    notes.append(f"buffer.memory takes up to {buffer_bytes} bytes of the Java heap; set -Xmx accordingly")
    return {"buffer.memory": str(buffer_bytes)}


def _compression(config: ProducerConfig, notes: list[str]) -> dict[str, str]:
    codec = config.compression
    level = config.in_force.integer("compression.level")
    properties = {"compression.type": codec}
    if level == -1:
        return properties
    if codec == "gzip" and level == 0:
        notes.append("gzip level 0 (no compression) is not among Java's: its default level is in force")
        return properties
    if codec == "zstd" and level == 0:
        level = 3
    if codec == "lz4" and level <= 2:
        # Up to 2 is the fast compressor, which in Java is what the default level 9 stands for.
        level = 9
    elif codec == "lz4" and level == 9:
        level = 10
        notes.append("lz4 level 9 means the fast compressor in Java; level 10 is the nearest strong one")
    properties[f"compression.{codec}.level"] = str(level)
    return properties


def _timing(config: ProducerConfig, notes: list[str]) -> dict[str, str]:
    seen = config.in_force
    linger_ms = int(Decimal(seen.text("linger.ms")).quantize(Decimal(1), ROUND_HALF_UP))
    if config.linger_ms and not linger_ms:
        linger_ms = 1
    if linger_ms != config.linger_ms:
        notes.append(f"linger.ms is a whole number in Java: {seen.text('linger.ms')} became {linger_ms}")
    delivery_ms = seen.integer("delivery.timeout.ms") or _INT_MAX
    request_ms = seen.integer("request.timeout.ms")
    if linger_ms + request_ms > delivery_ms:
        # The Java producer does not start when both are given and do not fit in the delivery timeout.
        request_ms = max(1, delivery_ms - linger_ms)
        linger_ms = min(linger_ms, delivery_ms - request_ms)
        notes.append(
            "in Java linger.ms and request.timeout.ms together fit in delivery.timeout.ms: "
            f"they became {linger_ms} and {request_ms}"
        )
    return {
        "linger.ms": str(linger_ms),
        "delivery.timeout.ms": str(delivery_ms),
        "request.timeout.ms": str(request_ms),
    }


def _without_twin(config: ProducerConfig, notes: list[str]) -> tuple[str, ...]:
    names = [name for name in config.values if name not in _TRANSLATED]
    partitioner = config.effective("partitioner")
    if partitioner == "murmur2_random":
        names = [name for name in names if name != "partitioner"]
        notes.append("murmur2_random places keyed records as Java's own partitioner does")
    else:
        notes.append(f"Java has no partitioner like {partitioner}: it hashes keys with murmur2, so they go elsewhere")
    notes.append(
        "without a key Java stays with a partition for batch.size bytes and favours fast brokers, "
        "librdkafka stays for sticky.partitioning.linger.ms"
    )
    return tuple(names)


def perf_test_command(
    config: ProducerConfig,
    *,
    topic: str,
    records: int,
    record_bytes: int,
    bootstrap_servers: str,
    records_per_s: int = -1,
    warmup_records: int = 0,
    command_config: str | None = None,
) -> str:
    """Return the command line of Kafka's `kafka-producer-perf-test` (4.2 or later) for the translated config.

    The command holds no secrets: credentials belong in the file `command_config`, in the Java client's own
    names.

    Args:
        config: the config to translate.
        topic: the topic to write to; it must exist, or the broker must create topics.
        records: records to write, the warm-up included.
        record_bytes: size of each value, in bytes; keys are not written.
        bootstrap_servers: addresses of brokers, `host:port` with commas between.
        records_per_s: the rate to hold, in records a second; -1 for as fast as it goes.
        warmup_records: how many of the first records stay out of the steady-state line.
        command_config: a properties file with how to reach the cluster and as whom.

    Raises:
        ValueError: `warmup_records` is not less than `records`, which the tool refuses.

    Source: `--help` of `org.apache.kafka.tools.ProducerPerformance` in kafka-tools 4.3.1.
    """
    if not 0 <= warmup_records < records:
        raise ValueError(f"the warm-up is part of the records: {warmup_records} of {records}")
    arguments = ["kafka-producer-perf-test", "--bootstrap-server", bootstrap_servers, "--topic", topic]
    arguments += ["--num-records", str(records), "--record-size", str(record_bytes)]
    arguments += ["--throughput", str(records_per_s)]
    if warmup_records:
        arguments += ["--warmup-records", str(warmup_records)]
    if command_config is not None:
        arguments += ["--command-config", command_config]
    properties = translate_to_java(config).properties
    arguments += ["--command-property", *(f"{name}={value}" for name, value in properties.items())]
    return shlex.join(arguments)
