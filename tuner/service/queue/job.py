"""A study in the service's queue, and the states that it goes through."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Self

from tuner.service.errors import NameTaken, WrongMove


class JobState(StrEnum):
    """The state of a study in the queue."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSING = "pausing"
    """The study was asked to pause. It pauses after its current measurement window."""
    PAUSED = "paused"
    CANCELLING = "cancelling"
    """The study was asked to stop for good. It stops after its current measurement window."""
    CANCELLED = "cancelled"
    COMPLETE = "complete"
    FAILED = "failed"


ACTIVE: Final = (JobState.RUNNING, JobState.PAUSING, JobState.CANCELLING)
"""The states in which a process may be running the study. In these states, the study's targets are in use."""
AT_WORK: Final = (JobState.QUEUED, *ACTIVE)
"""The states in which the study continues without a request."""
AT_REST: Final = (JobState.COMPLETE, JobState.PAUSED, JobState.FAILED)
"""The states in which the study can get a task."""

_MOVES: Final[Mapping[JobState, frozenset[JobState]]] = {
    JobState.QUEUED: frozenset({JobState.PAUSED, JobState.CANCELLED, JobState.FAILED}),
    JobState.RUNNING: frozenset(
        {JobState.QUEUED, JobState.PAUSING, JobState.CANCELLING, JobState.COMPLETE, JobState.FAILED}
    ),
    JobState.PAUSING: frozenset({JobState.PAUSED, JobState.CANCELLING, JobState.COMPLETE, JobState.FAILED}),
    JobState.PAUSED: frozenset({JobState.QUEUED, JobState.CANCELLED}),
    JobState.CANCELLING: frozenset({JobState.CANCELLED, JobState.COMPLETE}),
    JobState.CANCELLED: frozenset(),
    JobState.COMPLETE: frozenset(),
    JobState.FAILED: frozenset({JobState.QUEUED, JobState.CANCELLED}),
}
"""The states that may follow each state. Only `JobQueue.claim` changes a study from queued to running."""


_ENDS_AS: Final = {JobState.PAUSING: JobState.PAUSED, JobState.CANCELLING: JobState.CANCELLED}
"""The states that these states lead to."""


class TaskKind(StrEnum):
    """What the process of a study does."""

    RUN = "run"
    """Search and confirm, as `tuner run` does."""
    CONFIRM = "confirm"
    VERIFY = "verify"
    SYNC = "sync"


@dataclass(frozen=True, slots=True)
class Task:
    """What the service does with a study: run it, confirm it again, verify a config, or copy it to MLflow.

    Attributes:
        kind: What the process does.
        options: The options of the task, as JSON values.
        then: The state of the study when the process has done its task.
    """

    kind: TaskKind = TaskKind.RUN
    options: Mapping[str, Any] = field(default_factory=dict)
    then: JobState = JobState.COMPLETE

    def as_text(self) -> str:
        """Return the task as one line of JSON, in which the kind is called `verb`, as in the queues that are stored."""
        return json.dumps({"verb": self.kind, "options": dict(self.options), "then": self.then})

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the task from the text that `as_text` returned; the empty text stands for running the study."""
        if not text:
            return cls()
        fields = json.loads(text)
        return cls(TaskKind(fields["verb"]), fields["options"], JobState(fields["then"]))


@dataclass(frozen=True, slots=True)
class Submission:
    """A study that is ready to be put into the queue. Its study file has been checked.

    Attributes:
        name: The name of the study, which is unique in the queue.
        digest: A digest of the study file's content. Formatting and comments do not change it.
        text: The study file as it was submitted: it contains `${NAME}`, not the value of the variable.
        targets: The names of the targets on which the study measures, at least one.
        submitted_by: The name of the client's token, or empty if the service needs no tokens.
        task: What the study's process does.
        state: The state in which the study enters the queue.
    """

    name: str
    digest: str
    text: str
    targets: tuple[str, ...]
    submitted_by: str = ""
    task: Task = Task()
    state: JobState = JobState.QUEUED


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A study in the queue.

    Attributes:
        number: The number of the submission, counted from 1. Lower numbers run first.
        name: The name of the study.
        digest: The digest of the study file, as in `Submission`.
        targets: The names of the targets on which the study measures.
        submitted_by: The name of the client's token, or empty if the service needs no tokens.
        state: The state of the study.
        owner: The service that runs the study or ran it last, or empty if no service has run it yet.
        crashes: How many times in a row the study's process ended early without a new trial.
        note: An explanation of the state, such as why the study failed, with the end of its log. It may be empty.
        submitted_at: When the study was submitted: UTC, ISO 8601.
        changed_at: When the study's state last changed: UTC, ISO 8601.
        task: What the study's process does.
    """

    number: int
    name: str
    digest: str
    targets: tuple[str, ...]
    submitted_by: str
    state: JobState
    owner: str
    crashes: int
    note: str
    submitted_at: str
    changed_at: str
    task: Task = Task()

    @property
    def active(self) -> bool:
        """Whether a process may be running this study."""
        return self.state in ACTIVE


