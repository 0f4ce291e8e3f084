"""The outcomes that a study on a simulated cluster would measure if there were no noise."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Self

from benchmarks.problems.latency import percentile_ms
from objectives.scoring import LEAST_HELD_RATIO
from runners.performance_model.constants import EMBEDDED, ClusterConstants
from runners.performance_model.performance import Performance, performance_of_settings
from runners.performance_model.settings import Settings
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.model.spec import RATE_RATIO

Simulate = Callable[[ClusterConstants, Settings, Workload], Performance]
"""A simulation of a cluster: it computes the performance of a client's settings under a load."""
COMPRESSIBILITY_RATIO: Final = 0.5


@dataclass(frozen=True, slots=True)
class TrueOutcome:
    """The two objectives of a config and its constraint, without noise.

    Attributes:
        mb_per_s: Throughput of values in the saturating phase, in millions of bytes per second.
        latency_p99_ms: The p99 latency of the paced phase; meaningless if the config can't keep up with the rate.
        latency_p50_ms: The median latency of the paced phase.
        held_rate_ratio: The share of the paced phase's rate that was delivered.
        paced: The simulated performance in the paced phase.
    """

    mb_per_s: float
    latency_p99_ms: float
    latency_p50_ms: float
    held_rate_ratio: float
    paced: Performance

    @property
    def feasible(self) -> bool:
        """Whether the config keeps up with the rate of the paced phase."""
        return self.held_rate_ratio >= LEAST_HELD_RATIO


@dataclass(frozen=True, slots=True)
class Truth:
    """Computes the outcomes of configs on a simulated cluster without noise.

    Attributes:
        cluster: The simulated cluster.
        saturating: The load of the saturating phase.
        paced: The same load at the fixed rate of the paced phase.
        baseline: The config that gains are relative to.
        standard: The outcome of the baseline, without noise.
        simulate: The simulation of the cluster: the performance model, or another one.
        producers: Number of producers that share the load.
    """

    cluster: ClusterConstants
    saturating: Workload
    paced: Workload
    baseline: ProducerConfig
    standard: TrueOutcome
    simulate: Simulate = performance_of_settings
    producers: int = 1

    @classmethod
    def of(
        cls,
        load: int | Workload,
        cluster: ClusterConstants = EMBEDDED,
        baseline: ProducerConfig | None = None,
        simulate: Simulate = performance_of_settings,
        producers: int = 1,
    ) -> Self:
        """Return a `Truth` for a load. As in a study, the paced phase has 30 % of the baseline's throughput.

        Args:
            load: The size of a record in bytes, or the load of the saturating phase.
            cluster: The simulated cluster.
            baseline: The baseline of the study; the client's defaults if None.
            simulate: The simulation of the cluster.
            producers: Number of producers that share the load.
        """
        saturating = (
            Workload(RecordSizes.fixed(load), compressibility_ratio=COMPRESSIBILITY_RATIO)
            if isinstance(load, int)
            else replace(load, rate_records_per_s=None)
        )
        baseline = baseline or ProducerConfig.parse({})
        settings = Settings.of(baseline, saturating, producers)
        capacity = simulate(cluster, settings, saturating).capacity_records_per_s
        paced = replace(saturating, rate_records_per_s=RATE_RATIO * capacity)
        standard = _outcome(simulate(cluster, settings, paced), paced)
        return cls(cluster, saturating, paced, baseline, standard, simulate, producers)

    @property
    def rate_records_per_s(self) -> float:
        """The rate of the paced phase, in records per second."""
        assert self.paced.rate_records_per_s is not None
        return self.paced.rate_records_per_s

    def outcome(self, config: ProducerConfig) -> TrueOutcome:
        """Return the outcome of a config without noise."""
        settings = Settings.of(config, self.paced, self.producers)
        return _outcome(self.simulate(self.cluster, settings, self.paced), self.paced)

    def gains(self, outcome: TrueOutcome) -> tuple[float, float]:
        """Return the gains over the baseline in throughput and in p99; above 1 is better, (0, 0) if infeasible."""
        if not outcome.feasible:
            return 0.0, 0.0
        return outcome.mb_per_s / self.standard.mb_per_s, self.standard.latency_p99_ms / outcome.latency_p99_ms


def _outcome(paced: Performance, load: Workload) -> TrueOutcome:
    """Return the outcome of a config from its performance in the paced phase, without noise."""
    assert load.rate_records_per_s is not None
    return TrueOutcome(
        mb_per_s=paced.capacity_records_per_s * load.record_sizes.mean_bytes / 1e6,
        # If the latency grows during the whole phase, this value is close to the percentile over the measured seconds.
        latency_p99_ms=percentile_ms(paced, 0.99, load.warmup_s + 0.99 * load.measured_s),
        latency_p50_ms=percentile_ms(paced, 0.5, load.warmup_s + 0.5 * load.measured_s),
        held_rate_ratio=paced.records_per_s / load.rate_records_per_s,
        paced=paced,
    )
