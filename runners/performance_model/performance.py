"""Computes throughput, latency and use of resources from what each stage costs a batch.

The model is in closed form, has no randomness, and is smooth where a real cluster's behaviour is smooth.

Records gather in a batch for up to linger.ms. In a saturating load, the slowest stage (sender, client, network, broker
or disk) limits throughput. In a paced load, requests may arrive faster than they can be served. Then the sockets fill,
and the batches grow until all stages can carry the rate. Every record then waits until the data before it in the
sockets has been sent. If the rate exceeds the capacity even with larger batches, latency grows for as long as the load
continues.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from statistics import NormalDist
from typing import Final, Self

import numpy as np

from runners.performance_model.columns import Array, Columns
from runners.performance_model.constants import ClusterConstants
from runners.performance_model.settings import Settings
from runners.performance_model.smoothing import smooth_max
from runners.performance_model.stages import Costs, Stages, slowest_stages
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig

_P99_OF_NORMAL: Final = NormalDist().inv_cdf(0.99)
# These were chosen by eye, so that the model resembles our grid where one limit gives way to another.
_FULL_QUEUE_SPREAD: Final = 1.15  # the 99th percentile of the wait in a full queue, relative to its median
_BURST_RATIO: Final = 0.3  # the part of a burst that a late record still has to wait for
_OUTRUN_POWER: Final = 6.0  # steepness of the change from an empty to a full queue, as the sender becomes faster
_OVERFLOW_POWER: Final = 60.0  # steepness of that change when the rate approaches the capacity
_FULL_QUEUE_POWER: Final = 3.0  # how much shorter the queue is if the sender is hardly faster
_FULL_WAIT_RATIO: Final = 0.9  # the share of its time in which a sender waits for room if the queue is full
_BUSIEST: Final = 1.05  # above 1, so that the wait on a fully busy host is finite
# Usual and long waits of a record, as ratios of linger.ms; a timer never fires early. Source: our grid, where 114,448
# records of 1 kB a second in batches of 1 MB had a median latency of 4.6 to 4.8 ms with linger.ms=5, and a 99th
# percentile of 22 to 23 ms with linger.ms=20.
_USUAL_WAIT_RATIO: Final = 0.6
_LONG_WAIT_RATIO: Final = 1.2
# An event that affects this share of the records counts half in the 99th percentile. Source: our grid, where batches of
# 128 kB are half full when the client moves on to another partition. With linger.ms=20 the p99 is 20 ms; with
# linger.ms=100 only the p99.9 is 100 ms.
_RARE_RATIO: Final = 0.016
_RARE_POWER: Final = 2.0
# Threads that have slept for longer take longer to wake. With this time between two batches, a usual record has half of
# the extra wait that it has after a long time. Source: our grid `undisturbed_grid`, without a codec. Besides the wait
# for the batch and the time in the stages, the median latency has 0.2 to 0.5 ms with linger.ms=0, and 0.5 to 0.9 ms
# with linger.ms of 0.5 to 2.
_HALF_IDLE_S: Final = 1e-3
# The share of the records that wait longer than the median and than the 99th percentile.
_HALF, _HUNDREDTH = 0.5, 0.01
# Source: latencies of six configs at 5 to 80 % of their throughput, in `benchmarks/problems/data`
# (`rates_with_consumer.csv`). With a smaller power, pauses already show in the 99th percentile at 20 % of the
# throughput.
_PAUSE_POWER: Final = 6.0


@dataclass(frozen=True, slots=True)
class Performance:
    """Throughput, latency and resource use of a config under a workload, as the model computes them without noise.

    Attributes:
        records_per_s: Acknowledged records per second: the fixed rate, or the capacity if that is lower.
        capacity_records_per_s: Acknowledged records per second of a saturating load.
        mb_per_s: Acknowledged value bytes per second, in millions.
        latency_p50_ms: Median latency. If the fixed rate exceeds the capacity, it is the median at the start of the
            load.
        latency_p99_ms: 99th percentile of the latency. If the fixed rate exceeds the capacity, it is the percentile
            at the start of the load.
        falling_behind_ratio: Share of the offered records that exceeds the capacity; 0 if the capacity is enough. With
            0.1, each second of load adds 0.1 s to the latency.
        queue_full_ratio: Share of the time in which a sender waits for room in the client's queue.
        queued_records: Number of records in all producers' queues.
        batch_records: Number of records in a usual batch.
        full_batch_records: Number of records in a full batch.
        in_flight_requests: Mean number of requests of all producers in flight.
        handled_requests: Mean number of requests that client and brokers handle: those in flight, without the time of
            an empty round trip.
        full_sockets_ms: How long a record waits if requests in flight fill the sockets.
        wire_bytes_per_value_byte: Bytes on the wire per byte of value.
        sender_cpu_cores: CPU of all applications' threads, in cores.
        client_cpu_cores: CPU of all clients' sending threads, in cores.
        broker_cpu_cores: CPU of the broker, in cores.
        bound_by: The stage that limits a saturating load, in words.
    """

    records_per_s: float
    capacity_records_per_s: float
    mb_per_s: float
    latency_p50_ms: float
    latency_p99_ms: float
    falling_behind_ratio: float
    queue_full_ratio: float
    queued_records: float
    batch_records: float
    full_batch_records: float
    in_flight_requests: float
    handled_requests: float
    full_sockets_ms: float
    wire_bytes_per_value_byte: float
    sender_cpu_cores: float
    client_cpu_cores: float
    broker_cpu_cores: float
    bound_by: str

    def value_of(self, metric: str) -> float:
        """Return a metric by its name."""
        value: float = getattr(self, metric)
        return value

    @property
    def client_cpu_ms_per_mb(self) -> float:
        """CPU time of the producer for each megabyte of values, in milliseconds."""
        return (self.sender_cpu_cores + self.client_cpu_cores) * 1e3 / self.mb_per_s

    @property
    def broker_cpu_ms_per_mb(self) -> float:
        """CPU time of the brokers for each megabyte of values, in milliseconds, without their background work."""
        return self.broker_cpu_cores * 1e3 / self.mb_per_s

    @property
    def end_to_end_p50_ms(self) -> float:
        """Median time until a consumer has the record, which is taken to be the producer's latency.

        The broker answers a waiting consumer at about the same time as the producer.
        """
        return self.latency_p50_ms

    @property
    def end_to_end_p99_ms(self) -> float:
        """99th percentile of the time until a consumer has the record, which is also taken to be the producer's."""
        return self.latency_p99_ms

    @property
    def consumer_cpu_ms_per_mb(self) -> float:
        """CPU time of a consumer for each megabyte of values, in milliseconds.

        It is taken to be the broker's, which opens the same batches.
        """
        return self.broker_cpu_ms_per_mb

    @property
    def latency_spread(self) -> float:
        """Standard deviation of the logarithm of the latency.

        It follows from the median and the 99th percentile, because the latency is assumed to be log-normal.
        """
        return math.log(self.latency_p99_ms / self.latency_p50_ms) / _P99_OF_NORMAL


