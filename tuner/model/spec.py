"""The types of a study's settings, without reading any file: `StudySpec` and its parts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from objectives.scoring import Constraint, Objective
from runners.pools.placement import ANYWHERE, Placement, zones_without_ray
from runners.pools.ray_cluster import DEFAULT_WAIT_S, Code, RayCluster
from runners.workload import RecordSizes, Workload
from search_spaces.client import Client
from search_spaces.client_facts.sizes import DEFAULT_MAX_MESSAGE_BYTES
from search_spaces.configs.guarantee import Guarantee
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import NothingToSearch
from search_spaces.space.parameters import KnobChange
from search_spaces.space.search_space import SearchSpace
from tuner.model.errors import RequestRefused
from tuner.model.goals import ALLOW_LOSS, PRESETS, Goal
from tuner.model.target import Target

RATE_RATIO: Final = 0.3
"""The rate of the paced phase as a share of the baseline's throughput, if the study file sets none."""


class Method(StrEnum):
    """The sampler that proposes configs."""

    BAYESIAN = "bayesian"
    TPE = "tpe"
    GP = "gp"
    NSGA2 = "nsga2"
    RANDOM = "random"
    QUASI_RANDOM = "quasi-random"
    GRID = "grid"

    @property
    def learns(self) -> bool:
        """Whether the method learns from trials; only such a method gets starting points."""
        match self:
            case Method.BAYESIAN | Method.TPE | Method.GP | Method.NSGA2:
                return True
            case Method.RANDOM | Method.QUASI_RANDOM | Method.GRID:
                return False


class NewBroker(StrEnum):
    """Whether each round of a confirmation is measured on newly started brokers."""

    EACH_ROUND = "each round"
    NEVER = "never"


class Executor(StrEnum):
    """Where benchmarks run."""

    RAY = "ray"
    LOCAL = "local"
    SIMULATED = "simulated"


@dataclass(frozen=True, slots=True)
class PhaseSpec:
    """Durations of one phase of a trial.

    Attributes:
        warmup_s: Seconds of load before the measurement begins.
        measured_s: Seconds that are measured.
    """

    warmup_s: float
    measured_s: float


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """The records that are sent, and at which rate.

    Attributes:
        record_sizes: The record sizes. Every record size is searched separately, in this order.
        key_bytes: Size of the keys; 0 sends records without keys.
        compressibility_ratio: The share of each value that compression removes.
        partitions: Partitions of the topics that we create.
        replication: Replication factor of the topics that we create.
        producers: Number of producers in one trial.
        consumers: Number of consumers that read the topic while a trial writes it.
        different_keys: Number of different keys; None gives each prepared record its own key.
        most_frequent_key_ratio: Share of the records that have the most frequent key; 0 makes all keys equally
            frequent.
        peak_ratio: Rate of the bursts in the paced phase, divided by the mean rate; 1 is a constant rate.
        saturate: Durations of the saturating phase.
        paced: Durations of the paced phase.
        rate_records_per_s: Fixed rate of the paced phase; None sets it to the share `rate_ratio` of the baseline's
            throughput.
        rate_ratio: Share of the baseline's throughput at which the paced phase sends, if no rate is given.
        seed: Seed of the random payload.
    """

    record_sizes: tuple[RecordSizes, ...]
    key_bytes: int = 0
    compressibility_ratio: float = 0.5
    partitions: int = 3
    replication: int = 1
    producers: int = 1
    consumers: int = 0
    different_keys: int | None = None
    most_frequent_key_ratio: float = 0.0
    peak_ratio: float = 1.0
    saturate: PhaseSpec = PhaseSpec(3.0, 10.0)
    paced: PhaseSpec = PhaseSpec(2.0, 10.0)
    rate_records_per_s: float | None = None
    rate_ratio: float = RATE_RATIO
    seed: int = 0

    def saturating(self, sizes: RecordSizes) -> Workload:
        """Return the workload that sends records as fast as the client takes them; all trials send the same payload."""
        return self._workload(sizes, self.saturate, None)

    def paced_at(self, sizes: RecordSizes, rate_records_per_s: float) -> Workload:
        """Return the workload that sends records at a fixed rate; all trials send the same payload."""
        return self._workload(sizes, self.paced, rate_records_per_s)

    def _workload(self, sizes: RecordSizes, phase: PhaseSpec, rate_records_per_s: float | None) -> Workload:
        return Workload.of(
            self,
            record_sizes=sizes,
            warmup_s=phase.warmup_s,
            measured_s=phase.measured_s,
            rate_records_per_s=rate_records_per_s,
            one_payload=False,
            peak_ratio=1.0 if rate_records_per_s is None else self.peak_ratio,
        )


