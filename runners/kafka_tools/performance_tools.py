"""Runs Kafka's own benchmark tools, and a workload through `ProducerPerformance` (4.3), which every Kafka user knows.

We give it a file of different lines to send, so that all values differ, as in our own generator. Without a file, the
tool would spend its time drawing random letters. The tool accepts a number of records, but not a number of seconds. So
we compute the number of records from the rate that we expect.
"""

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import Topic
from runners.errors import ByteBudgetExceeded, DeliveryFailed, GeneratorError
from runners.host_processes.clean_up import temporary_folder
from runners.java_runtime.java import KafkaJava, run_java
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.files.properties_file import format_ascii_properties
from search_spaces.translation.to_java import for_java

SHOWN_COMPLAINTS: Final = 5
_FILE_BYTES: Final = 16 * 1024 * 1024
_MAX_LINES: Final = 200_000
_MIN_LINES: Final = 200
_SPARE_S: Final = 60.0
_SLOWEST_FACTOR: Final = 10
"""The tool may take this many times as long as planned, and `_SPARE_S` more."""
_TOOL: Final = "org.apache.kafka.tools.ProducerPerformance"
_SUMMARY = re.compile(
    r"^(?P<records>\d+) (?P<steady>steady state )?records sent, "
    r"(?P<records_per_s>[\d.]+) records/sec \([\d.]+ MB/sec\), "
    r"([\d.]+|NaN) ms avg latency, [\d.]+ ms max latency, \d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99\.9th\.$"
)


def run_performance_tool(
    tool: str, arguments: Sequence[str], properties: Mapping[str, str], heap_bytes: int | None, timeout_s: float
) -> "subprocess.CompletedProcess[str]":
    """Run a benchmark tool of Kafka, from the jars of the embedded broker, to its end.

    Args:
        tool: The name of its class.
        arguments: Its arguments, without `--command-config`.
        properties: Properties of its client, under their Java names. They are passed in a file, because they may hold a
            password, and because the tools split properties on their command line at every `=`.
        heap_bytes: The size of the heap; None for Java's default.
        timeout_s: Seconds that the run may take.

    Raises:
        GeneratorError: The tool did not end in time.
        JavaNotFound: There is no usable Java runtime.
        JarsUnavailable: Kafka's jars could not be fetched.
    """
    with temporary_folder("java", "tuner-java-") as folder:
        config = folder / "client.properties"
        config.touch(mode=0o600)  # it may hold a password, and every user of the host could read a command line
        config.write_text(format_ascii_properties(properties), encoding="ascii")
        heap = [] if heap_bytes is None else [f"-Xmx{heap_bytes}", f"-Xms{heap_bytes}"]
        flags = [*heap, f"-Djava.io.tmpdir={folder}"]
        command = KafkaJava.prepare().command(tool, *arguments, "--command-config", str(config), flags=flags)
        try:
            return run_java(command, timeout_s)
        except subprocess.TimeoutExpired:
            raise GeneratorError(
                f"Kafka's {_short(tool)} is still running after {timeout_s:.0f} s; check that the "
                "cluster answers, or allow more time"
            ) from None


def tool_failed(tool: str, ran: "subprocess.CompletedProcess[str]") -> GeneratorError:
    """Return the error of a tool that failed or printed no summary. It quotes the tool's output."""
    said = "\n".join((ran.stderr.strip() or ran.stdout.strip()).splitlines()[:SHOWN_COMPLAINTS])
    return GeneratorError(
        f"Kafka's {_short(tool)} ended without a summary, with status {ran.returncode}; it printed: {said}"
    )


def _short(tool: str) -> str:
    return tool.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class PerformanceSummary:
    """One summary line of `kafka-producer-perf-test`.

    Attributes:
        records: Number of acknowledged records; failed records are not included.
        records_per_s: Acknowledged records per second.
    """

    records: int
    records_per_s: float