_ATTRIBUTES: Final = tuple(each.name for each in fields(Performance))


def performance(cluster: ClusterConstants, config: ProducerConfig, workload: Workload) -> Performance:
    """Compute the throughput, latency and resource use of a config on a cluster under a workload."""
    return performance_of_settings(cluster, Settings.of(config, workload), workload)


def performance_of_settings(cluster: ClusterConstants, settings: Settings, workload: Workload) -> Performance:
    """Compute the throughput, latency and resource use of a client's settings on a cluster under a workload.

    `performance` does the same for a config. This function is for callers that vary the settings without a config.
    """
    return all_performances([cluster], [(settings, workload)])[0][0]


def all_performances(
    clusters: Sequence[ClusterConstants], loads: Sequence[tuple[Settings, Workload]]
) -> list[list[Performance]]:
    """Compute the performance of each load on every cluster. A load is a client's settings and a workload.

    This is much faster than a call of `performance_of_settings` for each of them.

    Returns:
        A list for each cluster, with the performance of each load.
    """
    if not (clusters and loads):
        return [[] for _ in clusters]
    columns = performance_columns(clusters, loads)
    values = [columns[name].tolist() for name in _ATTRIBUTES]
    return [[Performance(*row) for row in zip(*cluster, strict=True)] for cluster in zip(*values, strict=True)]


def performance_columns(
    clusters: Sequence[ClusterConstants], loads: Sequence[tuple[Settings, Workload]]
) -> dict[str, Array]:
    """Compute the same as `all_performances` for at least one cluster and one load, without an object for each of them.

    Returns:
        By attribute of `Performance`, an array of shape (clusters, loads).
    """
    # Without pauses, or without a sticky partition, the formulas divide by 0. The infinite quotient is the right value.
    with np.errstate(divide="ignore"):
        stages = Stages.of(clusters, loads)
        return _columns(stages, _SaturatedStages.of(stages))


