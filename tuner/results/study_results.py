"""The results of a study so far, computed from its results store. Reports and MLflow runs are made from them."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Final

from objectives.metrics import COMPARED_WITH_BASELINE
from objectives.scoring import Constraint, Objective
from runners.workload import RecordSizes
from tuner.confirmation.carry_over import CarryOver, carry_overs_of
from tuner.confirmation.gains import (
    Confirmation,
    RemeasuredBaseline,
    confirmations_of,
    goals_without_winner,
    remeasured_baseline,
)
from tuner.confirmation.plan import ConfirmationPlan, plans_in
from tuner.confirmation.winners import MeasuredPlan
from tuner.model.errors import NotAStudy, ResultsDamaged
from tuner.model.facts import (
    ALLOWED_LOSS,
    CLIENT_VERSION,
    CONSTRAINTS,
    EXPERIMENT,
    FINISHED_AT,
    MIXED,
    NAME,
    OBJECTIVES,
    RATES,
    RECORD_SIZES,
)
from tuner.model.goals import ALLOW_LOSS, Goal, goal_gain, goal_rank
from tuner.model.trial import CONFIRMING_KINDS, SEARCHING_KINDS, State, Trial, TrialKind
from tuner.results.changed_constraints import judge_again, own_constraint
from tuner.results.estimates import Estimates
from tuner.results.fronts import fronts, may_be_on_front, volumes
from tuner.storage.bodies import undamaged
from tuner.storage.locations import storage_at
from tuner.storage.protocols import ResultsStore, Storage

SIMULATED: Final = "simulated: a model made these numbers, nothing was measured on Kafka"
"""The warning beside every number of a simulated study."""
_COUNTED_BURN_INS: Final = 2
"""How many burn-in runs count for the baseline's values: the last ones, when the target was warm."""


