"""The metrics of a row of an experiment: those of a trial, and more about the client, consumers, brokers and topic.

A row has one load, saturating or at a fixed rate, so a latency has the same name for both. The names of the metrics of
a study are in `objectives.metrics`.
"""

from collections.abc import Callable, Mapping
from statistics import fmean, median, stdev
from types import MappingProxyType
from typing import Final

from objectives.metrics import OUTCOME_METRICS, SATURATED_PREFIX, Direction, Metric
from runners.consumers.consumption import Consumption
from runners.measurements.end_to_end import EndToEnd
from runners.measurements.measurement import ClientActivity, LatencyCheck, Measurement, WindowKind
from runners.measurements.resources import BrokerUse, Resources


def _of_latency_check(read: Callable[[LatencyCheck], float | None]) -> Callable[[Measurement], float | None]:
    return lambda seen: None if seen.latency_check is None else read(seen.latency_check)


def _of_activity(read: Callable[[ClientActivity], float | None]) -> Callable[[Measurement], float | None]:
    return lambda seen: None if seen.activity is None else read(seen.activity)


def _of_resources(read: Callable[[Resources], float | None]) -> Callable[[Measurement], float | None]:
    return lambda seen: read(seen.resources)


def _of_consumers(read: Callable[[EndToEnd], float | None]) -> Callable[[Measurement], float | None]:
    return lambda seen: None if seen.end_to_end is None else read(seen.end_to_end)


def _ms(microseconds: float | None) -> float | None:
    return None if microseconds is None else microseconds / 1e3


def full_buffer_ratio(measurement: Measurement) -> float | None:
    """Return the mean latency, divided by the time that the records of a full buffer take to be sent.

    If the ratio is near 1 at saturation, the latency shows how large the buffer is, and not how fast the cluster is.
    The buffer of each producer holds a number of records that follows from the config (`ClientLimits.queue_holds`). The
    result is None if the latency is unknown, if the load has a fixed rate, or with compression, which lets a buffer
    hold more records.
    """
    check, config, load = measurement.latency_check, measurement.config, measurement.workload
    if check is None or load.rate_records_per_s is not None or config.compression != "none":
        return None
    record_bytes = round(load.record_sizes.mean_bytes)
    held = min(config.client.limits.queue_holds(config.effective_values, record_bytes).values())
    return check.seen_us / 1e6 * measurement.records_per_s / (held * measurement.producers)


def request_time_ratio(check: LatencyCheck) -> float | None:
    """Return the request's share of the time in the client's queue and of the request; None if both are 0.

    A negative time in the queue counts as 0: the Java client's clock counts whole milliseconds, so a time of less than
    a millisecond may be computed as negative.
    """
    whole_us = max(0.0, check.queue_us) + check.rtt_us
    return check.rtt_us / whole_us if whole_us > 0 else None


def throughput_spread_ratio(measurement: Measurement) -> float | None:
    """Return the standard deviation of the throughput over the windows of the measured phase, divided by its mean.

    A window is about a second. The result is None with fewer than two windows, or if no record was acknowledged.
    """
    rates = [point.records_per_s for point in measurement.series if point.phase is WindowKind.MEASURED]
    return stdev(rates) / fmean(rates) if len(rates) > 1 and any(rates) else None


def wire_mb_per_s(measurement: Measurement) -> float | None:
    """Return the megabytes per second that were sent to brokers, with all overhead; None if unknown."""
    per_value_byte = measurement.wire_bytes_per_value_byte
    return None if per_value_byte is None else measurement.mb_per_s * per_value_byte


def _consumed_mb_per_s(measurement: Measurement) -> float | None:
    found = measurement.end_to_end
    return None if found is None else found.records_per_s * measurement.workload.record_sizes.mean_bytes / 1e6


def throughput_change_ratio(measurement: Measurement) -> float | None:
    """Return the throughput in the last third of the measured phase, divided by that in the first third.

    The result is None if the phase has fewer than three windows (a window is about a second), or if no record was
    acknowledged in the first third.
    """
    rates = [point.records_per_s for point in measurement.series if point.phase is WindowKind.MEASURED]
    third = len(rates) // 3
    if not third or not sum(rates[:third]):
        return None
    return sum(rates[-third:]) / sum(rates[:third])


def interrupted_s(measurement: Measurement) -> float | None:
    """Return for how many seconds of the measured phase less than half of the usual throughput was acknowledged.

    The usual throughput is the fixed rate, or with bursts the rate between them: how much of a burst is acknowledged in
    which window depends on the latency. At full speed it is the median of the windows, which are at most a second each.
    """
    points = [point for point in measurement.series if point.phase is WindowKind.MEASURED]
    if not points:
        return None
    rate, peak_ratio = measurement.workload.rate_records_per_s, measurement.workload.peak_ratio
    # Half of the records leave in bursts, which take 1 / (2 x peak_ratio) of the time. The other half leaves between
    # the bursts (`runners.load.pacing`).
    usual = rate * peak_ratio / (2 * peak_ratio - 1) if rate else median(point.records_per_s for point in points)
    began_s = [measurement.workload.warmup_s, *(point.at_s for point in points)]
    return sum(
        point.at_s - from_s for point, from_s in zip(points, began_s, strict=False) if point.records_per_s < usual / 2
    )


