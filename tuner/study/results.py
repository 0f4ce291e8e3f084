"""What a study has found so far, read from its record: what every report, table and mirror is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from objectives.front import Front, hypervolume
from objectives.scoring import Objective
from tuner.study.confirmation import Confirmation, confirmations_of
from tuner.study.errors import RecordDamaged
from tuner.study.store import STUDY_FILE, ResultsStore, SqliteStore, read_progress
from tuner.study.trial import Kind, State, Trial


@dataclass(frozen=True, slots=True)
class SizeResults:
    """Everything about one record size.

    Attributes:
        record_bytes: The size or mix.
        objectives: Of the study.
        trials: All of them, by number.
        baseline: The first baseline trial that is complete; None before there is one.
        baseline_metrics: Median of the complete baselines' numbers.
        front: Numbers of the trials that no other dominates, the baseline's among them if it is one.
        hypervolume: (trial number, volume) at each change; gains over the baseline, so that it alone is 1.0.
        rate_records_per_s: Fixed rate of the paced phase; None where there is none.
        confirmations: What the confirming rounds say.
    """

    record_bytes: str
    objectives: tuple[Objective, ...]
    trials: tuple[Trial, ...]
    baseline: Trial | None
    baseline_metrics: Mapping[str, float]
    front: tuple[int, ...]
    hypervolume: tuple[tuple[int, float], ...]
    rate_records_per_s: float | None
    confirmations: tuple[Confirmation, ...]

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

    def gain(self, trial: Trial, metric: str) -> float | None:
        """How many times better than the baseline a trial was, in that trial alone: not yet a claim."""
        value, baseline = trial.metrics.get(metric), self.baseline_metrics.get(metric)
        if value is None or baseline is None:
            return None
        return Objective(metric).gain(value, baseline)

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
        progress: What its driver told last; empty if nothing.
    """

    name: str
    folder: Path
    study_file: str
    facts: Mapping[str, Any]
    objectives: tuple[Objective, ...]
    sizes: tuple[SizeResults, ...]
    progress: Mapping[str, Any]

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


def load_results(folder: Path) -> StudyResults:
    """Read a study's record.

    Raises:
        StudyNotFound: The folder holds none.
        RecordDamaged: It can't be read.
    """
    store = SqliteStore(folder, create=False)
    try:
        return results_of(store, folder)
    finally:
        store.close()


def results_of(store: ResultsStore, folder: Path) -> StudyResults:
    """The results in an open store."""
    facts = store.facts()
    if "objectives" not in facts:
        raise RecordDamaged(
            f"the record in {folder} must say what was optimised, but does not: its first run ended too early"
        )
    objectives = tuple(Objective(metric) for metric in facts["objectives"])
    trials = [trial for _, trial in store.trials()]
    study_file = folder / STUDY_FILE
    return StudyResults(
        name=facts.get("name", folder.name),
        folder=folder,
        study_file=study_file.read_text(encoding="utf-8") if study_file.is_file() else "",
        facts=facts,
        objectives=objectives,
        sizes=tuple(
            size_results(
                size,
                objectives,
                [trial for trial in trials if trial.record_bytes == size],
                facts.get("rates", {}).get(size),
            )
            for size in facts.get("record_sizes", [])
        ),
        progress=read_progress(folder),
    )


def size_results(
    record_bytes: str, objectives: tuple[Objective, ...], trials: Sequence[Trial], rate_records_per_s: float | None
) -> SizeResults:
    """Front, hypervolume and confirmations of one record size's trials."""
    trials = sorted(trials, key=lambda trial: trial.number)
    baselines = [trial for trial in trials if trial.kind is Kind.BASELINE and trial.state is State.COMPLETE]
    baseline = baselines[0] if baselines else None
    medians = baseline_metrics(baselines)
    front = Front(tuple(objective.direction for objective in objectives))
    volumes: list[tuple[int, float]] = []
    for trial in trials:
        if on_trial(front, trial, baseline):
            volumes.append((trial.number, front_volume(front, objectives, medians)))
    return SizeResults(
        record_bytes=record_bytes,
        objectives=objectives,
        trials=tuple(trials),
        baseline=baseline,
        baseline_metrics=medians,
        front=front.numbers,
        hypervolume=tuple(volumes),
        rate_records_per_s=rate_records_per_s,
        confirmations=confirmations_of(trials, baseline.fingerprint if baseline else ""),
    )


def on_trial(front: Front, trial: Trial, baseline: Trial | None) -> bool:
    """Let a trial change the front, if it may: the search's own, and the first baseline.

    Burn-ins are flattered or wronged by a fresh broker; repeats of the baseline and confirmations are second looks.
    """
    counts = trial.kind is Kind.SEARCH or (baseline is not None and trial.number == baseline.number)
    if not counts or not trial.feasible:
        return False
    return front.add(trial.number, [value for value in trial.objectives if value is not None])


def baseline_metrics(baselines: Sequence[Trial]) -> dict[str, float]:
    """Median of each number over the baselines that have it."""
    names = {name for trial in baselines for name in trial.metrics}
    return {name: median(trial.metrics[name] for trial in baselines if name in trial.metrics) for name in sorted(names)}


def front_volume(front: Front, objectives: Sequence[Objective], baseline: Mapping[str, float]) -> float:
    """Hypervolume of a front in gains over the baseline; 0 where the baseline has no such numbers."""
    if any(objective.metric not in baseline for objective in objectives):
        return 0.0
    gains = [
        [objective.gain(value, baseline[objective.metric]) for objective, value in zip(objectives, point, strict=True)]
        for point in front.points
    ]
    return hypervolume(gains)
