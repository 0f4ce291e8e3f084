"""The same workload through Kafka's own `ProducerPerformance`: the yardstick that every Kafka user knows.

Its values come from a file of distinct lines, as ours come from a pool; without one it would spend its time drawing
letters.
It sends a number of records and not for a time, so the number is set from the rate of the run before.
"""

import tempfile
from pathlib import Path
from typing import Final

import numpy as np

from runners.clusters.cluster import RunningCluster
from runners.clusters.kafka_tools import PerformanceSummary, producer_performance
from runners.clusters.topics import Topic
from runners.workload import Workload
from search_spaces.java import translate_to_java
from search_spaces.producer_config import ProducerConfig

_FILE_BYTES: Final = 16 * 1024 * 1024
_MAX_LINES: Final = 200_000
_MIN_LINES: Final = 200
_SPARE_S: Final = 60.0
_SLOWEST_SHARE: Final = 10


def java_throughput(
    cluster: RunningCluster, topic: Topic, config: ProducerConfig, workload: Workload, expected_records_per_s: float
) -> PerformanceSummary:
    """Run the workload with the config translated to the Java producer; the warm-up is left out of the summary.

    Args:
        cluster: Where to send.
        topic: What to write to.
        config: Translated with `search_spaces.translate_to_java`.
        workload: Of one fixed record size; keys are not sent.
        expected_records_per_s: What the run will reach, roughly; sets how many records make up its seconds.

    Raises:
        RunnerError: The tool failed; its words are in the message.
    """
    size = workload.record_sizes.largest_bytes
    warmup = max(1, int(expected_records_per_s * workload.warmup_s))
    records = warmup + max(1, int(expected_records_per_s * workload.measured_s))
    seconds = workload.warmup_s + workload.measured_s
    with tempfile.TemporaryDirectory(prefix="tuner-payload-") as folder:
        report = producer_performance(
            cluster.bootstrap,
            topic.name,
            records=records,
            payload_file=write_lines(Path(folder) / "payload.txt", size, workload.seed),
            records_per_s=workload.rate_records_per_s,
            warmup_records=warmup,
            properties=translate_to_java(config).properties,
            timeout_s=seconds * _SLOWEST_SHARE + _SPARE_S,
        )
    return report.steady or report.whole


def write_lines(path: Path, size_bytes: int, seed: int) -> Path:
    """A file of distinct lines of letters, each `size_bytes` long, as `--payload-file` wants it."""
    lines = int(np.clip(_FILE_BYTES // size_bytes, _MIN_LINES, _MAX_LINES))
    letters = np.random.default_rng(seed).integers(ord("A"), ord("Z") + 1, size=(lines, size_bytes + 1), dtype=np.uint8)
    letters[:, size_bytes] = ord("\n")
    path.write_bytes(letters.tobytes())
    return path
