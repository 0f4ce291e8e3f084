"""The specification of an experiment: the rows that are measured, and what the results are compared with.

An experiment measures a fixed list of rows. A row is a config with a workload. All rows are measured once in each
round, in random order, so that a slow change of the cluster affects all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Self

from runners.errors import WorkloadRefused
from runners.placement import zones_without_ray
from runners.ray_cluster import RayCluster
from runners.workload import Workload
from search_spaces.client import Client
from search_spaces.producer_config import ProducerConfig
from tuner.model.setup import ONE_PRODUCER, Setup
from tuner.model.spec import Goal, SafetySpec, StudySpec, TrackingSpec
from tuner.model.target import Target

OVERHEAD_S: Final = 1.0
"""Seconds that a measurement takes beside its load: a new topic, the last deliveries, storing the result."""
FILLED_BYTES_PER_S: Final = 100e6
"""How fast a topic is filled before a measurement, about: 100 B records on brokers on two cores."""
BROKERS_ANEW_S: Final = 8.0
"""Seconds that three new brokers take to start, about, after a measurement that has killed one."""
BROKERS_TO_LOSE_ONE: Final = 3
"""The fewest brokers of which one may be lost: each of them votes on metadata, and a majority must be left."""
BURN_IN_S: Final = 24.0
"""The longest time for which the control is measured before the first round, until its throughput shows no trend."""
ROW_BURN_IN_S: Final = 3.0
"""The longest time for which each other row is measured before the first round.

Without it, three new brokers had a throughput in the first round that was 0.56 to 0.74 of that in the third and fourth,
in the mean of an experiment with 3 s for each row. In the second round, it was 0.97 to 1.12 of that. Single latencies
of the first round were up to 2,600 times those of later rounds.
"""

FEWEST_FOR_TREND: Final = 3
"""The fewest rows that a trend is computed from."""
EXPLAINED_RATIO: Final = 0.1
"""Largest relative difference at which a figure of a paper still counts as explained by an artefact."""

RowValue = str | int | float


def setting_text(value: RowValue) -> str:
    """Return a setting as Kafka writes it: `true` or `false` for a truth value."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class BestOf:
    """Where a row gets its config from: what a study recommends for the record size of the row.

    Attributes:
        search: The name of the search in the experiment's file.
        goal: What the config is recommended for.
    """

    search: str
    goal: Goal


@dataclass(frozen=True, slots=True)
class Search:
    """A study that runs before the first round. Some rows are then measured with the configs that it recommends.

    Attributes:
        name: The name of the search in the experiment's file.
        study: The study.
        text: The text of its study file, in which environment variables are not replaced by their values.
    """

    name: str
    study: StudySpec
    text: str

    @property
    def measurements(self) -> int:
        """Number of measurements of the study, without its burn-in."""
        return (self.study.search.trials or 0) * len(self.study.workload.record_sizes)

    @property
    def planned_s(self) -> float:
        """Seconds that the study takes, about."""
        return BURN_IN_S + self.measurements * (self.study.trial_s + OVERHEAD_S)


