"""Prints a measurement on the terminal: its progress while it runs, and the result at the end."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from rich.table import Column, Table
from rich.text import Text

from objectives.bottlenecks import Verdict
from objectives.producer_verdict import Evidence, judge
from runners.kafka_tools.perf_test_command import perf_test_command
from runners.measurements.histogram import Histogram
from runners.measurements.measurement import Measurement, Window
from runners.reporting import counted, percent
from runners.runner import Watch
from search_spaces.client import ClientKind
from search_spaces.properties.catalogue import shown_values
from tuner.present.console import OUT, warn
from tuner.present.measurements.live_windows import live_windows
from tuner.present.measurements.resource_words import broker_lines, cluster_text, cost_text

_PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0))
_MIN_SAMPLES_P999 = 10_000
_PLOT_WIDTH: Final = 40
_PLOT_RATIOS: Final = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999, 1.0)


def print_measurement(seen: Measurement, bootstrap: str, command_config: Path | None, *, plot: bool) -> None:
    """Print the result of a measurement with its verdict and checks, and a command for the same load with Kafka's tool.

    Args:
        seen: The measurement.
        bootstrap: The cluster's address, for the command.
        command_config: File with the connection settings, for the command.
        plot: Whether to print the latency distribution as a bar chart, too.
    """
    verdict = judge(Evidence.of(seen))
    columns = (Column(style="bold"), Column(overflow="fold"))
    table = Table(*columns, show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in _rows(seen, verdict):
        table.add_row(name, Text(value))
    OUT.print(table)
    if plot:
        OUT.print()
        OUT.show(*_hdr_plot(seen.latency))
    _print_command(seen, bootstrap, command_config)
    for sentence in weaknesses(seen, verdict):
        warn(sentence)


def _rows(seen: Measurement, verdict: Verdict) -> list[tuple[str, str]]:
    given = shown_values(seen.config.values) or "the client's defaults"
    load = seen.workload
    offered = f"paced at {load.rate_records_per_s:,.0f} records/s" if load.rate_records_per_s else "saturating"
    offered += "" if load.peak_ratio == 1 else f" with bursts of {load.peak_ratio:g} times that"
    on_wire = seen.wire_bytes_per_value_byte
    wire = [] if on_wire is None else [f"{on_wire:.2f} bytes on the wire per value byte"]
    delay = [("send delay", _percentiles(seen.send_delay))] if seen.send_delay.count else []
    return [
        ("config", f"{given}  [{seen.config.fingerprint}]"),
        (
            "workload",
            f"{load.record_sizes} B records, {offered}, {seen.duration_s:.1f} s after {load.warmup_s:g} s of warm-up, "
            f"{counted(load.partitions, 'partition')}, replication {load.replication}",
        ),
        (
            "client",
            f"{seen.origin.client_version}, {seen.origin.generator} generator, {cluster_text(seen.origin.cluster)}",
        ),
        ("throughput", f"{seen.records_per_s:,.0f} records/s, {seen.mb_per_s:.1f} MB/s of values"),
        ("latency", _percentiles(seen.latency) if seen.latency.count else "no latency was sampled"),
        *delay,
        *_consumers(seen),
        ("bound by", f"{verdict.bound}: {verdict.because}"),
        ("counts", _counts(seen)),
        ("latency check", _check(seen)),
        ("cost", cost_text(seen, "client", *wire)),
        *broker_lines(seen.resources),
    ]


def _consumers(seen: Measurement) -> list[tuple[str, str]]:
    """Return the results of the consumers that read during the load; empty without consumers."""
    found = seen.end_to_end
    if found is None:
        return []
    fetch = "" if found.fetch_records is None else f", {found.fetch_records:,.0f} records in a fetch"
    cpu = "" if found.client_cpu_ms_per_mb is None else f", {found.client_cpu_ms_per_mb:.1f} ms of their CPU per MB"
    return [
        ("end to end", _percentiles(found.latency) if found.latency.count else "no record was taken"),
        ("of which fetch", _percentiles(found.fetch) if found.fetch.count else "unknown"),
        (
            "consumers",
            f"{counted(found.consumers, 'consumer')}: {found.records_per_s:,.0f} records/s, {found.behind_records:,} "
            f"records behind at the end{fetch}{cpu}; {found.taken:,} records taken in all",
        ),
    ]


def _percentiles(times: Histogram) -> str:
    return "  ".join(f"{name} {times.percentile_us(ratio) / 1e3:.2f}" for name, ratio in _PERCENTILES) + "  ms"


def _counts(seen: Measurement) -> str:
    counts = seen.counts
    if counts.agree:
        known = [f"{counts.acknowledged:,} acknowledged"]
        if counts.transmitted is not None:
            known.append("as many records sent (counted by the client's statistics)")
        if counts.stored is not None:
            known.append("as many in the topic")
        return " = ".join(known)
    return "; ".join(counts.differences())


def _check(seen: Measurement) -> str:
    check = seen.latency_check
    if check is None or seen.latency_is_local:
        return "not possible, because the client reported no round trips"
    drain = "" if check.drain_us is None else f"; delivery reports waited {check.drain_us / 1e3:.2f} ms to be read"
    batch = "" if check.batch_us is None else f" + batch {check.batch_us / 1e3:.2f}"
    return (
        f"measured {check.seen_us / 1e3:.2f} ms, the client's statistics say {check.client_us / 1e3:.2f} ms "
        f"({check.difference_ratio:+.1%}): queue {check.queue_us / 1e3:.2f}{batch} "
        f"+ socket {check.outbuf_us / 1e3:.2f} + round trip {check.rtt_us / 1e3:.2f}{drain}"
    )


def weaknesses(seen: Measurement, verdict: Verdict) -> list[str]:
    """Return the warnings that a user should read before believing the numbers of a measurement."""
    found = list(seen.warnings)
    if seen.latency_is_local:
        found.append(
            "with acks=0 the broker sends no answer, so the latency only covers the time until the record was handed "
            "to the local socket"
        )
    if verdict.other_limit:
        found.append(f"{verdict.other_limit}, so the throughput says nothing about this config")
    if verdict.latency_is_buffer:
        found.append(
            "the latency is mostly the time that a record waits in the client's full buffer; give a --rate to measure "
            "the latency of this config"
        )
    if verdict.consumers_fell_behind:
        found.append(verdict.consumers_fell_behind)
    check = seen.latency_check
    if check is not None and check.agrees is False and not seen.latency_is_local:
        found.append(
            f"the measured latency differs from the latency in the client's statistics by "
            f"{check.difference_ratio:+.1%}; up to 3 % is normal"
        )
    if not seen.counts.agree:
        found.append("the counts of records differ: " + "; ".join(seen.counts.differences()))
    if seen.latency.count < _MIN_SAMPLES_P999:
        found.append(
            f"only {seen.latency.count:,} latencies were sampled, so p99.9 and max are rough; measure for longer"
        )
    used = seen.activity.partitions_used if seen.activity else None
    if used is not None and used < seen.workload.partitions:
        sticky = "sticky.partitioning.linger.ms" in seen.config.client.catalogue and not seen.workload.key_bytes
        found.append(
            f"{seen.workload.partitions - used} of {seen.workload.partitions} partitions got less than a tenth of an "
            "even share of the records"
            + " (sticky.partitioning.linger.ms decides how long the client stays with one partition)"
            * sticky
        )
    if seen.stopped_early:
        found.append("the measurement was stopped early")
    return found


def _print_command(seen: Measurement, bootstrap: str, command_config: Path | None) -> None:
    sizes = seen.workload.record_sizes
    if len(sizes.shares) > 1 or seen.workload.key_bytes or seen.workload.peak_ratio > 1:
        return  # Kafka's tool has no such load
    seconds = seen.workload.warmup_s + seen.workload.measured_s
    records = max(2, round(seen.records_per_s * seconds))
    command = perf_test_command(
        seen.config,
        topic="TOPIC",
        records=records,
        record_bytes=sizes.largest_bytes,
        bootstrap_servers=bootstrap,
        records_per_s=round(seen.workload.rate_records_per_s or -1),
        warmup_records=min(records - 1, round(seen.records_per_s * seen.workload.warmup_s)),
        command_config=str(command_config) if command_config else None,
    )
    OUT.print()
    translated = " (the config is translated for the Java client, which was not measured)"
    same = seen.config.client.kind is ClientKind.JAVA
    OUT.show(f"the same load with Kafka's own tool{'' if same else translated}:", style="dim")
    OUT.show(command, style="dim")


def print_spread(runs: Sequence[Measurement]) -> None:
    """Print how far repeated measurements of one config lie apart."""
    numbers = (Column(heading, justify="right") for heading in ("median", "lowest", "highest", "spread"))
    table = Table("", *numbers, title=f"{len(runs)} runs of the same config", title_justify="left")
    measured = [run for run in runs if run.latency.count]
    for name, values in (
        ("records/s", [run.records_per_s for run in runs]),
        ("MB/s", [run.mb_per_s for run in runs]),
        ("p50 ms", [run.latency.percentile_us(0.5) / 1e3 for run in measured]),
        ("p99 ms", [run.latency.percentile_us(0.99) / 1e3 for run in measured]),
        ("p99.9 ms", [run.latency.percentile_us(0.999) / 1e3 for run in measured]),
    ):
        if not values:
            continue
        middle = statistics.median(values)
        spread = (max(values) - min(values)) / middle if middle else 0.0
        cells = (f"{value:,.2f}" for value in (middle, min(values), max(values)))
        table.add_row(name, *cells, percent(spread, decimals=1))
    OUT.print(table)


def live_view(title: str) -> AbstractContextManager[Watch]:
    """Return a context manager that yields a `Watch`, which shows the progress of a measurement; see `live_windows`.

    Args:
        title: Title of the table.
    """
    return live_windows(title, _window_line, _CELLS)


def _window_line(window: Window) -> str:
    latency = window.latency
    return f"p50 {_ms(latency, 0.5):>8} ms  p99 {_ms(latency, 0.99):>8} ms  queue full {window.queue_full_ratio:>4.0%}"


def _ms(latency: Histogram, ratio: float) -> str:
    """Return a percentile in milliseconds, or a dash if no latency was measured."""
    return f"{latency.percentile_us(ratio) / 1e3:.2f}" if latency.count else "-"


_CELLS: Final[Mapping[str, Callable[[Window], str]]] = {
    "p50 ms": lambda window: _ms(window.latency, 0.5),
    "p99 ms": lambda window: _ms(window.latency, 0.99),
    "queue full": lambda window: percent(window.queue_full_ratio),
}


def _hdr_plot(histogram: Histogram) -> list[str]:
    """Return a latency distribution as lines, each with a percentile, its latency, and a bar on a logarithmic scale."""
    if not histogram.count:
        return []
    points = [(ratio, histogram.percentile_us(ratio) / 1e3) for ratio in _PLOT_RATIOS]
    low, high = math.log(points[0][1]), math.log(points[-1][1])
    lines = []
    for ratio, value_ms in points:
        share = (math.log(value_ms) - low) / (high - low) if high > low else 1.0
        lines.append(f"{ratio * 100:>7.2f} %  {value_ms:>10.2f} ms  {'█' * max(1, round(share * _PLOT_WIDTH))}")
    return lines
