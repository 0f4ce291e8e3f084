"""The producers' settings that the performance model uses, as plain numbers.

Code that searches the model for the best settings can vary these numbers without building a config.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from typing import Final

from runners.performance_model.constants import CODECS
from runners.workload import Workload
from search_spaces.client import ClientKind, ClientValues
from search_spaces.client_facts.rules import IDEMPOTENT_MAX_IN_FLIGHT
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.librdkafka.knobs import RANDOM_PARTITIONERS
from search_spaces.librdkafka.levels import is_default_level
from search_spaces.translation.levels import librdkafka_level

_REMEMBERED: Final = 4_096


@dataclass(frozen=True, slots=True)
class Settings:
    """The producers' settings that affect the performance model. All producers have the same config.

    Attributes:
        batch_bytes: Largest size of a batch, including framing.
        batch_records: Largest number of records in a batch.
        linger_s: How long a record waits for other records to share its batch.
        in_flight: Number of requests that may be in flight on a connection; a very large number means no limit.
        queue_records: Number of records that the client's queue can hold.
        sticky_s: How long records without a key are sent to the same partition; infinite if all go to one.
        codec: `none`, or a name in `runners.performance_model.constants.CODECS`.
        level: Level of the codec; None is its default level.
        acks: 0, 1 or -1 (all).
        idempotent: Whether the broker discards duplicates.
        send_buffer_bytes: Size of the socket's send buffer; 0 leaves it to the operating system.
        nagle: Whether small requests wait for the response to earlier requests.
        batches_per_request: How many batches, each of another partition, a full request has.
        counts_compressed: Whether `batch_bytes` limits the compressed size of a batch.
        sticks_by_bytes: Whether records without a key stay on a partition for two full batches, instead of `sticky_s`.
        application_compresses: Whether the application's thread compresses, and not the client's.
        switches: Whether each record goes to another partition than the one before; always false for the Java client.
        producers: Number of producers that share the load. They run on one host.
    """

    batch_bytes: float
    batch_records: float
    linger_s: float
    in_flight: float
    queue_records: float
    sticky_s: float
    codec: str = "none"
    level: int | None = None
    acks: int = -1
    idempotent: bool = False
    send_buffer_bytes: float = 0.0
    nagle: bool = False
    batches_per_request: int = 1
    counts_compressed: bool = False
    sticks_by_bytes: bool = False
    application_compresses: bool = False
    switches: bool = False
    producers: int = 1

    @staticmethod
    def of(config: ProducerConfig, workload: Workload, producers: int = 1) -> "Settings":
        """Return the settings that a config gives, for the mean value size and the key size of a workload."""
        shape = (workload.record_sizes.mean_bytes, workload.key_bytes, workload.partitions)
        return _remembered(config, *shape, producers)

    @staticmethod
    def of_values(effective: ClientValues, workload: Workload, producers: int = 1) -> "Settings":
        """Return the client's settings for the effective values of a config. The config need not have been checked."""
        read = _read(effective, workload.record_sizes.mean_bytes, workload.key_bytes, workload.partitions)
        return read if producers == 1 else replace(read, producers=producers)

    def waits_for(self, replicas: int) -> str:
        """Return which acks a producer waits for: `0`, `1` or `all`. With one replica, `1` is the same as `all`."""
        return "0" if self.acks == 0 else "all" if replicas == 1 or self.acks == -1 else "1"


@lru_cache(maxsize=_REMEMBERED)
def _remembered(
    config: ProducerConfig, value_bytes: float, key_bytes: int, partitions: int, producers: int
) -> Settings:
    return replace(_read(config.effective_values, value_bytes, key_bytes, partitions), producers=producers)


def _read(effective: ClientValues, value_bytes: float, key_bytes: int, partitions: int) -> Settings:
    match effective.client.kind:
        case ClientKind.LIBRDKAFKA:
            return _read_librdkafka(effective, value_bytes, key_bytes, partitions)
        case ClientKind.JAVA:
            return _read_java(effective, value_bytes, key_bytes, partitions)