@dataclass(frozen=True, slots=True)
class SizeResults:
    """All results of a study for one record size.

    Attributes:
        record_bytes: The record size, or mix of sizes.
        objectives: The study's objectives.
        trials: All trials of this record size, by number. For trials of the search and the baseline, `violations` are
            computed again, after correction for the baseline's drift.
        baseline: The first complete baseline trial; None if there is none yet. Its `violations` are computed from the
            newest confirmation, or if there is none, from `baseline_metrics`.
        baseline_metrics: By metric, the median over all complete baseline trials and the last two burn-in runs. The
            values are corrected for drift: to the level at which the baseline was last measured. The search and the
            confirmation compare configs with these values; users see `baseline_means`.
        estimates: By config, the mean of all its measurements, with intervals.
        front: Numbers of the trials on the front. Configs are compared by the means of all their measurements; the
            baseline is one of them.
        near_front: Numbers of trials that are so close to the front that noise alone may keep them off.
        hypervolume: For each trial that changed the front during the search, its number and the front's hypervolume
            after it, corrected for the baseline's drift; see `front_volume`. The baseline alone has 1.0.
        rate_records_per_s: Fixed rate of the paced phase; None without a paced phase, or before its rate is chosen.
        confirmations: Results of the confirmation rounds, one per confirmed config.
        without_winner: Goals that have no winner, because each of their best configs broke a constraint when it was
            measured again.
        nothing_to_confirm: The goals of the newest confirmation if it measured nothing, because the search found no
            config that was better than the baseline for any of these goals.
        remeasured_baseline: The baseline's measurements in the newest confirmation; None if none measured it.
        carry_overs: For each objective, how much its values depend on the config that was measured before. They are
            computed from the newest confirmation that has enough rounds.
    """

    record_bytes: str
    objectives: tuple[Objective, ...]
    trials: tuple[Trial, ...]
    baseline: Trial | None
    baseline_metrics: Mapping[str, float]
    estimates: Estimates
    front: tuple[int, ...]
    near_front: tuple[int, ...]
    hypervolume: tuple[tuple[int, float], ...]
    rate_records_per_s: float | None
    confirmations: tuple[Confirmation, ...]
    without_winner: frozenset[Goal]
    nothing_to_confirm: tuple[Goal, ...]
    remeasured_baseline: RemeasuredBaseline | None
    carry_overs: tuple[CarryOver, ...]

    def trial(self, number: int) -> Trial:
        """Return the trial with this number.

        Raises:
            KeyError: No trial has this number.
        """
        for trial in self.trials:
            if trial.number == number:
                return trial
        raise KeyError(number)

    @property
    def baseline_means(self) -> Mapping[str, float]:
        """By metric, the number that is shown for the baseline beside the configs; empty if there is no baseline yet.

        The number is the mean of all measurements, as for a config. A metric without an estimate has the value in
        `baseline_metrics`.
        """
        if self.baseline is None:
            return {}
        return self._with_means(self.baseline.fingerprint, self.baseline_metrics)

    @property
    def candidates(self) -> tuple[Trial, ...]:
        """The trials of the search that may be on the front, so that their configs may be recommended."""
        return tuple(
            trial
            for trial in self.trials
            if trial.kind is TrialKind.SEARCH
            and trial.number not in self.estimates.forgotten
            and may_be_on_front(trial, self.baseline)
        )

    @property
    def front_trials(self) -> tuple[Trial, ...]:
        """The trials on the front, by number."""
        wanted = set(self.front)
        return tuple(trial for trial in self.trials if trial.number in wanted)

    def metrics_of(self, trial: Trial) -> Mapping[str, float]:
        """Return the metrics by which a trial's config is judged.

        A config that was measured several times has the means of all its measurements. All values are corrected for
        the baseline's drift. This includes trials that are in no mean, because they are forgotten or were stopped
        early.
        """
        return self._with_means(trial.fingerprint, self.estimates.without_drift(trial).metrics)

    def _with_means(self, fingerprint: str, metrics: Mapping[str, float]) -> dict[str, float]:
        """Return a config's metrics with the means of all its measurements, where it has them."""
        found = {**metrics, **self.estimates.means_of(fingerprint)}
        if "records_per_s" in metrics and metrics.get("mb_per_s"):
            # Both metrics are the same throughput, so both must come from the same mean.
            found["records_per_s"] = metrics["records_per_s"] * found["mb_per_s"] / metrics["mb_per_s"]
        return found

    def shown_metrics(self, trial: Trial) -> Mapping[str, float]:
        """Return the metrics that tables and MLflow show for a trial.

        A trial of the search has the numbers that `tuner front` prints for its config, and a complete baseline trial
        has those of the baseline. All other trials have their measured values, because these are compared only with
        values of the same round.
        """
        if trial.kind is TrialKind.SEARCH:
            return self.metrics_of(trial)
        if trial.kind is TrialKind.BASELINE and trial.state is State.COMPLETE:
            return {**trial.metrics, **self.baseline_means}
        return trial.metrics

    def raw_metrics(self, trial: Trial) -> Mapping[str, float]:
        """Return the measured values of metrics that `shown_metrics` may correct, with names such as `raw_mb_per_s`."""
        corrected = (*self.estimates.drift, *self.estimates.other_drift)
        return {f"raw_{name}": trial.metrics[name] for name in corrected if name in trial.metrics}

    def gain(self, trial: Trial, metric: str) -> float | None:
        """Return how many times better than the baseline a trial's config is in one metric; None if that is unknown.

        The result compares the means of all measurements. It proves no gain, because the config and the baseline were
        not measured in turn.
        """
        value, baseline = self.metrics_of(trial).get(metric), self.baseline_means.get(metric)
        if value is None or baseline is None:
            return None
        return Objective(metric).gain(value, baseline)

    def goal_gain(self, trial: Trial, goal: Goal) -> float | None:
        """Return how many times better than the baseline a trial's config is for a goal.

        The function `tuner.model.goals.goal_gain` defines how the goal's metrics are combined.
        """
        return goal_gain(goal, self.metrics_of(trial), self.baseline_metrics, self.objectives)

    def goal_rank(self, trial: Trial, goal: Goal, allow_loss: float = ALLOW_LOSS) -> tuple[bool, float]:
        """Return a sort key that puts the best trial for a goal last, as `tuner.model.goals.goal_rank` defines it."""
        return goal_rank(goal, self.metrics_of(trial), self.baseline_metrics, self.objectives, allow_loss)

    def trial_of(self, fingerprint: str) -> Trial:
        """Return the trial that represents a config in tables and messages.

        This is the config's trial on the front, if there is one. Otherwise it is the config's first trial of the
        search, or if there is none, its first trial of any kind.
        """
        same_config = [trial for trial in self.trials if trial.fingerprint == fingerprint]
        return max(
            same_config, key=lambda trial: (trial.number in self.front, trial.kind is TrialKind.SEARCH, -trial.number)
        )

    def lost_records(self, fingerprint: str) -> bool:
        """Return whether a config lost records when it was measured again after the search."""
        measured_again = [
            trial for trial in self.trials if trial.kind in CONFIRMING_KINDS and trial.fingerprint == fingerprint
        ]
        return any(trial.lost_records for trial in measured_again)

    def confirmation(self, fingerprint: str) -> Confirmation | None:
        """Return the results of a config's confirmation rounds; None if it was not confirmed."""
        return next((found for found in self.confirmations if found.fingerprint == fingerprint), None)


