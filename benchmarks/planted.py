"""A simulated target on which the true gain of every config is known."""

from dataclasses import dataclass

from runners.measurement import Measurement, Origin
from runners.runner import Watch, go_on
from runners.simulated.simulated_runner import Course, Expected, Noise, luck_of
from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig

_RECORDS_PER_S = 100_000.0
_P50_MS = 4.0
_SPREAD = 0.4
_LINGER_MS = 2.0
_STALLS = (3.0, 6.0)


@dataclass(frozen=True, slots=True)
class Planted:
    """A `Runner` that computes its results instead of measuring.

    Configs with lz4 and linger.ms <= 2 are better than all others by a given factor. All other configs perform the
    same.

    Attributes:
        noise_ratio: Standard deviation of throughput and of latency from run to run, relative to their values.
        gain: The factor by which the better configs are better, in throughput and in latency. With 1, all configs
            perform the same.
        stalls_ratio: Share of runs with a stall, in which latencies are 3 to 6 times as high.
    """

    noise_ratio: float
    gain: float = 1.0
    stalls_ratio: float = 0.0

    def true_gain(self, config: ProducerConfig) -> float:
        """Return how many times better than the client's defaults a config truly is, in throughput and in p99."""
        return self.gain if config.compression == "lz4" and config.linger_ms <= _LINGER_MS else 1.0

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Return a measurement that is computed from the config."""
        gain, luck = self.true_gain(config), luck_of(config, workload)
        (chance,) = luck.spawn(1)
        stall = chance.uniform(*_STALLS) if chance.random() < self.stalls_ratio else 1.0
        course = Course(
            Origin("simulated", "none", "simulated", "", "", 1.0),
            config,
            workload,
            Expected(
                _RECORDS_PER_S * gain, _P50_MS / gain * stall, _SPREAD, 0.0 if workload.rate_records_per_s else 0.9
            ),
            Noise.of(self.noise_ratio, 0.0, None, None),
            luck,
        )
        return course.run(watch, "simulated, not measured")
