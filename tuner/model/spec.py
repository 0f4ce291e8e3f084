"""What a study asks for: plain values, made from a study file by `tuner.study_file`, or in Python."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from objectives.scoring import Constraint, Objective
from runners.ray_cluster import DEFAULT_WAIT_S, Code
from runners.workload import RecordSizes, Workload
from search_spaces.parameters import KnobChange
from search_spaces.producer_config import Guarantee, ProducerConfig
from tuner.model.target import Target


class Method(StrEnum):
    """How configs are proposed."""

    BAYESIAN = "bayesian"
    TPE = "tpe"
    GP = "gp"
    NSGA2 = "nsga2"
    RANDOM = "random"
    QUASI_RANDOM = "quasi-random"
    GRID = "grid"


class Goal(StrEnum):
    """What a recommendation is to be best at."""

    THROUGHPUT = "throughput"
    LATENCY = "latency"
    BALANCED = "balanced"


class Executor(StrEnum):
    """Where benchmarks run."""

    RAY = "ray"
    LOCAL = "local"
    SIMULATED = "simulated"


PRESETS: Final[Mapping[Goal, tuple[tuple[Objective, ...], tuple[Constraint, ...]]]] = {
    Goal.THROUGHPUT: ((Objective("mb_per_s"),), ()),
    Goal.LATENCY: (
        (Objective("latency_p99_ms"),),
        (Constraint("mb_per_s", at_most=False, limit=0.9, of_baseline=True),),
    ),
    Goal.BALANCED: ((Objective("mb_per_s"), Objective("latency_p99_ms")), ()),
}
"""Objectives and constraints by name: what `objectives: balanced` in a study file stands for."""


@dataclass(frozen=True, slots=True)
class PhaseSpec:
    """One phase of a trial.

    Attributes:
        warmup_s: Seconds of load before anything counts.
        measured_s: Seconds that count.
    """

    warmup_s: float
    measured_s: float


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """What is written.

    Attributes:
        record_sizes: One search each, in this order.
        key_bytes: Size of keys; 0 sends none.
        compressibility_ratio: Share of each value that compresses away.
        partitions: Of our topics.
        replication: Of our topics.
        producers: Producers of one trial.
        saturate: The saturating phase.
        paced: The paced phase.
        rate_records_per_s: Fixed rate of the paced phase; None takes a share of the baseline's capacity.
        rate_ratio: That share.
        seed: Of the payload.
    """

    record_sizes: tuple[RecordSizes, ...]
    key_bytes: int = 0
    compressibility_ratio: float = 0.5
    partitions: int = 3
    replication: int = 1
    producers: int = 1
    saturate: PhaseSpec = PhaseSpec(3.0, 10.0)
    paced: PhaseSpec = PhaseSpec(2.0, 10.0)
    rate_records_per_s: float | None = None
    rate_ratio: float = 0.3
    seed: int = 0

    def saturating(self, sizes: RecordSizes) -> Workload:
        """The saturating phase's load for one of the record sizes; every trial has the same payload."""
        return self._workload(sizes, self.saturate, None)

    def paced_at(self, sizes: RecordSizes, rate_records_per_s: float) -> Workload:
        """The paced phase's load for one of the record sizes; every trial has the same payload."""
        return self._workload(sizes, self.paced, rate_records_per_s)

    def _workload(self, sizes: RecordSizes, phase: PhaseSpec, rate_records_per_s: float | None) -> Workload:
        return Workload(
            record_sizes=sizes,
            key_bytes=self.key_bytes,
            compressibility_ratio=self.compressibility_ratio,
            partitions=self.partitions,
            replication=self.replication,
            warmup_s=phase.warmup_s,
            measured_s=phase.measured_s,
            rate_records_per_s=rate_records_per_s,
            seed=self.seed,
        )


@dataclass(frozen=True, slots=True)
class SearchSpec:
    """How configs are proposed, and for how long.

    Attributes:
        method: The sampler.
        trials: Trials per record size, baselines and failures included; None is bounded by time or bytes only.
        hours: Of the whole study, resumptions included; None is no limit.
        until: Local time of day, `HH:MM`, at which no new trial starts; None is no limit.
        max_bytes: Value bytes that the whole study may write; None is no limit.
        seed: Of the sampler.
        startup_trials: Random trials before a model is used.
        baseline_every: The baseline returns after so many trials.
        burn_in_max: Before trial 0 the baseline is measured until two in a row agree in throughput, so often at most;
            as often again until two agree in each latency that is an objective; and each winner as often before its
            rounds. With 0 or 1 the baseline is measured once, and nothing has to agree.
        grid_steps: Values per knob of a grid, where the knob does not say.
        transfer: Whether each record size starts with the front of those before it.
        racing: Whether a trial is stopped once it is sure not to come to anything.
        sampler: Name of a sampler of the user's that proposes in place of the method; empty for none.
    """

    method: Method = Method.BAYESIAN
    trials: int | None = 60
    hours: float | None = None
    until: str | None = None
    max_bytes: int | None = None
    seed: int = 0
    startup_trials: int = 10
    baseline_every: int = 10
    burn_in_max: int = 4
    grid_steps: int = 3
    transfer: bool = True
    racing: bool = True
    sampler: str = ""