@dataclass(frozen=True, slots=True)
class PerformanceReport:
    """The result of one run of `kafka-producer-perf-test`.

    Attributes:
        whole: Summary of all records.
        steady: Summary of the records after the warm-up; None if no warm-up was requested.
        failed_records: Number of records that were to be sent and were not acknowledged. The tool continues when
            records fail, and ends with status 0.
        complaints: The first errors that the tool printed.
    """

    whole: PerformanceSummary
    steady: PerformanceSummary | None
    failed_records: int
    complaints: tuple[str, ...]

    @property
    def measured(self) -> PerformanceSummary:
        """Summary of the records that count: those after the warm-up, or all if there was none."""
        return self.steady or self.whole

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences for the user about anything that weakens the result."""
        failed = (f"{self.failed_records:,} records failed",) if self.failed_records else ()
        return (*failed, *(f"it printed: {complaint}" for complaint in self.complaints[:1]))


def java_throughput(
    cluster: RunningCluster,
    topic: Topic,
    config: ProducerConfig,
    workload: Workload,
    expected_records_per_s: float,
    heap_bytes: int | None = None,
    max_bytes: int | None = None,
) -> PerformanceReport:
    """Run a workload with the Java producer, and return the tool's report.

    Args:
        cluster: The cluster to send to.
        topic: The topic to write to.
        config: The config. A config of librdkafka is translated for the Java client.
        workload: The workload, with one fixed record size. Keys are not sent.
        expected_records_per_s: Roughly the rate that the run will reach. It decides how many records are sent, so that
            the run takes about as many seconds as the workload says.
        heap_bytes: The size of the heap; None for Java's default.
        max_bytes: Largest number of bytes of values that the run may send; None for no limit.

    Raises:
        ByteBudgetExceeded: The run would send more bytes. Nothing was sent.
        DeliveryFailed: No record after the warm-up was acknowledged.
        RunnerError: The tool failed. The message quotes its output.
    """
    size = workload.record_sizes.largest_bytes
    warmup = max(1, int(expected_records_per_s * workload.warmup_s))
    records = warmup + max(1, int(expected_records_per_s * workload.measured_s))
    seconds = workload.warmup_s + workload.measured_s
    if max_bytes is not None and records * size > max_bytes:
        raise ByteBudgetExceeded(
            f"a run may send at most {max_bytes:,} bytes, but Kafka's ProducerPerformance needs {records:,} records of "
            f"{size:,} bytes for {seconds:g} s; allow more (--max-bytes), or measure for fewer seconds"
        )
    with tempfile.TemporaryDirectory(prefix="tuner-payload-") as folder:
        report = producer_performance(
            cluster.bootstrap,
            topic.name,
            records=records,
            payload_file=write_lines(Path(folder) / "payload.txt", size, workload.seed),
            records_per_s=workload.rate_records_per_s,
            warmup_records=warmup,
            properties=for_java(config).properties,
            heap_bytes=heap_bytes,
            timeout_s=seconds * _SLOWEST_FACTOR + _SPARE_S,
        )
    if not report.measured.records:
        raise DeliveryFailed(
            "Kafka's ProducerPerformance delivered no record after the warm-up "
            f"({'; '.join(report.warnings)}); check the properties of the producer"
        )
    return report


def write_lines(path: Path, size_bytes: int, seed: int) -> Path:
    """Write distinct lines of `size_bytes` letters each, as `--payload-file` needs them, and return the file's path."""
    lines = int(np.clip(_FILE_BYTES // size_bytes, _MIN_LINES, _MAX_LINES))
    letters = np.random.default_rng(seed).integers(ord("A"), ord("Z") + 1, size=(lines, size_bytes + 1), dtype=np.uint8)
    letters[:, size_bytes] = ord("\n")
    path.write_bytes(letters.tobytes())
    return path


def producer_performance(
    bootstrap: str,
    topic: str,
    *,
    records: int,
    payload_file: Path,
    records_per_s: float | None = None,
    warmup_records: int = 0,
    properties: Mapping[str, str] | None = None,
    heap_bytes: int | None = None,
    timeout_s: float,
) -> PerformanceReport:
    """Run Kafka's own `ProducerPerformance`, version 4.3.

    Args:
        bootstrap: Bootstrap addresses, as `host:port[,host:port]`.
        topic: Topic to write to.
        records: Number of records to send, including the warm-up.
        payload_file: A text file with one value per line.
        records_per_s: Rate that the tool keeps roughly; None sends as fast as possible.
        warmup_records: Number of records at the start that count as warm-up, so that `steady` leaves them out.
        properties: Producer properties under their Java names. They are passed in a file, because the tool splits
            properties on its command line at every `=`.
        heap_bytes: The size of the heap; None for Java's default.
        timeout_s: Seconds that the run may take.

    Raises:
        GeneratorError: The tool failed, did not end in time, or printed no summary.
        JavaNotFound: There is no usable Java runtime.
        JarsUnavailable: Kafka's jars could not be fetched.
    """
    warmup = ["--warmup-records", str(warmup_records)] if warmup_records else []
    rate = "-1" if records_per_s is None else str(records_per_s)
    arguments = ["--bootstrap-server", bootstrap, "--topic", topic, "--num-records", str(records)]
    arguments += ["--payload-file", str(payload_file), *warmup, "--throughput", rate]
    ran = run_performance_tool(_TOOL, arguments, properties or {}, heap_bytes, timeout_s)
    summaries = _summaries(ran.stdout)
    if ran.returncode != 0 or "whole" not in summaries:
        raise tool_failed(_TOOL, ran)
    complaints = tuple(line for line in ran.stderr.splitlines() if line.strip())[:SHOWN_COMPLAINTS]
    whole = summaries["whole"]
    return PerformanceReport(whole, summaries.get("steady"), records - whole.records, complaints)


def _summaries(output: str) -> dict[str, PerformanceSummary]:
    """Return the summaries that the tool printed.

    The key `whole` has the summary of all records, and the key `steady` has that of the records after the warm-up. The
    tool's progress lines are left out: they don't match the pattern, because they have no percentiles.
    """
    summaries = {}
    for line in output.splitlines():
        if match := _SUMMARY.match(line.strip()):
            summaries["steady" if match["steady"] else "whole"] = PerformanceSummary(
                records=int(match["records"]),
                records_per_s=float(match["records_per_s"]),
            )
    return summaries
