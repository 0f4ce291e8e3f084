"""Computes the progress of a study from its results store and the last progress report of its process."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from statistics import median
from typing import Any, Final

from objectives.ratios import Ratio
from search_spaces.client import client_of
from tuner.model.document import document
from tuner.model.facts import TOTALS, TRIALS_PER_SIZE
from tuner.model.goals import Goal, goal_metrics, goals_of
from tuner.model.progress import Progress, StudyState, state_of
from tuner.model.trial import CONFIRMING_KINDS, SEARCHING_KINDS, State, Trial
from tuner.present.export import Format, offered
from tuner.present.number_text import gain, gain_headings, levels_differ, metric_name
from tuner.present.recommendations.recommendation_words import NO_GAIN, advice_to_keep, in_short, shown_gains
from tuner.results.racing_savings import RacingSavings
from tuner.results.recommendations.by_goal import recommendations_by_goal
from tuner.results.study_results import SizeResults, StudyResults

_SHOWN_FAILURES: Final = 3
_RECENT: Final = 20
_AT_WORK: Final = (StudyState.RUNNING, StudyState.CONFIRMING)
_SAME_IN_QUEUE: Final[Mapping[str, tuple[StudyState, ...]]] = {
    "running": _AT_WORK,
    "complete": (StudyState.FINISHED,),
}
"""By state in a service's queue, the states of a study that don't contradict it."""


@dataclass(frozen=True, slots=True)
class BestSoFar:
    """The best value of one objective so far.

    Attributes:
        metric: The objective.
        value: The best value of any config on the front. A config's value is the mean of all its measurements.
        baseline: The baseline's value, also the mean of all its measurements; None if there is no baseline yet.
        times: How many times better than the baseline the value is; None without a baseline. This ratio proves no gain,
            because the config was not measured alternating with the baseline.
        trial: The trial that found the config.
    """

    metric: str
    value: float
    baseline: float | None
    times: float | None
    trial: int


@dataclass(frozen=True, slots=True)
class Recommended:
    """The recommendation for one goal, for a record size whose confirmation has ended.

    Attributes:
        goal: The goal.
        trial: The trial that found the config.
        is_baseline: Whether no config is proven better than the baseline for the goal.
        gains: By metric of the goal, the gain over the baseline; empty if no gain is claimed.
        in_short: What the config brings and what it costs, or that the baseline is to be kept, in words.
    """

    goal: Goal
    trial: int
    is_baseline: bool
    gains: Mapping[str, Ratio]
    in_short: str = ""

    def __str__(self) -> str:
        """Return `balanced: trial 7, gain (96.7 % interval): throughput 1.32 (1.25 to 1.40)`, with `in_short` after it.

        A ratio that `in_short` names with its interval is left out of the gains.
        """
        if self.is_baseline:
            return f"{self.goal}: keep the baseline, because no config is proven better for this goal"
        if not self.gains:
            return f"{self.goal}: trial {self.trial}, {NO_GAIN}"
        shown = {metric: ratio for metric, ratio in self.gains.items() if ratio.low > 1.0 or not self.in_short}
        differ = levels_differ(shown.values())
        gains = [f"{metric_name(name)} {gain(ratio, with_level=differ)}" for name, ratio in shown.items()]
        gains_text = [f"{gain_headings(shown.values())[0]}: {'; '.join(gains)}"] if gains else []
        return f"{self.goal}: trial {self.trial}, {'; '.join([*gains_text, *filter(None, [self.in_short])])}"


@dataclass(frozen=True, slots=True)
class SizeStatus:
    """The progress of one record size in a study.

    Attributes:
        record_bytes: The record size or mix.
        done: Number of baseline and search trials that have ended.
        total: Planned number of baseline and search trials; None if only time or bytes limit the search.
        confirming: Number of confirmation trials that have ended.
        failed: How many of `done` and `confirming` gave no measurement.
        front: Number of configs on the front.
        best: The best value of each objective.
        raced: How much load racing (stopping trials early) has saved.
        recommended: The recommendation for each goal; empty until this record size has been confirmed.
        formats: The formats in which a recommendation can be fetched; empty until a trial has ended.
    """

    record_bytes: str
    done: int
    total: int | None
    confirming: int
    failed: int
    front: int
    best: tuple[BestSoFar, ...]
    raced: RacingSavings
    recommended: tuple[Recommended, ...]
    formats: tuple[Format, ...]


@dataclass(frozen=True, slots=True)
class Status:
    """The progress of a study.

    Attributes:
        study: The study's name.
        state: The state of the study: a `StudyState`, or the argument of `in_queue`.
        doing: The running trial and phase, in words; empty if the study is not running.
        sizes: The status of each record size.
        left_s: Estimated seconds until the end; None if unknown or not running.
        failures: Name and error of the last trials that gave no measurement.
        behind_mlflow: Number of trials that MLflow does not show yet; 0 if the study is not running, as `tuner sync`
            may have brought MLflow up to date since.
        updated_at: Time of the last progress report, ISO 8601; empty if there was none.
        simulated: Whether the trials were computed by a model and not measured on a cluster.
        error: The error that ended the study; empty if no error did, or if its process could not store the error.
    """

    study: str
    state: str
    doing: str
    sizes: tuple[SizeStatus, ...]
    left_s: float | None
    failures: tuple[tuple[str, str], ...]
    behind_mlflow: int
    updated_at: str
    simulated: bool = False
    error: str = ""

    @property
    def running(self) -> bool:
        """Whether a process is running the study."""
        return self.state in _AT_WORK

    def in_queue(self, state: str) -> "Status":
        """Return the status with the study's state in a service's queue, unless both states mean the same.

        For example, a study that waits in the queue must not be shown as interrupted, because the service starts it. A
        study that was asked to pause must not be shown as running, as its process may take long to stop.
        """
        return self if self.state in _SAME_IN_QUEUE.get(state, ()) else replace(self, state=state)

    def as_json(self) -> dict[str, Any]:
        """Return a JSON object that holds the whole status."""
        failures = [{"trial": trial, "error": error} for trial, error in self.failures]
        return document("status", **{**asdict(self), "failures": failures})


def status_of(study: StudyResults, progress: Progress | None, now: datetime) -> Status:
    """Return the progress of a study.

    Args:
        study: The study's results.
        progress: The last progress report; it may be newer than `study`. None if there is none.
        now: The current time, with its time zone.
    """
    state = state_of(progress, finished=study.finished)
    doing = progress if progress is not None and state is progress.state and progress.running else None
    trials_per_size, totals = study.facts.get(TRIALS_PER_SIZE), study.facts.get(TOTALS, {})
    sizes = tuple(_size(study, size, totals.get(size.record_bytes, trials_per_size)) for size in study.sizes)
    trials = _in_order(study)
    failed = [trial for trial in trials if trial.state is State.FAILED]
    return Status(
        study=study.name,
        state=state,
        doing=doing.message if doing else "",
        sizes=sizes,
        left_s=_left_s(trials, sizes, doing, now) if doing else None,
        failures=tuple((trial.key, trial.error) for trial in failed[-_SHOWN_FAILURES:]),
        behind_mlflow=doing.behind_mlflow if doing else 0,
        updated_at=progress.updated_at if progress else "",
        simulated=study.simulated,
        error=progress.message if progress is not None and state is progress.state and not progress.running else "",
    )


def not_begun(study: str, state: str, message: str, updated_at: str) -> dict[str, Any]:
    """Return the status of a study without any results as a JSON object.

    Args:
        study: The study's name.
        state: The study's state in a service's queue.
        message: Why the study is in this state; empty if there is no explanation.
        updated_at: When the state changed, ISO 8601.
    """
    nothing = Status(study, state, message, sizes=(), left_s=None, failures=(), behind_mlflow=0, updated_at=updated_at)
    return nothing.as_json()


def _in_order(study: StudyResults) -> list[Trial]:
    """Return all trials, the newest last: by number, and not by time, since the clock may have been set back."""
    newest = study.newest.record_bytes if study.newest is not None else ""
    sizes = sorted(study.sizes, key=lambda size: size.record_bytes == newest)
    return [trial for size in sizes for trial in size.trials]


def _size(study: StudyResults, size: SizeResults, total: int | None) -> SizeStatus:
    return SizeStatus(
        record_bytes=size.record_bytes,
        done=sum(trial.kind in SEARCHING_KINDS for trial in size.trials),
        total=total,
        confirming=sum(trial.kind in CONFIRMING_KINDS for trial in size.trials),
        failed=sum(trial.state is State.FAILED for trial in size.trials),
        front=len(size.front),
        best=tuple(_best(size)),
        raced=RacingSavings.of(size.trials),
        recommended=tuple(_recommended(study, size)) if _is_confirmed(study, size) else (),
        formats=offered(client_of(size.trials[0].client)) if size.trials else (),
    )


def _best(size: SizeResults) -> Sequence[BestSoFar]:
    best_so_far = []
    for objective in size.objectives:
        metric = objective.metric
        values = {
            trial.number: measured[metric]
            for trial in size.front_trials
            if metric in (measured := size.metrics_of(trial))
        }
        if not values:
            continue
        best = max(values, key=lambda number: objective.gain(values[number], 1.0))
        baseline = size.baseline_means.get(metric)
        times = objective.gain(values[best], baseline) if baseline else None
        best_so_far.append(BestSoFar(metric, values[best], baseline, times, best))
    return best_so_far


def _is_confirmed(study: StudyResults, size: SizeResults) -> bool:
    """Return whether the confirmation of a record size has ended; until then, the rounds prove nothing."""
    if not size.confirmations:
        return False
    return study.finished or (study.newest is not None and study.newest.record_bytes != size.record_bytes)


def _recommended(study: StudyResults, size: SizeResults) -> Iterator[Recommended]:
    for goal, recommendation in recommendations_by_goal(study, size, goals_of(study.objectives)).items():
        shown = shown_gains(recommendation)
        gains = {name: shown[name] for name in goal_metrics(goal, study.objectives) if name in shown}
        summary = advice_to_keep(recommendation) or in_short(recommendation)
        yield Recommended(goal, recommendation.trial.number, recommendation.is_baseline, gains, summary)


def _left_s(trials: Sequence[Trial], sizes: Sequence[SizeStatus], progress: Progress, now: datetime) -> float | None:
    """Return the estimated seconds until the end of the study.

    The progress report may contain an estimate. Otherwise the estimate is the number of missing baseline and search
    trials times the median duration of recent trials. This second estimate leaves out the confirmation.
    """
    if progress.ends_at:
        return max(0.0, (datetime.fromisoformat(progress.ends_at) - now).total_seconds())
    durations = [trial.duration_s for trial in trials[-_RECENT:] if trial.duration_s > 0]
    if not durations or any(size.total is None for size in sizes):
        return None
    missing = sum(max(0, (size.total or 0) - size.done) for size in sizes)
    return missing * median(durations)