@dataclass(frozen=True, slots=True)
class SearchSpec:
    """How configs are proposed, and for how long.

    Attributes:
        method: The sampler.
        trials: Trials per record size, including baseline and failed trials; None if only time or bytes limit the
            search, or if a grid is searched to its end.
        hours: Limit of the whole study in hours, over all its runs; None for no limit.
        until: Local time after which no trial is started, as `HH:MM` or as `2026-11-25 07:00`; None for no limit.
        max_bytes: Bytes of values and keys that the whole study may send; None for no limit.
        seed: Seed of the sampler.
        startup_trials: Number of trials before the sampler uses what it has learnt. They measure the starting points,
            and then random configs. The method `bayesian` needs at most 3, and with the performance model only the
            baseline.
        baseline_every: Number of trials after which the baseline is measured again.
        burn_in_max: Maximum number of runs of one config in a burn-in, which ends earlier if they show no trend; see
            `tuner.execution.studies.burn_in`. If latencies are objectives, the first run of the baseline, a load
            without a pause, does not count. With 0 or 1, the only burn-in run is one of the baseline.
        grid_steps: Number of values per knob that the grid method tries, for knobs without a list of values.
        repeats: How often the grid method measures each config. Each config is measured once before any config is
            measured again.
        transfer: Whether the search of a record size starts with the front (the best configs) of previous record sizes.
        performance_model: Whether the method `bayesian` uses the predictions of the performance model from the start.
        racing: Whether a trial is stopped early if it will probably not reach the front or meet a constraint. The
            default, None, depends on the method; see `stops_early`.
        sampler: Name of a sampler that the user supplies in place of `method`; empty if there is none.
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
    repeats: int = 1
    transfer: bool = True
    performance_model: bool = True
    racing: bool | None = None
    sampler: str = ""

    @property
    def searches_grid(self) -> bool:
        """Whether the configs of a grid are measured."""
        return self.method is Method.GRID and not self.sampler

    @property
    def stops_early(self) -> bool:
        """Whether trials are stopped early: `racing`, or if it is None, in all searches except that of a grid.

        The trials of a grid fill the cells of tables, so by default each of them measures every metric.
        """
        return not self.searches_grid if self.racing is None else self.racing


def check_rounds(rounds: int | None, max_rounds: int | None, names: tuple[str, str] = ("rounds", "max_rounds")) -> None:
    """Check that the maximum number of rounds is not below the minimum; None stands for a number that was not given.

    Args:
        rounds: The minimum number of rounds.
        max_rounds: The maximum number of rounds.
        names: The names of the two settings in the error message.

    Raises:
        RequestRefused: The maximum is below the minimum.
    """
    if max_rounds is not None and rounds is not None and max_rounds < rounds:
        raise RequestRefused(
            f"{names[1]} must be at least {names[0]} ({rounds}), but got {max_rounds}; "
            "raise the one or lower the other",
            "max_rounds",
        )


FORMER_SETTINGS: Final = {"looks": "nominee_repeats", "ablation_rounds": "undo_rounds"}
"""Names of settings of a confirmation in older study files and queues, and the present names."""


@dataclass(frozen=True, slots=True)
class ConfirmSpec:
    """How the confirmation measures the best configs of the search again, in turn with the baseline.

    Attributes:
        rounds: Number of rounds that are always measured. In a round, the baseline and the winners are measured in
            turn. With 0, there is no confirmation, and no gain is claimed.
        max_rounds: Maximum number of rounds, for winners whose gain has too wide an interval after `rounds`.
        width_ratio: Width at which the interval of a gain is narrow enough, divided by the gain.
        goals: The goals for which a winner is confirmed.
        nominees: Number of the search's best configs per goal that are measured again to choose the winner.
        nominee_repeats: Number of repeat measurements of each of these best configs.
        undo_rounds: Number of rounds that show what every changed knob of a winner contributes. A round measures
            the winner and its copies; in every copy, one knob has the baseline's value again. With 0, there are no such
            rounds.
        configs: Configs to confirm in place of the best configs of the search.
        beside: Further configs that each round measures, without testing whether they are better. They may be for
            other clients.
        allow_loss: How much a balanced config may lose in any objective, such as the throughput, to gain more in
            another objective; 0.1 is 10 %. A metric is called "not worse" or "at most N % worse" if the interval of
            its gain lies above 1 - `allow_loss`.
        decides_at: A gain. The rounds end early as soon as it is certain that the gain in every metric is above this
            number, or that the gain in some metric is below this number. With None, the rounds do not end early.
        new_broker: Whether each round is measured on newly started brokers. With None,
            `rounds_on_new_brokers` in `tuner.model.study_time` decides.
        spread_over_s: Seconds over which the rounds are spread; with 0, a round follows the previous round immediately.
            With None, `spreads_rounds` in `tuner.model.study_time` decides.
    """

    rounds: int = 8
    max_rounds: int = 20
    width_ratio: float = 0.1
    goals: tuple[Goal, ...] = (Goal.THROUGHPUT, Goal.LATENCY, Goal.BALANCED)
    nominees: int = 3
    nominee_repeats: int = 2
    undo_rounds: int = 2
    configs: tuple[ProducerConfig, ...] = ()
    beside: tuple[ProducerConfig, ...] = ()
    allow_loss: float = ALLOW_LOSS
    decides_at: float | None = None
    new_broker: NewBroker | None = None
    spread_over_s: float | None = None

    @property
    def gap_s(self) -> float:
        """Seconds from the start of a round to the start of the next round, so that all rounds take `spread_over_s`."""
        return (self.spread_over_s or 0.0) / max(1, self.rounds, self.max_rounds)

    def changed(self, settings: Mapping[str, Any]) -> "ConfirmSpec":
        """Return the confirmation with some settings replaced. A new `max_rounds` also lowers `rounds` if necessary."""
        rounds = min(self.rounds, settings.get("max_rounds", self.rounds))
        return replace(
            self, **{"rounds": rounds, **{FORMER_SETTINGS.get(key, key): each for key, each in settings.items()}}
        )


@dataclass(frozen=True, slots=True)
class TrackingSpec:
    """Where the study is shown in MLflow.

    Attributes:
        uri: Tracking URI. None stands for the environment variable MLFLOW_TRACKING_URI, or for an SQLite file beside
            the studies if the variable is not set.
        experiment: Name of the MLflow experiment; with None, the name is derived from the target.
        enabled: Whether MLflow is used at all.
    """

    uri: str | None = field(default=None, repr=False)
    experiment: str | None = None
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class SafetySpec:
    """Limits that protect the cluster that is measured.

    Attributes:
        max_bytes_per_trial: Maximum number of bytes of values and keys that a trial sends, in all its phases and
            attempts; a trial that reaches it stops.
        min_free_disk_bytes: Minimum free space on a local broker's disk; a trial stops before less is free.
        max_failures_in_a_row: Number of trials in a row without a measurement after which the study stops.
        broker_wait_s: Seconds to wait for a broker that has become unreachable.
    """

    max_bytes_per_trial: int = 50 * 10**9
    min_free_disk_bytes: int = 5 * 10**9
    max_failures_in_a_row: int = 5
    broker_wait_s: float = 300.0


@dataclass(frozen=True, slots=True)
class RaySpec:
    """The Ray cluster that runs the loads.

    Attributes:
        address: Address of an existing Ray cluster; None if there is none.
        code: Whether the Ray workers run this process's code or the code installed on the nodes.
        wait_s: Seconds to wait for the nodes of the Ray cluster.
    """

    address: str | None = None
    code: Code = Code.SHIP
    wait_s: float = DEFAULT_WAIT_S

    def __post_init__(self) -> None:
        """Raise `RayUnfit` for an address that `RayCluster` refuses."""
        self.cluster(())

    def cluster(self, targets: Iterable[Target]) -> RayCluster | None:
        """Return the existing Ray cluster whose nodes send to the given targets; None if the study uses none."""
        if self.address is None:
            return None
        return RayCluster(self.address, self.code, self.wait_s, any(each.of_this_host_only for each in targets))

    def check_zones(self, placement: Placement, section: str = "") -> None:
        """Check that there is an existing Ray cluster if the placement names zones of it.

        Args:
            placement: The zones.
            section: The section of the file that names the zones, such as `executor.`.

        Raises:
            RayUnfit: The placement names zones, but there is no Ray cluster.
        """
        if self.address is None and placement.zones:
            raise zones_without_ray(f"{section}placement", ", ".join(placement.zones))
        if self.address is None and placement.consumer_zone is not None:
            raise zones_without_ray(f"{section}consumer_zone", placement.consumer_zone)


@dataclass(frozen=True, slots=True)
class StudySpec:
    """The specification of a whole study.

    Attributes:
        name: Name of the study's folder and MLflow runs: letters, digits, `-`, `_` and `.`.
        targets: One or more identical clusters; each measures one trial at a time.
        workload: The records that are sent.
        baseline: The config with which all others are compared: the client's defaults, or the config in use today.
        baseline_notes: Sentences for the user about the file that the baseline was read from.
        space: Changes to the knobs that are searched, by knob name.
        floor: The weakest guarantee that a config may give; None stands for the baseline's guarantee.
        objectives: What the study optimises; at least one.
        constraints: Limits that a recommended config must meet.
        search: How configs are proposed.
        confirm: How winners are measured again.
        tracking: Where the study is shown in MLflow.
        safety: Limits that protect the targets.
        executor: Where benchmarks run.
        ray: The Ray cluster; if it has no address, Ray is started on this host.
        placement: The zones of the Ray cluster in which a trial's producers and consumers run.
        rates_records_per_s: The fixed rate of the paced phase by record size, if the study measures like another study
            and keeps its rates. For any other record size, `workload` says how the rate is chosen.
    """

    name: str
    workload: WorkloadSpec
    targets: tuple[Target, ...] = (Target(),)
    baseline: ProducerConfig = field(default_factory=lambda: ProducerConfig.parse({}))
    baseline_notes: tuple[str, ...] = ()
    space: Mapping[str, KnobChange] = field(default_factory=dict)
    floor: Guarantee | None = None
    objectives: tuple[Objective, ...] = PRESETS[Goal.BALANCED][0]
    constraints: tuple[Constraint, ...] = ()
    search: SearchSpec = SearchSpec()
    confirm: ConfirmSpec = ConfirmSpec()
    tracking: TrackingSpec = TrackingSpec()
    safety: SafetySpec = SafetySpec()
    executor: Executor = Executor.RAY
    ray: RaySpec = RaySpec()
    placement: Placement = ANYWHERE
    rates_records_per_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def client(self) -> Client:
        """The client that is searched and measured."""
        return self.baseline.client

    @property
    def other_clients(self) -> tuple[Client, ...]:
        """Further clients that are measured, because configs for them are given in `confirm`."""
        given = (*self.confirm.configs, *self.confirm.beside)
        return tuple(each for each in dict.fromkeys(config.client for config in given) if each != self.client)

    def space_of(self, size: RecordSizes, topic_max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES) -> SearchSpace:
        """Return the search space of one record size.

        Raises:
            ConfigError: A knob has values that it can't have.
            NothingToSearch: There is no knob to search, and the study has no configs to confirm.
        """
        space = SearchSpace.of(
            size.largest_bytes,
            self.baseline,
            key_bytes=self.workload.key_bytes,
            partitions=self.workload.partitions,
            changes=self.space,
            floor=self.floor,
            topic_max_message_bytes=topic_max_message_bytes,
            mean_record_bytes=size.mean_bytes,
        )
        if not space.has_choice and not self.confirm.configs:
            raise NothingToSearch
        return space

    @property
    def spaces(self) -> dict[RecordSizes, SearchSpace]:
        """The search space of each record size, for topics with the usual maximum size of a message."""
        return {size: self.space_of(size) for size in self.workload.record_sizes}

    @property
    def paced(self) -> bool:
        """Whether an objective or a constraint needs the paced phase."""
        return any(asked.paced for asked in self.objectives) or any(asked.paced for asked in self.constraints)

    @property
    def burn_in_metrics(self) -> tuple[str, ...]:
        """The latencies that must show no trend in the baseline's burn-in runs: those among the objectives.

        Empty if `burn_in_max` is below 2.
        """
        return tuple(asked.metric for asked in self.objectives if asked.paced) if self.search.burn_in_max > 1 else ()
