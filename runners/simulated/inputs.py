"""What the simulated model reads: clusters as physical constants, what codecs cost, and the settings of a client.

The settings are the part of a config that the simulated client heeds, as plain numbers: in what a search can move
without building configs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig

_RANDOM_PARTITIONERS: Final = ("random", "consistent_random", "murmur2_random", "fnv1a_random")
_USUAL_LEVEL: Final = -1
_REMEMBERED: Final = 4_096


@dataclass(frozen=True, slots=True)
class SimulatedCluster:
    """One producer on one cluster. Costs are seconds of one core; nothing here was measured by us unless it says so.

    Attributes:
        name: For people.
        client_cores: Of the producer's host: how many times one busy core's work all of them do together.
        broker_cores: Of the broker's host.
        shared_host: Whether both are the same host, so that the client's cores are all there are.
        sender_s_per_record: The application's own thread.
        sender_s_per_byte: The same, per byte of value.
        client_s_per_record: The client's sending thread: building batches, checksums, deliveries.
        client_s_per_byte: The same, per byte of value.
        client_s_per_request: The same, per request.
        contention_ratio: By how much more a record costs sender and client that never linger: threads wake each other.
        contention_s: The linger at which half of that is gone.
        broker_s_per_record: The broker; one connection's requests are served one after another.
        broker_s_per_byte: The same, per byte on the wire.
        broker_s_per_request: The same, per request.
        answer_ratio: Share of a request's cost that goes into its answer, spared with acks=0.
        copy_ratio: What each further replica adds to the cost of a byte.
        all_acks_s: What acks=all adds to a request on a topic with replicas: their next fetch.
        round_trip_s: Of the network, an empty request's.
        network_bytes_per_s: Of the network.
        disk_bytes_per_s: Of the broker's disk.
        socket_bytes: What the sockets of a connection hold between them.
        wake_s: How long a thread takes to notice a record: even without linger some come together.
        cache_bytes: A queue larger than this is read from memory rather than from the processor's cache.
        cache_ratio: By how much more a byte costs then.
        large_bytes: Batches larger than this cost more per byte: the broker takes and frees large blocks for them.
        large_ratio: By how much more, at most.
        refill_s: How long a sender that found the queue full takes to notice that there is room again.
        usual_queue_ratio: How much of the longest queue before a busy broker stands there usually.
        stall_s: How long records pile up when something else has the processor.
        tail_s: What the slowest record in a hundred waits on an idle host.
        busy_tail_s: What it waits more on a host half of whose time is used.
        disk_tail_s: What it waits more on a disk that is written to as fast as it can.
        capacity_norm: How sharply the slowest stage binds: the larger, the less the others matter.
    """

    name: str
    client_cores: float = 1.25
    broker_cores: float = 2.0
    shared_host: bool = True
    sender_s_per_record: float = 0.4e-6
    sender_s_per_byte: float = 0.05e-9
    client_s_per_record: float = 0.2e-6
    client_s_per_byte: float = 0.2e-9
    client_s_per_request: float = 45e-6
    contention_ratio: float = 0.25
    contention_s: float = 1e-3
    broker_s_per_record: float = 0.07e-6
    broker_s_per_byte: float = 1.05e-9
    broker_s_per_request: float = 95e-6
    answer_ratio: float = 0.25
    copy_ratio: float = 0.5
    all_acks_s: float = 0.5e-3
    round_trip_s: float = 25e-6
    network_bytes_per_s: float = 6e9
    disk_bytes_per_s: float = 900e6
    socket_bytes: float = 2.2e6
    wake_s: float = 18e-6
    cache_bytes: float = 16e6
    cache_ratio: float = 0.25
    large_bytes: float = 500e3
    large_ratio: float = 0.1
    refill_s: float = 1.5e-3
    usual_queue_ratio: float = 0.04
    stall_s: float = 5e-3
    tail_s: float = 0.4e-3
    busy_tail_s: float = 2.0e-3
    disk_tail_s: float = 6e-3
    capacity_norm: float = 6.0


EMBEDDED: Final = SimulatedCluster("embedded")
"""A librdkafka producer and one broker on the same two cores.

Source of its constants: fitted, by eye and by chance steps, to our own grid of 168 configs of 1 kB records
(`benchmarks.problems.table.embedded_grid`); so agreement with that grid says that the model's form can follow it. Its
two cores do the work of `client_cores` together: a second request under way gained next to nothing there.
"""


@dataclass(frozen=True, slots=True)
class Codec:
    """One codec.

    Attributes:
        found_ratio: Share of what can be compressed away that its lowest level finds.
        s_per_byte: Seconds that its lowest level takes for a byte of value, on one core.
        opening_s_per_byte: Seconds that the broker takes to open a byte of value again: it looks at every record.
        s_per_batch: Seconds that its state takes to set up for a batch.
        usual_level: The level that a client takes unasked.
        effort: By how much each level takes longer than the one before, as a factor.
        found_per_level_ratio: Share of what was left that each further level finds.
        quick_levels: How many levels cost the same as the lowest.
    """

    found_ratio: float
    s_per_byte: float
    opening_s_per_byte: float
    s_per_batch: float = 0.0
    usual_level: int = 1
    effort: float = 1.0
    found_per_level_ratio: float = 0.0
    quick_levels: int = 1

    def found(self, level: int | None) -> float:
        """The share of what can be compressed away that a level finds; None is the usual level."""
        return 1.0 - (1.0 - self.found_ratio) * (1.0 - self.found_per_level_ratio) ** self._steps(level)

    def cost_s(self, level: int | None) -> float:
        """Seconds for a byte of value; None is the usual level."""
        return self.s_per_byte * self.effort ** self._steps(level)

    def _steps(self, level: int | None) -> int:
        asked = self.usual_level if level is None else level
        return max(0, asked - self.quick_levels)


# Source: orders of magnitude of the codecs' own benchmarks (lzbench) for data of which a half is random; opening costs
# less than closing. What snappy, lz4 and zstd take to close was then fitted to our grid, as the embedded preset was.
CODECS: Final[Mapping[str, Codec]] = MappingProxyType(
    {
        "gzip": Codec(0.94, 11e-9, 1.6e-9, usual_level=6, effort=1.16, found_per_level_ratio=0.1),
        "snappy": Codec(0.86, 1.3e-9, 0.2e-9, usual_level=0),
        # librdkafka hands the level to lz4's frame functions: below 3 is the fast codec, from 3 the thorough one.
        "lz4": Codec(0.9, 0.4e-9, 0.08e-9, usual_level=0, effort=1.6, found_per_level_ratio=0.06, quick_levels=2),
        "zstd": Codec(0.95, 2.3e-9, 0.35e-9, 40e-6, usual_level=3, effort=1.25, found_per_level_ratio=0.06),
    }
)


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
        codec: `none`, or a name of `runners.simulated.inputs.CODECS`.
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
