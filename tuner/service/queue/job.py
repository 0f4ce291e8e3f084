"""A study in the service's queue: what is kept of it, and which states follow which."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tuner.service.errors import WrongMove


class JobState(StrEnum):
    """Where a study stands in the queue."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSING = "pausing"
    """Asked to stop; it does so after the window that it measures."""
    PAUSED = "paused"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    COMPLETE = "complete"
    FAILED = "failed"


ACTIVE: Final = (JobState.RUNNING, JobState.PAUSING, JobState.CANCELLING)
"""States in which a process may be working on the study, so that its targets are taken."""

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
"""What may follow each state; from queued to running goes by `JobQueue.claim` alone."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A study as it is put into the queue; already checked.

    Attributes:
        name: Of the study; unique in the queue.
        digest: Of what the study file says; equal for equal studies, however they are written.
        text: The study file, as it was submitted: `${NAME}` and no values of variables.
        targets: Names of the operator's targets that it measures on, at least one.
        submitted_by: Name of the token; empty where none was needed.
    """

    name: str
    digest: str
    text: str
    targets: tuple[str, ...]
    submitted_by: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A study as the queue keeps it.

    Attributes:
        number: Counts submissions, from 1; lower ones run first.
        name: Of the study.
        digest: See `Submission`.
        targets: See `Submission`.
        submitted_by: See `Submission`.
        state: Where it stands.
        owner: The service that works on it, or did last; empty if none ever did.
        crashes: How often in a row its process ended without bringing it forward.
        note: What there is to know of its state: why it failed, the last lines of its log; may be empty.
        submitted_at: UTC, ISO 8601.
        changed_at: When its state changed last.
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

    @property
    def active(self) -> bool:
        """Whether a process may be working on it."""
        return self.state in ACTIVE


def check_move(job: Job, to: JobState, owner: str | None) -> None:
    """Refuse what a study may not become.

    Args:
        job: As it stands.
        to: What it is to become.
        owner: Who asks, where only its owner may; else None.

    Raises:
        WrongMove: The new state can't follow the present one, or the study is another owner's.
    """
    if owner is not None and job.owner != owner:
        raise WrongMove(f"a study is worked on by one service, but {job.name} is {job.owner or 'nobody'}'s by now")
    if to is not job.state and to not in _MOVES[job.state]:
        raise WrongMove(f"a study that is {job.state} can't become {to}, but that was asked of {job.name}")
