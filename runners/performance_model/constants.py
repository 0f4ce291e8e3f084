"""The constants of the performance model: what a record, a byte and a request cost on a cluster, and in each codec."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from search_spaces.librdkafka.levels import DEFAULT_LEVELS, STRONG_LZ4


@dataclass(frozen=True, slots=True)
class ClusterConstants:
    """The constants of one producer's host and one cluster. Costs are in seconds of one core.

    The default values are those of `EMBEDDED`, whose description says how they were chosen.

    Attributes:
        name: Name of the cluster, for display only.
        client_cores: Capacity of the producer's host: the work that its cores do together, in units of one busy core.
        broker_cores: Capacity of the broker's host, in units of one busy core.
        shared_host: Whether producer and broker run on the same host, so that they share `client_cores`.
        sender_s_per_record: Cost of a record in the application's own thread.
        sender_s_per_byte: Cost of a byte of value in the application's own thread.
        client_s_per_record: Cost of a record in the client's sending thread: building batches, checksums, deliveries.
        client_s_per_byte: Cost of a byte of value in the client's sending thread.
        client_s_per_request: Cost of a request in the client's sending thread.
        contention_ratio: Extra cost of a record in the application's thread and in the client's thread if linger.ms is
            0, as a ratio. The threads then keep waking each other.
        contention_s: The linger time at which half of the extra cost `contention_ratio` is gone.
        switching_ratio: Extra cost of a record in the same threads if each record goes to another partition than the
            one before, as a ratio.
        broker_s_per_record: Cost of a record in the broker, which serves the requests of a connection one after
            another.
        broker_s_per_byte: Cost of a byte on the wire in the broker.
        broker_s_per_request: Cost of a request in the broker.
        answer_ratio: Share of a request's cost in the broker that is spent on the response. With acks=0 this cost is
            saved.
        copy_ratio: Extra cost of a byte for each further replica, as a ratio.
        all_acks_s: Time that acks=all adds to a request on a topic with replicas, because the response waits for their
            next fetch.
        round_trip_s: Round trip of an empty request through the network.
        network_bytes_per_s: Throughput of the network.
        disk_bytes_per_s: Throughput of the broker's disk.
        socket_bytes: Bytes that the two sockets of a connection can hold together.
        wake_s: Time that the client's idle thread takes to wake and send a batch that may be sent. Further records
            arrive in this time, so some records share a batch even with linger.ms=0. Source: our grids, where batches
            were open for 0.1 to 0.3 ms longer than linger.ms.
        cache_bytes: A queue larger than this is read from memory, not from the processor's cache.
        cache_ratio: Extra cost of a byte that is read from memory, as a ratio.
        large_bytes: In batches larger than this, a byte costs more, because the broker allocates and frees large
            blocks.
        large_ratio: Largest extra cost of a byte in a large batch, as a ratio.
        refill_s: Time until a sender that found the queue full notices that there is room again.
        usual_queue_ratio: Usual length of the queue in front of a busy broker, as a share of the longest queue.
        stall_s: Time for which records pile up when something else uses the processor.
        tail_s: Wait of the slowest record in a hundred on an idle host.
        busy_tail_s: Additional wait of the slowest record in a hundred on a host that is busy half of the time.
        pause_s: Mean duration of a pause, in which a busy host sends nothing.
        pause_ratio: Share of the time that pauses take under a saturating load.
        disk_tail_s: Additional wait of the slowest record in a hundred if the disk is written to at its full
            throughput.
        capacity_norm: How much the slowest stage (client, network, broker, disk) dominates. With a larger value, the
            other stages matter less.
        gzip_ratio: CPU time of gzip, relative to that of `CODECS`; the same for the other codecs below.
        snappy_ratio: CPU time of snappy.
        lz4_ratio: CPU time of lz4.
        zstd_ratio: CPU time of zstd.
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
    switching_ratio: float = 0.2
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
    wake_s: float = 150e-6
    cache_bytes: float = 16e6
    cache_ratio: float = 0.25
    large_bytes: float = 500e3
    large_ratio: float = 0.1
    refill_s: float = 1.5e-3
    usual_queue_ratio: float = 0.04
    stall_s: float = 5e-3
    tail_s: float = 0.4e-3
    busy_tail_s: float = 2.0e-3
    pause_s: float = 6e-3
    pause_ratio: float = 0.4
    disk_tail_s: float = 6e-3
    capacity_norm: float = 6.0
    gzip_ratio: float = 1.0
    snappy_ratio: float = 1.0
    lz4_ratio: float = 1.0
    zstd_ratio: float = 1.0

    def codec_ratio(self, codec: str) -> float:
        """Return the CPU time of a codec of `CODECS` on this cluster, relative to the time given there."""
        ratio: float = getattr(self, f"{codec}_ratio")
        return ratio


EMBEDDED: Final = ClusterConstants("embedded")
"""A librdkafka producer and one broker on the same two cores.

Source of its constants: fitted, by eye and by random steps, to our own measurements of a grid of 168 configs with
records of 1 kB (`benchmarks.problems.table.embedded_grid`). Because of the fit, agreement with these measurements shows
only that the model can have this shape. `client_cores` is what the two cores do together. The value is low, because a
second request in flight gained almost nothing on this host.
"""


REMOTE: Final = ClusterConstants(
    "remote",
    client_cores=4.0,
    broker_cores=8.0,
    shared_host=False,
    round_trip_s=2e-3,
    network_bytes_per_s=125e6,
    disk_bytes_per_s=500e6,
    broker_s_per_byte=1.2e-9,
    socket_bytes=6.0e6,
    tail_s=1.5e-3,
)
"""A broker with a round trip of 2 ms on a network of 1 Gbit/s. The network limits a config, and processors do not."""


