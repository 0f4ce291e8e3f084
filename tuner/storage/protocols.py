"""The two interfaces of storage: `Storage` holds studies, and `ResultsStore` holds the results of one study.

A results store holds the measured trials; all other results are computed from them. A trial is stored durably before
the sampler gets its values and before the user sees them. So a study that was killed at any moment can continue without
losing a finished trial, and without running a trial twice.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from runners.reporting import Say
from tuner.model.progress import Progress
from tuner.model.trial import Trial


class ResultsStore(Protocol):
    """The trials of one study, and other values about it by name (facts).

    There can be one writer and any number of readers at a time. All methods are thread-safe.
    """

    def append(self, trial: Trial, attachments: Mapping[str, Any] | None = None) -> None:
        """Store a trial durably: when this returns, the trial survives a crash.

        Args:
            trial: The trial.
            attachments: JSON values by name that are too large for a database row, such as histograms.

        Raises:
            ValueError: There is already a trial with this record size and number.
            StudyTakenOver: Another process runs the study now; nothing was stored.
        """

    def trials(self, after: int = 0, limit: int | None = None) -> list[tuple[int, Trial]]:
        """Return trials with a sequence number above `after`, each with that number, in the order of storing.

        Args:
            after: The sequence number of the last trial that the caller has.
            limit: The largest number of trials to read; None reads all.
        """

    def attachment(self, trial: Trial, name: str) -> Any:
        """Return a trial's attachment of this name; None if there is none."""

    def set_fact(self, name: str, value: Any) -> None:
        """Store a JSON value about the study under a name; it replaces an earlier value of that name."""

    def facts(self) -> dict[str, Any]:
        """Return all values that `set_fact` has stored, by name."""

    def set_study_file(self, text: str) -> None:
        """Store the text of the study file unchanged."""

    def study_file(self) -> str:
        """Return the text of the study file; empty if none was stored."""

    def set_progress(self, progress: Progress) -> None:
        """Store a progress report for readers. Unlike `append`, this does not wait for the disk."""

    def progress(self) -> Progress | None:
        """Return the progress that was stored last; None if there is none.

        A storage that knows whether the study is running right now says so in `Progress.alive`.
        """

    def hold(self, what: str) -> "Hold | None":
        """Take a lock on a task for this study; return None if another process on any host holds the lock."""

    def lost_leases(self) -> int | None:
        """Return how often this process has lost the lease on the study so far; None while it has no valid lease.

        While the result is None, another process may run the study, so this process must not measure. If two calls
        return the same number, this process had the lease all the time in between.

        Raises:
            StudyTakenOver: Another process runs the study now.
        """

    def await_lease(self) -> None:
        """Wait until `lost_leases` is not None.

        Raises:
            StudyTakenOver: Another process runs the study now.
            StorageUnreachable: The server did not answer for too long.
        """

    def hurry(self) -> None:
        """Wait only a few seconds from now on if the storage does not answer, because the user has ended the study."""

    def close(self) -> None:
        """Close files and connections; may be called again."""


class Hold(Protocol):
    """A lock that is held until it is closed or its process ends."""

    def close(self) -> None:
        """Release the lock; may be called again."""


class Storage(Protocol):
    """A place that holds studies.

    A study is named by its folder. A storage that hosts share uses only the last part of the folder's path.
    """

    @property
    def shown(self) -> str:
        """The location of the storage as messages show it, without a password."""

    @property
    def is_shared(self) -> bool:
        """Whether other hosts see the same studies."""

    def has(self, folder: Path) -> bool:
        """Return whether the storage holds the study with this folder."""

    def find(self, name: str, root: Path) -> Path | None:
        """Return the folder of an existing study; None if there is no such study.

        Args:
            name: The study's name or its folder, as a user gave it.
            root: The folder of all studies on this host.

        Raises:
            ResultsDamaged: A folder has taken the place of the study's results.
        """

    def names(self, root: Path) -> list[str]:
        """Return the names of all studies, the newest first."""

    def create(self, folder: Path) -> bool:
        """Create a study without results; return False, and change nothing, if there is a study of that name.

        If several processes create the same study at the same time, one of them gets True.

        Raises:
            ResultsDamaged: The results can't be read, or a newer release wrote them.
            StorageUnreachable: The server does not answer.
        """

    def remove(self, folder: Path, name: str, tell: Say) -> None:
        """Remove a study: its results, and its folder on this host.

        Args:
            folder: The study's folder.
            name: The study's name, for messages.
            tell: Called with a sentence for the user if removing the study takes long: if the process that ran it has
                died, its lease must end first.

        Raises:
            StudyNotFound: There is no such study.
            StudyBusy: A process runs the study; nothing was removed.
            StorageUnreachable: The server does not answer.
            ResultsUnwritable: The system refused to remove the folder.
        """

    def read(self, folder: Path) -> ResultsStore:
        """Open the results of a study for reading.

        Raises:
            StudyNotFound: There is no such study.
            ResultsDamaged: The results can't be read, or a newer release wrote them.
            StorageUnreachable: The server does not answer.
        """

    def drive(self, folder: Path, name: str, tell: Say) -> AbstractContextManager[ResultsStore]:
        """Open the results of a study to run it. Only one process on all hosts can do so at a time.

        A study that does not exist yet is created.

        Args:
            folder: The study's folder.
            name: The study's name, for messages to other processes that want to run the study.
            tell: Called with a sentence for the user if opening the results takes long: if the process that ran the
                study before has died, its lease must end first.

        Raises:
            StudyBusy: Another process runs the study.
            StudyNotFound: Another process removed the study while this process waited for it.
            ResultsDamaged: The results can't be read, or a newer release wrote them.
            StorageUnreachable: The server does not answer.
        """
