"""What a study has found so far, read from its record: what every report, table and mirror is made from."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Final

from objectives.front import Front, hypervolume, surely_dominates
from objectives.outcome import COMPARED
from objectives.repeats import Estimate
from objectives.scoring import Objective
from tuner.confirmation.gains import Confirmation, confirmations_of, goals_without_winner
from tuner.confirmation.plan import ConfirmationPlan, plans_in
from tuner.model.errors import RecordDamaged
from tuner.model.goals import goal_gain, goal_rank
from tuner.model.spec import Goal
from tuner.model.trial import CONFIRMING_KINDS, Kind, State, Trial
from tuner.results.estimates import Estimates
from tuner.storage.home import storage_at
from tuner.storage.protocols import ResultsStore, Storage

_AGREED: Final = 2
"""Burn-ins in a row that agree end it: see `schedule.is_stable`."""
TOTALS: Final = "totals"
"""Name of the fact that holds how many trials each record size's search is to have."""


@dataclass(frozen=True, slots=True)
class SizeResults:
    """Everything about one record size.

    Attributes:
        record_bytes: The size or mix.
        objectives: Of the study.
        trials: All of them, by number.
        baseline: The first baseline trial that is complete; None before there is one.
        baseline_metrics: Median of the complete baselines' numbers, those of the burn-ins that agreed among them.
        estimates: What all measurements of each config say together.
        front: Numbers of the trials whose configs no other dominates, by the means of all their measurements; the
            baseline's among them if it is one.
        near_front: Numbers of trials whose configs are dominated, but by so little that noise may have decided it.
        hypervolume: (trial number, volume) at each change, as the search saw it; gains over the baseline, so that it
            alone is 1.0.
        rate_records_per_s: Fixed rate of the paced phase; None where there is none.
        confirmations: What the confirming rounds say.
        without_winner: Goals whose best configs were all measured again, and broke what the study asks for.
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
    without_winner: frozenset[Goal] = frozenset()

    def trial(self, number: int) -> Trial:
        """The trial of that number.

        Raises:
            KeyError: There is none.
        """
        for trial in self.trials:
            if trial.number == number:
                return trial
        raise KeyError(number)

    @property
    def front_trials(self) -> tuple[Trial, ...]:
        """The trials of the front, by number."""
        wanted = set(self.front)
        return tuple(trial for trial in self.trials if trial.number in wanted)

    def metrics_of(self, trial: Trial) -> Mapping[str, float]:
        """The numbers that its config is judged by.

        Means of all its measurements where there are several, each compared with the baseline of its own time.
        """
        estimates = self.estimates.by_config.get(trial.fingerprint, {})
        return {**trial.metrics, **{metric: found.value for metric, found in estimates.items()}}

    def gain(self, trial: Trial, metric: str) -> float | None:
        """How many times better than the baseline a trial's config was: not yet a claim."""
        value, baseline = self.metrics_of(trial).get(metric), self.baseline_metrics.get(metric)
        if value is None or baseline is None:
            return None
        return Objective(metric).gain(value, baseline)

    def goal_gain(self, trial: Trial, goal: Goal) -> float | None:
        """The same for all that a goal is about; see `tuner.model.goals.goal_gain`."""
        return goal_gain(goal, self.metrics_of(trial), self.baseline_metrics, self.objectives)

    def goal_rank(self, trial: Trial, goal: Goal) -> tuple[bool, float]:
        """To sort trials by how good they are for a goal, the best last; see `tuner.model.goals.goal_rank`."""
        return goal_rank(goal, self.metrics_of(trial), self.baseline_metrics, self.objectives)

    def trial_of(self, fingerprint: str) -> Trial:
        """The trial that found a config: the front's, else the search's first, else the first that measured it."""
        found = [trial for trial in self.trials if trial.fingerprint == fingerprint]
        return max(found, key=lambda trial: (trial.number in self.front, trial.kind is Kind.SEARCH, -trial.number))

    def lost_records(self, fingerprint: str) -> bool:
        """Whether a config lost records when it was measured again."""
        again = [trial for trial in self.trials if trial.kind in CONFIRMING_KINDS and trial.fingerprint == fingerprint]
        return any(trial.metrics.get("delivered_ratio", 1.0) < 1.0 for trial in again)

    def confirmation(self, fingerprint: str) -> Confirmation | None:
        """What the confirming rounds say of a config; None if they did not have it."""
        return next((found for found in self.confirmations if found.fingerprint == fingerprint), None)


