"""Results as people read them."""

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from objectives.verdict import Evidence, Verdict, judge
from runners.measurement import Measurement
from search_spaces.java import perf_test_command
from tuner.cli.console import OUT, warn
from tuner.cli.text_plot import hdr_plot

_PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0))
_MIN_SAMPLES_P999 = 10_000


def print_measurement(seen: Measurement, bootstrap: str, command_config: Path | None, *, plot: bool) -> None:
    """The final table of a run, its verdict, its checks, and the same run with Kafka's own tool."""
    verdict = judge(Evidence.of(seen))
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in _rows(seen, verdict):
        table.add_row(name, Text(value))
    OUT.print(table)
    if plot:
        OUT.print()
        for line in hdr_plot(seen.latency):
            OUT.print(line, markup=False)
    _print_command(seen, bootstrap, command_config)
    for sentence in weaknesses(seen, verdict):
        warn(sentence)


def _rows(seen: Measurement, verdict: Verdict) -> list[tuple[str, str]]:
    given = " ".join(f"{name}={value}" for name, value in seen.config.pairs) or "the client's defaults"
    load = seen.workload
    offered = f"paced at {load.rate_records_per_s:,.0f} records/s" if load.rate_records_per_s else "saturating"
    rows = [
        ("config", f"{given}  [{seen.config.fingerprint}]"),
        (
            "workload",
            f"{load.record_sizes} B records, {offered}, {seen.duration_s:.1f} s after {load.warmup_s:g} s of warm-up, "
            f"{load.partitions} partitions, replication {load.replication}",
        ),
        ("client", f"{seen.origin.client_version}, {seen.origin.generator} generator, {seen.origin.cluster} cluster"),
        ("throughput", f"{seen.records_per_s:,.0f} records/s, {seen.mb_per_s:.1f} MB/s of values"),
        ("latency", _latency(seen)),
    ]
    if seen.send_delay.count:
        rows.append(("send delay", _percentiles(seen, lambda ratio: seen.send_delay.percentile_us(ratio))))
    rows.append(("bound by", f"{verdict.bound}: {verdict.because}"))
    rows.append(("counts", _counts(seen)))
    rows.append(("latency check", _check(seen)))
    rows.append(("cost", _cost(seen)))
    return rows


def _latency(seen: Measurement) -> str:
    if not seen.latency.count:
        return "none was sampled"
    return _percentiles(seen, seen.latency.percentile_us)


def _percentiles(seen: Measurement, read: Callable[[float], float]) -> str:
    return "  ".join(f"{name} {read(ratio) / 1e3:.2f}" for name, ratio in _PERCENTILES) + "  ms"


def _counts(seen: Measurement) -> str:
    counts = seen.counts
    if counts.agree:
        known = [f"{counts.acknowledged:,} acknowledged"]
        if counts.transmitted is not None:
            known.append("as many by the client's statistics")
        if counts.stored is not None:
            known.append("as many in the topic")
        return " = ".join(known)
    return "; ".join(counts.differences())


def _check(seen: Measurement) -> str:
    check = seen.latency_check
    if check is None or seen.latency_is_local:
        return "not possible: the client reported no round trips"
    drain = "" if check.drain_us is None else f"; deliveries waited {check.drain_us / 1e3:.2f} ms for us"
    batch = "" if check.batch_us is None else f" + batch {check.batch_us / 1e3:.2f}"
    return (
        f"seen {check.seen_us / 1e3:.2f} ms, the client says {check.client_us / 1e3:.2f} ms "
        f"({check.difference_ratio:+.1%}): queue {check.queue_us / 1e3:.2f}{batch} "
        f"+ socket {check.outbuf_us / 1e3:.2f} + round trip {check.rtt_us / 1e3:.2f}{drain}"
    )


def _cost(seen: Measurement) -> str:
    used = seen.resources
    parts = []
    if seen.wire_bytes_per_value_byte is not None:
        parts.append(f"{seen.wire_bytes_per_value_byte:.2f} bytes on the wire per value byte")
    if used.process_cpu_cores is not None:
        parts.append(f"client {used.process_cpu_cores:.2f} cores")
    if used.broker_cpu_cores is not None:
        parts.append(f"broker {used.broker_cpu_cores:.2f} cores ({seen.broker_cpu_ms_per_mb:.1f} ms per MB)")
    if used.host_cpu_ratio is not None:
        parts.append(f"host {used.host_cpu_ratio:.0%} of {used.host_cores}")
    return ", ".join(parts) or "not known here"


def weaknesses(seen: Measurement, verdict: Verdict) -> list[str]:
    """What a user should know before believing the figures."""
    found = list(seen.warnings)
    if seen.latency_is_local:
        found.append("acks=0: nobody answers, so the latency is the hand-off to the local socket, not a delivery")
    if verdict.says_nothing_of_config:
        found.append("the load generator was the bottleneck: the throughput says nothing about this config")
    if verdict.latency_is_buffer:
        found.append(
            "the latency is the time that the client's full buffer takes to drain; offer a --rate to measure latency"
        )
    check = seen.latency_check
    if check is not None and check.agrees is False and not seen.latency_is_local:
        found.append(f"seen and internal latency differ by {check.difference_ratio:+.1%}, more than 3 %")
    if not seen.counts.agree:
        found.append("the counts differ: " + "; ".join(seen.counts.differences()))
    if seen.latency.count < _MIN_SAMPLES_P999:
        found.append(f"only {seen.latency.count:,} latencies were sampled: p99.9 and max are rough; measure for longer")
    used = seen.activity.partitions_used if seen.activity else None
    if used is not None and used < seen.workload.partitions:
        found.append(
            f"only {used} of {seen.workload.partitions} partitions got their share (sticky.partitioning.linger.ms)"
        )
    if seen.stopped_early:
        found.append("the run was stopped before its time")
    return found


def _print_command(seen: Measurement, bootstrap: str, command_config: Path | None) -> None:
    sizes = seen.workload.record_sizes
    if len(sizes.shares) > 1:
        return
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
    OUT.print("the same with Kafka's own tool (config translated to the Java client, not measured there):", style="dim")
    OUT.print(command, style="dim", markup=False, soft_wrap=True)


def print_spread(runs: Sequence[Measurement]) -> None:
    """How far repeats of one measurement lie apart."""
    table = Table(title=f"{len(runs)} runs of the same config", title_justify="left")
    table.add_column("")
    for heading in ("median", "lowest", "highest", "spread"):
        table.add_column(heading, justify="right")
    for name, values in (
        ("records/s", [run.records_per_s for run in runs]),
        ("MB/s", [run.mb_per_s for run in runs]),
        ("p50 ms", [run.latency.percentile_us(0.5) / 1e3 for run in runs]),
        ("p99 ms", [run.latency.percentile_us(0.99) / 1e3 for run in runs]),
        ("p99.9 ms", [run.latency.percentile_us(0.999) / 1e3 for run in runs]),
    ):
        middle = statistics.median(values)
        spread = (max(values) - min(values)) / middle if middle else 0.0
        table.add_row(name, *(f"{value:,.2f}" for value in (middle, min(values), max(values))), f"{spread:.1%}")
    OUT.print(table)