def _excess(more: int, less: int | None, *, known: bool) -> float | None:
    """Return by how much a count of records exceeds another one; None if the other is unknown."""
    return float(max(0, more - less)) if known and less is not None else None


def lost_records(measurement: Measurement) -> float | None:
    """Return how many records were acknowledged and are not in the topic; None if that is unknown."""
    return _excess(measurement.counts.acknowledged, measurement.counts.stored, known=measurement.counts.sole_writer)


def surplus_records(measurement: Measurement) -> float | None:
    """Return how many records the topic has beyond the acknowledged ones; None if that is unknown."""
    counts = measurement.counts
    return None if counts.stored is None else _excess(counts.stored, counts.acknowledged, known=counts.sole_writer)


def _merged_over_brokers(
    read: Callable[[BrokerUse], float | None], merge: Callable[[list[float]], float] = sum
) -> Callable[[Resources], float | None]:
    """Return a function that merges a value of all local brokers; it returns None if a broker has none."""

    def merged(used: Resources) -> float | None:
        values = [read(each) for each in used.brokers]
        known = [value for value in values if value is not None]
        return merge(known) if known and len(known) == len(values) else None

    return merged


_BROKER_METRICS: Final[Mapping[str, Callable[[Resources], float | None]]] = MappingProxyType(
    {
        "broker_cpu_cores": lambda used: used.broker_cpu_cores,
        "busiest_broker_cpu_cores": _merged_over_brokers(lambda each: each.cpu_cores, max),
        "broker_disk_mb_per_s": _merged_over_brokers(lambda each: each.disk_mb_per_s),
        "broker_received_mb_per_s": _merged_over_brokers(lambda each: each.received_mb_per_s),
        "broker_sent_mb_per_s": _merged_over_brokers(lambda each: each.sent_mb_per_s),
    }
)
"""How to read the metrics of the brokers on this host, by name. Loads of consumers have these metrics, too."""


CLOCK_ERROR: Final = "end_to_end_clock_error_ms"
"""The metric that says how far the end-to-end latency may be wrong, because two hosts have two clocks."""


def _metric(
    name: str, label: str, unit: str, meaning: str, read: Callable[[Measurement], float | None], *, more: bool = False
) -> Metric:
    return Metric(name, label, unit, Direction.MAXIMIZE if more else Direction.MINIMIZE, meaning, read)