@dataclass(frozen=True, slots=True)
class StudyResults:
    """Everything about one study.

    Attributes:
        name: Its name.
        folder: Where it lies.
        study_file: Text of its study file, as it was given: `${VARIABLES}` and no secrets.
        facts: Versions and fingerprints of client, cluster and host, when it began, whether it is finished.
        objectives: What it optimises.
        sizes: By record size, in the order searched.
    """

    name: str
    folder: Path
    study_file: str
    facts: Mapping[str, Any]
    objectives: tuple[Objective, ...]
    sizes: tuple[SizeResults, ...]

    def size(self, record_bytes: str) -> SizeResults | None:
        """The results of that record size; None if it was not searched."""
        return next((found for found in self.sizes if found.record_bytes == record_bytes), None)

    @property
    def simulated(self) -> bool:
        """Whether a model answered in place of a cluster."""
        return self.facts.get("client_version") == "simulated"

    @property
    def finished(self) -> bool:
        """Whether the study came to its end."""
        return bool(self.facts.get("finished_at"))


def load_results(folder: Path, storage: Storage | None = None) -> StudyResults:
    """Read a study's record.

    Args:
        folder: The study's.
        storage: Where it is recorded; the one in force by default.

    Raises:
        StudyNotFound: The folder holds none.
        RecordDamaged: It can't be read.
        StorageUnreachable: The shared storage does not answer.
    """
    with closing((storage or storage_at()).read(folder)) as store:
        return results_of(store, folder)


def results_of(store: ResultsStore, folder: Path) -> StudyResults:
    """The results in an open store."""
    facts = store.facts()
    if "objectives" not in facts:
        raise RecordDamaged(
            f"the record in {folder} must say what was optimised, but does not: its first run ended too early"
        )
    objectives = tuple(Objective(metric) for metric in facts["objectives"])
    trials = [trial for _, trial in store.trials()]
    return StudyResults(
        name=facts.get("name", folder.name),
        folder=folder,
        study_file=store.study_file(),
        facts=facts,
        objectives=objectives,
        sizes=tuple(
            size_results(
                size,
                objectives,
                [trial for trial in trials if trial.record_bytes == size],
                facts.get("rates", {}).get(size),
                plans_in(facts, size),
            )
            for size in facts.get("record_sizes", [])
        ),
    )


def size_results(
    record_bytes: str,
    objectives: tuple[Objective, ...],
    trials: Sequence[Trial],
    rate_records_per_s: float | None,
    plans: Sequence[ConfirmationPlan] = (),
) -> SizeResults:
    """Front, hypervolume and confirmations of one record size's trials.

    Args:
        record_bytes: The size or mix.
        objectives: Of the study.
        trials: Of all kinds.
        rate_records_per_s: Fixed rate of the paced phase.
        plans: Its confirmations, the oldest first.
    """
    trials = sorted(trials, key=lambda trial: trial.number)
    baselines = [trial for trial in trials if trial.kind is Kind.BASELINE and trial.state is State.COMPLETE]
    baseline = baselines[0] if baselines else None
    warm = settled(trials, objectives)
    baselines = [*warm, *baselines]
    medians = baseline_metrics(baselines)
    seen = Front(tuple(objective.direction for objective in objectives))
    volumes: list[tuple[int, float]] = []
    for trial in trials:
        if on_trial(seen, trial, baseline):
            volumes.append((trial.number, front_volume(seen.points, objectives, medians) or 0.0))
    judged = dict.fromkeys((*COMPARED, *(objective.metric for objective in objectives)))
    estimates = Estimates.of([*warm, *trials], list(judged), baseline.fingerprint if baseline else None)
    medians |= baseline_metrics([estimates.of_first_time(trial) for trial in baselines], list(judged))
    front, near = _fronts(trials, objectives, baseline, estimates)
    return SizeResults(
        record_bytes=record_bytes,
        objectives=objectives,
        trials=tuple(trials),
        baseline=baseline,
        baseline_metrics=medians,
        estimates=estimates,
        front=front,
        near_front=near,
        hypervolume=tuple(volumes),
        rate_records_per_s=rate_records_per_s,
        confirmations=confirmations_of(trials, plans, medians, objectives),
        without_winner=goals_without_winner(trials, plans, medians, objectives),
    )