def check_changeable(job: QueuedJob, *, may_change: bool) -> None:
    """Check whether a study in the queue may get a changed study file.

    Args:
        job: The study in the queue.
        may_change: Whether the client allows the change.

    Raises:
        NameTaken: The study was cancelled, so it can't continue, or the client does not allow the change.
        WrongMove: The study is running.
    """
    if not may_change:
        raise NameTaken(
            f"the study must have a new name, but {job.name!r} was submitted before with other settings; choose "
            "another name"
        )
    if job.active:
        raise WrongMove(
            f"a study file may change only while the study is not running, but {job.name} is {job.state}; pause the "
            "study before you submit the changed file, or choose another name"
        )
    if job.state is JobState.CANCELLED:
        raise NameTaken(
            f"a study's name must be new, but {job.name!r} was submitted before with different content and then "
            "cancelled; choose another name"
        )


def task_after(job: QueuedJob, kind: TaskKind, options: Mapping[str, Any]) -> Task:
    """Return a new task for a study that is not waiting or running. After the task, the study has its present state.

    A study that has failed is paused afterwards, from which it can be resumed, too. If a task other than the run failed
    or was paused, the state after the new task is the state that would have followed the old task.

    Raises:
        WrongMove: The study is waiting or running, was cancelled, or has another task to do.
    """
    if job.state not in AT_REST:
        raise WrongMove(f"to {kind}, a study must be complete, paused or failed, but {job.name} is {job.state}")
    if job.state is JobState.COMPLETE:
        return Task(kind, options, JobState.COMPLETE)
    left = job.task
    if left.kind in (TaskKind.CONFIRM, TaskKind.VERIFY) and left.kind is not kind:
        raise WrongMove(
            f"to {kind}, a study must have nothing else to do, but {job.name} is {job.state} and has not ended its "
            f"task {left.kind}, which would be lost; resume {job.name} first"
        )
    return Task(kind, options, JobState.PAUSED if left.kind is TaskKind.RUN else left.then)


def cancels_task(job: QueuedJob, to: JobState) -> bool:
    """Return whether a change of state ends only the study's task, and not the study itself.

    A confirmation or a copy to MLflow is a task of a study that was complete, paused or failed. If the task is
    cancelled, the study gets the state that follows the task, and is not cancelled.
    """
    return (
        to is JobState.CANCELLED
        and job.state is not JobState.CANCELLED
        and job.task.kind in (TaskKind.CONFIRM, TaskKind.SYNC)
    )


def check_removable(job: QueuedJob) -> None:
    """Check whether a study may be removed from the queue.

    Raises:
        WrongMove: The study is waiting or running.
    """
    if job.state in AT_WORK:
        raise WrongMove(
            f"a study may be removed only while it is neither waiting nor running, but {job.name} is {job.state}; "
            "cancel it first"
        )


def check_move(job: QueuedJob, to: JobState, owner: str | None) -> None:
    """Check whether a study may change to a state.

    Args:
        job: The study in its present state.
        to: The new state.
        owner: The service that must own the study; None if any client may change the study.

    Raises:
        WrongMove: The new state can't follow the present one, or another service owns the study.
    """
    if owner is not None and job.owner != owner:
        raise WrongMove(
            f"a service may change only the studies that it runs, but {job.name} now belongs to "
            f"{job.owner or 'no service'}"
        )
    # Only the service that runs a study knows that the study's process has finished its task.
    ended = owner is not None and job.state is JobState.RUNNING and to is job.task.then
    if to is not job.state and to not in _MOVES[job.state] and not ended:
        raise WrongMove(f"{job.name} is {job.state}, so it can't be {_ENDS_AS.get(to, to)}")
