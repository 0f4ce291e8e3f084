"""A second simulation of a producer and a cluster, whose formulas differ from those of the performance model.

It is for searches that begin with the performance model: on this cluster, no choice of the model's constants is right.

The stages do not overlap, so their times add up, where the model takes the slowest. Batches are filled up to a sharp
limit. The broker is a queue with random arrivals and random service times (M/M/1), so a latency is exponentially
distributed around the time for which a record waits for its batch.
"""

import math
from typing import Final

from runners.performance_model.constants import CODECS, ClusterConstants
from runners.performance_model.performance import Performance
from runners.performance_model.settings import Settings
from runners.workload import Workload

_HEADER_BYTES: Final = 130.0
_OVERHEAD_BYTES: Final = 8.0
_MOST_IN_FLIGHT: Final = 20.0
_WARM_BYTES: Final = 2_000.0
_HICCUP_S: Final = 0.8e-3
_COLLECTED_BYTES: Final = 2e6


def serial_line(cluster: ClusterConstants, settings: Settings, load: Workload) -> Performance:
    """Compute the performance of a client's settings on a cluster whose stages do not overlap."""
    value = load.record_sizes.mean_bytes
    full = max(1.0, min(settings.batch_records, settings.batch_bytes / (value + _OVERHEAD_BYTES)))
    # A queue that holds few batches can't keep the client busy.
    full = min(full, max(1.0, settings.queue_records / 4))
    capacity = _capacity(cluster, settings, load, full)
    offered = load.rate_records_per_s
    rate = capacity if offered is None else min(offered, capacity)
    lanes = 1.0 + (load.partitions - 1.0) / (1.0 + 20.0 * settings.sticky_s)
    wait_s = settings.linger_s + cluster.wake_s
    batch = min(full, 1.0 + rate * wait_s / lanes)
    fill_s = min(wait_s, full * lanes / rate)
    each_s, wire = _times_s(cluster, settings, load, batch)
    # With larger batches at the same rate, a record that finds the broker busy waits longer, but less often.
    busy = min(0.97, rate * each_s)
    serve_s = batch * each_s + cluster.round_trip_s + (cluster.all_acks_s if load.replication > 1 else 0.0)
    queued_s = serve_s / (1.0 - busy)
    collected_s = _HICCUP_S * (1.0 + 2.0 * busy**2) + _HICCUP_S * batch * value / _COLLECTED_BYTES
    buffer_s = settings.queue_records / rate if offered is None or offered > capacity else 0.0
    return Performance(
        records_per_s=rate,
        capacity_records_per_s=capacity,
        mb_per_s=rate * value / 1e6,
        latency_p50_ms=1e3 * (0.5 * fill_s + math.log(2.0) * queued_s + buffer_s),
        latency_p99_ms=1e3 * (fill_s + math.log(100.0) * queued_s + collected_s + buffer_s),
        falling_behind_ratio=0.0 if offered is None else max(0.0, 1.0 - capacity / offered),
        queue_full_ratio=1.0 if buffer_s else 0.0,
        queued_records=min(settings.queue_records, rate * queued_s),
        batch_records=batch,
        full_batch_records=full,
        in_flight_requests=min(settings.in_flight, _MOST_IN_FLIGHT),
        handled_requests=busy,
        full_sockets_ms=1e3 * serve_s * min(settings.in_flight, _MOST_IN_FLIGHT),
        wire_bytes_per_value_byte=wire / value,
        sender_cpu_cores=min(1.0, rate * cluster.sender_s_per_record),
        client_cpu_cores=min(1.0, rate * cluster.client_s_per_record),
        broker_cpu_cores=min(cluster.broker_cores, rate * each_s),
        bound_by="all stages together",
    )


def _capacity(cluster: ClusterConstants, settings: Settings, load: Workload, batch: float) -> float:
    """Return the records per second of a saturating load, which fills its batches."""
    each_s, _ = _times_s(cluster, settings, load, batch)
    in_flight = _MOST_IN_FLIGHT if settings.acks == 0 else min(settings.in_flight, _MOST_IN_FLIGHT)
    batch_latency_s = cluster.round_trip_s + batch * each_s
    return 1.0 / max(each_s, batch_latency_s / (in_flight * batch))


def _times_s(cluster: ClusterConstants, settings: Settings, load: Workload, batch: float) -> tuple[float, float]:
    """Return the seconds that a record takes in all stages together, and its bytes on the wire."""
    value = load.record_sizes.mean_bytes
    codec = CODECS.get(settings.codec)
    removed, codec_s = 0.0, 0.0
    if codec is not None:
        warm = 1.0 - math.exp(-batch * value / _WARM_BYTES)
        removed = load.compressibility_ratio * codec.removed(settings.level) * warm
        codec_s = (
            codec.cost_s_per_byte(settings.level) + codec.decompression_s_per_byte
        ) * value + codec.s_per_batch / batch
    wire = value * (1.0 - removed) + _OVERHEAD_BYTES + _HEADER_BYTES / batch
    eager = 1.0 + cluster.contention_ratio * math.exp(-settings.linger_s / cluster.contention_s)
    client_s = (cluster.sender_s_per_record + cluster.client_s_per_record) * eager + cluster.client_s_per_byte * value
    request_s = (cluster.client_s_per_request + cluster.broker_s_per_request) / batch
    broker_s = cluster.broker_s_per_record + cluster.broker_s_per_byte * wire * load.replication
    carried_s = wire / cluster.network_bytes_per_s + wire / cluster.disk_bytes_per_s
    return (client_s + codec_s + request_s + broker_s) / cluster.client_cores + carried_s, wire
