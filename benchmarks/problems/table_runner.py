"""A runner with no Kafka: it gives again what a table says that somebody measured."""

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
"""Where only a mean was measured, latencies are given close to it: nobody knows how far apart they were."""
_SAME_RATE_RATIO: Final = 0.05
_SATURATED: Final = "saturated_"


@dataclass(frozen=True, slots=True)
class TableRunner:
    """A `Runner` that replays a table. It answers for the configs and the load of the table and refuses all others.

    Where the table has several rows for a config, the workload's seed says which: seeds that follow each other take
    them in turn, so that a study's trials, which count their seed up, see the noise that was measured.

    Attributes:
        table: What was measured.
        noise_ratio: See `SimulatedRunner`; on top of what the repeats differ by.
        window_noise_ratio: See `SimulatedRunner`.
        latency_noise_ratio: See `SimulatedRunner`.
        latency_window_noise_ratio: See `SimulatedRunner`.
    """

    table: MeasuredTable
    noise_ratio: float = 0.0
    window_noise_ratio: float | None = None
    latency_noise_ratio: float | None = None
    latency_window_noise_ratio: float | None = None

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """See `Runner.run`.

        Raises:
            WorkloadRefused: The table has no answer to this; the message says what it has.
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
        for name, value in (
            ("partitions", workload.partitions),
            ("compressibility_ratio", workload.compressibility_ratio),
        ):
            said = self.table.facts.get(name)
            if said is not None and float(said) != value:
                raise WorkloadRefused(
                    f"a table answers only for its own load, but {self.table.title} has {name} {said} and the workload "
                    f"{value}"
                )

    def _expected(self, row: Row, workload: Workload) -> Expected:
        offered, size = workload.rate_records_per_s, workload.record_sizes.mean_bytes
        if offered is None:
            rate = self._number(row, "mb_per_s") * 1e6 / size
            median_ms, spread = _distribution(row.metrics, _SATURATED) or (math.nan, 0.0)
            return Expected(rate, median_ms, spread)
        said = row.rate_records_per_s
        if said is None or abs(offered / said - 1.0) > _SAME_RATE_RATIO:
            rate_text = "no paced phase" if said is None else f"one at {said:g} records/s"
            raise WorkloadRefused(
                f"a table answers only for the rate that was measured, but {self.table.title} has {rate_text} and "
                f"{offered:g} records/s were asked for"
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
        if name not in row.metrics:
            raise WorkloadRefused(
                f"a saturating phase needs {name}, but {self.table.title} has {', '.join(row.metrics)}"
            )
        return row.metrics[name]


def _distribution(metrics: Mapping[str, float], prefix: str) -> tuple[float, float] | None:
    """Median in milliseconds and standard deviation of the logarithm; None where no latency was measured."""
    p50_ms, p99_ms = metrics.get(f"{prefix}latency_p50_ms"), metrics.get(f"{prefix}latency_p99_ms")
    if p50_ms and p99_ms:
        return p50_ms, math.log(p99_ms / p50_ms) / _P99_OF_NORMAL
    mean_ms = metrics.get(f"{prefix}latency_mean_ms")
    if not mean_ms:
        return None
    return mean_ms / math.exp(_SPREAD_OF_A_MEAN**2 / 2), _SPREAD_OF_A_MEAN
