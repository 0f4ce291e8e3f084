"""The progress that the process of a study reports, and whether that process still runs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self

from tuner.model.errors import DeadlinePassed
from tuner.model.json_types import check_types
from tuner.model.trial import TrialKind

_CLOCK_SLACK_S: Final = 5.0


class StudyState(StrEnum):
    """The state of a study.

    A study that `tuner fork` has created counts as not started: it has trials, but it has measured nothing itself.
    """

    NOT_STARTED = "not started"
    RUNNING = "running"
    CONFIRMING = "confirming"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Progress:
    """A progress report of the process that runs a study. Each report replaces the previous one.

    Attributes:
        state: The state of the study. If the process was killed, this is the state in its last report.
        record_bytes: The record size or mix that is being measured; empty between two record sizes.
        trial: Number of the running trial.
        kind: Why the running trial is run.
        trials: Number of trials planned for this record size; None if only time or bytes limit the search.
        phase: The running phase; empty until the first window of the phase is measured.
        message: The progress in words; after an error, the message of the error; otherwise empty.
        ends_at: Estimated end of the study, ISO 8601; None if unknown.
        behind_mlflow: Number of stored trials that MLflow does not show yet.
        pid: Process ID of the process that runs the study.
        process_started: When the process started, counted from the boot of its host (see
            `runners.host_processes.processes`); empty in the reports of earlier releases.
        started_at: Start time of the process, ISO 8601.
        updated_at: Time of this report, ISO 8601.
        alive: Whether the process still runs, if the storage knows this; None if only the host of the process can check
            it.
    """

    state: StudyState
    record_bytes: str = ""
    trial: int | None = None
    kind: TrialKind | None = None
    trials: int | None = None
    phase: str = ""
    message: str = ""
    ends_at: str | None = None
    behind_mlflow: int = 0
    pid: int | None = None
    process_started: str = ""
    started_at: str = ""
    updated_at: str = ""
    alive: bool | None = None

    @property
    def running(self) -> bool:
        """Whether the study was running at the time of this report; its process may have been killed since."""
        return self.state in (StudyState.RUNNING, StudyState.CONFIRMING)

    def as_json(self) -> dict[str, Any]:
        """Return the stored fields by name, for `from_json` to read; `alive` is not stored."""
        return {name: value for name, value in asdict(self).items() if name != "alive"}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the progress that `as_json` wrote. Missing fields get their defaults; unknown fields are ignored.

        Raises:
            KeyError: The field `state` is missing.
            TypeError: A field is of the wrong type.
            ValueError: This release does not know the state or the kind of trial.
        """
        known = {name: data[name] for name in cls.__slots__ if name in data}
        check_types(cls, known)
        known["state"] = StudyState(known["state"])
        known["kind"] = TrialKind(known["kind"]) if known.get("kind") else None
        return cls(**known)


def state_of(progress: Progress | None, *, finished: bool) -> StudyState:
    """Return the state of a study or an experiment, or how the last process that ran it ended.

    Args:
        progress: The last progress report; None if no process has run the study yet.
        finished: Whether the study ran to its end.
    """
    if progress is not None and progress.running:
        return progress.state if is_alive(progress) else StudyState.INTERRUPTED
    if finished:
        return StudyState.FINISHED
    if progress is None:
        return StudyState.NOT_STARTED
    return StudyState.FAILED if progress.state is StudyState.FAILED else StudyState.INTERRUPTED


def state_after(error: type[BaseException] | None) -> StudyState:
    """Return the state of a study after its process raised an error of this class; None stands for a regular end."""
    if error is None:
        return StudyState.FINISHED
    interrupted = issubclass(error, DeadlinePassed) or not issubclass(error, Exception)
    return StudyState.INTERRUPTED if interrupted else StudyState.FAILED


def is_alive(progress: Progress) -> bool:
    """Return whether the process that wrote the progress report still runs.

    A report from a shared storage says whether the process still runs. For any other report, the process is looked up
    on this host by its ID and its start. Reports of earlier releases have no start: a process that started after the
    report was written is a different process with the same ID.
    """
    if progress.alive is not None or progress.pid is None:
        return bool(progress.alive)
    # Imported here because a status without a running process does not need it.
    import psutil

    from runners.host_processes.processes import ProcessIdentity

    if progress.process_started:
        return ProcessIdentity(progress.pid, progress.process_started).process() is not None
    try:
        process_started = psutil.Process(progress.pid).create_time()
        reported = datetime.fromisoformat(progress.updated_at).timestamp()
    except (ValueError, psutil.NoSuchProcess):
        return False
    return process_started <= reported + _CLOCK_SLACK_S