@dataclass(frozen=True, slots=True)
class StudyResults:
    """All results of one study.

    Attributes:
        name: The study's name.
        folder: The study's folder.
        study_file: Text of the study file as the user wrote it: with `${VARIABLES}`, without secrets.
        facts: What is stored about the study as a whole, by name: versions of client and brokers, host, start and end
            times, settings.
        objectives: What the study optimises.
        sizes: The results of each record size, in the order of their searches.
        newest: The trial that was stored last; None if there is none.
    """

    name: str
    folder: Path
    study_file: str
    facts: Mapping[str, Any]
    objectives: tuple[Objective, ...]
    sizes: tuple[SizeResults, ...]
    newest: Trial | None = None

    def size(self, record_bytes: str) -> SizeResults | None:
        """Return the results of a record size or mix, such as `100:70,1000:30`; None if the study does not have it."""
        wanted = RecordSizes.parse(record_bytes)
        return next((found for found in self.sizes if RecordSizes.parse(found.record_bytes) == wanted), None)

    def selected_sizes(self, record_bytes: str | None) -> tuple[SizeResults, ...]:
        """Return the results of one record size or mix; of all record sizes if `record_bytes` is None.

        Raises:
            ValueError: The study does not have this size.
        """
        if record_bytes is None:
            return self.sizes
        found = self.size(record_bytes)
        if found is None:
            there = ", ".join(size.record_bytes for size in self.sizes) or "none yet"
            raise ValueError(f"record_bytes must be one of the study's record sizes ({there}), but got {record_bytes}")
        return (found,)

    @property
    def allow_loss(self) -> float:
        """How much a balanced config may lose in an objective, as a share from 0 to 1; see `ConfirmSpec.allow_loss`."""
        return float(self.facts.get(ALLOWED_LOSS, ALLOW_LOSS))

    @property
    def simulated(self) -> bool:
        """Whether the trials were computed by a model and not measured on a cluster."""
        return self.facts.get(CLIENT_VERSION) == "simulated"

    @property
    def mixed(self) -> tuple[str, ...]:
        """How the host, the client or the cluster changed between trials, as sentences; empty if nothing changed."""
        return mixed_environments(self.facts)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes all results of the study less reliable, as sentences."""
        return (*([SIMULATED] if self.simulated else []), *self.mixed, *unfinished(self.name, self.facts))

    @property
    def finished(self) -> bool:
        """Whether the study ran to its end."""
        return bool(self.facts.get(FINISHED_AT))


def unfinished(name: str, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a sentence about a study or experiment that has not run to its end; empty if it has."""
    return () if facts.get(FINISHED_AT) else (f"{name} is not finished, so its results may still change",)