@dataclass(frozen=True, slots=True)
class Row:
    """What is measured once in each round.

    Attributes:
        name: The name of the row, unique within its experiment.
        varied: What distinguishes this row from others: settings by name, such as `record_bytes` or `linger.ms`.
        config: The producers' config.
        workload: The load, and the topic's shape.
        setup: What is needed beside the load.
        best_of: The search that finds the config; None if the file has the config. Until the search has ended, `config`
            is its baseline.
    """

    name: str
    varied: Mapping[str, RowValue]
    config: ProducerConfig
    workload: Workload
    setup: Setup = ONE_PRODUCER
    best_of: BestOf | None = None

    @property
    def load_s(self) -> float:
        """Seconds of load in one measurement of the row."""
        return self.workload.warmup_s + self.workload.measured_s

    @property
    def planned_s(self) -> float:
        """Seconds that one measurement of the row takes, about."""
        brokers_s = 0.0 if self.setup.broker_killed_s is None else BROKERS_ANEW_S
        return self.load_s + self.setup.stored_bytes / FILLED_BYTES_PER_S + OVERHEAD_S + brokers_s

    def for_burn_in(self, measured_s: float) -> Self:
        """Return the row as it is measured before the first round, when its values do not count.

        It is measured at full speed, without a warm-up. Its topic is empty, unless its consumers read what was stored.

        Args:
            measured_s: How long it is measured.
        """
        load = replace(self.workload, rate_records_per_s=None, peak_ratio=1.0, warmup_s=0.0, measured_s=measured_s)
        stored_bytes = 0 if self.setup.producers else self.setup.stored_bytes
        setup = replace(self.setup, stored_bytes=stored_bytes, min_insync_replicas=None, broker_killed_s=None)
        return replace(self, workload=load, setup=setup)

    def number(self, setting: str) -> float | None:
        """Return the value of a setting that distinguishes the row; None if it is no number, or is not set.

        Sizes are in bytes.
        """
        if setting not in self.varied:
            return None
        sizes = {"stored_bytes": self.setup.stored_bytes, "record_bytes": self.workload.record_sizes.mean_bytes}
        value = sizes.get(setting, self.varied[setting])
        try:
            return None if isinstance(value, bool) else float(value)
        except ValueError:
            return None

    def matches(self, selected: Mapping[str, RowValue]) -> bool:
        """Return whether the row has all these settings. The setting `row` is the row's name."""
        mine = {"row": self.name, **self.varied}
        return all(name in mine and setting_text(mine[name]) == setting_text(value) for name, value in selected.items())


class Expectation(StrEnum):
    """How the values of some rows compare with those of others, according to a paper."""

    GREATER = "greater"
    SMALLER = "smaller"
    EQUAL = "equal"


class Artefact(StrEnum):
    """Why a paper's figure does not say about Kafka what it seems to say."""

    FULL_BUFFER = "full buffer"
    """The latency is the time that a record waits in a full buffer: buffered records divided by the throughput."""
    RATE_CAP = "rate cap"
    """The rate is the limit that was given to the tool that sent the records."""
    ONE_PAYLOAD = "one payload"
    """A codec compressed the same payload again and again, so that almost nothing was left to send."""
    LOCAL_HAND_OFF = "local hand-off"
    """With acks=0, the latency ends when the client has written the request to its socket."""
    REPLICAS_BEHIND = "replicas behind"
    """The acknowledged rate is higher than what the brokers' network can replicate, so the replicas fell behind."""
    FOLLOWS_THE_RATE = "follows the rate"
    """A total differs only because the rate differs; per record it does not, or differs the other way."""
    TWO_CHANGES = "two changes"
    """Two settings differ between the runs that are compared."""
    COARSE_CLOCK = "coarse clock"
    """The figures are whole milliseconds, and the effect is about as large."""


@dataclass(frozen=True, slots=True)
class SuspectedArtefact:
    """A figure of a paper that comes from how it was measured.

    Attributes:
        kind: What the figure shows instead of Kafka.
        because: The arithmetic or the fact that shows it, in one sentence.
        paper_value: The paper's figure; None if the reason has no figures.
        explained_by: The value that the figure has if it is an artefact; None if the reason has no figures.
    """

    kind: Artefact
    because: str
    paper_value: float | None = None
    explained_by: float | None = None

    @property
    def explains(self) -> bool:
        """Whether the figure differs by at most 10 % from the value that the artefact gives; true without figures."""
        if self.paper_value is None or self.explained_by is None:
            return True
        return abs(self.paper_value / self.explained_by - 1) <= EXPLAINED_RATIO


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two rows of which a finding compares a metric, or a row and a limit.

    Attributes:
        of: Settings that select the row whose metric is divided.
        over: Settings that select the row that it is divided by; None if it is divided by `limit`.
        limit: The number that it is divided by.
        paper_ratio: The ratio in the paper; None if the paper gives none.
        along: A setting with numbers. The metric of all rows that `of` selects is compared along it: its value at the
            largest number, divided by that at the smallest, on the line through all rows. Empty: one row is compared.
    """

    of: Mapping[str, RowValue]
    over: Mapping[str, RowValue] | None
    limit: float | None = None
    paper_ratio: float | None = None
    along: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement of a paper that the experiment's rows can confirm or refute.

    Attributes:
        id: A short name, unique within the experiment.
        claim: The statement, in one sentence.
        source: Page, section or table of the paper.
        metric: The metric that is compared.
        comparisons: What is compared; at least one. The statement holds if all comparisons come out as expected.
        expect: How the rows compare according to the paper.
        tolerance: For `Expectation.EQUAL`, the largest relative difference that still counts as equal.
        artefact: Why the paper's figure does not say what it seems to say; None if nothing speaks against it.
    """

    id: str
    claim: str
    source: str
    metric: str
    comparisons: tuple[Comparison, ...]
    expect: Expectation
    tolerance: float = 0.1
    artefact: SuspectedArtefact | None = None

    def comparisons_among(self, rows: Sequence[Row]) -> tuple[Comparison, ...]:
        """Return the comparisons that these rows allow. The quick form of an experiment may leave rows out."""

        def has(selected: Mapping[str, RowValue] | None) -> bool:
            return selected is None or any(row.matches(selected) for row in rows)

        return tuple(each for each in self.comparisons if has(each.of) and has(each.over))


