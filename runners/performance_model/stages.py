"""The stages that a batch passes in the performance model, and what a record costs in each stage.

The stages follow each other like those of a production line: the sender (the application's thread), the client's
sending thread, the network, the broker and the disk.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

from runners.performance_model.constants import CODECS, ClusterConstants
from runners.performance_model.settings import Settings
from runners.workload import Workload

BATCH_HEADER_BYTES: Final = 61.0
REQUEST_HEADER_BYTES: Final = 60.0
"""Bytes on the wire around a batch, which are not stored."""
_FIXED_OVERHEAD_BYTES: Final = 5
"""Bytes of a record's attributes, time (1 byte), place in the batch (2 bytes), and number of headers."""
_VARINT_BITS: Final = 7
ESTIMATION_FACTOR: Final = 1.05
"""By what the Java client multiplies the compressed size that it estimates, so that batches stay below their limit.

Source: `MemoryRecordsBuilder.estimatedBytesWritten` of Kafka 4.3.
"""
_OVERHEAD_REMOVED_RATIO: Final = 0.6
_HALF_COMPRESSED_BYTES: Final = 150.0
"""A codec removes little from a batch whose compressible part is smaller than this."""
_IDEMPOTENT_RATIO: Final = 1.03
_NAGLE_RATIO: Final = 0.5
_MOST_WAITING: Final = 0.8
"""The largest share of its time for which the client's thread serves other partitions while a batch waits for it."""
_FILLED_RATIO: Final = 2 / 3
"""Mean size of a batch of the Java client if all batches are full that can be, as a share of a full batch.

The client changes the partition after two full batches, when a third one has its first record. The next request takes
this batch along. Measured with records of 100 B, in batches of 16 KiB: 0.66 to 0.70 without a codec.
"""
_SOFT: Final = 4.0
_REMEMBERED: Final = 256


def least_of(one: float, other: float) -> float:
    """Return the smaller of two positive numbers, smoothed where they are nearly equal."""
    return float((one**-_SOFT + other**-_SOFT) ** (-1 / _SOFT))


@lru_cache(maxsize=_REMEMBERED)
def record_overhead_bytes(value_bytes: float, key_bytes: int) -> int:
    """Return the bytes that Kafka's format adds to a record in a batch, for a mean size of values.

    Numbers are stored as varints, so larger records need more. Source: Kafka's message format, version 2.
    """
    lengths = _varint_bytes(int(value_bytes)) + _varint_bytes(key_bytes or -1)
    body = _FIXED_OVERHEAD_BYTES + lengths + key_bytes + int(value_bytes)
    return _FIXED_OVERHEAD_BYTES + lengths + _varint_bytes(body)


def _varint_bytes(number: int) -> int:
    """Return the bytes of a number as a varint, in which one bit is the sign."""
    return max(1, math.ceil((abs(number + (number < 0)).bit_length() + 1) / _VARINT_BITS))


def most_of(one: float, other: float) -> float:
    """Return the larger of two positive numbers, smoothed where they are nearly equal."""
    return float((one**_SOFT + other**_SOFT) ** (1 / _SOFT))


@dataclass(slots=True)
class Costs:
    """What one record costs in the performance model, including its share of the costs of its batch.

    With several producers, each has its own threads and its own connection, so records follow each other faster than
    these times say. Only `host_s` and `slowest_s` are for the records of all producers together.

    Attributes:
        client_s: Time in the client's sending thread.
        broker_s: Time in the broker's thread for this connection.
        host_s: Time that the cores of the busier host take together.
        alone_s: Time of a record in the slowest stage after the sender if there were only one producer.
        slowest_s: Time between the records of all producers in the slowest stage after the senders (client, network,
            broker or disk). It is smoothed, so the other stages add a little.
        batch_latency_s: Time of a whole batch from the client's queue to its acknowledgement, if the batch never waits
            for another batch.
        wire_bytes: Bytes of the record on the wire.
    """

    client_s: float
    broker_s: float
    host_s: float
    alone_s: float
    slowest_s: float
    batch_latency_s: float
    wire_bytes: float