def mixed_environments(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return how the environment of a study or experiment changed between its trials, as sentences."""
    told = facts.get(MIXED, ())
    return tuple(f"trials of different environments, which can't be compared well: {each}" for each in told)


def load_results(folder: Path, storage: Storage | None = None) -> StudyResults:
    """Read a study's results, by default from the storage that the environment names.

    Raises:
        StudyNotFound: The folder holds no study.
        ResultsDamaged: The results store can't be read.
        StorageUnreachable: The shared storage does not answer.
    """
    with closing((storage or storage_at()).read(folder)) as store:
        return results_of(store, folder)


def refuse_experiment(facts: Mapping[str, Any], folder: Path) -> None:
    """Check that the facts in a results store are those of a study.

    Raises:
        NotAStudy: The facts are those of an experiment.
    """
    if EXPERIMENT in facts:
        name = folder.name
        raise NotAStudy(
            f"{name} is an experiment, not a study; use `tuner predict {name}`, or `tuner experiment report {name}`"
        )


def results_of(store: ResultsStore, folder: Path) -> StudyResults:
    """Compute the results from an open results store.

    Raises:
        ResultsDamaged: The store does not say what the study optimises.
        NotAStudy: The store holds an experiment.
    """
    facts = store.facts()
    refuse_experiment(facts, folder)
    if OBJECTIVES not in facts:
        raise ResultsDamaged(
            f"the results store in {folder} does not say what the study optimises, because its first run ended too "
            "early; run the study again"
        )
    with undamaged(f"the fact 'objectives' in {folder}"):
        objectives = tuple(Objective(metric) for metric in facts[OBJECTIVES])
    trials = [trial for _, trial in store.trials()]
    constraints = _constraints_in(facts)
    return StudyResults(
        name=facts.get(NAME, folder.name),
        folder=folder,
        study_file=store.study_file(),
        facts=facts,
        objectives=objectives,
        sizes=tuple(
            size_results(
                size,
                objectives,
                [trial for trial in trials if trial.record_bytes == size],
                facts.get(RATES, {}).get(size),
                plans_in(facts, size),
                constraints,
            )
            for size in facts.get(RECORD_SIZES, [])
        ),
        newest=trials[-1] if trials else None,
    )


def _constraints_in(facts: Mapping[str, Any]) -> tuple[Constraint, ...] | None:
    """Return the study's present constraints; None if they are not stored, as in studies of the first release."""
    if CONSTRAINTS not in facts:
        return None
    return tuple(filter(None, map(Constraint.parse, facts[CONSTRAINTS])))


def size_results(
    record_bytes: str,
    objectives: tuple[Objective, ...],
    trials: Sequence[Trial],
    rate_records_per_s: float | None,
    plans: Sequence[ConfirmationPlan] = (),
    constraints: Sequence[Constraint] | None = None,
) -> SizeResults:
    """Compute all results of one record size from its trials.

    Args:
        record_bytes: The record size or mix.
        objectives: The study's objectives.
        trials: The trials of the record size, of all kinds.
        rate_records_per_s: Fixed rate of the paced phase.
        plans: The plans of the record size's confirmations, the oldest first.
        constraints: The study's present constraints, by which all trials are judged; None to use the constraints with
            which the trials were stored.
    """
    trials = sorted(trials, key=lambda trial: trial.number)
    if constraints is not None:
        trials = judge_again(constraints, trials)
    baselines = [trial for trial in trials if trial.kind is TrialKind.BASELINE and trial.state is State.COMPLETE]
    baseline = baselines[0] if baselines else None
    warm = burn_ins_as_baseline(trials, objectives)
    baselines = [*warm, *baselines]
    limits = _constraints_of(trials)
    asked = [*(objective.metric for objective in objectives), *(each.metric for each in limits.values())]
    as_warm = [each for each in trials if not any(plan.may_be_colder(each) for plan in plans)]
    metrics = list(dict.fromkeys((*COMPARED_WITH_BASELINE, *asked)))
    estimates = Estimates.of([*warm, *as_warm], metrics, baseline.fingerprint if baseline else None, asked)
    kept = [trial for trial in baselines if trial.number not in estimates.forgotten]
    medians = baseline_metrics([estimates.without_drift(trial) for trial in kept or baselines])
    again = remeasured_baseline(trials, plans, objectives, constraints)
    now = {**medians, **(again.metrics if again and not again.colder else {})}
    trials = [_judged_again(trial, limits, estimates, now) for trial in trials]
    baseline = next((trial for trial in trials if baseline is not None and trial.number == baseline.number), None)
    front, near = fronts(trials, objectives, baseline, estimates)
    confirmed = [MeasuredPlan(plan, trials, medians, objectives) for plan in plans]
    return SizeResults(
        record_bytes=record_bytes,
        objectives=objectives,
        trials=tuple(trials),
        baseline=baseline,
        baseline_metrics=medians,
        estimates=estimates,
        front=front,
        near_front=near,
        hypervolume=volumes(trials, objectives, baseline, estimates, medians),
        rate_records_per_s=rate_records_per_s,
        confirmations=confirmations_of(confirmed, constraints),
        without_winner=goals_without_winner(confirmed),
        nothing_to_confirm=tuple(plans[-1].nominees) if plans and plans[-1].is_empty else (),
        remeasured_baseline=again,
        carry_overs=carry_overs_of(trials, plans, [objective.metric for objective in objectives]),
    )


def _constraints_of(trials: Iterable[Trial]) -> dict[str, Constraint]:
    """Return the study's own constraints, by the text under which the trials store them.

    The constraints that every study has are left out, because drift does not change whether a trial meets them.
    """
    names = dict.fromkeys(name for trial in trials for name in trial.violations)
    return {name: each for name in names if (each := own_constraint(name)) is not None}


def _judged_again(
    trial: Trial, constraints: Mapping[str, Constraint], estimates: Estimates, baseline: Mapping[str, float]
) -> Trial:
    """Return a trial with its violations of the study's constraints computed again.

    When the trial was stored, the later drift of the baseline was not known. So a trial of the search is judged by its
    metrics after correction for drift, and a baseline trial by the baseline's present metrics. Trials of other kinds
    are returned unchanged.
    """
    if trial.kind not in SEARCHING_KINDS:
        return trial
    metrics = baseline if trial.kind is TrialKind.BASELINE else estimates.without_drift(trial).metrics
    again = {
        name: each.violation(metrics[each.metric], baseline.get(each.metric))
        for name, each in constraints.items()
        if name in trial.violations and each.metric in trial.metrics and each.metric in metrics
    }
    return replace(trial, violations={**trial.violations, **again}) if again else trial


def burn_ins_as_baseline(trials: Iterable[Trial], objectives: Sequence[Objective]) -> list[Trial]:
    """Return the last two burn-in runs before the first baseline trial, as baseline trials; empty if there are fewer.

    Runs without a value for some objective do not count. The target is warm at the end of the burn-in, so these two
    runs are measurements of the baseline, too. Without them, all gains among a study's first ten trials would depend on
    a single measurement of the baseline.
    """
    candidates: list[Trial] = []
    for trial in trials:
        if trial.state is not State.COMPLETE:
            continue
        if trial.kind is TrialKind.BASELINE:
            return candidates[-_COUNTED_BURN_INS:] if len(candidates) >= _COUNTED_BURN_INS else []
        if trial.kind is TrialKind.BURN_IN and all(each.metric in trial.metrics for each in objectives):
            values = tuple(trial.metrics[each.metric] for each in objectives)
            candidates.append(replace(trial, kind=TrialKind.BASELINE, objectives=values))
    return []


def baseline_metrics(baselines: Sequence[Trial]) -> dict[str, float]:
    """Return the median of each metric over the complete baseline trials that have it."""
    names = {name for trial in baselines for name in trial.metrics}
    return {name: median(trial.metrics[name] for trial in baselines if name in trial.metrics) for name in sorted(names)}