def _fronts(
    trials: Sequence[Trial], objectives: Sequence[Objective], baseline: Trial | None, estimates: Estimates
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Numbers of the configs that no other dominates by its mean, and of those that only noise may keep off."""
    directions = tuple(objective.direction for objective in objectives)
    lossy = {trial.fingerprint for trial in trials if trial.metrics.get("delivered_ratio", 1.0) < 1.0}
    candidates: dict[str, tuple[int, tuple[Estimate, ...]]] = {}
    for trial in trials:
        if may_lead(trial, baseline) and trial.fingerprint not in lossy:
            found = estimates.by_config.get(trial.fingerprint, {})
            if all(objective.metric in found for objective in objectives):
                values = tuple(found[objective.metric] for objective in objectives)
                candidates.setdefault(trial.fingerprint, (trial.number, values))
    front = Front(directions)
    for number, values in candidates.values():
        front.add(number, [each.value for each in values])
    members = [values for number, values in candidates.values() if number in front]
    near = [
        number
        for number, values in candidates.values()
        if number not in front and not any(surely_dominates(other, values, directions) for other in members)
    ]
    return front.numbers, tuple(near)


def on_trial(front: Front, trial: Trial, baseline: Trial | None) -> bool:
    """Let a trial change the front, if it may."""
    if not may_lead(trial, baseline):
        return False
    return front.add(trial.number, [value for value in trial.objectives if value is not None])


def settled(trials: Iterable[Trial], objectives: Sequence[Objective]) -> list[Trial]:
    """The burn-ins that counted as warm: the last two before the first baseline that have all objectives.

    They are measurements of the baseline like any other, and given as such. Without them, all gains of a study's first
    ten trials would hang on a single one.

    Args:
        trials: Of one record size, by number.
        objectives: Of the study.
    """
    found: list[Trial] = []
    for trial in trials:
        if trial.state is not State.COMPLETE:
            continue
        if trial.kind is Kind.BASELINE:
            return found[-_AGREED:] if len(found) >= _AGREED else []
        if trial.kind is Kind.STABILISE and all(each.metric in trial.metrics for each in objectives):
            values = tuple(trial.metrics[each.metric] for each in objectives)
            found.append(replace(trial, kind=Kind.BASELINE, objectives=values))
    return []


def may_lead(trial: Trial, baseline: Trial | None) -> bool:
    """Whether a trial may stand on the front: the search's own, and the first baseline.

    Burn-ins may be flattered or wronged by a fresh broker; repeats of the baseline and confirmations are second looks.
    What was stopped early was sure not to come to anything.
    """
    counts = trial.kind is Kind.SEARCH or (baseline is not None and trial.number == baseline.number)
    return counts and trial.feasible and not trial.stopped_early


def baseline_metrics(baselines: Sequence[Trial], only: Sequence[str] | None = None) -> dict[str, float]:
    """Median of each number over the baselines that have it.

    Args:
        baselines: Complete ones.
        only: Of these numbers; of all by default.
    """
    names = {name for trial in baselines for name in trial.metrics if only is None or name in only}
    return {name: median(trial.metrics[name] for trial in baselines if name in trial.metrics) for name in sorted(names)}


def front_volume(
    points: Iterable[Sequence[float | None]], objectives: Sequence[Objective], baseline: Mapping[str, float]
) -> float | None:
    """Hypervolume of a front in gains over a baseline; None where the baseline lacks one of the numbers.

    Args:
        points: The front's, shape (points, objectives).
        objectives: That the points are of.
        baseline: By metric.
    """
    if any(objective.metric not in baseline for objective in objectives):
        return None
    gains = [
        [
            objective.gain(value or 0.0, baseline[objective.metric])
            for objective, value in zip(objectives, point, strict=True)
        ]
        for point in points
    ]
    return hypervolume(gains)
