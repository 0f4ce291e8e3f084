"""Merges the results of several consumers of one load."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from runners.consumers.consumption import Arrivals, Consumption, FetchActivity, ReadCounts, ReadWindow
from runners.measurements.resources import Resources, merge_resources, sum_if_all_known


def merge_read_windows(windows: Sequence[ReadWindow], ended_before_s: float) -> ReadWindow:
    """Merge windows with the same number, one from each consumer that was still reading.

    Args:
        windows: The windows, at least one. One of them ends after the merged window before this one.
        ended_before_s: When the merged window before this one ended, in seconds from the start of the load; 0 for the
            first one.
    """
    at_s = max(each.at_s for each in windows)
    return replace(
        windows[0],
        at_s=at_s,
        duration_s=at_s - ended_before_s,
        records=sum(each.records for each in windows),
        value_bytes=sum(each.value_bytes for each in windows),
        waiting_ratio=sum(each.waiting_ratio for each in windows) / len(windows),
    )


def merge_consumptions(parts: Sequence[Consumption]) -> Consumption:
    """Merge the results of consumers that read at the same time; the result of a single one keeps its values.

    Args:
        parts: One result per consumer, at least one.
    """
    if len(parts) == 1:
        return parts[0]
    series: list[ReadWindow] = []
    for number in range(max(len(each.series) for each in parts)):
        windows = [each.series[number] for each in parts if number < len(each.series)]
        if series and max(each.at_s for each in windows) <= series[-1].at_s:
            series[-1] = _with_records_of(windows, series[-1])
        else:
            series.append(merge_read_windows(windows, series[-1].at_s if series else 0.0))
    ended = [each.ended_s for each in parts]
    origins = [each.origin for each in parts]
    whole = replace(
        parts[0],
        origin=replace(origins[0], partitions=sum(each.partitions for each in origins)),
        series=tuple(series),
        counts=_counts([each.counts for each in parts]),
        activity=_activity([each.activity for each in parts]),
        ended_s=None if None in ended else max(each for each in ended if each is not None),
        stopped_early=any(each.stopped_early for each in parts),
        arrivals=_arrivals([each.arrivals for each in parts]),
        warnings=tuple(dict.fromkeys(warning for each in parts for warning in each.warnings)),
    )
    return replace(whole, resources=_resources(parts, whole.duration_s))


def _with_records_of(windows: Sequence[ReadWindow], before: ReadWindow) -> ReadWindow:
    """Return the merged window `before` with the records of `windows` added, which ended before it did.

    The last window of a consumer is short: it ends when everything was read. Another consumer may have been late with
    the window before.
    """
    return replace(
        before,
        records=before.records + sum(each.records for each in windows),
        value_bytes=before.value_bytes + sum(each.value_bytes for each in windows),
    )


def _counts(counts: Sequence[ReadCounts]) -> ReadCounts:
    return ReadCounts(
        taken=sum(each.taken for each in counts),
        repeated=sum(each.repeated for each in counts),
        skipped=sum(each.skipped for each in counts),
        unread=sum(each.unread for each in counts),
        stored=sum_if_all_known(each.stored for each in counts),
        received=sum_if_all_known(each.received for each in counts),
        failed=dict(sum((Counter(each.failed) for each in counts), Counter[str]())),
        sole_writer=all(each.sole_writer for each in counts),
        deleted=sum(each.deleted for each in counts),
    )


def _activity(activities: Sequence[FetchActivity | None]) -> FetchActivity | None:
    """Merge what the clients report: rates and numbers of records are added up, values of a fetch are averaged."""
    reported = [each for each in activities if each is not None]
    fetches = sum(each.fetches_per_s for each in reported)
    if not reported:
        return None

    def of_a_fetch(values: Iterable[float]) -> float:
        weighted = sum(value * each.fetches_per_s for value, each in zip(values, reported, strict=True))
        return weighted / fetches if fetches else 0.0

    receiving = [each.receiving_ratio for each in reported if each.receiving_ratio is not None]
    return FetchActivity(
        fetches_per_s=fetches,
        fetch_records=of_a_fetch(each.fetch_records for each in reported),
        fetch_bytes=of_a_fetch(each.fetch_bytes for each in reported),
        fetch_ms=of_a_fetch(each.fetch_ms for each in reported),
        in_flight_requests=sum(each.in_flight_requests for each in reported) / len(reported),
        throttle_ms=of_a_fetch(each.throttle_ms for each in reported),
        wire_bytes=sum(each.wire_bytes for each in reported),
        queued_records=sum(each.queued_records for each in reported),
        lag_records=sum(each.lag_records for each in reported),
        receiving_ratio=max(receiving, default=None),
    )


def _arrivals(arrivals: Sequence[Arrivals | None]) -> Arrivals | None:
    known = [each for each in arrivals if each is not None]
    return Arrivals.joined(known) if known else None


def _resources(parts: Sequence[Consumption], duration_s: float) -> Resources:
    """Merge the resources. A consumer that ended early used its CPU for a part of the time only."""
    return merge_resources(
        [
            replace(
                each.resources,
                process_cpu_cores=_spread(each.resources.process_cpu_cores, each.duration_s, duration_s),
                client_user_demand_cores=_spread(each.resources.client_user_demand_cores, each.duration_s, duration_s),
            )
            for each in parts
        ]
    )


def _spread(cores: float | None, over_s: float, whole_s: float) -> float | None:
    return None if cores is None else cores * over_s / whole_s
