"""The result of a load of consumers, for people and as JSON."""

from collections.abc import Callable, Mapping
from typing import Final

from objectives.bottlenecks import Bottleneck, Verdict
from objectives.consumer_verdict import ReadEvidence, judge_reading
from runners.consumers.consumption import Consumption, FetchActivity, ReadWindow
from runners.consumers.reading import Start
from runners.measurements.measurement import Measurement
from runners.reporting import counted, percent
from tuner.present.console import print_pairs, warn_of_each
from tuner.present.measurements.resource_words import broker_lines, cluster_text, cost_text

CELLS: Final[Mapping[str, Callable[[ReadWindow], str]]] = {
    "nothing to take": lambda window: percent(window.waiting_ratio),
}
"""Columns of a live table of windows, besides records and bytes."""


def rest_of_line(window: ReadWindow) -> str:
    """Return the text of a window's line that follows its records and bytes."""
    return f"nothing to take {window.waiting_ratio:>4.0%} of the time"


def print_consumption(consumption: Consumption, written: Measurement | None) -> None:
    """Print the result with its verdict and its checks; the arguments are those of `consumption_json`."""
    verdict = judge_reading(ReadEvidence.of(consumption))
    print_pairs(_rows(consumption, verdict, written))
    warn_of_each(weaknesses(consumption, verdict))


def _rows(consumption: Consumption, verdict: Verdict, written: Measurement | None) -> list[tuple[str, str]]:
    origin, reading = consumption.origin, consumption.reading
    properties = " ".join(f"{name}={value}" for name, value in reading.properties.items()) or "the client's defaults"
    rows = [
        ("config", properties),
        (
            "consumers",
            f"{counted(reading.consumers, 'consumer')} of {origin.client_version} on "
            f"{counted(origin.partitions, 'partition')} of topic {origin.topic}, {cluster_text(origin.cluster)}",
        ),
        ("load", _load(consumption)),
        ("throughput", f"{consumption.records_per_s:,.0f} records/s, {consumption.mb_per_s:.1f} MB/s of values"),
    ]
    if consumption.activity is not None:
        if consumption.activity.fetches_per_s:
            rows.append(("fetches", _fetches(consumption.activity)))
        if reading.start is Start.TAIL:
            rows.append(("lag", f"{consumption.activity.lag_records:,.0f} records on average"))
    if written is not None:
        rows.append(("written", f"{written.records_per_s:,.0f} records/s, {written.mb_per_s:.1f} MB/s meanwhile"))
    return [
        *rows,
        ("bound by", f"{verdict.bound}: {verdict.because}"),
        ("counts", _counts(consumption)),
        ("cost", cost_text(consumption, "clients")),
        *broker_lines(consumption.resources),
    ]


def _load(consumption: Consumption) -> str:
    where = "from the beginning" if consumption.reading.start is Start.BEGINNING else "at the tail"
    if consumption.in_warm_up:
        said = f"{where}, {consumption.duration_s:.2f} s of the warm-up"
    else:
        said = f"{where}, {consumption.duration_s:.2f} s after {consumption.reading.warmup_s:g} s of warm-up"
    return said if consumption.ended_s is None else f"{said}; everything was read after {consumption.ended_s:.2f} s"


def _fetches(activity: FetchActivity) -> str:
    return (
        f"{activity.fetches_per_s:,.0f} a second, on average {activity.fetch_records:,.0f} records and "
        f"{activity.fetch_bytes / 1e3:,.1f} kB, {activity.fetch_ms:.2f} ms from the request to the whole response"
    )


def _counts(consumption: Consumption) -> str:
    counts = consumption.counts
    if not counts.agree:
        return "; ".join(counts.differences())
    equal_counts = [f"{counts.taken:,} taken"]
    if counts.received == counts.taken:
        equal_counts.append("as many received (counted by the client's statistics)")
    if counts.stored is not None and counts.stored == counts.taken:
        equal_counts.append("as many in the topic")
    text = " = ".join(equal_counts) + "; in each partition in order, none twice"
    if counts.skipped:
        text += f"; {counts.skipped:,} offsets have no record (compaction, transactions or retention)"
    if counts.unread:
        text += f"; {counts.unread:,} of {counts.stored:,} were not reached"
    return text


def weaknesses(consumption: Consumption, verdict: Verdict) -> list[str]:
    """Return the warnings that a user should read before believing the numbers."""
    warnings = list(consumption.warnings)
    if verdict.other_limit and verdict.bound is not Bottleneck.GENERATOR:
        warnings.append(f"{verdict.other_limit}, so the throughput says little about the consumers")
    if not consumption.counts.agree:
        warnings.append("the counts of records differ: " + "; ".join(consumption.counts.differences()))
    if consumption.stopped_early:
        warnings.append("the load was stopped early")
    return warnings
