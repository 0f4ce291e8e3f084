"""A simulated machine on which the true gain of every config is known."""

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.simulated_studies.noise import Disturbance, Luck, Moment
from objectives.scoring import Objective
from runners.measurements.measurement import Measurement, Origin
from runners.runner import Watch, go_on
from runners.simulated import Expected, SimulatedNoise, SimulatedRun, generator_of
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig

BASELINE: Final = ProducerConfig.parse({})
MB_PER_S: Final = 200.0
"""Throughput of the baseline without disturbances."""
P99_MS: Final = 10.0
"""The baseline's p99 latency without disturbances."""
RECORD_BYTES: Final = 1000
_P50_PER_P99: Final = 0.4
_P95_PER_P99: Final = 0.77
_SPREAD: Final = math.log(1 / _P50_PER_P99) / 2.326
_LINGER_MS: Final = 2.0
_BEGAN: Final = datetime.datetime(2026, 11, 23, 20, 0)
_NO_NOISE: Final = SimulatedNoise(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Planted:
    """The true gains of all configs.

    Configs with lz4 and linger.ms <= 2 (the planted ones) differ from the baseline by given factors. All other configs
    perform like the baseline.

    Attributes:
        throughput: How many times better the planted configs are in throughput.
        latency: How many times better the planted configs are in latency.
        everywhere: Whether all configs but the baseline are planted ones.
    """

    throughput: float = 1.0
    latency: float = 1.0
    everywhere: bool = False

    @classmethod
    def of(cls, gain: float) -> "Planted":
        """Return gains that are the same in throughput and latency."""
        return cls(gain, gain)

    def holds(self, config: ProducerConfig) -> bool:
        """Return whether a config is one of the planted ones."""
        if self.everywhere:
            return config.fingerprint != BASELINE.fingerprint
        return config.compression == "lz4" and config.linger_ms <= _LINGER_MS

    def true_gain(self, config: ProducerConfig, metric: str) -> float:
        """Return how many times better than the baseline a config truly is in a metric."""
        if not self.holds(config):
            return 1.0
        return self.latency if Objective(metric).paced else self.throughput


@dataclass(slots=True)
class Machine:
    """A simulated client with its brokers and its clock, on which trials are measured one after another.

    Attributes:
        planted: The true gains of all configs.
        disturbances: The disturbances of the measurements, such as noise and stalls.
        seed: The seed of the disturbances.
        trials: How many trials were measured.
        start: How often the brokers were restarted.
        up_s: Seconds of work since the last start of the brokers.
        clock_s: Seconds since the study began.
    """

    planted: Planted
    disturbances: Sequence[Disturbance]
    seed: int
    trials: int = 0
    start: int = 0
    up_s: float = 0.0
    clock_s: float = 0.0
    _previous: str | None = None
    _lucks: list[Luck] = field(init=False)

    def __post_init__(self) -> None:
        """Give each disturbance its own random numbers."""
        self._lucks = [Luck(f"{self.seed} {number}") for number in range(len(self.disturbances))]

    def measure(self, config: ProducerConfig, seconds: float) -> tuple[float, float]:
        """Measure a config in one trial.

        Args:
            config: The config.
            seconds: How long the trial takes.

        Returns:
            The throughput in MB/s, and the p99 latency in milliseconds.
        """
        moment = Moment(
            self.trials,
            config.fingerprint,
            self._previous,
            BASELINE.fingerprint,
            self.start,
            self.up_s,
            self.clock_s,
        )
        logs = [each.logs(moment, luck) for each, luck in zip(self.disturbances, self._lucks, strict=True)]
        self.trials, self._previous = self.trials + 1, config.fingerprint
        self.up_s, self.clock_s = self.up_s + seconds, self.clock_s + seconds
        return (
            MB_PER_S * self.planted.true_gain(config, "mb_per_s") * math.exp(sum(log for log, _ in logs)),
            P99_MS / self.planted.true_gain(config, "latency_p99_ms") * math.exp(sum(log for _, log in logs)),
        )

    def restart(self) -> None:
        """Restart the brokers: they are slow at first again, and a new session begins."""
        self.start, self.up_s, self._previous = self.start + 1, 0.0, None

    def rest(self, seconds: float) -> None:
        """Let time pass without work."""
        self.clock_s += seconds

    def now(self) -> datetime.datetime:
        """Return the time of the simulated clock."""
        return _BEGAN + datetime.timedelta(seconds=self.clock_s)


@dataclass(slots=True)
class MachineRunner:
    """A `Runner` that measures on a simulated machine.

    Attributes:
        machine: The simulated machine on which the trials are measured.
    """

    machine: Machine
    _trial: tuple[str, int] | None = None
    _values: tuple[float, float] = (0.0, 0.0)

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Return a measurement with the values of the trial; the phases of one trial share them."""
        trial = (config.fingerprint, workload.seed)  # the seed of the workload differs from trial to trial
        if trial != self._trial:
            seconds = workload.warmup_s + workload.measured_s
            self._trial, self._values = trial, self.machine.measure(config, 2 * seconds)
        mb_per_s, p99_ms = self._values
        expected = Expected(
            mb_per_s * 1e6 / workload.record_sizes.mean_bytes,
            p99_ms * _P50_PER_P99,
            _SPREAD,
            0.0 if workload.rate_records_per_s else 0.9,
        )
        origin = Origin("simulated", "none", "simulated", "", "", 1.0)
        run = SimulatedRun(origin, config, workload, expected, _NO_NOISE, generator_of(config, workload))
        return run.run(watch, "simulated, not measured")


def metrics_of(mb_per_s: float, p99_ms: float, rate_records_per_s: float | None) -> dict[str, float]:
    """Return the metrics of a trial by name, as `objectives.metrics.metrics_of` does for a measurement."""
    records_per_s = mb_per_s * 1e6 / RECORD_BYTES
    found = {"mb_per_s": mb_per_s, "records_per_s": records_per_s, "delivered_ratio": 1.0}
    if rate_records_per_s is not None:
        found |= {"latency_p50_ms": p99_ms * _P50_PER_P99, "latency_p95_ms": p99_ms * _P95_PER_P99}
        found |= {"latency_p99_ms": p99_ms, "held_rate_ratio": min(1.0, records_per_s / rate_records_per_s)}
    return found
