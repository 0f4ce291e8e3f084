"""The specification of an experiment: the rows that are measured, and what the results are compared with.

An experiment measures a fixed list of rows. A row is a config with a workload. All rows are measured once in each
round, in random order, so that a slow change of the cluster affects all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self

from runners.errors import WorkloadRefused
from runners.workload import Workload
from search_spaces.client import Client
from search_spaces.configs.producer_config import ProducerConfig
from tuner.model.measurement_setup import Setup
from tuner.model.paper import Finding, PaperValue
from tuner.model.row import BROKERS_TO_LOSE_ONE, Row
from tuner.model.spec import RaySpec, SafetySpec, StudySpec, TrackingSpec
from tuner.model.study_time import OVERHEAD_S, UNBROKEN_S, trial_s
from tuner.model.target import Target

ROW_BURN_IN_S: Final = 3.0
"""The longest time for which each other row is measured before the first round.

Without this burn-in, three new brokers were slow in the first round of experiments with 3 s for each row: the mean
throughput was 0.56 to 0.74 of that in the third and fourth round. In the second round, it was 0.97 to 1.12 of that.
Single latencies of the first round were up to 2,600 times those of later rounds.
"""


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
        """The approximate number of seconds that the study takes."""
        return UNBROKEN_S + self.measurements * (trial_s(self.study) + OVERHEAD_S)


@dataclass(frozen=True, slots=True)
class ExperimentSpec:
    """The specification of an experiment.

    Attributes:
        name: Name of the experiment's folder and MLflow runs.
        about: What the experiment measures, in one sentence.
        source: The paper that describes the experiment; empty if there is none.
        client: The client that is measured.
        rows: The rows, each measured once in each round; at least one.
        control: Name of the row that shows whether the cluster drifts. It is measured first in each round, and again
            after every `control_every` other rows.
        control_every: Number of other rows after which the control is measured again.
        rounds: Number of rounds.
        seed: Seed of the order of the rows.
        metrics: The metrics that the tables show.
        target: The cluster.
        findings: Statements of the paper that are checked.
        paper_values: The values that the paper measured.
        differences: How this experiment differs from the paper's, in sentences.
        tracking: Where the experiment is shown in MLflow.
        safety: Limits that protect the cluster.
        searches: The studies that run first.
        ray: The Ray cluster whose nodes run the clients. If it has no address, the clients run on this host.
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
    ray: RaySpec = field(default_factory=RaySpec)

    def __post_init__(self) -> None:
        """Check that the rows can be measured on the target.

        Raises:
            WorkloadRefused: A row can't be measured on the target.
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
        return {row.name: row for row in self.rows}[name]

    def with_configs(self, configs: Mapping[str, Mapping[str, str]]) -> Self:
        """Return a copy of the experiment whose rows have the configs that its searches recommended.

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
        """Check that there is a Ray cluster if rows name its zones; see `RaySpec.check_zones`."""
        for row in self.rows:
            self.ray.check_zones(row.setup.placement)

    @property
    def burn_ins(self) -> tuple[Row, ...]:
        """The burn-in rows, which are measured before the first round: for the control, and then for the other rows.

        Their values are not used. Rows that differ only in settings that a burn-in leaves out, such as the rate, share
        one burn-in. A row that kills a broker has no burn-in, because brokers are started again after it.
        """
        control = self.row(self.control)
        # In a longer run, consumers that read stored records would reach the end of the topic.
        rows = [control.for_burn_in(UNBROKEN_S if control.setup.producers else min(ROW_BURN_IN_S, control.load_s))]
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
        """The approximate number of seconds that the whole experiment takes."""
        control = self.row(self.control)
        others = len(self.rows) - 1
        per_round = sum(row.planned_s for row in self.rows)
        per_round += (others // self.control_every) * control.planned_s
        burn_in_s = sum(row.planned_s for row in self.burn_ins)
        return burn_in_s + self.rounds * per_round + sum(each.planned_s for each in self.searches)

    @property
    def most_bytes(self) -> float:
        """The largest number of bytes of values and keys that the experiment may send.

        The rate of a paced load sets its bytes. A saturating load sends at most `safety.max_bytes_per_trial`.
        """
        control = self.row(self.control)
        again = (len(self.rows) - 1) // self.control_every
        per_round = sum(map(self.most_bytes_of, self.rows)) + again * self.most_bytes_of(control)
        searched = sum(each.measurements for each in self.searches)
        burnt_in = sum(map(self.most_bytes_of, self.burn_ins))
        return burnt_in + searched * self.safety.max_bytes_per_trial + self.rounds * per_round

    def most_bytes_of(self, row: Row) -> float:
        """Return the largest number of bytes of values and keys that one measurement of a row may send."""
        rate, load = row.workload.rate_records_per_s, row.workload
        if not row.setup.producers:
            return row.setup.stored_bytes
        if rate is None:
            return self.safety.max_bytes_per_trial
        sent = rate * row.load_s * (load.record_sizes.mean_bytes + load.key_bytes)
        return min(self.safety.max_bytes_per_trial, row.setup.stored_bytes + sent)