@dataclass(frozen=True, slots=True)
class ConfirmSpec:
    """How winners are measured again.

    Attributes:
        rounds: Of baseline and winners in turn, in any case; 0 does without, and then no gain is claimed.
        max_rounds: The most rounds, for winners whose interval is not narrow enough before.
        width_ratio: An interval is narrow enough when it is as wide as this, relative to its value.
        goals: Whose winners.
        nominees: Best configs of each goal that are given second looks.
        looks: Second looks at each.
        ablation_rounds: Rounds in which each proven winner is measured with one knob at a time back at the baseline's
            value; 0 does without.
        configs: To be confirmed in place of what a search found.
    """

    rounds: int = 8
    max_rounds: int = 20
    width_ratio: float = 0.1
    goals: tuple[Goal, ...] = (Goal.THROUGHPUT, Goal.LATENCY, Goal.BALANCED)
    nominees: int = 3
    looks: int = 2
    ablation_rounds: int = 2
    configs: tuple[ProducerConfig, ...] = ()


@dataclass(frozen=True, slots=True)
class TrackingSpec:
    """Where MLflow keeps the mirror.

    Attributes:
        uri: Tracking URI; None takes MLFLOW_TRACKING_URI, or else a SQLite file beside the studies.
        experiment: Name of the experiment; None makes one of the target.
        enabled: Whether there is a mirror at all.
    """

    uri: str | None = field(default=None, repr=False)
    experiment: str | None = None
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class SafetySpec:
    """What protects the target.

    Attributes:
        max_bytes_per_trial: A trial stops before it has sent more value bytes.
        min_free_disk_bytes: A trial stops when a local broker's disk has less left.
        max_failures_in_a_row: The study stops after so many trials without a measurement.
        broker_wait_s: How long a lost broker is waited for.
    """

    max_bytes_per_trial: int = 50 * 10**9
    min_free_disk_bytes: int = 5 * 10**9
    max_failures_in_a_row: int = 5
    broker_wait_s: float = 300.0


@dataclass(frozen=True, slots=True)
class StudySpec:
    """A whole study.

    Attributes:
        name: Letters, digits, `-`, `_` and `.`; names its folder and its runs.
        targets: One or more equal clusters; each measures one trial at a time.
        workload: What is written.
        baseline: What everything is compared with: the client's defaults, or what the user runs today.
        space: What the study file says of knobs, by name.
        floor: The least guarantee a config may give; None is the baseline's.
        objectives: At least one.
        constraints: May be none.
        search: How configs are proposed.
        confirm: How winners are measured again.
        tracking: Where MLflow keeps the mirror.
        safety: What protects the targets.
        executor: Where benchmarks run.
        ray_address: Of an existing Ray cluster; None starts Ray here.
        ray_code: Whose code the workers of that cluster run.
        ray_wait_s: How long its nodes are waited for.
        placement: Zones of that cluster to measure from, dealt to the producers of a trial in turn; empty is anywhere.
    """

    name: str
    workload: WorkloadSpec
    targets: tuple[Target, ...] = (Target(),)
    baseline: ProducerConfig = field(default_factory=lambda: ProducerConfig.parse({}))
    space: Mapping[str, KnobChange] = field(default_factory=dict)
    floor: Guarantee | None = None
    objectives: tuple[Objective, ...] = PRESETS[Goal.BALANCED][0]
    constraints: tuple[Constraint, ...] = ()
    search: SearchSpec = SearchSpec()
    confirm: ConfirmSpec = ConfirmSpec()
    tracking: TrackingSpec = TrackingSpec()
    safety: SafetySpec = SafetySpec()
    executor: Executor = Executor.RAY
    ray_address: str | None = None
    ray_code: Code = Code.SHIP
    ray_wait_s: float = DEFAULT_WAIT_S
    placement: tuple[str, ...] = ()

    @property
    def paced(self) -> bool:
        """Whether anything needs the paced phase."""
        return any(asked.paced for asked in self.objectives) or any(asked.paced for asked in self.constraints)

    @property
    def stabilising_metrics(self) -> tuple[str, ...]:
        """Objectives of the paced phase in which two measurements in a row must agree before a config is compared."""
        return tuple(asked.metric for asked in self.objectives if asked.paced) if self.search.burn_in_max > 1 else ()

    @property
    def stabilising_trials(self) -> int:
        """Baselines at most ahead of trial 0: for the capacity, and as many for what is paced."""
        return max(1, self.search.burn_in_max) * (2 if self.stabilising_metrics else 1)

    @property
    def winner_stabilising_trials(self) -> int:
        """The most measurements of winners before their rounds; 0 where no two have to agree."""
        asked = self.confirm.rounds and self.search.burn_in_max > 1
        return self.search.burn_in_max * len(self.confirm.goals) if asked else 0

    @property
    def least_winner_stabilising_trials(self) -> int:
        """The fewest: one trial of the search is not two that agree, but with second looks there are two already."""
        looks = self.confirm.looks if self.confirm.nominees > 1 else 0
        return len(self.confirm.goals) if self.winner_stabilising_trials and not looks else 0

    @property
    def trial_s(self) -> float:
        """Seconds of load in one trial."""
        phases = [self.workload.saturate, *([self.workload.paced] if self.paced else [])]
        return sum(phase.warmup_s + phase.measured_s for phase in phases)
