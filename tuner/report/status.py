"""How far a study is: read from its record and from what its driver told last, by whoever asks."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from statistics import median
from typing import Any, Final

import psutil

from tuner.report.raced import Raced
from tuner.study.results import SizeResults, StudyResults
from tuner.study.trial import CONFIRMING_KINDS, Kind, State, Trial

SCHEMA_VERSION: Final = 1
_SHOWN_FAILURES: Final = 3
_RECENT: Final = 20
_CLOCK_SLACK_S: Final = 5.0
_COUNTED: Final = (Kind.BASELINE, Kind.SEARCH)


class StudyState(StrEnum):
    """What a study is doing."""

    RUNNING = "running"
    CONFIRMING = "confirming"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class BestSoFar:
    """The best value of one objective.

    Attributes:
        metric: The objective.
        value: The best of a trial that kept every constraint.
        baseline: The baseline's, median of its repeats.
        times: How many times better it is: of one trial, so no claim; None without a baseline.
    """

    metric: str
    value: float
    baseline: float | None
    times: float | None


@dataclass(frozen=True, slots=True)
class SizeStatus:
    """How far one record size is.

    Attributes:
        record_bytes: The size or mix.
        done: Trials of baseline and search that have ended.
        total: How many there are to be; None where time or bytes end the search.
        confirming: Trials of the confirming rounds that have ended.
        failed: Trials without a measurement, of `done` and `confirming`.
        front: Configs on the front.
        best: By objective.
        raced: What racing has saved.
    """

    record_bytes: str
    done: int
    total: int | None
    confirming: int
    failed: int
    front: int
    best: tuple[BestSoFar, ...]
    raced: Raced


@dataclass(frozen=True, slots=True)
class Status:
    """How far a study is.

    Attributes:
        study: Its name.
        state: What it is doing.
        doing: The current trial and phase, in words; empty unless it runs.
        sizes: By record size.
        left_s: Seconds left, roughly; None where that can't be told, or nothing runs.
        failures: The last trials without a measurement: name and error.
        behind_mlflow: Trials that MLflow does not have yet.
        updated_at: When its driver told anything last, ISO 8601; empty if never.
    """

    study: str
    state: StudyState
    doing: str
    sizes: tuple[SizeStatus, ...]
    left_s: float | None
    failures: tuple[tuple[str, str], ...]
    behind_mlflow: int
    updated_at: str

    @property
    def running(self) -> bool:
        """Whether a process works on it."""
        return self.state in (StudyState.RUNNING, StudyState.CONFIRMING)

    def as_json(self) -> dict[str, Any]:
        """Of JSON types only."""
        failures = [{"trial": trial, "error": error} for trial, error in self.failures]
        return {"schema_version": SCHEMA_VERSION, "kind": "status", **asdict(self), "failures": failures}


def status_of(study: StudyResults, progress: Mapping[str, Any], now: datetime) -> Status:
    """How far the study is.

    Args:
        study: Its results.
        progress: What its driver told last, which may be newer than what `study` was read with.
        now: The time, with its zone.
    """
    state = _state(study, progress)
    running = state in (StudyState.RUNNING, StudyState.CONFIRMING)
    total = study.facts.get("trials_per_size")
    sizes = tuple(_size(size, total) for size in study.sizes)
    failed = [trial for size in study.sizes for trial in size.trials if trial.state is State.FAILED]
    failed.sort(key=lambda trial: trial.started_at)
    return Status(
        study=study.name,
        state=state,
        doing=_doing(progress) if running else "",
        sizes=sizes,
        left_s=_left_s(study, sizes, progress, now) if running else None,
        failures=tuple((f"{trial.key}", trial.error) for trial in failed[-_SHOWN_FAILURES:]),
        behind_mlflow=int(progress.get("behind_mlflow") or 0),
        updated_at=str(progress.get("updated_at") or ""),
    )


def _state(study: StudyResults, progress: Mapping[str, Any]) -> StudyState:
    told = progress.get("state")
    if told in (StudyState.RUNNING, StudyState.CONFIRMING):
        return StudyState(told) if _is_alive(progress) else StudyState.INTERRUPTED
    if study.finished:
        return StudyState.FINISHED
    return StudyState.FAILED if told == StudyState.FAILED else StudyState.INTERRUPTED


def _is_alive(progress: Mapping[str, Any]) -> bool:
    """Whether the driver still runs: as the storage says, else its process here; one with its number may be another."""
    if "alive" in progress:
        return bool(progress["alive"])
    try:
        born = psutil.Process(int(progress["pid"])).create_time()
        told = datetime.fromisoformat(str(progress["updated_at"])).timestamp()
    except (KeyError, TypeError, ValueError, psutil.NoSuchProcess):
        return False
    return born <= told + _CLOCK_SLACK_S


def _doing(progress: Mapping[str, Any]) -> str:
    at = f"{progress.get('record_bytes')} B, trial {progress['trial']}" if progress.get("trial") is not None else ""
    told = (at, *(str(progress.get(name) or "") for name in ("kind", "phase", "message")))
    return ", ".join(text for text in told if text)


def _size(size: SizeResults, total: int | None) -> SizeStatus:
    return SizeStatus(
        record_bytes=size.record_bytes,
        done=_done(size),
        total=total,
        confirming=sum(trial.kind in CONFIRMING_KINDS for trial in size.trials),
        failed=sum(trial.state is State.FAILED for trial in size.trials),
        front=len(size.front),
        best=tuple(_best(size)),
        raced=Raced.of(size.trials),
    )


def _done(size: SizeResults) -> int:
    return sum(trial.kind in _COUNTED for trial in size.trials)


def _best(size: SizeResults) -> Sequence[BestSoFar]:
    found = []
    for place, objective in enumerate(size.objectives):
        values = [value for trial in size.front_trials if (value := trial.objectives[place]) is not None]
        if not values:
            continue
        best = max(values, key=lambda value: objective.gain(value, 1.0))
        baseline = size.baseline_metrics.get(objective.metric)
        found.append(BestSoFar(objective.metric, best, baseline, objective.gain(best, baseline) if baseline else None))
    return found


def _left_s(
    study: StudyResults, sizes: Sequence[SizeStatus], progress: Mapping[str, Any], now: datetime
) -> float | None:
    """What the driver told, else what the trials that are still to come take; the confirming rounds come on top."""
    ends_at = progress.get("ends_at")
    if ends_at:
        return max(0.0, (datetime.fromisoformat(str(ends_at)) - now).total_seconds())
    durations = [trial.duration_s for trial in _by_time(study)[-_RECENT:] if trial.duration_s > 0]
    if not durations or any(size.total is None for size in sizes):
        return None
    missing = sum(max(0, (size.total or 0) - size.done) for size in sizes)
    return missing * median(durations)


def _by_time(study: StudyResults) -> list[Trial]:
    return sorted((trial for size in study.sizes for trial in size.trials), key=lambda trial: trial.started_at)
