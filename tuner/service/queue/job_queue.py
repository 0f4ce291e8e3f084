"""The queue of studies: on disk, so that a service killed at any time goes on with them.

A service *claims* a study, works on it under a *lease* that it renews, and *moves* it from state to state. Each of
these is one transaction. A service that died loses its studies to whoever claims next, once their leases have run out.
"""

import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tuner.service.errors import JobNotFound, NameTaken
from tuner.service.queue.job import ACTIVE, Job, JobState, Submission, check_move
from tuner.service.queue.tables import Ask, PostgresTable, SqliteTable
from tuner.storage.home import shared_url

_ACTIVE: Final = ", ".join(f"'{state}'" for state in ACTIVE)
_WHERE_ACTIVE: Final = f"WHERE state IN ({_ACTIVE})"
_INSERT: Final = """
    INSERT INTO {jobs} (number, name, digest, study_file, targets, submitted_by, state, submitted_at, changed_at)
    SELECT coalesce(max(number), 0) + 1, ?, ?, ?, {targets}, ?, ?, {now}, {now} FROM {jobs}
"""
_START: Final = "UPDATE {jobs} SET state = ?, note = '', changed_at = {now} WHERE name = ?"
_LEASE: Final = "UPDATE {jobs} SET owner = ?, lease_until = {now} + ? * {second} WHERE name = ?"
_RENEW: Final = f"UPDATE {{jobs}} SET lease_until = {{now}} + ? * {{second}} {_WHERE_ACTIVE} AND owner = ?"
_MOVE: Final = """
    UPDATE {jobs}
    SET state = ?,
        changed_at = CASE WHEN state = ? THEN changed_at ELSE {now} END,
        note = coalesce(?, note),
        crashes = coalesce(?, crashes),
        not_before = CASE WHEN ? = 'queued' THEN {now} + ? * {second} ELSE not_before END
    WHERE name = ?
"""


def open_queue(root: Path) -> "JobQueue":
    """The queue of the service whose studies lie below `root`: beside them, or where they are recorded.

    Raises:
        StorageUnreachable: The database does not answer.
        RecordDamaged: It can't be read, or a newer release wrote it.
    """
    shared = shared_url()
    return JobQueue(SqliteTable(root) if shared is None else PostgresTable(shared))