EMBEDDED_JAVA: Final = replace(
    EMBEDDED,
    name="embedded, Java client",
    client_cores=1.8,
    sender_s_per_record=0.34e-6,
    sender_s_per_byte=0.028e-9,
    client_s_per_record=0.045e-6,
    client_s_per_byte=0.077e-9,
    contention_ratio=0.12,
    broker_s_per_record=0.028e-6,
    broker_s_per_byte=0.27e-9,
    broker_s_per_request=49e-6,
    network_bytes_per_s=12e9,
    disk_bytes_per_s=520e6,
    wake_s=310e-6,
    refill_s=1.2e-3,
    usual_queue_ratio=0.031,
    stall_s=6.3e-3,
    tail_s=0.49e-3,
    busy_tail_s=3.0e-3,
    disk_tail_s=5.0e-3,
    gzip_ratio=0.71,
    snappy_ratio=0.5,
    lz4_ratio=1.2,
)
"""A Java producer and one broker on the same two cores.

Source of its constants: the geometric means of those that `calibrate` fits to our two grids of the Java client, with
records of 1 kB and of 100 B (`benchmarks.problems.table.java_grid`, `small_records_java_grid`).
"""
REMOTE_JAVA: Final = replace(
    REMOTE,
    name="remote, Java client",
    sender_s_per_record=EMBEDDED_JAVA.sender_s_per_record,
    sender_s_per_byte=EMBEDDED_JAVA.sender_s_per_byte,
    client_s_per_record=EMBEDDED_JAVA.client_s_per_record,
    client_s_per_byte=EMBEDDED_JAVA.client_s_per_byte,
    contention_ratio=EMBEDDED_JAVA.contention_ratio,
    wake_s=EMBEDDED_JAVA.wake_s,
    gzip_ratio=EMBEDDED_JAVA.gzip_ratio,
    snappy_ratio=EMBEDDED_JAVA.snappy_ratio,
    lz4_ratio=EMBEDDED_JAVA.lz4_ratio,
)
"""A Java producer on the network of `REMOTE`. Only the costs in the client differ; no such host was measured."""


@dataclass(frozen=True, slots=True)
class Codec:
    """Costs and compression of one compression codec in the performance model.

    Attributes:
        removed_ratio: Share of the compressible bytes that the codec's lowest level removes.
        overhead_removed_ratio: Share that the codec removes of the bytes that Kafka's format adds to a record.
        s_per_byte: Seconds of one core that the codec's lowest level takes to compress a byte of value.
        decompression_s_per_byte: Seconds of one core that the broker takes to decompress a byte of value, because it
            checks every record.
        s_per_batch: Seconds of one core to set up the codec for a batch.
        usual_level: The level that a client uses by default.
        effort: Factor by which compression at one level takes longer than at the level below it.
        removed_per_level_ratio: Share of the remaining compressible bytes that each further level removes.
        quick_levels: The highest level that costs as much as the lowest level.
        stronger_ratio: Factor by which the levels above `quick_levels` take longer, because another compressor is used.
    """

    removed_ratio: float
    overhead_removed_ratio: float
    s_per_byte: float
    decompression_s_per_byte: float
    s_per_batch: float = 0.0
    usual_level: int = 1
    effort: float = 1.0
    removed_per_level_ratio: float = 0.0
    quick_levels: int = 1
    stronger_ratio: float = 1.0

    def removed(self, level: int | None) -> float:
        """Return the share of compressible bytes that a compression level removes.

        A level of None is the codec's default level.
        """
        return 1.0 - (1.0 - self.removed_ratio) * (1.0 - self.removed_per_level_ratio) ** self.strength(level)

    def cost_s_per_byte(self, level: int | None) -> float:
        """Return the CPU seconds that it takes to compress a byte of value at a compression level.

        A level of None is the codec's default level.
        """
        steps = self.strength(level)
        return self.s_per_byte * (self.stronger_ratio * self.effort**steps if steps else 1.0)

    def strength(self, level: int | None) -> int:
        """Return how many levels a compression level lies above the quick ones. A level of None is the default."""
        asked = self.usual_level if level is None else level
        return max(0, asked - self.quick_levels)


# Source of what is removed: batches of our load generator's records, compressed with each codec (checked by a test).
# Source of the costs: orders of magnitude from the codecs' own benchmarks (lzbench), for data that is half random.
# Decompressing costs less than compressing. The costs to compress with snappy, lz4 and zstd were then fitted to our
# grid, as was EMBEDDED.
CODECS: Final[Mapping[str, Codec]] = MappingProxyType(
    {
        "gzip": Codec(
            0.988, 0.57, 11e-9, 1.6e-9, usual_level=DEFAULT_LEVELS["gzip"], effort=1.16, removed_per_level_ratio=0.02
        ),
        "snappy": Codec(0.935, 0.5, 1.3e-9, 0.2e-9, usual_level=0),
        # librdkafka passes the level to lz4's frame functions, which use the fast codec below 3 and LZ4 HC from 3 on.
        # Measured with kafka-clients 4.3.1 on one core: 1,084 MB/s with the fast one, and 90, 43 and 24 MB/s at levels
        # 3, 8 and 12.
        "lz4": Codec(
            0.993,
            0.17,
            0.4e-9,
            0.08e-9,
            usual_level=DEFAULT_LEVELS["lz4"],
            effort=1.16,
            removed_per_level_ratio=0.06,
            quick_levels=STRONG_LZ4 - 1,
            stronger_ratio=9.0,
        ),
        "zstd": Codec(
            0.989,
            0.66,
            2.3e-9,
            0.35e-9,
            40e-6,
            usual_level=DEFAULT_LEVELS["zstd"],
            effort=1.25,
            removed_per_level_ratio=0.27,
        ),
    }
)
