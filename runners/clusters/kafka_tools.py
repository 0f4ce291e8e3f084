"""Kafka's own command-line tools, run from the jars that we have."""

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.clusters.broker_properties import properties_text
from runners.clusters.first_start import quick_flags
from runners.clusters.java import KafkaJava, run_java
from runners.errors import GeneratorError
from runners.reporting import Say, silent

# They end before the optimising compiler would pay.
_SHORT_TOOL_FLAGS = ("-Xmx256m", "-XX:TieredStopAtLevel=1")

_SUMMARY = re.compile(
    r"^(?P<records>\d+) (?P<steady>steady state )?records sent, "
    r"(?P<records_per_s>[\d.]+) records/sec \((?P<mib_per_s>[\d.]+) MB/sec\), "
    r"(?P<average_ms>[\d.]+|NaN) ms avg latency, (?P<max_ms>[\d.]+) ms max latency, "
    r"(?P<p50_ms>\d+) ms 50th, (?P<p95_ms>\d+) ms 95th, (?P<p99_ms>\d+) ms 99th, (?P<p999_ms>\d+) ms 99\.9th\.$"
)
_SHOWN_COMPLAINTS = 5


@dataclass(frozen=True, slots=True)
class ToolRun:
    """How a tool ended.

    Attributes:
        status: Its exit status.
        output: What it wrote to standard output.
        complaints: What it wrote to standard error.
    """

    status: int
    output: str
    complaints: str


@dataclass(frozen=True, slots=True)
class PerformanceSummary:
    """One summary line of `kafka-producer-perf-test`.

    Attributes:
        records: Records acknowledged; those that failed are not in it.
        records_per_s: Of them.
        mib_per_s: What the tool calls MB/sec; it is 1,048,576 bytes. Source: `ProducerPerformance`, Kafka 4.3.
        average_ms: Mean latency from `send()`, so without the wait of a late sender; NaN if nothing was acknowledged.
        max_ms: Largest latency.
        p50_ms: Percentile, in whole milliseconds, of at most 500,000 samples.
        p95_ms: As above.
        p99_ms: As above.
        p999_ms: As above.
    """

    records: int
    records_per_s: float
    mib_per_s: float
    average_ms: float
    max_ms: float
    p50_ms: int
    p95_ms: int
    p99_ms: int
    p999_ms: int


@dataclass(frozen=True, slots=True)
class PerformanceReport:
    """What a run of `kafka-producer-perf-test` found.

    Attributes:
        whole: Over all records.
        steady: Without the warm-up; None if none was asked for.
        complaints: First errors that it printed: it goes on, and ends with status 0, when records fail.
    """

    whole: PerformanceSummary
    steady: PerformanceSummary | None
    complaints: tuple[str, ...]


def run_tool(
    main_class: str,
    arguments: Sequence[str],
    *,
    timeout_s: float,
    measures: bool = False,
    progress: Say = silent,
) -> ToolRun:
    """Run one of Kafka's classes to its end.

    Args:
        main_class: Full name, `org.apache.kafka.tools.GetOffsetShell`.
        arguments: Its arguments.
        timeout_s: Seconds that it may take; it is killed then.
        measures: Whether its speed matters: it runs with Kafka's own JVM flags then, else with those that end soonest.
        progress: Told how far a download of the jars is.

    Raises:
        JavaNotFound: No Java runtime is usable.
        JarsUnavailable: Kafka's jars could not be fetched.
        GeneratorError: It did not end in time.
    """
    kafka = KafkaJava.prepare(progress)
    flags = () if measures else (*_SHORT_TOOL_FLAGS, *quick_flags(kafka))
    command = kafka.command(main_class, *arguments, flags=flags)
    try:
        ran = run_java(command, timeout_s)
    except subprocess.TimeoutExpired:
        name = main_class.rpartition(".")[2]
        raise GeneratorError(
            f"Kafka's {name} must end within {timeout_s:.0f} s, but it did not. Check that the cluster answers, or "
            "give it more time."
        ) from None
    return ToolRun(status=ran.returncode, output=ran.stdout, complaints=ran.stderr)