@dataclass(slots=True)
class _SaturatedStages:
    """The stages under a saturating load. The arrays have the shape (clusters, loads).

    Attributes:
        backed_up_s: Time of a record in the slowest stage after the sender, when the queue and all batches are full.
        outrun: How clearly the sender is faster than the stages after it: 0 is slower, 1 is faster. If the sender is
            faster, the queue and all batches are full with any linger.ms.
        batch: Number of records in a batch.
        costs: What one record costs in each stage.
        rate: Acknowledged records per second.
    """

    backed_up_s: Array
    outrun: Array
    batch: Array
    costs: Costs
    rate: Array

    @classmethod
    def of(cls, stages: Stages) -> Self:
        held_bytes = stages.settings.queue_records * stages.record_bytes
        backed_up_s = stages.costs(stages.full_records, held_bytes).slowest_s
        outrun = 1.0 / (1.0 + (stages.senders_s / backed_up_s) ** _OUTRUN_POWER)
        rate = 1.0 / stages.sender_s
        gather_s = stages.gather_s(rate)
        opened = stages.opened_records(rate, gather_s, stages.spread(rate, gather_s), stages.full_records)
        carried = _carried_records(stages, 1.0 / stages.senders_s, opened, backed_up_s)
        batch = stages.full_records**outrun * carried ** (1.0 - outrun)
        costs = stages.costs(batch, held_bytes * outrun)
        norm = stages.cluster.capacity_norm
        slowest_s = (stages.senders_s**norm + costs.slowest_s**norm) ** (1 / norm)
        # If the queue runs empty before the sender notices that there is room, the other stages have to wait.
        refill_s = stages.cluster.refill_s / _queues_records(stages)
        return cls(backed_up_s, outrun, batch, costs, 1.0 / (slowest_s + refill_s))


def _queues_records(stages: Stages) -> Array:
    """Return the number of records that the queues of all producers can hold."""
    return stages.settings.queue_records * stages.settings.producers


@dataclass(frozen=True, slots=True)
class _PacedStages:
    """The stages at a rate that all of them can carry, without pauses. The arrays have the shape (clusters, loads).

    Attributes:
        p50_s: Median latency.
        p99_s: 99th percentile of the latency.
        full_sockets_s: How long a record waits if requests in flight fill the sockets.
        batch: Number of records in a batch.
        costs: What one record costs in each stage.
    """

    p50_s: Array
    p99_s: Array
    full_sockets_s: Array
    batch: Array
    costs: Costs


def _paced(stages: Stages, rate: Array, gather_s: Array, spread: Array, backed_up_s: Array) -> _PacedStages:
    """Compute the stages at `rate` records per second.

    `gather_s` and `spread` are what the methods of `Stages` return for the rate of one producer. `backed_up_s` is the
    time of a record in the slowest stage when all batches are full.
    """
    cluster, own_rate = stages.cluster, rate / stages.settings.producers
    full = stages.full_records_at(own_rate)
    opened = stages.opened_records(own_rate, gather_s, spread, full)
    batch = _carried_records(stages, rate, opened, backed_up_s)
    costs = stages.costs(batch, batch * stages.record_bytes)
    standing = np.minimum(stages.allowed_in_flight(batch) * batch, cluster.socket_bytes / costs.wire_bytes)
    full_sockets_s = standing / own_rate
    queue_s = _queue_s(rate * costs.slowest_s, batch * costs.alone_s, full_sockets_s)
    fill_s = stages.what_comes_first(gather_s, full * spread / own_rate)
    late_s = fill_s + (gather_s - fill_s) * _weight_in_p99(stages.left_behind_ratio(own_rate))
    busy = np.minimum(1.0, rate * costs.host_s)
    written = rate * costs.wire_bytes / cluster.disk_bytes_per_s
    tail_s = cluster.tail_s + cluster.busy_tail_s * busy / (_BUSIEST - busy) + cluster.disk_tail_s * written
    burst = np.minimum(stages.full_records, own_rate * cluster.stall_s)
    burst_s = _BURST_RATIO * burst * (costs.client_s + costs.broker_s)
    # A record that is alone in its batch waits for the whole time.
    usual_ratio = _USUAL_WAIT_RATIO + (1.0 - _USUAL_WAIT_RATIO) / opened
    idle_s = batch / own_rate
    usual_tail_s = tail_s / 4 * idle_s / (idle_s + _HALF_IDLE_S)
    p50_s = usual_ratio * fill_s + costs.batch_latency_s + queue_s * cluster.usual_queue_ratio + usual_tail_s
    p99_s = _LONG_WAIT_RATIO * late_s + costs.batch_latency_s + queue_s + tail_s + burst_s
    return _PacedStages(p50_s, p99_s, full_sockets_s, batch, costs)


def _pause_wait_s(cluster: Columns, used: Array, longer_ratio: float, most_s: Array) -> Array:
    """Return how long a record waits because the host has paused, in seconds.

    Pauses come at random, and more often on a busier host. After a pause, the records of that time are sent with the
    capacity that the load leaves. So the records wait as in a queue with one server (M/M/1) whose customers are the
    pauses.

    Args:
        cluster: The constants.
        used: The rate as a share of the capacity. The capacity is that of a load during which the host pauses, too.
        longer_ratio: The share of the records that wait longer.
        most_s: The longest possible wait.
    """
    paused, idle = cluster.pause_ratio * used**_PAUSE_POWER, np.where(used < 1.0, 1.0 - used, 1.0)
    queued = paused / (idle + paused)
    # The logarithm of the ratio, but smooth, and 0 if hardly any records wait.
    waits_s = cluster.pause_s / (1.0 - queued) * np.log1p((queued / longer_ratio) ** 2) / 2
    return np.where(used < 1.0, 1.0 / (1.0 / waits_s + 1.0 / most_s), most_s)