class JobQueue:
    """Keeps the service's studies. Any number of processes and threads may use it at once.

    Times are the database's own, so that several hosts need not agree on theirs. What is asked a second time because
    the answer was lost does no harm: a claim is told by `renew`, and a move finds its state reached.
    """

    def __init__(self, table: SqliteTable | PostgresTable) -> None:
        self._table = table

    def submit(self, submission: Submission) -> tuple[Job, bool]:
        """Put a study into the queue; when this returns it survives a crash.

        Returns:
            The study, and whether it is new: one with the same name and digest is there already and stays as it is.

        Raises:
            NameTaken: Another study has the name.
        """

        def put(ask: Ask, again: bool) -> tuple[Job, bool]:
            there = _jobs(ask, "WHERE name = ?", submission.name)
            if not there:
                ask(
                    _INSERT,
                    submission.name,
                    submission.digest,
                    submission.text,
                    json.dumps(submission.targets),
                    submission.submitted_by,
                    str(JobState.QUEUED),
                )
                return _named(ask, submission.name), True
            if there[0].digest != submission.digest:
                raise NameTaken(
                    f"a name stands for one study, but {submission.name!r} was submitted with another content; "
                    "choose another name"
                )
            # After an answer that was lost it may be our own; whoever asks may then be told so twice.
            return there[0], again and there[0].state is JobState.QUEUED

        return self._table.change(put)

    def claim(self, owner: str, *, at_once: int, lease_s: float) -> Job | None:
        """Take a study to work on, for `lease_s` seconds; None when there is none.

        First one whose lease has run out, in the state that it was left in; then the first in the queue, which becomes
        `RUNNING`. No target has more than `at_once` active studies at a time.

        Args:
            owner: Names the service that asks.
            at_once: Studies per target, at least 1.
            lease_s: Seconds for which nobody else gets it.
        """

        def take(ask: Ask, _: bool) -> Job | None:
            left = _jobs(ask, f"{_WHERE_ACTIVE} AND lease_until <= {{now}} ORDER BY number LIMIT 1")
            job = left[0] if left else _next(ask, at_once)
            if job is None:
                return None
            if not job.active:
                ask(_START, str(JobState.RUNNING), job.name)
            ask(_LEASE, owner, lease_s, job.name)
            return _named(ask, job.name)

        return self._table.change(take)

    def renew(self, owner: str, *, lease_s: float) -> list[Job]:
        """Extend the leases of all active studies of this owner.

        Returns:
            These studies; what the owner worked on and is not among them was taken by another.
        """

        def extend(ask: Ask, _: bool) -> list[Job]:
            ask(_RENEW, lease_s, owner)
            return _jobs(ask, f"{_WHERE_ACTIVE} AND owner = ? ORDER BY number", owner)

        return self._table.change(extend)

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

        def become(ask: Ask, _: bool) -> Job:
            check_move(_named(ask, name), to, owner)
            ask(_MOVE, str(to), str(to), note, crashes, str(to), delay_s, name)
            return _named(ask, name)

        return self._table.change(become)

    def find(self, name: str) -> Job:
        """The study of that name.

        Raises:
            JobNotFound: There is none.
        """
        return _named(self._table.rows, name)

    def study_file(self, name: str) -> str:
        """The study file as it was submitted.

        Raises:
            JobNotFound: There is none of that name.
        """
        job = self.find(name)
        ((text,),) = self._table.rows("SELECT study_file FROM {jobs} WHERE number = ?", job.number)
        return str(text)

    def jobs(self, *, before: int | None = None, limit: int = 100) -> list[Job]:
        """Studies, the newest first.

        Args:
            before: Only those with smaller numbers.
            limit: At most so many.
        """
        newest = 2**62 if before is None else before
        where = "WHERE number < ? ORDER BY number DESC LIMIT ?"
        return _jobs(self._table.rows, where, newest, max(0, limit))

    def names(self) -> set[str]:
        """The names of all studies that were ever submitted."""
        return {name for (name,) in self._table.rows("SELECT name FROM {jobs}")}

    def counts(self) -> Mapping[JobState, int]:
        """How many studies are in each state; states without any are left out."""
        rows = self._table.rows("SELECT state, count(*) FROM {jobs} GROUP BY state")
        return {JobState(state): count for state, count in rows}

    def close(self) -> None:
        """Let go of files and connections; may be called again."""
        self._table.close()


def _next(ask: Ask, at_once: int) -> Job | None:
    """The first study in the queue whose targets are free."""
    busy = Counter(target for job in _jobs(ask, _WHERE_ACTIVE) for target in job.targets)
    for job in _jobs(ask, "WHERE state = ? AND not_before <= {now} ORDER BY number", str(JobState.QUEUED)):
        if all(busy[target] < at_once for target in job.targets):
            return job
    return None


def _named(ask: Ask, name: str) -> Job:
    found = _jobs(ask, "WHERE name = ?", name)
    if not found:
        raise JobNotFound(f"a study must have been submitted to this service, but {name!r} was not")
    return found[0]


def _jobs(ask: Ask, where: str, *values: Any) -> list[Job]:
    return [_job(row) for row in ask(f"SELECT {{columns}} FROM {{jobs}} {where}", *values)]


def _job(row: tuple[Any, ...]) -> Job:
    number, name, digest, targets, submitted_by, state, owner, crashes, note, submitted_at, changed_at = row
    return Job(
        number=number,
        name=name,
        digest=digest,
        targets=tuple(json.loads(targets)),
        submitted_by=submitted_by,
        state=JobState(state),
        owner=owner,
        crashes=crashes,
        note=note,
        submitted_at=_as_text(submitted_at),
        changed_at=_as_text(changed_at),
    )


def _as_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