@dataclass(slots=True)
class Stages:
    """The stages that records pass in the performance model, from the application's thread to the broker's disk.

    The costs are those for one cluster, one client's settings and one workload, as far as they depend neither on
    the rate nor on the number of records in a batch.

    Attributes:
        cluster: The cluster's constants.
        settings: The client's settings.
        value_bytes: Mean size of a value.
        record_bytes: Size of a record in an uncompressed batch.
        full_records: Number of records in a full batch; 1 if a single record is larger than the batch limit.
        partitions: Number of partitions of the topic.
        in_flight: Number of batches of a producer that may be in flight; infinite if it waits for no response.
        sender_s: Time of a record in the application's thread.
        client_s: Time of a record in the client's thread, without the part that depends on the batch.
        client_cached_s: The part of a record's time in the client's thread that grows when the queue is large.
        client_request_s: Time of a request in the client's thread.
        broker_s: Time of a record in the broker, without the time for its bytes and for its request.
        broker_byte_s: Time of a byte on the wire in the broker, including copies to replicas.
        broker_request_s: Time of a request in the broker.
        fixed_latency_s: The part of a batch's time from the client's queue to its acknowledgement that does not depend
            on the batch's size.
        request_s: Time between the requests of all producers in the slowest stage after the senders, without the time
            for their records.
        network_byte_s: Time of a byte in the network, if a batch is sent alone.
        window_byte_s: Time of a byte in one connection, if the send buffer is what limits it.
        carried_byte_s: Time of a byte in the slower of network and disk, which all producers share.
        overhead_bytes: Bytes of a record on the wire besides its value.
        removed_ratio: Share of a value that the codec removes in a large batch.
        half_compressed_records: Number of records in a batch that compresses half as well as a large batch.
    """

    cluster: ClusterConstants
    settings: Settings
    value_bytes: float
    record_bytes: float
    full_records: float
    partitions: int
    in_flight: float
    sender_s: float
    client_s: float
    client_cached_s: float
    client_request_s: float
    broker_s: float
    broker_byte_s: float
    broker_request_s: float
    fixed_latency_s: float
    request_s: float
    network_byte_s: float
    window_byte_s: float
    carried_byte_s: float
    overhead_bytes: float
    removed_ratio: float
    half_compressed_records: float

    @classmethod
    def of(cls, cluster: ClusterConstants, settings: Settings, workload: Workload) -> Self:
        """Compute the stages' costs for a cluster, a client's settings and a workload.

        The workload's rate is not used.
        """
        value, linger_s = workload.record_sizes.mean_bytes, settings.linger_s
        framing = record_overhead_bytes(value, workload.key_bytes)
        record = value + workload.key_bytes + framing
        codec = CODECS.get(settings.codec)
        replicas, compressible = workload.replication, workload.compressibility_ratio
        contention = 1.0 + cluster.contention_ratio * cluster.contention_s / (cluster.contention_s + linger_s)
        if settings.switches:
            contention += cluster.switching_ratio
        codec_ratio = cluster.codec_ratio(settings.codec) if codec else 1.0
        client_request_s = cluster.client_s_per_request + (codec_ratio * codec.s_per_batch if codec else 0.0)
        broker_request_s = cluster.broker_s_per_request
        if settings.idempotent:
            broker_request_s *= _IDEMPOTENT_RATIO
        if settings.acks == 0:
            broker_request_s *= 1.0 - cluster.answer_ratio
        round_trip_s = cluster.round_trip_s * (1.0 + _NAGLE_RATIO if settings.nagle else 1.0)
        fixed_latency_s = round_trip_s + client_request_s + broker_request_s
        if settings.acks == -1 and replicas > 1:
            fixed_latency_s += cluster.all_acks_s
        in_flight = _in_flight(settings)
        window_s = fixed_latency_s / min(in_flight, settings.queue_records)
        # A connection sends at most what fits in its send buffer in each round trip.
        window_byte_s = cluster.round_trip_s / settings.send_buffer_bytes if settings.send_buffer_bytes else 0.0
        network_byte_s = 1.0 / cluster.network_bytes_per_s + window_byte_s
        norm, producers = cluster.capacity_norm, settings.producers
        removed_ratio = 0.0 if codec is None else compressible * codec.removed(settings.level)
        sender_s = (cluster.sender_s_per_record + cluster.sender_s_per_byte * value) * contention
        client_s, broker_s = cluster.client_s_per_record * contention, cluster.broker_s_per_record
        if codec is not None:
            compression_s = codec_ratio * codec.cost_s_per_byte(settings.level) * value
            if settings.application_compresses:
                sender_s += compression_s
            else:
                client_s += compression_s
            broker_s += codec_ratio * codec.decompression_s_per_byte * value
        return cls(
            cluster=cluster,
            settings=settings,
            value_bytes=value,
            record_bytes=record,
            full_records=_full_records(settings, record, removed_ratio * value),
            partitions=workload.partitions,
            in_flight=in_flight,
            sender_s=sender_s,
            client_s=client_s,
            client_cached_s=cluster.client_s_per_byte * value,
            client_request_s=client_request_s,
            broker_s=broker_s,
            broker_byte_s=cluster.broker_s_per_byte * (1.0 + cluster.copy_ratio * (replicas - 1.0)),
            broker_request_s=broker_request_s,
            fixed_latency_s=fixed_latency_s,
            request_s=_request_s(cluster, client_request_s, broker_request_s, window_s, producers),
            network_byte_s=network_byte_s,
            window_byte_s=window_byte_s,
            carried_byte_s=(cluster.network_bytes_per_s**-norm + cluster.disk_bytes_per_s**-norm) ** (1 / norm),
            # Keys are taken to be random.
            overhead_bytes=workload.key_bytes + framing * (1.0 if codec is None else 1.0 - _OVERHEAD_REMOVED_RATIO),
            removed_ratio=removed_ratio,
            half_compressed_records=_HALF_COMPRESSED_BYTES / compressible / value if compressible else 0.0,
        )

    @property
    def senders_s(self) -> float:
        """Time between the records of all producers in their applications' threads."""
        return self.sender_s / self.settings.producers

    def gather_s(self, rate: float) -> float:
        """Return how long a batch stays open for further records if it does not become full.

        After `linger.ms`, it still waits for the client's thread, which may be busy with other records. If each record
        goes to another partition, the thread sends the batches of all partitions before it comes back to this one. The
        rate is that of one producer, in records per second.
        """
        busy = least_of(rate * (self.client_s + self.client_cached_s), _MOST_WAITING)
        wake_s = self.cluster.wake_s / (1.0 - busy)
        in_turn = 1.0
        if not self.settings.sticky_s:
            waiting = 1.0 + rate * (self.settings.linger_s + wake_s)  # no more partitions have a batch
            in_turn = max(1.0, min(self.partitions, waiting) / self.settings.batches_per_request)
        return self.settings.linger_s + wake_s * in_turn

    def spread(self, rate: float, gather_s: float) -> float:
        """Return among how many partitions a producer's records go while one batch is open.

        The sticky partitioner sends records without a key to one partition for a while, and then to a random one. So
        the number is near 1 if a batch is open for a shorter time.

        Args:
            rate: The rate of one producer, in records per second.
            gather_s: What `gather_s` returns for this rate.
        """
        others, sticky_s = self.partitions - 1.0, self.settings.sticky_s
        if not others or not sticky_s:
            return float(self.partitions)
        open_s = least_of(gather_s, self.full_records / rate)
        undivided_s = least_of(open_s, sticky_s)
        return open_s / (undivided_s + (open_s - undivided_s) / self.partitions)

    def opened_records(self, rate: float, gather_s: float) -> float:
        """Return the number of records in a batch if batches are closed only by linger.ms or the batch size limit.

        Args:
            rate: The rate of one producer, in records per second.
            gather_s: What `gather_s` returns for this rate.
        """
        if self.settings.sticks_by_bytes and self.partitions > 1:
            filled = self.full_records * _FILLED_RATIO
        else:
            filled = self.full_records / (1.0 + self.left_ratio(rate))
        return 1.0 + least_of(rate * gather_s / self.spread(rate, gather_s), max(1e-9, filled - 1.0))

    def left_ratio(self, rate: float) -> float:
        """Return the share of records whose batch is not full when the sticky partitioner changes the partition.

        Each change leaves half a batch behind on average. No further records arrive for this batch soon, so it waits
        until linger.ms ends. The rate is that of one producer, in records per second.
        """
        if self.settings.sticky_s in (0.0, math.inf):
            return 0.0
        fills = self.full_records / rate / self.settings.sticky_s
        return (1.0 - 1.0 / self.partitions) * fills / 2.0 / (1.0 + fills**2)

    def window(self, batch_records: float) -> float:
        """Return how many batches of `batch_records` records a producer may have in flight.

        The config and the queue limit them.
        """
        return min(self.in_flight, max(1.0, self.settings.queue_records / batch_records))

    def wire_bytes(self, batch_records: float) -> float:
        """Return the bytes of one record on the wire, including its share of the batch's headers.

        A codec removes little from a small batch.
        """
        removed = self.removed_ratio * batch_records / (batch_records + self.half_compressed_records)
        headers = (BATCH_HEADER_BYTES + REQUEST_HEADER_BYTES) / batch_records
        return self.value_bytes * (1.0 - removed) + self.overhead_bytes + headers

    def costs(self, batch_records: float, held_bytes: float) -> Costs:
        """Return what one record costs in batches of `batch_records` records, while `held_bytes` wait in a client."""
        cluster, norm, producers = self.cluster, self.cluster.capacity_norm, self.settings.producers
        batch_bytes = batch_records * self.record_bytes
        large = 1.0 + cluster.large_ratio * batch_bytes / (batch_bytes + cluster.large_bytes)
        cache = 1.0 + cluster.cache_ratio * held_bytes / (held_bytes + cluster.cache_bytes)
        wire = self.wire_bytes(batch_records)
        client_s = self.client_s + self.client_cached_s * cache + self.client_request_s / batch_records
        broker_s = self.broker_s + self.broker_byte_s * cache * large * wire + self.broker_request_s / batch_records
        batch_latency_s = self.fixed_latency_s + batch_records * (client_s + broker_s + wire * self.network_byte_s)
        if cluster.shared_host:
            host_s = (self.sender_s + client_s + broker_s) / cluster.client_cores
        else:
            host_s = most_of((self.sender_s + client_s) / cluster.client_cores, broker_s / cluster.broker_cores)
        window_s = batch_latency_s / (batch_records * self.window(batch_records))
        carried_s = wire * self.carried_byte_s
        buffered_s = wire * self.window_byte_s
        own = client_s**norm + broker_s**norm + window_s**norm + buffered_s**norm
        shared = host_s**norm + carried_s**norm
        alone_s, slowest_s = (own + shared) ** (1 / norm), (own / producers**norm + shared) ** (1 / norm)
        return Costs(client_s, broker_s, host_s, alone_s, slowest_s, batch_latency_s, wire)


