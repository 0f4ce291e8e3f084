"""What a study on a simulated cluster would find if there were no noise."""

from dataclasses import dataclass, replace
from typing import Final, Self

from benchmarks.problems.latency import percentile_ms
from runners.simulated.inputs import EMBEDDED, Settings, SimulatedCluster
from runners.simulated.model import Performance, perform
from runners.workload import RecordSizes, Workload
from search_spaces.producer_config import ProducerConfig

RATE_RATIO: Final = 0.3
"""The paced phase's share of the baseline's capacity, as `tuner.model.spec` has it unless a study says otherwise."""
COMPRESSIBILITY_RATIO: Final = 0.5
HELD_RATE_RATIO: Final = 0.95
"""Holding less of the paced rate, a config is of no use. Source: `objectives.scoring`, which imports may not reach."""


@dataclass(frozen=True, slots=True)
class TrueOutcome:
    """The two objectives of a config and what constrains them, without noise.

    Attributes:
        mb_per_s: Capacity, from the saturating phase: values, in millions of bytes per second.
        latency_p99_ms: From the paced phase; of a config that can't hold the rate it is no latency of any use.
        latency_p50_ms: From the paced phase.
        held_rate_ratio: Share of the paced rate that was delivered.
        paced: The whole paced phase.
    """

    mb_per_s: float
    latency_p99_ms: float
    latency_p50_ms: float
    held_rate_ratio: float
    paced: Performance

    @property
    def feasible(self) -> bool:
        """Whether the config holds the paced rate."""
        return self.held_rate_ratio >= HELD_RATE_RATIO


@dataclass(frozen=True, slots=True)
class Truth:
    """A simulated cluster with one load in two phases: what each config truly gives there.

    Attributes:
        cluster: What is simulated.
        saturating: The load of the saturating phase.
        paced: The same at a fixed rate.
        baseline: What gains are relative to.
        standard: What the baseline truly gives.
    """

    cluster: SimulatedCluster
    saturating: Workload
    paced: Workload
    baseline: ProducerConfig
    standard: TrueOutcome

    @classmethod
    def of(
        cls,
        load: int | Workload,
        cluster: SimulatedCluster = EMBEDDED,
        baseline: ProducerConfig | None = None,
        rate_ratio: float = RATE_RATIO,
    ) -> Self:
        """The truth of a load.

        Args:
            load: A record's bytes, or a saturating load; its paced twin is derived.
            cluster: What is simulated.
            baseline: What the study starts from; the client's defaults if None.
            rate_ratio: Rate of the paced phase, as a share of the baseline's true capacity.
        """
        saturating = (
            Workload(RecordSizes.fixed(load), compressibility_ratio=COMPRESSIBILITY_RATIO)
            if isinstance(load, int)
            else replace(load, rate_records_per_s=None)
        )
        baseline = baseline or ProducerConfig.parse({})
        settings = Settings.of(baseline, saturating)
        capacity = perform(cluster, settings, saturating).capacity_records_per_s
        paced = replace(saturating, rate_records_per_s=rate_ratio * capacity)
        return cls(cluster, saturating, paced, baseline, _outcome(cluster, settings, paced))

    @property
    def rate_records_per_s(self) -> float:
        """The paced phase's rate."""
        assert self.paced.rate_records_per_s is not None
        return self.paced.rate_records_per_s

    def outcome(self, config: ProducerConfig) -> TrueOutcome:
        """What a config truly gives."""
        return _outcome(self.cluster, Settings.of(config, self.paced), self.paced)

    def gains(self, outcome: TrueOutcome) -> tuple[float, float]:
        """How many times better than the baseline, throughput and then p99: above 1 is better; (0, 0) if infeasible."""
        if not outcome.feasible:
            return 0.0, 0.0
        return outcome.mb_per_s / self.standard.mb_per_s, self.standard.latency_p99_ms / outcome.latency_p99_ms


def _outcome(cluster: SimulatedCluster, settings: Settings, load: Workload) -> TrueOutcome:
    paced = perform(cluster, settings, load)
    assert load.rate_records_per_s is not None
    return TrueOutcome(
        mb_per_s=paced.capacity_records_per_s * load.record_sizes.mean_bytes / 1e6,
        # Where latency grows all the while, a percentile over the measured phase: near enough.
        latency_p99_ms=percentile_ms(paced, 0.99, load.warmup_s + 0.99 * load.measured_s),
        latency_p50_ms=percentile_ms(paced, 0.5, load.warmup_s + 0.5 * load.measured_s),
        held_rate_ratio=paced.records_per_s / load.rate_records_per_s,
        paced=paced,
    )
