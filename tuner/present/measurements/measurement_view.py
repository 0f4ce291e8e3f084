"""Prints a measurement on the terminal: its progress while it runs, and the result at the end."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.table import Column, Table

from objectives.bottlenecks import Verdict
from objectives.producer_verdict import Evidence, judge
from runners.kafka_tools.perf_test_command import perf_test_command
from runners.measurements.histogram import Histogram
from runners.measurements.measurement import Measurement, Window
from runners.reporting import counted, in_bytes, percent
from search_spaces.client import ClientKind
from search_spaces.properties.catalogue import shown_values
from tuner.present.console import OUT, print_pairs, warn_of_each
from tuner.present.measurements.resource_words import broker_lines, cluster_text, cost_text

_PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0))
_MIN_SAMPLES_P999 = 10_000
_PLOT_WIDTH: Final = 40
_PLOT_RATIOS: Final = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999, 1.0)


def print_measurement(measurement: Measurement, bootstrap: str, command_config: Path | None, *, plot: bool) -> None:
    """Print the result of a measurement with its verdict and checks, and a command for the same load with Kafka's tool.

    With `plot`, the latency distribution is printed as a bar chart, too.
    """
    verdict = judge(Evidence.of(measurement))
    print_pairs(_rows(measurement, verdict))
    if plot:
        OUT.print()
        OUT.show(*_hdr_plot(measurement.latency))
    _print_command(measurement, bootstrap, command_config)
    warn_of_each(weaknesses(measurement, verdict))


def _rows(measurement: Measurement, verdict: Verdict) -> list[tuple[str, str]]:
    properties = shown_values(measurement.config.values) or "the client's defaults"
    load, origin = measurement.workload, measurement.origin
    offered = f"paced at {load.rate_records_per_s:,.0f} records/s" if load.rate_records_per_s else "saturating"
    offered += "" if load.peak_ratio == 1 else f" with bursts of {load.peak_ratio:g} times that"
    on_wire = measurement.wire_bytes_per_value_byte
    wire = [] if on_wire is None else [f"{on_wire:.2f} bytes on the wire per value byte"]
    delay = [("send delay", _percentiles(measurement.send_delay))] if measurement.send_delay.count else []
    return [
        ("config", f"{properties}  [{measurement.config.fingerprint}]"),
        (
            "workload",
            f"{in_bytes(load.record_sizes)} records, {offered}, {measurement.duration_s:.1f} s after "
            f"{load.warmup_s:g} s of warm-up, {counted(load.partitions, 'partition')}, replication {load.replication}",
        ),
        ("client", f"{origin.client_version}, {origin.generator} generator, {cluster_text(origin.cluster)}"),
        ("throughput", f"{measurement.records_per_s:,.0f} records/s, {measurement.mb_per_s:.1f} MB/s of values"),
        ("latency", _percentiles(measurement.latency) if measurement.latency.count else "no latency was sampled"),
        *delay,
        *_consumers(measurement),
        ("bound by", f"{verdict.bound}: {verdict.because}"),
        ("counts", _counts(measurement)),
        ("latency check", _check(measurement)),
        ("cost", cost_text(measurement, "client", *wire)),
        *broker_lines(measurement.resources),
    ]


def _consumers(measurement: Measurement) -> list[tuple[str, str]]:
    """Return the results of the consumers that read during the load; empty without consumers."""
    end_to_end = measurement.end_to_end
    if end_to_end is None:
        return []
    fetch = "" if end_to_end.fetch_records is None else f", {end_to_end.fetch_records:,.0f} records in a fetch"
    cpu_ms = end_to_end.client_cpu_ms_per_mb
    cpu = "" if cpu_ms is None else f", {cpu_ms:.1f} ms of their CPU per MB"
    return [
        ("end to end", _percentiles(end_to_end.latency) if end_to_end.latency.count else "no record was taken"),
        ("of which fetch", _percentiles(end_to_end.fetch) if end_to_end.fetch.count else "unknown"),
        (
            "consumers",
            f"{counted(end_to_end.consumers, 'consumer')}: {end_to_end.records_per_s:,.0f} records/s, "
            f"{end_to_end.behind_records:,} records behind at the end{fetch}{cpu}; {end_to_end.taken:,} records taken "
            "in all",
        ),
    ]


def _percentiles(times: Histogram) -> str:
    return "  ".join(f"{name} {times.percentile_us(ratio) / 1e3:.2f}" for name, ratio in _PERCENTILES) + "  ms"


def _counts(measurement: Measurement) -> str:
    counts = measurement.counts
    if counts.agree:
        equal_counts = [f"{counts.acknowledged:,} acknowledged"]
        if counts.transmitted is not None:
            equal_counts.append("as many records sent (counted by the client's statistics)")
        if counts.stored is not None:
            equal_counts.append("as many in the topic")
        return " = ".join(equal_counts)
    return "; ".join(counts.differences())


def _check(measurement: Measurement) -> str:
    check = measurement.latency_check
    if check is None or measurement.latency_is_local:
        return "not possible, because the client reported no round trips"
    drain = "" if check.drain_us is None else f"; delivery reports waited {check.drain_us / 1e3:.2f} ms to be read"
    batch = "" if check.batch_us is None else f" + batch {check.batch_us / 1e3:.2f}"
    return (
        f"measured {check.seen_us / 1e3:.2f} ms, the client's statistics say {check.client_us / 1e3:.2f} ms "
        f"({100 * check.difference_ratio:+.1f} %): queue {check.queue_us / 1e3:.2f}{batch} "
        f"+ socket {check.outbuf_us / 1e3:.2f} + round trip {check.rtt_us / 1e3:.2f}{drain}"
    )


def weaknesses(measurement: Measurement, verdict: Verdict) -> list[str]:
    """Return the warnings that a user should read before believing the numbers of a measurement."""
    warnings = list(measurement.warnings)
    if measurement.latency_is_local:
        warnings.append(
            "with acks=0 the broker sends no answer, so the latency only covers the time until the record was handed "
            "to the local socket"
        )
    if verdict.other_limit:
        warnings.append(f"{verdict.other_limit}, so the throughput says nothing about this config")
    if verdict.latency_is_buffer:
        warnings.append(
            "the latency is mostly the time that a record waits in the client's full buffer; give a --rate to measure "
            "the latency of this config"
        )
    if verdict.consumers_fell_behind:
        warnings.append(verdict.consumers_fell_behind)
    check = measurement.latency_check
    if check is not None and check.agrees is False and not measurement.latency_is_local:
        warnings.append(
            f"the measured latency differs by {100 * check.difference_ratio:+.1f} % from that in the client's "
            "statistics; up to 3 % is normal"
        )
    if not measurement.counts.agree:
        warnings.append("the counts of records differ: " + "; ".join(measurement.counts.differences()))
    if measurement.latency.count < _MIN_SAMPLES_P999:
        warnings.append(
            f"only {measurement.latency.count:,} latencies were sampled, so p99.9 and max are rough; measure for longer"
        )
    used = measurement.activity.partitions_used if measurement.activity else None
    load = measurement.workload
    if used is not None and used < load.partitions:
        sticky = "sticky.partitioning.linger.ms" in measurement.config.client.catalogue and not load.key_bytes
        warnings.append(
            f"{load.partitions - used} of {load.partitions} partitions got less than a tenth of an even share of the "
            "records" + " (sticky.partitioning.linger.ms decides how long the client stays with one partition)" * sticky
        )
    if measurement.stopped_early:
        warnings.append("the measurement was stopped early")
    return warnings


def _print_command(measurement: Measurement, bootstrap: str, command_config: Path | None) -> None:
    sizes = measurement.workload.record_sizes
    if len(sizes.shares) > 1 or measurement.workload.key_bytes or measurement.workload.peak_ratio > 1:
        return  # Kafka's tool has no such load
    seconds = measurement.workload.warmup_s + measurement.workload.measured_s
    records = max(2, round(measurement.records_per_s * seconds))
    command = perf_test_command(
        measurement.config,
        topic="TOPIC",
        records=records,
        record_bytes=sizes.largest_bytes,
        bootstrap_servers=bootstrap,
        records_per_s=round(measurement.workload.rate_records_per_s or -1),
        warmup_records=min(records - 1, round(measurement.records_per_s * measurement.workload.warmup_s)),
        command_config=str(command_config) if command_config else None,
    )
    OUT.print()
    translated = " (the config is translated for the Java client, which was not measured)"
    same = measurement.config.client.kind is ClientKind.JAVA
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


def rest_of_line(window: Window) -> str:
    """Return the text of a window's line that follows its records and bytes."""
    latency = window.latency
    return f"p50 {_ms(latency, 0.5):>8} ms  p99 {_ms(latency, 0.99):>8} ms  queue full {window.queue_full_ratio:>4.0%}"


def _ms(latency: Histogram, ratio: float) -> str:
    """Return a percentile in milliseconds, or a dash if no latency was measured."""
    return f"{latency.percentile_us(ratio) / 1e3:.2f}" if latency.count else "-"


CELLS: Final[Mapping[str, Callable[[Window], str]]] = {
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