@dataclass(frozen=True, slots=True)
class PaperValue:
    """What a paper measured for a row.

    Attributes:
        row: Settings that select the row.
        values: The paper's values by metric.
        source: Page, section or table of the paper.
    """

    row: Mapping[str, RowValue]
    values: Mapping[str, float]
    source: str


@dataclass(frozen=True, slots=True)
class ExperimentSpec:
    """The specification of an experiment.

    Attributes:
        name: Name of the experiment's folder and MLflow runs.
        about: What the experiment measures, in one sentence.
        source: The paper that describes the experiment; empty if there is none.
        client: The client that is measured.
        rows: The rows, each measured once in each round; at least one.
        control: Name of the row that is measured several times in each round, to show whether the cluster drifts.
        control_every: After how many other rows the control is measured again.
        rounds: Number of rounds.
        seed: Seed of the order of the rows.
        metrics: The metrics that the tables show.
        target: The cluster.
        findings: Statements of the paper that are checked.
        paper_values: What the paper measured.
        differences: How this experiment differs from the paper's, in sentences.
        tracking: Where the experiment is shown in MLflow.
        safety: Limits that protect the cluster.
        searches: The studies that run first.
        ray: The Ray cluster whose nodes run the clients; None if they run on this host.
    """

    name: str
    about: str
    client: Client
    rows: tuple[Row, ...]
    control: str
    rounds: int
    metrics: tuple[str, ...]
    source: str = ""
    control_every: int = 10
    seed: int = 0
    target: Target = field(default_factory=Target)
    findings: tuple[Finding, ...] = ()
    paper_values: tuple[PaperValue, ...] = ()
    differences: tuple[str, ...] = ()
    tracking: TrackingSpec = field(default_factory=TrackingSpec)
    safety: SafetySpec = field(default_factory=SafetySpec)
    searches: tuple[Search, ...] = ()
    ray: RayCluster | None = None

    def __post_init__(self) -> None:
        """Check that the target can do what the rows ask of it.

        Raises:
            WorkloadRefused: It can't.
        """
        target = self.target
        ours = target.bootstrap is None and target.container is None
        for row in self.rows:
            replicas, killed_s = row.setup.min_insync_replicas, row.setup.broker_killed_s
            if replicas is not None and replicas > row.workload.replication:
                raise WorkloadRefused(
                    f"min_insync_replicas <= replication must hold, but the row {row.name!r} has {replicas} and "
                    f"{row.workload.replication}"
                )
            if killed_s is None:
                continue
            if not ours or target.brokers < BROKERS_TO_LOSE_ONE:
                raise WorkloadRefused(
                    f"broker_killed_after needs at least {BROKERS_TO_LOSE_ONE} brokers that the tuner starts "
                    f"(target.brokers), because the others must still be a majority, but the row {row.name!r} has "
                    f"{target.brokers if ours else 'brokers of yours'}"
                )
            if not row.setup.producers:
                raise WorkloadRefused(
                    f"broker_killed_after needs producers, because their records show what a lost broker costs, but "
                    f"the row {row.name!r} has none"
                )
            if not killed_s < row.workload.measured_s:
                raise WorkloadRefused(
                    f"broker_killed_after < measured must hold, but the row {row.name!r} has {killed_s:g} s and "
                    f"{row.workload.measured_s:g} s"
                )

    def row(self, name: str) -> Row:
        """Return the row with this name.

        Raises:
            KeyError: No row has this name.
        """
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)

    def with_found(self, configs: Mapping[str, Mapping[str, str]]) -> Self:
        """Return the experiment with the configs that its searches have found.

        Args:
            configs: The properties of each config by the name of the row.
        """
        rows = [
            replace(row, config=ProducerConfig.parse(configs[row.name], row.config.client))
            if row.name in configs
            else row
            for row in self.rows
        ]
        return replace(self, rows=tuple(rows))

    def check_zones(self) -> None:
        """Check that there is a Ray cluster if rows name its zones. The file need not name it: an option can.

        Raises:
            RayUnfit: There is none.
        """
        if self.ray is not None:
            return
        for row in self.rows:
            if row.setup.zones:
                raise zones_without_ray("placement", ", ".join(row.setup.zones))
            if row.setup.consumer_zone is not None:
                raise zones_without_ray("consumer_zone", row.setup.consumer_zone)

    @property
    def burn_ins(self) -> tuple[Row, ...]:
        """What is measured before the first round, and does not count: the control, and then the other rows.

        Rows that differ only in what a burn-in leaves out, such as the rate, have one burn-in. A row that kills a
        broker has none, because brokers are started anew after it.
        """
        control = self.row(self.control)
        # Consumers that read what was stored would reach its end in a longer run.
        rows = [control.for_burn_in(BURN_IN_S if control.setup.producers else min(ROW_BURN_IN_S, control.load_s))]
        rows += [
            row.for_burn_in(min(ROW_BURN_IN_S, row.load_s))
            for row in self.rows
            if row.name != control.name and row.setup.broker_killed_s is None
        ]
        found: dict[tuple[ProducerConfig, Workload, Setup], Row] = {}
        for row in rows:
            found.setdefault((row.config, replace(row.workload, measured_s=1.0), row.setup), row)
        return tuple(found.values())

    @property
    def measurements(self) -> int:
        """Number of measurements in all rounds, without the burn-in and the searches."""
        others = len(self.rows) - 1
        return self.rounds * (others + 1 + others // self.control_every)

    @property
    def planned_s(self) -> float:
        """Seconds that the whole experiment takes, about."""
        control = self.row(self.control)
        others = len(self.rows) - 1
        per_round = sum(row.planned_s for row in self.rows)
        per_round += (others // self.control_every) * control.planned_s
        burn_in_s = sum(row.planned_s for row in self.burn_ins)
        return burn_in_s + self.rounds * per_round + sum(each.planned_s for each in self.searches)

    @property
    def most_bytes(self) -> float:
        """The most bytes of values and keys that the experiment may send.

        A paced load sends what its rate asks for. A saturating load sends at most `safety.max_bytes_per_trial`.
        """
        control = self.row(self.control)
        again = (len(self.rows) - 1) // self.control_every
        per_round = sum(map(self._most_bytes_of, self.rows)) + again * self._most_bytes_of(control)
        searched = sum(each.measurements for each in self.searches)
        burnt_in = sum(map(self._most_bytes_of, self.burn_ins))
        return burnt_in + searched * self.safety.max_bytes_per_trial + self.rounds * per_round

    def _most_bytes_of(self, row: Row) -> float:
        rate, load = row.workload.rate_records_per_s, row.workload
        if not row.setup.producers:
            return row.setup.stored_bytes
        if rate is None:
            return self.safety.max_bytes_per_trial
        sent = rate * row.load_s * (load.record_sizes.mean_bytes + load.key_bytes)
        return min(self.safety.max_bytes_per_trial, row.setup.stored_bytes + sent)