def slowest_stage(stages: Stages, batch_records: float, costs: Costs) -> str:
    """Return, in words, which stage takes the most time for each record.

    Args:
        stages: The stages.
        batch_records: Number of records in a batch.
        costs: What a record costs in such batches.
    """
    producers = stages.settings.producers
    times = {
        "the application's thread": stages.senders_s,
        "the client's thread": costs.client_s / producers,
        "the broker": costs.broker_s / producers,
        "the host's processors": costs.host_s,
        "the network": costs.wire_bytes
        * max(1.0 / stages.cluster.network_bytes_per_s, stages.window_byte_s / producers),
        "the disk": costs.wire_bytes / stages.cluster.disk_bytes_per_s,
        "waiting for responses": costs.batch_latency_s / (batch_records * stages.window(batch_records) * producers),
    }
    return max(times, key=lambda stage: times[stage])


def _request_s(cluster: ClusterConstants, client_s: float, broker_s: float, window_s: float, producers: int) -> float:
    """Return the time between requests in the slowest stage after the senders, without the time for their records."""
    norm = cluster.capacity_norm
    host_s = (client_s + broker_s) / cluster.client_cores if cluster.shared_host else broker_s / cluster.broker_cores
    each_s = (client_s**norm + broker_s**norm + window_s**norm) ** (1 / norm) / producers
    return float((each_s**norm + host_s**norm) ** (1 / norm))


def _full_records(settings: Settings, record_bytes: float, removed_bytes: float) -> float:
    """Return the number of records in a full batch.

    Args:
        settings: The client's settings.
        record_bytes: Size of a record in an uncompressed batch.
        removed_bytes: What the codec removes of a record in a large batch.
    """
    if settings.counts_compressed:
        record_bytes = min(record_bytes, (record_bytes - removed_bytes) * ESTIMATION_FACTOR)
    by_bytes = (settings.batch_bytes - BATCH_HEADER_BYTES) // record_bytes
    return max(1.0, min(settings.batch_records, by_bytes, settings.queue_records))


def _in_flight(settings: Settings) -> float:
    return math.inf if settings.acks == 0 else settings.in_flight * settings.batches_per_request