def _carried_records(stages: Stages, rate: Array, opened: Array, backed_up_s: Array) -> Array:
    """Return the number of records in a batch at `rate` records per second.

    `opened` is the number that linger.ms and the batch size limit give. `backed_up_s` is the time of a record in the
    slowest stage when all batches are full. The result is larger than `opened` if the stages can carry the rate only
    with larger batches.
    """
    request_s, full = stages.request_s, stages.full_records
    room = 1.0 - rate * np.maximum(0.0, backed_up_s - request_s / full)
    needed = np.where(room > 0, rate * request_s / room, full)
    return np.minimum(full, smooth_max(opened, np.minimum(full, needed)))


def _weight_in_p99(ratio: Array) -> Array:
    """Return how much an event that affects the share `ratio` of the records shows in the p99, from 0 to 1."""
    return 1.0 / (1.0 + (_RARE_RATIO / ratio) ** _RARE_POWER)


def _queue_s(used: Array, batch_s: Array, full_sockets_s: Array) -> Array:
    """Return how long a batch waits behind other batches, in seconds.

    The wait is that of a queue with random arrivals. It is at most `full_sockets_s`, the time to send everything that
    fits in the sockets.

    Args:
        used: Utilisation of the slowest stage; 1 or more if it can't keep up.
        batch_s: Time of a batch in the slowest stage.
        full_sockets_s: The longest possible wait.
    """
    waits_s = np.where(used < 1.0, batch_s * used / (1.0 - used), math.inf)
    return 1.0 / (1.0 / waits_s + 1.0 / full_sockets_s)


def _columns(stages: Stages, full: _SaturatedStages) -> dict[str, Array]:
    load, producers = stages.load, stages.settings.producers
    saturating = np.isinf(load.rate_records_per_s)
    rate = np.minimum(load.rate_records_per_s, full.rate)
    used = rate / full.rate
    overflow = used**_OVERFLOW_POWER
    gather_s = stages.gather_s(rate / producers)
    spread = stages.spread(rate / producers, gather_s)
    paced = _paced(stages, rate, gather_s, spread, full.backed_up_s)
    batch, costs = np.where(saturating, full.batch, paced.batch), full.costs.where(saturating, paced.costs)
    # Under a saturating load, records wait in the queue if the sender fills it, and at a rate after pauses.
    buffer_s = _queues_records(stages) / rate
    filled_s = buffer_s * full.outrun**_FULL_QUEUE_POWER
    after_pauses_s = (_pause_wait_s(stages.cluster, used, ratio, buffer_s) for ratio in (_HALF, _HUNDREDTH))
    usual_s, long_s = (np.where(saturating, filled_s, each) for each in after_pauses_s)
    p50_s, p99_s = paced.p50_s + usual_s, paced.p99_s + long_s * (1.0 + (_FULL_QUEUE_SPREAD - 1.0) * overflow)
    in_flight = np.minimum(stages.allowed_in_flight(batch) * producers, rate / batch * costs.batch_latency_s)
    # A request has no more batches than partitions that have records.
    in_flight = in_flight / np.minimum(stages.settings.batches_per_request, spread)
    return {
        "records_per_s": rate,
        "capacity_records_per_s": full.rate,
        "mb_per_s": rate * load.value_bytes / 1e6,
        "latency_p50_ms": p50_s * 1e3,
        "latency_p99_ms": p99_s * 1e3,
        "falling_behind_ratio": np.where(saturating, 0.0, np.maximum(0.0, 1.0 - full.rate / load.rate_records_per_s)),
        "queue_full_ratio": _FULL_WAIT_RATIO * full.outrun * overflow,
        "queued_records": np.minimum(_queues_records(stages), rate * p50_s),
        "batch_records": batch,
        "full_batch_records": np.broadcast_to(stages.full_records, batch.shape),
        "in_flight_requests": in_flight,
        "handled_requests": in_flight * (1.0 - stages.cluster.round_trip_s / costs.batch_latency_s),
        "full_sockets_ms": paced.full_sockets_s * 1e3,
        "wire_bytes_per_value_byte": costs.wire_bytes / load.value_bytes,
        "sender_cpu_cores": np.minimum(producers, rate * stages.sender_s),
        "client_cpu_cores": np.minimum(producers, rate * costs.client_s),
        "broker_cpu_cores": rate * costs.broker_s,
        "bound_by": slowest_stages(stages, full.batch, full.costs),
    }