def producer_performance(
    bootstrap: str,
    topic: str,
    *,
    records: int,
    record_bytes: int | None = None,
    payload_file: Path | None = None,
    records_per_s: float | None = None,
    warmup_records: int = 0,
    properties: Mapping[str, str] | None = None,
    timeout_s: float,
) -> PerformanceReport:
    """Run Kafka's own `ProducerPerformance` of version 4.3.

    Args:
        bootstrap: `host:port[,host:port]`.
        topic: Topic to write to.
        records: How many records, warm-up included.
        record_bytes: Size of each value; letters A to Z at random.
        payload_file: Or a text file with one value per line.
        records_per_s: Rate that is roughly kept; None for as fast as it goes.
        warmup_records: The first ones, left out of `steady`.
        properties: Producer properties under Java's names. They go through a file: the tool's own command line
            splits them at every `=`.
        timeout_s: Seconds that the run may take.

    Raises:
        ValueError: Not exactly one of `record_bytes` and `payload_file`.
        GeneratorError: The tool failed, did not end, or printed no summary.
        JavaNotFound: No Java runtime is usable.
        JarsUnavailable: Kafka's jars could not be fetched.
    """
    if (record_bytes is None) == (payload_file is None):
        raise ValueError(
            f"Exactly one of record_bytes and payload_file is needed, but got {record_bytes} and {payload_file}."
        )
    payload = ["--payload-file", str(payload_file)] if payload_file else ["--record-size", str(record_bytes)]
    warmup = ["--warmup-records", str(warmup_records)] if warmup_records else []
    rate = "-1" if records_per_s is None else str(records_per_s)
    with tempfile.TemporaryDirectory() as folder:
        config = _properties_file(Path(folder), properties or {})
        arguments = ["--bootstrap-server", bootstrap, "--topic", topic, "--num-records", str(records)]
        arguments += [*payload, *warmup, "--throughput", rate, "--command-config", str(config)]
        ran = run_tool(
            "org.apache.kafka.tools.ProducerPerformance",
            arguments,
            timeout_s=timeout_s,
            measures=True,
        )
    summaries = _summaries(ran.output)
    if ran.status != 0 or False not in summaries:
        said = "\n".join((ran.complaints.strip() or ran.output.strip()).splitlines()[:_SHOWN_COMPLAINTS])
        raise GeneratorError(f"Kafka's ProducerPerformance must end with a summary, but status {ran.status}: {said}")
    complaints = tuple(line for line in ran.complaints.splitlines() if line.strip())[:_SHOWN_COMPLAINTS]
    return PerformanceReport(whole=summaries[False], steady=summaries.get(True), complaints=complaints)


def _summaries(output: str) -> dict[bool, PerformanceSummary]:
    """The summary lines by whether they leave the warm-up out; lines in between have no percentiles."""
    found = {}
    for line in output.splitlines():
        if match := _SUMMARY.match(line.strip()):
            found[match["steady"] is not None] = PerformanceSummary(
                records=int(match["records"]),
                records_per_s=float(match["records_per_s"]),
                mib_per_s=float(match["mib_per_s"]),
                average_ms=float(match["average_ms"]),
                max_ms=float(match["max_ms"]),
                p50_ms=int(match["p50_ms"]),
                p95_ms=int(match["p95_ms"]),
                p99_ms=int(match["p99_ms"]),
                p999_ms=int(match["p999_ms"]),
            )
    return found


def _properties_file(folder: Path, properties: Mapping[str, str]) -> Path:
    """They may hold a password: not on a command line, which everybody on the host can read."""
    path = folder / "client.properties"
    path.touch(mode=0o600)
    path.write_text(properties_text(properties), encoding="ascii")
    return path
