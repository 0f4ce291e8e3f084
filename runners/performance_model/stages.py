"""The stages that a batch passes in the performance model, and what a record costs in each stage.

The stages follow each other like those of a production line: the sender (the application's thread), the client's
sending thread, the network, the broker and the disk.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from runners.performance_model.columns import Array, Columns
from runners.performance_model.constants import CODECS, ClusterConstants, Codec
from runners.performance_model.full_batches import FullBatches
from runners.performance_model.settings import Settings
from runners.performance_model.smoothing import smooth_max, smooth_min
from runners.workload import Workload
from search_spaces.client_facts.record_format import BATCH_HEADER_BYTES, record_overhead_bytes

REQUEST_HEADER_BYTES: Final = 60.0
"""Bytes on the wire around a batch, which are not stored."""
_HALF_COMPRESSED_BYTES: Final = 150.0
"""A codec removes little from a batch whose compressible part is smaller than this."""
_IDEMPOTENT_RATIO: Final = 1.03
_NAGLE_RATIO: Final = 0.5
_MOST_WAITING: Final = 0.8
"""While a batch waits for the client's thread, this thread is busy with other records for at most this share."""
_NO_CODEC: Final = Codec(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class WorkloadNumbers:
    """The properties of a workload that the performance model uses, as plain numbers.

    Attributes:
        value_bytes: Mean size of a value.
        key_bytes: Size of a key.
        framing_bytes: Bytes that Kafka's format adds to a record in a batch.
        compressibility_ratio: Share of a value that a compressor can remove.
        partitions: Number of partitions of the topic.
        replication: Number of replicas of a partition.
        rate_records_per_s: The rate of all producers together; infinite if records are sent as fast as possible.
        elapsed_s: Time from the start of the load to the middle of the measured phase.
    """

    value_bytes: float
    key_bytes: int
    framing_bytes: int
    compressibility_ratio: float
    partitions: int
    replication: int
    rate_records_per_s: float
    elapsed_s: float

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """Return the numbers of a workload."""
        value_bytes, rate = workload.record_sizes.mean_bytes, workload.rate_records_per_s
        return cls(
            value_bytes,
            workload.key_bytes,
            record_overhead_bytes(int(value_bytes), workload.key_bytes or None),
            workload.compressibility_ratio,
            workload.partitions,
            workload.replication,
            math.inf if rate is None else rate,
            workload.warmup_s + workload.measured_s / 2.0,
        )


@dataclass(slots=True)
class Costs:
    """What one record costs in the performance model, including its share of the costs of its batch.

    Each attribute has the shape (clusters, loads), as those of `Stages`.

    With several producers, each has its own threads and its own connection, so the time between two records is shorter
    than these times. Only `host_s` and `slowest_s` are for the records of all producers together.

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

    client_s: Array
    broker_s: Array
    host_s: Array
    alone_s: Array
    slowest_s: Array
    batch_latency_s: Array
    wire_bytes: Array

    def where(self, condition: NDArray[np.bool_], otherwise: "Costs") -> "Costs":
        """Return these costs where the condition is true, and the costs of `otherwise` elsewhere."""
        names = [field.name for field in fields(self)]
        return Costs(*(np.where(condition, getattr(self, name), getattr(otherwise, name)) for name in names))


@dataclass(slots=True)
class Stages:
    """The stages that records pass in the performance model, from the application's thread to the broker's disk.

    The attributes are the costs of every cluster under each load that do not depend on the rate or the number of
    records in a batch. The methods compute the others. All arrays, also those that methods take and return, have the
    shape (clusters, loads), or one that NumPy broadcasts to it.

    Attributes:
        cluster: The clusters' constants, shape (clusters, 1).
        settings: The client's settings for each load, shape (1, loads).
        load: The loads, shape (1, loads).
        record_bytes: Size of a record in an uncompressed batch.
        full_batches: When a batch is full.
        full_records: Number of records in a full batch; 1 if a single record is larger than the batch limit.
        in_flight_batches: Number of batches of a producer that may be in flight; infinite if it waits for no response.
        sender_s: Time of a record in the application's thread.
        senders_s: Time between the records of all producers in their applications' threads.
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
        send_buffer_byte_s: Time of a byte in one connection, if the send buffer is what limits it.
        carried_byte_s: Time of a byte in the slower of network and disk, which all producers share.
        overhead_bytes: Bytes of a record on the wire besides its value.
        removed_ratio: Share of a value that the codec removes in a large batch.
        compressible_bytes: Bytes of a value that a compressor can remove.
    """

    cluster: Columns
    settings: Columns
    load: Columns
    record_bytes: Array
    full_batches: FullBatches
    full_records: Array
    in_flight_batches: Array
    sender_s: Array
    senders_s: Array
    client_s: Array
    client_cached_s: Array
    client_request_s: Array
    broker_s: Array
    broker_byte_s: Array
    broker_request_s: Array
    fixed_latency_s: Array
    request_s: Array
    network_byte_s: Array
    send_buffer_byte_s: Array
    carried_byte_s: Array
    overhead_bytes: Array
    removed_ratio: Array
    compressible_bytes: Array

    @classmethod
    def of(cls, clusters: Sequence[ClusterConstants], loads: Sequence[tuple[Settings, Workload]]) -> Self:
        """Compute the costs for every cluster under each load. A load is a client's settings and a workload."""
        clients = [each for each, _ in loads]
        cluster, settings = Columns(clusters, (-1, 1)), Columns(clients, (1, -1))
        load = Columns([WorkloadNumbers.of(workload) for _, workload in loads], (1, -1))
        value, record = load.value_bytes, load.value_bytes + load.key_bytes + load.framing_bytes
        compression = _Compression.of(clusters, clients)
        contention = 1.0 + cluster.contention_ratio * cluster.contention_s / (cluster.contention_s + settings.linger_s)
        contention = contention + cluster.switching_ratio * settings.switches
        client_request_s = cluster.client_s_per_request + compression.batch_s
        broker_request_s = cluster.broker_s_per_request * np.where(settings.idempotent, _IDEMPOTENT_RATIO, 1.0)
        broker_request_s = broker_request_s * (1.0 - cluster.answer_ratio * (settings.acks == 0))
        round_trip_s = cluster.round_trip_s * (1.0 + _NAGLE_RATIO * settings.nagle)
        fixed_latency_s = round_trip_s + client_request_s + broker_request_s
        waits_for_replicas = (load.replication > 1) & (settings.acks == -1)
        fixed_latency_s = fixed_latency_s + cluster.all_acks_s * waits_for_replicas
        in_flight_batches = np.where(settings.acks == 0, math.inf, settings.in_flight * settings.batches_per_request)
        responses_s = fixed_latency_s / np.minimum(in_flight_batches, settings.queue_records)
        # A connection sends at most what fits in its send buffer in each round trip.
        buffer_bytes = np.where(settings.send_buffer_bytes > 0, settings.send_buffer_bytes, math.inf)
        send_buffer_byte_s = cluster.round_trip_s / buffer_bytes
        network_byte_s = 1.0 / cluster.network_bytes_per_s + send_buffer_byte_s
        norm, producers = cluster.capacity_norm, settings.producers
        removed_ratio = load.compressibility_ratio * compression.removed_ratio
        removed_overhead_bytes = load.framing_bytes * compression.overhead_removed_ratio
        compressible_bytes = load.compressibility_ratio * value
        full_batches = FullBatches.of(
            settings,
            load,
            record,
            removed_ratio * value + removed_overhead_bytes,
            _removed(removed_ratio, compressible_bytes) * value,
            compression.compresses,
        )
        compression_s = compression.byte_s * value
        sender_s = (cluster.sender_s_per_record + cluster.sender_s_per_byte * value) * contention
        sender_s = sender_s + compression_s * settings.application_compresses
        client_s = cluster.client_s_per_record * contention + compression_s * (1.0 - settings.application_compresses)
        return cls(
            cluster=cluster,
            settings=settings,
            load=load,
            record_bytes=record,
            full_batches=full_batches,
            full_records=full_batches.usual_records(),
            in_flight_batches=in_flight_batches,
            sender_s=sender_s,
            senders_s=sender_s / producers,
            client_s=client_s,
            client_cached_s=cluster.client_s_per_byte * value,
            client_request_s=client_request_s,
            broker_s=cluster.broker_s_per_record + compression.decompression_byte_s * value,
            broker_byte_s=cluster.broker_s_per_byte * (1.0 + cluster.copy_ratio * (load.replication - 1.0)),
            broker_request_s=broker_request_s,
            fixed_latency_s=fixed_latency_s,
            request_s=_request_s(cluster, client_request_s, broker_request_s, responses_s, producers),
            network_byte_s=network_byte_s,
            send_buffer_byte_s=send_buffer_byte_s,
            carried_byte_s=(cluster.network_bytes_per_s**-norm + cluster.disk_bytes_per_s**-norm) ** (1 / norm),
            # Keys are taken to be random.
            overhead_bytes=load.key_bytes + load.framing_bytes - removed_overhead_bytes,
            removed_ratio=removed_ratio,
            compressible_bytes=compressible_bytes,
        )

    def gather_s(self, rate: Array) -> Array:
        """Return how long a batch stays open for further records if it does not become full.

        After `linger.ms`, it still waits for the client's thread, which may be busy with other records. If each record
        goes to another partition, the thread sends the batches of all partitions before it comes back to this one. The
        rate is that of one producer, in records per second.
        """
        linger_s = self.settings.linger_s
        wait_s = self.request_wait_s(rate)
        waiting = 1.0 + rate * (linger_s + wait_s)  # no more partitions have a batch
        in_turn = np.maximum(1.0, np.minimum(self.load.partitions, waiting) / self.settings.batches_per_request)
        return linger_s + wait_s * np.where(self.settings.sticky_s == 0, in_turn, 1.0)

    def request_wait_s(self, rate: Array) -> Array:
        """Return how long a batch that may be sent waits for the client's thread.

        The rate is that of one producer, in records per second.
        """
        busy = smooth_min(rate * (self.client_s + self.client_cached_s), _MOST_WAITING)
        return self.cluster.wake_s / (1.0 - busy)

    def full_records_at(self, rate: Array) -> Array:
        """Return the number of records in a full batch, if the producer sends at this rate, in records per second."""
        return self.full_batches.records_at(rate, self.request_wait_s(rate), self.load.elapsed_s)

    def spread(self, rate: Array, gather_s: Array) -> Array:
        """Return among how many partitions a producer's records go while one batch is open.

        The sticky partitioner sends records without a key to one partition for a while, and then to a random one. So
        the number is near 1 if a batch is open for a shorter time.

        Args:
            rate: The rate of one producer, in records per second.
            gather_s: What `gather_s` returns for this rate.
        """
        open_s = np.minimum(gather_s, self.full_records / rate)
        undivided_s = np.minimum(open_s, self.settings.sticky_s)
        return open_s / (undivided_s + (open_s - undivided_s) / self.load.partitions)

    def opened_records(self, rate: Array, gather_s: Array, spread: Array, full: Array) -> Array:
        """Return the number of records in a batch if batches are closed only by linger.ms or the batch size limit.

        Args:
            rate: The rate of one producer, in records per second.
            gather_s: What `gather_s` returns for this rate.
            spread: What `spread` returns for this rate.
            full: Number of records in a full batch.
        """
        waited = rate * gather_s / spread
        by_size = self.full_batches.mean_records(full, waited, rate, self.request_wait_s(rate))
        by_size = by_size / (1.0 + self.left_behind_ratio(rate))
        return 1.0 + self.what_comes_first(waited, np.maximum(1e-9, by_size - 1.0))

    def what_comes_first(self, by_linger: Array, by_size: Array) -> Array:
        """Return the time or the number of records after which `linger.ms` or the batch size limit ends a batch.

        For the Java client, the minimum is smoothed, because its requests also take along batches that are still open.
        """
        smoothed = smooth_min(by_linger, by_size)
        return np.where(self.settings.sticks_by_bytes, smoothed, np.minimum(by_linger, by_size))

    def left_behind_ratio(self, rate: Array) -> Array:
        """Return the share of records whose batch is not full when the sticky partitioner changes the partition.

        Each change leaves half a batch behind on average. No further records arrive for this batch soon, so it waits
        until linger.ms ends. The rate is that of one producer, in records per second.
        """
        fills = self.full_records / rate / self.settings.sticky_s
        return (1.0 - 1.0 / self.load.partitions) / 2.0 / (1.0 / fills + fills)

    def allowed_in_flight(self, batch_records: Array) -> Array:
        """Return how many batches of `batch_records` records a producer may have in flight.

        The config and the queue limit them.
        """
        return np.minimum(self.in_flight_batches, np.maximum(1.0, self.settings.queue_records / batch_records))

    def wire_bytes(self, batch_records: Array) -> Array:
        """Return the bytes of one record on the wire, including its share of the batch's headers.

        A codec removes little from a small batch.
        """
        removed = _removed(self.removed_ratio, batch_records * self.compressible_bytes)
        headers = (BATCH_HEADER_BYTES + REQUEST_HEADER_BYTES) / batch_records
        return self.load.value_bytes * (1.0 - removed) + self.overhead_bytes + headers

    def costs(self, batch_records: Array, held_bytes: Array) -> Costs:
        """Return what one record costs in batches of `batch_records` records, while `held_bytes` wait in a client."""
        cluster, norm, producers = self.cluster, self.cluster.capacity_norm, self.settings.producers
        batch_bytes = batch_records * self.record_bytes
        large = 1.0 + cluster.large_ratio * batch_bytes / (batch_bytes + cluster.large_bytes)
        cache = 1.0 + cluster.cache_ratio * held_bytes / (held_bytes + cluster.cache_bytes)
        wire = self.wire_bytes(batch_records)
        client_s = self.client_s + self.client_cached_s * cache + self.client_request_s / batch_records
        broker_s = self.broker_s + self.broker_byte_s * cache * large * wire + self.broker_request_s / batch_records
        batch_latency_s = self.fixed_latency_s + batch_records * (client_s + broker_s + wire * self.network_byte_s)
        shared_s = (self.sender_s + client_s + broker_s) / cluster.client_cores
        busier_s = smooth_max((self.sender_s + client_s) / cluster.client_cores, broker_s / cluster.broker_cores)
        host_s = np.where(cluster.shared_host, shared_s, busier_s)
        responses_s = batch_latency_s / (batch_records * self.allowed_in_flight(batch_records))
        carried_s = wire * self.carried_byte_s
        buffered_s = wire * self.send_buffer_byte_s
        own = client_s**norm + broker_s**norm + responses_s**norm + buffered_s**norm
        shared = host_s**norm + carried_s**norm
        alone_s, slowest_s = (own + shared) ** (1 / norm), (own / producers**norm + shared) ** (1 / norm)
        return Costs(client_s, broker_s, host_s, alone_s, slowest_s, batch_latency_s, wire)


def slowest_stages(stages: Stages, batch_records: Array, costs: Costs) -> NDArray[np.str_]:
    """Return, in words, which stage takes the most time for each record, shape (clusters, loads).

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
        * np.maximum(1.0 / stages.cluster.network_bytes_per_s, stages.send_buffer_byte_s / producers),
        "the disk": costs.wire_bytes / stages.cluster.disk_bytes_per_s,
        "waiting for responses": costs.batch_latency_s
        / (batch_records * stages.allowed_in_flight(batch_records) * producers),
    }
    slowest: NDArray[np.str_] = np.array(list(times))[np.argmax(np.broadcast_arrays(*times.values()), axis=0)]
    return slowest


@dataclass(frozen=True, slots=True)
class _Compression:
    """What the codec of each client's settings costs and removes; all are 0 without a codec.

    Attributes:
        compresses: Whether there is a codec, 0 or 1, shape (1, loads).
        removed_ratio: Share of the compressible bytes that the codec removes in a large batch, shape (1, loads).
        overhead_removed_ratio: Share that the codec removes of the bytes that Kafka's format adds, shape (1, loads).
        byte_s: Time to compress a byte of value, shape (clusters, loads).
        decompression_byte_s: Time to decompress a byte of value in the broker, shape (clusters, loads).
        batch_s: Time to set up the codec for a batch, shape (clusters, loads).
    """

    compresses: Array
    removed_ratio: Array
    overhead_removed_ratio: Array
    byte_s: Array
    decompression_byte_s: Array
    batch_s: Array

    @classmethod
    def of(cls, clusters: Sequence[ClusterConstants], clients: Sequence[Settings]) -> Self:
        names = [each.codec if each.codec in CODECS else "" for each in clients]
        codecs = [(CODECS.get(each.codec, _NO_CODEC), each.level) for each in clients]
        ratios = {name: [each.codec_ratio(name) if name else 1.0 for each in clusters] for name in {*names}}
        ratio = np.array([ratios[name] for name in names]).T
        return cls(
            compresses=np.array([[bool(name) for name in names]], dtype=float),
            removed_ratio=np.array([[codec.removed(level) for codec, level in codecs]]),
            overhead_removed_ratio=np.array([[codec.overhead_removed_ratio for codec, _ in codecs]]),
            byte_s=ratio * [codec.cost_s_per_byte(level) for codec, level in codecs],
            decompression_byte_s=ratio * [codec.decompression_s_per_byte for codec, _ in codecs],
            batch_s=ratio * [codec.s_per_batch for codec, _ in codecs],
        )


def _removed(removed_ratio: Array, compressible_bytes: Array) -> Array:
    """Return the share of a value that the codec removes in a batch with these compressible bytes."""
    return removed_ratio * compressible_bytes / (compressible_bytes + _HALF_COMPRESSED_BYTES)


def _request_s(cluster: Columns, client_s: Array, broker_s: Array, responses_s: Array, producers: Array) -> Array:
    """Return the time between requests in the slowest stage after the senders, without the time for their records."""
    norm = cluster.capacity_norm
    shared_s, own_s = (client_s + broker_s) / cluster.client_cores, broker_s / cluster.broker_cores
    host_s = np.where(cluster.shared_host, shared_s, own_s)
    each_s = (client_s**norm + broker_s**norm + responses_s**norm) ** (1 / norm) / producers
    return (each_s**norm + host_s**norm) ** (1 / norm)
