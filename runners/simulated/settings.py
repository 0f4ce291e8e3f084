"""What the model reads of a config, as plain numbers: in what a search can move without building configs."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig

_RANDOM_PARTITIONERS: Final = ("random", "consistent_random", "murmur2_random", "fnv1a_random")
_USUAL_LEVEL: Final = -1
_REMEMBERED: Final = 4_096


@dataclass(frozen=True, slots=True)
class Settings:
    """The part of a config that the simulated client heeds.

    Attributes:
        batch_bytes: Of a full batch, framing included.
        batch_records: Of a full batch.
        linger_s: How long a record waits for others.
        in_flight: Requests under way at a time; more than anybody needs is no limit.
        queue_records: Records that the client's queue holds.
        sticky_s: How long records without a key stay on one partition.
        codec: `none`, or a name of `runners.simulated.hardware.CODECS`.
        level: Of the codec; None is its usual one.
        acks: 0, 1 or -1 (all).
        idempotent: Whether the broker discards repeats.
        send_buffer_bytes: Of the socket; 0 leaves it to the system.
        nagle: Whether small requests wait for the answer to earlier ones.
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

    @staticmethod
    def of(config: ProducerConfig, workload: Workload) -> "Settings":
        """The settings in force for a load's records."""
        return _read(config, workload.record_sizes.mean_bytes, workload.key_bytes)


@lru_cache(maxsize=_REMEMBERED)
def _read(config: ProducerConfig, value_bytes: float, key_bytes: int) -> Settings:
    force = config.in_force
    sticks = not key_bytes and force.text("partitioner") in _RANDOM_PARTITIONERS
    bytes_hold = force.integer("queue.buffering.max.kbytes") * 1024 / value_bytes
    messages_hold = force.integer("queue.buffering.max.messages") or bytes_hold
    codec, level = force.text("compression.type"), force.integer("compression.level")
    return Settings(
        batch_bytes=min(force.integer("batch.size"), force.integer("message.max.bytes")),
        batch_records=force.integer("batch.num.messages"),
        linger_s=force.number("linger.ms") / 1e3,
        in_flight=force.integer("max.in.flight.requests.per.connection"),
        queue_records=max(1.0, min(messages_hold, bytes_hold)),
        sticky_s=force.number("sticky.partitioning.linger.ms") / 1e3 if sticks else 0.0,
        codec=codec,
        level=None if level == _USUAL_LEVEL or codec == "none" else level,
        acks=force.integer("acks"),
        idempotent=force.flag("enable.idempotence"),
        send_buffer_bytes=force.integer("socket.send.buffer.bytes"),
        nagle=not force.flag("socket.nagle.disable"),
    )
