"""The two seams of the record: a storage, which holds studies, and the results store of one study.

What stands in a results store was measured; all else is made from it. A trial is durable before anybody is told of it,
so that a study killed at any moment goes on without losing a finished trial, and without running one twice.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from runners.reporting import Say
from tuner.model.trial import Progress, Trial

"""Takes a sentence for the user."""


class ResultsStore(Protocol):
    """Keeps one study's trials and facts. One writer at a time, any number of readers, any number of threads."""

    def append(self, trial: Trial, attachments: Mapping[str, Any] | None = None) -> None:
        """Keep a trial; when this returns it survives a crash. Attachments are JSON values too large for a row.

        Raises:
            ValueError: A trial of that size and number is there already.
            StudyTakenOver: Another driver has the study now; nothing was kept.
        """

    def trials(self, after: int = 0) -> list[tuple[int, Trial]]:
        """Trials with their sequence numbers, in the order they were kept, those after `after` only."""

    def attachment(self, trial: Trial, name: str) -> Any:
        """What was attached to a trial; None if nothing was."""

    def set_fact(self, name: str, value: Any) -> None:
        """Keep a JSON value under a name, instead of what stood there."""

    def facts(self) -> dict[str, Any]:
        """All facts."""

    def set_study_file(self, text: str) -> None:
        """Keep the study file as it was given."""

    def study_file(self) -> str:
        """The study file; empty if none was kept."""

    def set_progress(self, progress: Progress) -> None:
        """Tell whoever looks on what is being done now; not part of the record, so neither durable nor awaited."""

    def progress(self) -> Progress | None:
        """What the driver told last; None if nothing.

        Where the storage knows by itself whether a driver is at work, it says so in `Progress.alive`.
        """

    def hold(self, what: str) -> "Hold | None":
        """Be the only one, on all hosts, who does something for this study; None if another does it."""

    def close(self) -> None:
        """Let go of files and connections; may be called again."""


class Hold(Protocol):
    """What is held until it is closed, or its process ends."""

    def close(self) -> None:
        """Let others have it; may be called again."""


class Storage(Protocol):
    """Holds studies. A study is named by its folder here, of which a shared storage knows the last part alone."""

    @property
    def shown(self) -> str:
        """Where it is, for people; no password."""

    @property
    def is_shared(self) -> bool:
        """Whether other hosts have the same studies."""

    def find(self, name: str, root: Path) -> Path | None:
        """The folder of the study with that name, folder or study file; None if there is none.

        Args:
            name: As a user gave it.
            root: The folder of all studies on this host.
        """

    def names(self, root: Path) -> list[str]:
        """Names of its studies, the newest first."""

    def read(self, folder: Path) -> ResultsStore:
        """Open a study's record to look at it.

        Raises:
            StudyNotFound: There is none.
            RecordDamaged: It can't be read, or a newer release wrote it.
            StorageUnreachable: The server does not answer.
        """

    def drive(self, folder: Path, name: str, tell: Say) -> AbstractContextManager[ResultsStore]:
        """Open a study's record to run the study, as the only one on all hosts; it is made if need be.

        Args:
            folder: The study's.
            name: What the study is called, told to others who want to run it.
            tell: Told why something takes long.

        Raises:
            StudyBusy: Another process runs it.
            RecordDamaged: The record can't be read, or a newer release wrote it.
            StorageUnreachable: The server does not answer.
        """
