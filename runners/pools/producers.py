"""Divides the load of one run among several producers, and merges their results.

Percentiles come from merged histograms. This also holds for `Measurement.series`, which is made from merged windows.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean

from runners.measurements.histogram import Histogram
from runners.measurements.measurement import ClientActivity, Counts, LatencyCheck, Measurement, TimePoint, Window
from runners.measurements.resources import merge_resources, sum_if_all_known
from runners.workload import Workload


def share_of_producer(workload: Workload, producers: int, producer: int) -> Workload:
    """Return the part of a workload that one producer sends.

    Each producer gets an equal part of a paced rate and its own seed. The first producer also gets the consumers.

    Args:
        workload: The whole workload.
        producers: Number of producers that share it, at least 1.
        producer: Number of this producer, from 0.
    """
    rate = workload.rate_records_per_s
    return replace(
        workload,
        rate_records_per_s=rate if rate is None or producers == 1 else rate / producers,
        consumers=0 if producer else workload.consumers,
        seed=workload.seed + producer,
    )


def merge(measurements: Sequence[Measurement], workload: Workload, series: Sequence[TimePoint]) -> Measurement:
    """Merge the measurements of producers that sent at the same time; a single measurement keeps its values.

    Args:
        measurements: One measurement per producer, all of the same config.
        workload: The whole workload.
        series: Summaries of the merged windows.

    Raises:
        ValueError: There are no measurements.
    """
    if not measurements:
        raise ValueError("merge needs at least one measurement, but got none")
    first = measurements[0]
    if len(measurements) == 1:
        return replace(first, workload=workload)
    records = [each.records for each in measurements]
    return Measurement(
        config=first.config,
        workload=workload,
        origin=replace(first.origin, started_at=min(each.origin.started_at for each in measurements)),
        duration_s=max(each.duration_s for each in measurements),
        records=sum(records),
        value_bytes=sum(each.value_bytes for each in measurements),
        latency=_latency([each.latency for each in measurements], [each.sample_ratio for each in measurements]),
        send_delay=Histogram.merge(each.send_delay for each in measurements),
        sample_ratio=_mean(
            [each.sample_ratio for each in measurements], [each.counts.acknowledged for each in measurements]
        ),
        counts=_counts([each.counts for each in measurements]),
        latency_check=_latency_check([each.latency_check for each in measurements], records),
        resources=merge_resources([each.resources for each in measurements]),
        activity=_activity([each.activity for each in measurements], records),
        series=tuple(series),
        stopped_early=any(each.stopped_early for each in measurements),
        flush_s=max(each.flush_s for each in measurements),
        warnings=tuple(dict.fromkeys(warning for each in measurements for warning in each.warnings)),
        sent_bytes=sum_if_all_known(each.sent_bytes for each in measurements),
        # Only the first producer has consumers beside it. They read what all producers write.
        end_to_end=first.end_to_end,
        producers=len(measurements),
    )


def merge_windows(windows: Sequence[Window]) -> Window:
    """Merge the windows (parts of a run) that have the same number, one from each producer, into one window."""
    first = windows[0]
    records = [each.records for each in windows]
    return replace(
        first,
        at_s=max(each.at_s for each in windows),
        duration_s=max(each.duration_s for each in windows),
        records=sum(records),
        value_bytes=sum(each.value_bytes for each in windows),
        failed=sum(each.failed for each in windows),
        queue_full_ratio=_mean([each.queue_full_ratio for each in windows], records),
        latency=_latency(
            [each.latency for each in windows],
            [each.latency.count / each.records if each.records else 0.0 for each in windows],
        ),
    )


def _latency(histograms: Sequence[Histogram], sample_ratios: Sequence[float]) -> Histogram:
    """Merge the latencies of several producers, weighted by the number of their deliveries.

    Producers may have recorded different shares of their deliveries. Without weights, the producer with the largest
    share would count too much. The result has about as many values as were recorded. If a share is unknown (0), nothing
    is weighted.

    Args:
        histograms: The recorded latencies of each producer.
        sample_ratios: For each producer, the share of its deliveries whose latency was recorded.
    """
    recorded = [(each, ratio) for each, ratio in zip(histograms, sample_ratios, strict=True) if each.count]
    ratios = {ratio for _, ratio in recorded}
    if len(ratios) < 2 or min(ratios) <= 0:
        return Histogram.merge(histograms)
    mean_ratio = sum(each.count for each, _ in recorded) / sum(each.count / ratio for each, ratio in recorded)
    return Histogram.merge(each.scaled(mean_ratio / ratio) for each, ratio in recorded)


def _counts(counts: Sequence[Counts]) -> Counts:
    return Counts(
        handed_over=sum(each.handed_over for each in counts),
        acknowledged=sum(each.acknowledged for each in counts),
        failed=dict(sum((Counter(each.failed) for each in counts), Counter[str]())),
        transmitted=sum_if_all_known(each.transmitted for each in counts),
        retries=sum(each.retries for each in counts),
        stored=None,  # each producer also saw the other producers' records in the topic
        acks=counts[0].acks,
        idempotent=counts[0].idempotent,
        sole_writer=all(each.sole_writer for each in counts),
        purged=sum(each.purged for each in counts),
    )


def _latency_check(checks: Sequence[LatencyCheck | None], records: Sequence[int]) -> LatencyCheck | None:
    weighted_checks = [(check, weight) for check, weight in zip(checks, records, strict=True) if check is not None]
    if not weighted_checks:
        return None
    weights = [weight for _, weight in weighted_checks]

    def of(part: Callable[[LatencyCheck], float]) -> float:
        return _mean([part(check) for check, _ in weighted_checks], weights)

    def of_known(part: Callable[[LatencyCheck], float | None]) -> float | None:
        values = [value for check, _ in weighted_checks if (value := part(check)) is not None]
        return _mean(values, weights) if len(values) == len(weighted_checks) else None

    return LatencyCheck(
        seen_us=of(lambda check: check.seen_us),
        client_us=of(lambda check: check.client_us),
        queue_us=of(lambda check: check.queue_us),
        outbuf_us=of(lambda check: check.outbuf_us),
        rtt_us=of(lambda check: check.rtt_us),
        drain_us=of_known(lambda check: check.drain_us),
        batch_us=of_known(lambda check: check.batch_us),
    )


def _activity(activities: Sequence[ClientActivity | None], records: Sequence[int]) -> ClientActivity | None:
    """Merge what the clients' statistics report.

    Bytes and retries are added up. Queues and batches are averaged, so that they describe a typical client. Queues and
    requests in flight are means over time, so each client counts the same, however many records it sent.
    """
    reported = [(each, weight) for each, weight in zip(activities, records, strict=True) if each is not None]
    if not reported:
        return None
    clients, weights = [each for each, _ in reported], [weight for _, weight in reported]

    def of(part: Callable[[ClientActivity], float]) -> float:
        return _mean([part(each) for each in clients], weights)

    return ClientActivity(
        queue_full_ratio=of(lambda each: each.queue_full_ratio),
        queue_growth_ratio=of(lambda each: each.queue_growth_ratio),
        queued_records=fmean(each.queued_records for each in clients),
        queued_bytes=fmean(each.queued_bytes for each in clients),
        in_flight_requests=fmean(each.in_flight_requests for each in clients),
        throttle_ms=of(lambda each: each.throttle_ms),
        wire_bytes=sum_if_all_known(each.wire_bytes for each in clients),
        batch_records=of(lambda each: each.batch_records),
        batch_bytes=of(lambda each: each.batch_bytes),
        retries=sum(each.retries for each in clients),
        partitions_used=max((used for each in clients if (used := each.partitions_used) is not None), default=None),
    )


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return the weighted mean; the plain mean if all weights are 0."""
    total = sum(weights)
    if not total:
        return sum(values) / len(values)
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / total
