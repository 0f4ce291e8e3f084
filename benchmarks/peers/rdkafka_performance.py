"""librdkafka's own load generator in C, `rdkafka_performance`, which `scripts/get-rdkafka-performance` builds.

As a producer, it sends one and the same value again and again, in one thread that also takes the deliveries. It prints
its counters ten times a second, so that its records/s can be computed over the same seconds as ours. As a consumer, it
reads given partitions to their ends, in one thread that counts records and bytes.
"""

import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import psutil

from runners.clock import US_PER_S
from runners.errors import GeneratorError
from runners.host_processes.folders import cache_root
from runners.workload import Workload

ROWS_PER_S: Final = 10
_PATIENCE_S: Final = 60.0
_ROW: Final = re.compile(
    r"^\| +(?P<elapsed_ms>\d+) (?:\| +[\d.]+ ){3}\| +(?P<delivered>\d+) (?:\| +[\d.]+ ){2}\| +(?P<failed>\d+) "
)
_CONSUMED: Final = re.compile(r"^% (?P<records>\d+) messages \(\d+ bytes\) consumed in (?P<elapsed_ms>\d+)ms: ")


def program() -> Path:
    """Return the program that `scripts/get-rdkafka-performance` built.

    Raises:
        SystemExit: It was not built.
    """
    built = cache_root() / "rdkafka_performance"
    if not built.is_file():
        sys.exit(f"the C tool must be at {built}, but is not; build it (scripts/get-rdkafka-performance) and try again")
    return built


def throughput(built: Path, properties: Mapping[str, str], topic: str, workload: Workload) -> tuple[float, float]:
    """Run a workload with `rdkafka_performance`, as fast as possible and without keys.

    Args:
        built: Path of the program `rdkafka_performance`.
        properties: librdkafka properties of the connection and of the producer.
        topic: Topic to write to.
        workload: The workload, with one fixed record size.

    Returns:
        The records/s acknowledged after the warm-up, and the CPU time per such record in microseconds.

    Raises:
        GeneratorError: The program failed, lost records, or printed too few rows. The message quotes its output.
    """
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as printed:
        config = _config_file(Path(folder), properties)
        size = workload.record_sizes.largest_bytes
        command = [str(built), "-P", "-q", "-u", "-t", topic, "-s", str(size), "-c", "-1"]
        command += ["-i", str(1000 // ROWS_PER_S), "-X", f"file={config}"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed) as running:
            try:
                process = psutil.Process(running.pid)
                time.sleep(workload.warmup_s)
                before = process.cpu_times()
                time.sleep(workload.measured_s)
                after = process.cpu_times()
                running.send_signal(signal.SIGINT)
                running.wait(_PATIENCE_S)
            finally:
                running.kill()
        printed.seek(0)
        said = printed.read()
    rate = records_per_s(said, workload.warmup_s, workload.warmup_s + workload.measured_s)
    used_s = after.user + after.system - before.user - before.system
    return rate, used_s / workload.measured_s / rate * US_PER_S


def records_per_s(printed: str, from_s: float, to_s: float) -> float:
    """Return the records/s that were acknowledged between two moments after the start.

    Args:
        printed: The program's output: a table with the milliseconds since its start and its counters so far.
        from_s: The first moment, in seconds after the start.
        to_s: The second moment.

    Raises:
        GeneratorError: Records were lost, or the table does not reach over these seconds.
    """
    rows = [match for line in printed.splitlines() if (match := _ROW.match(line))]
    within = [row for row in rows if from_s * 1e3 <= int(row["elapsed_ms"]) <= to_s * 1e3]
    if len(within) < 2 or any(int(row["failed"]) for row in rows):
        raise GeneratorError(
            "rdkafka_performance must print its counters during the load and lose no record, but it printed: "
            + "\n".join(printed.splitlines()[-5:])
        )
    first, last = within[0], within[-1]
    records = int(last["delivered"]) - int(first["delivered"])
    return records / (int(last["elapsed_ms"]) - int(first["elapsed_ms"])) * 1e3


def consumed(
    built: Path, properties: Mapping[str, str], topic: str, partitions: int, records: int
) -> tuple[int, float, float]:
    """Read all records of a topic with `rdkafka_performance`.

    Args:
        built: Path of the program `rdkafka_performance`.
        properties: librdkafka properties of the connection and of the consumer.
        topic: Topic to read.
        partitions: Number of its partitions.
        records: Number of its records. The program ends when it has read this many records. It could also end by itself
            at the ends of the partitions, but its time would then include half a second in which it waits for more
            records.

    Returns:
        The number of records, the seconds from the first record to the last, and the CPU time per record in
        microseconds.

    Raises:
        GeneratorError: The program failed or printed no summary. The message quotes its output.
    """
    with tempfile.TemporaryDirectory() as folder:
        config = _config_file(Path(folder), properties)
        command = [str(built), "-C", "-q", "-t", topic, "-o", "beginning", "-c", str(records)]
        command += ["-X", f"file={config}"]
        command += [word for partition in range(partitions) for word in ("-p", str(partition))]
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        ran = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE_S, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    read, seconds = consumed_summary(ran.stdout or ran.stderr)
    if read < records:
        raise GeneratorError(f"rdkafka_performance must read all {records:,} records, but read {read:,}")
    return read, seconds, used_s / read * US_PER_S


def consumed_summary(printed: str) -> tuple[int, float]:
    """Return the number of records that the program read, and the seconds that this took.

    Args:
        printed: What the program printed.

    Raises:
        GeneratorError: There is no summary, or no record was read.
    """
    found = [match for line in printed.splitlines() if (match := _CONSUMED.match(line))]
    if not found or not int(found[-1]["records"]) or not int(found[-1]["elapsed_ms"]):
        raise GeneratorError(
            "rdkafka_performance must print how many records it has read, but it printed: "
            + "\n".join(printed.splitlines()[-5:])
        )
    return int(found[-1]["records"]), int(found[-1]["elapsed_ms"]) / 1e3


def _config_file(folder: Path, properties: Mapping[str, str]) -> Path:
    """Write properties to a file that only this user can read, and return its path."""
    config = folder / "client.properties"
    config.touch(mode=0o600)
    config.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return config