_ADDED_METRICS: Final = (
    _metric(
        "batch_records",
        "records in a batch",
        "",
        "mean number of records in a batch, from the client's statistics",
        _of_activity(lambda seen: seen.batch_records),
        more=True,
    ),
    _metric(
        "batch_bytes",
        "batch size",
        "B",
        "mean size of a batch on the wire, from the client's statistics",
        _of_activity(lambda seen: seen.batch_bytes),
        more=True,
    ),
    _metric(
        "queue_ms",
        "time in the client's queue",
        "ms",
        "mean time that a record waits in the client's queue, from the client's statistics",
        _of_latency_check(lambda seen: _ms(seen.queue_us)),
    ),
    _metric(
        "request_ms",
        "time of a request",
        "ms",
        "mean time from writing a request to the broker's response, from the client's statistics",
        _of_latency_check(lambda seen: _ms(seen.rtt_us)),
    ),
    _metric(
        "request_time_ratio",
        "the request's share of the latency",
        "",
        "time of a request, divided by the sum of the times in the client's queue and of the request",
        _of_latency_check(request_time_ratio),
    ),
    _metric(
        "latency_difference_ratio",
        "our mean latency against the client's own",
        "",
        "difference between the mean latency that we measure and that of the client's statistics, relative to the "
        "latter",
        _of_latency_check(lambda seen: seen.difference_ratio),
    ),
    _metric(
        "full_buffer_ratio",
        "latency against that of a full buffer",
        "",
        "mean latency, divided by the time that the records of a full buffer take to be sent; near 1, the latency "
        "shows only how large the buffer is",
        full_buffer_ratio,
    ),
    _metric(
        "throughput_spread_ratio",
        "spread of the throughput over time",
        "",
        "standard deviation of the throughput from second to second, divided by its mean",
        throughput_spread_ratio,
    ),
    _metric(
        "wire_mb_per_s",
        "throughput with overhead",
        "MB/s",
        "megabytes sent to brokers per second, with keys, framing and requests, after compression",
        wire_mb_per_s,
        more=True,
    ),
    _metric(
        "consumer_records_per_s",
        "records taken by consumers",
        "records/s",
        "records that the consumers beside the load took per second",
        _of_consumers(lambda seen: seen.records_per_s),
        more=True,
    ),
    _metric(
        "consumer_behind_records",
        "records behind",
        "",
        "records that were acknowledged and not yet taken by a consumer at the end of the measured phase",
        _of_consumers(lambda seen: float(seen.behind_records)),
    ),
    _metric(
        "consumer_mb_per_s",
        "throughput of consumers",
        "MB/s",
        "megabytes of record values that the consumers took per second",
        _consumed_mb_per_s,
        more=True,
    ),
    _metric(
        "consumer_fetch_bytes",
        "size of a fetch",
        "B",
        "mean number of bytes that a fetch of a consumer brought, as the broker sent them",
        _of_consumers(lambda seen: seen.fetch_bytes),
        more=True,
    ),
    _metric(
        "throughput_change_ratio",
        "throughput at the end against the start",
        "",
        "throughput in the last third of the measured phase, divided by that in its first third",
        throughput_change_ratio,
        more=True,
    ),
    _metric(
        "consumer_fetch_records",
        "records in a fetch",
        "",
        "mean number of records that a fetch of a consumer brought",
        _of_consumers(lambda seen: seen.fetch_records),
        more=True,
    ),
    _metric(
        "fetch_p50_ms",
        "acknowledgement to consumer p50",
        "ms",
        "median time from the acknowledgement of a record until a consumer had it",
        _of_consumers(lambda seen: seen.fetch.percentile_us(0.5) / 1e3 if seen.fetch.count else None),
    ),
    _metric(
        CLOCK_ERROR,
        "error of the end-to-end latency by two clocks",
        "ms",
        "how far the end-to-end latency may be wrong, if producer and consumers ran on two hosts with two clocks",
        _of_consumers(lambda seen: seen.clock_error_ms),
    ),
    _metric(
        "broker_cpu_cores",
        "broker CPU",
        "cores",
        "CPU of all brokers on this host",
        _of_resources(_BROKER_METRICS["broker_cpu_cores"]),
    ),
    _metric(
        "busiest_broker_cpu_cores",
        "CPU of the busiest broker",
        "cores",
        "CPU of the broker on this host that used most",
        _of_resources(_BROKER_METRICS["busiest_broker_cpu_cores"]),
    ),
    _metric(
        "broker_disk_mb_per_s",
        "brokers' writes to disk",
        "MB/s",
        "megabytes per second that the brokers on this host wrote to disks; 0 if their partitions are in memory",
        _of_resources(_BROKER_METRICS["broker_disk_mb_per_s"]),
    ),
    _metric(
        "broker_received_mb_per_s",
        "received by brokers",
        "MB/s",
        "megabytes per second that the brokers on this host received, from clients and from each other",
        _of_resources(_BROKER_METRICS["broker_received_mb_per_s"]),
    ),
    _metric(
        "broker_sent_mb_per_s",
        "sent by brokers",
        "MB/s",
        "megabytes per second that the brokers on this host sent, to clients and to each other",
        _of_resources(_BROKER_METRICS["broker_sent_mb_per_s"]),
    ),
    _metric(
        "interrupted_s",
        "interruption",
        "s",
        "seconds in which less than half of the usual throughput was acknowledged",
        interrupted_s,
    ),
    _metric(
        "lost_records",
        "lost records",
        "",
        "records that were acknowledged and are not in the topic",
        lost_records,
    ),
    _metric(
        "surplus_records",
        "records never acknowledged",
        "",
        "records that are in the topic beyond the acknowledged ones: duplicates, and stored ones reported as failed",
        surplus_records,
    ),
)

ROW_METRICS: Final[Mapping[str, Metric]] = MappingProxyType(
    {
        **{name: metric for name, metric in OUTCOME_METRICS.items() if not name.startswith(SATURATED_PREFIX)},
        **{metric.name: metric for metric in _ADDED_METRICS},
    }
)
"""Every metric of a row, by its name."""


def row_metrics_of(measurement: Measurement) -> dict[str, float]:
    """Return the metrics of a measurement by name, without those that have no value, such as a latency with acks=0."""
    values = {name: metric.value_in(measurement) for name, metric in ROW_METRICS.items()}
    return {name: float(value) for name, value in values.items() if value is not None}


def read_metrics_of(consumption: Consumption) -> dict[str, float]:
    """Return the metrics of consumers that read what was stored, by name, without those that have no value."""
    activity = consumption.activity
    values = {
        "consumer_mb_per_s": consumption.mb_per_s,
        "consumer_records_per_s": consumption.records_per_s,
        "consumer_fetch_records": activity.fetch_records if activity else None,
        "consumer_fetch_bytes": activity.fetch_bytes if activity else None,
        "consumer_cpu_ms_per_mb": consumption.client_cpu_ms_per_mb,
        "broker_cpu_ms_per_mb": consumption.broker_cpu_ms_per_mb,
        **{name: read(consumption.resources) for name, read in _BROKER_METRICS.items()},
    }
    return {name: float(value) for name, value in values.items() if value is not None}
