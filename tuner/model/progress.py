"""What the process that runs a study tells those who look on; each word of it replaces the one before."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from tuner.model.trial import Kind


class StudyState(StrEnum):
    """What a study is doing."""

    RUNNING = "running"
    CONFIRMING = "confirming"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Progress:
    """What is being done for a study now.

    Attributes:
        state: What the study is doing; one whose process was killed says what it last did.
        record_bytes: The record size or mix being measured; empty between them.
        trial: Number of the trial that is under way.
        kind: Why that trial is run.
        trials: How many trials its record size is to have; None where time or bytes end the search.
        phase: The phase that is under way; empty before its first window.
        message: All of this in words; empty when nothing is being measured.
        ends_at: When the study will probably end, ISO 8601; None where that can't be told.
        behind_mlflow: Trials on record that MLflow does not show yet.
        pid: Of the process that runs the study.
        started_at: When that process began, ISO 8601.
        updated_at: When it told this, ISO 8601.
        alive: Whether that process still runs, where the storage knows; None where only its own host can tell.
    """

    state: StudyState
    record_bytes: str = ""
    trial: int | None = None
    kind: Kind | None = None
    trials: int | None = None
    phase: str = ""
    message: str = ""
    ends_at: str | None = None
    behind_mlflow: int = 0
    pid: int | None = None
    started_at: str = ""
    updated_at: str = ""
    alive: bool | None = None

    @property
    def running(self) -> bool:
        """Whether a process works on the study, unless it was killed."""
        return self.state in (StudyState.RUNNING, StudyState.CONFIRMING)

    def as_json(self) -> dict[str, Any]:
        """What is kept, of JSON types only; `from_json` reads it."""
        return {name: value for name, value in asdict(self).items() if name != "alive"}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The progress that `as_json` wrote; what is missing has its default, and what is unknown is left out.

        Raises:
            KeyError: There is no state.
            ValueError: The state, or the kind of trial, is none that this release knows.
        """
        known = {name: data[name] for name in cls.__slots__ if name in data}
        known["state"] = StudyState(known["state"])
        known["kind"] = Kind(known["kind"]) if known.get("kind") else None
        return cls(**known)