def _read_librdkafka(effective: ClientValues, value_bytes: float, key_bytes: int, partitions: int) -> Settings:
    bytes_hold = effective.integer("queue.buffering.max.kbytes") * 1024 / value_bytes
    messages_hold = effective.integer("queue.buffering.max.messages") or bytes_hold
    codec, level = effective.text("compression.type"), effective.integer("compression.level")
    idempotent = effective.flag("enable.idempotence")
    in_flight = effective.integer("max.in.flight.requests.per.connection")
    if key_bytes:
        sticky_s = 0.0
    elif effective.text("partitioner") in RANDOM_PARTITIONERS:
        sticky_s = effective.number("sticky.partitioning.linger.ms") / 1e3
    else:  # such a partitioner sends all records without a key to one partition
        sticky_s = inf
    return Settings(
        batch_bytes=min(effective.integer("batch.size"), effective.integer("message.max.bytes")),
        batch_records=effective.integer("batch.num.messages"),
        linger_s=effective.number("linger.ms") / 1e3,
        in_flight=min(in_flight, IDEMPOTENT_MAX_IN_FLIGHT) if idempotent else in_flight,
        queue_records=max(1.0, min(messages_hold, bytes_hold)),
        sticky_s=sticky_s,
        codec=codec,
        level=None if codec == "none" or is_default_level(codec, level) else level,
        acks=effective.integer("acks"),
        idempotent=idempotent,
        send_buffer_bytes=effective.integer("socket.send.buffer.bytes"),
        nagle=not effective.flag("socket.nagle.disable"),
        switches=partitions > 1 and not sticky_s,
    )


_DEFAULTS_OF_JAVA: Final = {("gzip", "-1"), ("zstd", "0")}
"""Levels that stand for the codec's default level. Source: `Deflater` of Java, and `ZSTD_CLEVEL_DEFAULT` of zstd."""


def _level_of_java(codec: str, text: str) -> int | None:
    """Return the level of a codec for the model, whose levels are librdkafka's; None is the default level."""
    if codec not in CODECS or text in ("", str(CODECS[codec].usual_level)) or (codec, text) in _DEFAULTS_OF_JAVA:
        return None
    # The model also has zstd's levels that librdkafka does not reach.
    return librdkafka_level(codec, int(text)) if codec == "lz4" else int(text)


def _read_java(effective: ClientValues, value_bytes: float, key_bytes: int, partitions: int) -> Settings:
    """Return the settings of the Java client, which limits batches and its buffer by bytes only.

    It compresses in the thread that calls `send`. A request has the next batch of each of the broker's partitions, as
    far as `max.request.size` allows. Records without a key go to one partition until a batch ends after `batch.size`
    bytes, or until twice as many bytes were sent there. Source: `BuiltInPartitioner` and `RecordAccumulator` of Kafka
    4.3.
    """
    client, codec = effective.client, effective.text("compression.type")
    batch_bytes = client.limits.max_batch_bytes(effective)
    batches_of_a_request = int(effective.integer("max.request.size") / max(batch_bytes, value_bytes + key_bytes))
    level = effective.spelt_out(knob.sets) if (knob := client.level_knobs.get(codec)) else ""
    return Settings(
        batch_bytes=batch_bytes,
        batch_records=inf,
        linger_s=effective.number("linger.ms") / 1e3,
        in_flight=effective.integer("max.in.flight.requests.per.connection"),
        queue_records=max(1.0, client.limits.queue_bytes(effective) / (value_bytes + key_bytes)),
        sticky_s=0.0 if key_bytes else inf,
        codec=codec,
        level=_level_of_java(codec, level),
        acks=effective.integer("acks"),
        idempotent=effective.flag("enable.idempotence"),
        send_buffer_bytes=max(0, effective.integer("send.buffer.bytes")),
        batches_per_request=max(1, min(partitions, batches_of_a_request)),
        counts_compressed=True,
        sticks_by_bytes=not key_bytes,
        application_compresses=True,
    )
