"""A `Runner` that needs no Kafka, because it replays the measurements of a table."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from benchmarks.problems.table import MeasuredTable, Row
from runners.errors import WorkloadRefused
from runners.measurement import Measurement, Origin
from runners.runner import Watch, go_on
from runners.simulated.simulated_runner import Course, Expected, Noise, luck_of
from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig

_P99_OF_NORMAL: Final = NormalDist().inv_cdf(0.99)
_SPREAD_OF_A_MEAN: Final = 0.1
"""The spread of the latencies that is assumed if a table has only their mean. It is small, because it is a guess."""
_SAME_RATE_RATIO: Final = 0.05
_SATURATED: Final = "saturated_"


@dataclass(frozen=True, slots=True)
class TableRunner:
    """A `Runner` that replays the measurements of a table. It refuses configs and loads that the table does not have.

    If the table has several rows for a config, the seed of the workload chooses one of them. Consecutive seeds take the
    rows in turn. A study increases the seed from trial to trial, so its trials see the noise that was measured.

    Attributes:
        table: The measurements to replay.
        noise_ratio: Noise between runs, which is added to the differences between repeats. This and the other ratios
            have the same meaning as in `SimulatedRunner`.
        window_noise_ratio: Noise between measurement windows.
        latency_noise_ratio: Noise of the latency between runs.
        latency_window_noise_ratio: Noise of the latency between measurement windows.
    """

    table: MeasuredTable
    noise_ratio: float = 0.0
    window_noise_ratio: float | None = None
    latency_noise_ratio: float | None = None
    latency_window_noise_ratio: float | None = None

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Return the measurement that the table has for this config and workload.

        Raises:
            WorkloadRefused: The table does not have this config or this load. The message says what the table has.
        """
        self._check_load(workload)
        rows = self.table.find(config, workload.record_sizes)
        row = rows[workload.seed % len(rows)]
        course = Course(
            Origin("simulated", "none", f"table: {self.table.title}", "", "", 1.0),
            config,
            workload,
            self._expected(row, workload),
            Noise.of(
                self.noise_ratio, self.window_noise_ratio, self.latency_noise_ratio, self.latency_window_noise_ratio
            ),
            luck_of(config, workload),
        )
        return course.run(watch, f"replayed from a table, not measured: {self.table.title} ({self.table.source})")

    def _check_load(self, workload: Workload) -> None:
        """Check that the table was measured with this workload.

        Raises:
            WorkloadRefused: The table was measured with another workload.
        """
        for name, value in (
            ("partitions", workload.partitions),
            ("compressibility_ratio", workload.compressibility_ratio),
        ):
            said = self.table.facts.get(name)
            if said is not None and float(said) != value:
                raise WorkloadRefused(
                    f"a table replays only the load with which it was measured, but {self.table.title} has {name} "
                    f"{said} and the workload has {value}"
                )

    def _expected(self, row: Row, workload: Workload) -> Expected:
        """Return the throughput and the latency that a row has for a phase.

        Raises:
            WorkloadRefused: The row lacks the metrics or the rate of this phase.
        """
        offered, size = workload.rate_records_per_s, workload.record_sizes.mean_bytes
        if offered is None:
            rate = self._number(row, "mb_per_s") * 1e6 / size
            median_ms, spread = _distribution(row.metrics, _SATURATED) or (math.nan, 0.0)
            return Expected(rate, median_ms, spread)
        said = row.rate_records_per_s
        if said is None or abs(offered / said - 1.0) > _SAME_RATE_RATIO:
            rate_text = "no paced phase" if said is None else f"a paced phase at {said:g} records/s"
            raise WorkloadRefused(
                f"a table replays only the rate at which it was measured, but {self.table.title} has {rate_text} and "
                f"the workload asks for {offered:g} records/s"
            )
        distribution = _distribution(row.metrics, "")
        if distribution is None:
            raise WorkloadRefused(
                f"a paced phase needs latency_p50_ms and latency_p99_ms, or latency_mean_ms, but {self.table.title} "
                f"has {', '.join(row.metrics)}"
            )
        held_ratio = row.metrics.get("held_rate_ratio", 1.0)
        return Expected(held_ratio * offered, *distribution, grows=False)

    def _number(self, row: Row, name: str) -> float:
        """Return a metric of a row.

        Raises:
            WorkloadRefused: The row does not have the metric.
        """
        if name not in row.metrics:
            raise WorkloadRefused(
                f"a saturating phase needs {name}, but {self.table.title} has {', '.join(row.metrics)}"
            )
        return row.metrics[name]


def _distribution(metrics: Mapping[str, float], prefix: str) -> tuple[float, float] | None:
    """Return the median latency in milliseconds, and the standard deviation of the logarithm of the latency.

    Returns:
        None if no latency was measured.
    """
    p50_ms, p99_ms = metrics.get(f"{prefix}latency_p50_ms"), metrics.get(f"{prefix}latency_p99_ms")
    if p50_ms and p99_ms:
        return p50_ms, math.log(p99_ms / p50_ms) / _P99_OF_NORMAL
    mean_ms = metrics.get(f"{prefix}latency_mean_ms")
    if not mean_ms:
        return None
    return mean_ms / math.exp(_SPREAD_OF_A_MEAN**2 / 2), _SPREAD_OF_A_MEAN
