"""The queue of studies: on disk, so that a service killed at any time goes on with them.

A service *claims* a study, works on it under a *lease* that it renews, and *moves* it from state to state. Each of
these is one transaction. A service that died loses its studies to whoever claims next, once their leases have run out.
"""

from collections.abc import Collection, Mapping
from typing import Protocol

from tuner.service.queue.job import Job, JobState, Submission


class JobQueue(Protocol):
    """Keeps the service's studies. Any number of processes and threads may use it at once.

    Times are the queue's own, so that several hosts need not agree on theirs.
    """

    def submit(self, submission: Submission) -> tuple[Job, bool]:
        """Put a study into the queue; when this returns it survives a crash.

        Returns:
            The study, and whether it is new: one with the same name and digest is there already and stays as it is.

        Raises:
            NameTaken: Another study has the name.
        """

    def claim(self, owner: str, *, at_once: int, lease_s: float) -> Job | None:
        """Take a study to work on, for `lease_s` seconds; None when there is none.

        First one whose lease has run out, in the state that it was left in; then the first in the queue, which becomes
        `RUNNING`. No target has more than `at_once` active studies at a time.

        Args:
            owner: Names the service that asks.
            at_once: Studies per target, at least 1.
            lease_s: Seconds for which nobody else gets it.
        """

    def renew(self, owner: str, *, lease_s: float) -> list[Job]:
        """Extend the leases of all active studies of this owner.

        Returns:
            These studies; what the owner worked on and is not among them was taken by another.
        """

    def move(
        self,
        name: str,
        to: JobState,
        *,
        owner: str | None = None,
        note: str | None = None,
        crashes: int | None = None,
        delay_s: float = 0.0,
    ) -> Job:
        """Change a study's state.

        Args:
            name: Of the study.
            to: The new state; where it is the present one, only the note and the rest change.
            owner: The study must be this owner's; None where that does not matter.
            note: In place of the present note.
            crashes: In place of the present count.
            delay_s: Seconds for which it is not claimed, where it goes back into the queue.

        Raises:
            JobNotFound: There is none of that name.
            WrongMove: The new state can't follow the present one, or the study is another owner's.
        """

    def find(self, name: str) -> Job:
        """The study of that name.

        Raises:
            JobNotFound: There is none.
        """

    def study_file(self, name: str) -> str:
        """The study file as it was submitted.

        Raises:
            JobNotFound: There is none of that name.
        """

    def jobs(self, *, states: Collection[JobState] = (), before: int | None = None, limit: int = 100) -> list[Job]:
        """Studies, the newest first.

        Args:
            states: Only these; all when empty.
            before: Only those with smaller numbers.
            limit: At most so many.
        """

    def counts(self) -> Mapping[JobState, int]:
        """How many studies are in each state; states without any are left out."""

    def close(self) -> None:
        """Let go of files and connections; may be called again."""
