"""The queue of studies. It is stored on disk, so that it survives when the service is killed.

A service claims a study, runs it under a lease that it keeps renewing, and moves it from state to state. Each of these
steps is one transaction. When a service has died and the leases of its studies have run out, another service can claim
them.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tuner.service.errors import JobNotFound, NameTaken
from tuner.service.queue.job import (
    ACTIVE,
    JobState,
    QueuedJob,
    Submission,
    Task,
    TaskKind,
    cancels_task,
    check_changeable,
    check_move,
    check_removable,
    task_after,
)
from tuner.service.queue.tables import Ask, PostgresTable, SqliteTable
from tuner.storage.locations import shared_url

_ACTIVE: Final = ", ".join(f"'{state}'" for state in ACTIVE)
_WHERE_ACTIVE: Final = f"WHERE state IN ({_ACTIVE})"
_INSERT: Final = """
    INSERT INTO {jobs} (number, name, digest, study_file, targets, submitted_by, task, state, submitted_at, changed_at)
    SELECT coalesce(max(number), 0) + 1, ?, ?, ?, {targets}, ?, ?, ?, {now}, {now} FROM {jobs}
"""
_START: Final = "UPDATE {jobs} SET state = ?, note = '', changed_at = {now} WHERE name = ?"
_CHANGE: Final = """
    UPDATE {jobs}
    SET digest = ?, study_file = ?, targets = {targets}, submitted_by = ?, task = ?, state = ?,
        note = '', crashes = 0, not_before = {now}, changed_at = {now}
    WHERE name = ?
"""
_LEASE: Final = "UPDATE {jobs} SET owner = ?, lease_until = {now} + ? * {second} WHERE name = ?"
_RENEW: Final = f"UPDATE {{jobs}} SET lease_until = {{now}} + ? * {{second}} {_WHERE_ACTIVE} AND owner = ?"
_MOVE: Final = """
    UPDATE {jobs}
    SET state = ?,
        changed_at = CASE WHEN state = ? THEN changed_at ELSE {now} END,
        note = coalesce(?, note),
        crashes = coalesce(?, crashes),
        task = coalesce(?, task),
        not_before = CASE WHEN ? = 'queued' THEN {now} + ? * {second} ELSE not_before END
    WHERE name = ?
"""
_SET_STATE: Final = "UPDATE {jobs} SET state = ? WHERE name = ?"
_ASSIGN: Final = """
    UPDATE {jobs} SET task = ?, state = ?, note = '', crashes = 0, not_before = {now}, changed_at = {now} WHERE name = ?
"""


def open_queue(root: Path) -> "JobQueue":
    """Open the queue of a service: in the shared database if one is configured, otherwise in the folder of its studies.

    Args:
        root: The folder of the studies.

    Raises:
        StorageUnreachable: The database does not answer.
        ResultsDamaged: The queue can't be read, or a newer release wrote it.
    """
    shared = shared_url()
    return JobQueue(SqliteTable(root) if shared is None else PostgresTable(shared))


class JobQueue:
    """The queue of submitted studies. Any number of processes and threads may use it at the same time.

    All times come from the database's clock, so the clocks of several hosts need not agree. If the connection breaks
    before the response to a change arrives, the change is repeated, which does no harm. If the first attempt claimed a
    study, `renew` returns that study too. If the first attempt moved a study, the second attempt finds the study in
    its new state.

    Args:
        table: The table that holds the queue.
    """

    def __init__(self, table: SqliteTable | PostgresTable) -> None:
        self._table = table

    def submit(
        self, submission: Submission, *, must_be_new: bool = False, may_change: bool = True
    ) -> tuple[QueuedJob, bool]:
        """Put a study into the queue. Once this returns, the study survives a crash.

        If the queue has a study of this name with another study file, and that study is not running, the study gets the
        new study file and goes back into the queue.

        Args:
            submission: The study.
            must_be_new: Whether to raise an error if any study with this name exists.
            may_change: Whether an existing study with this name may get the new study file.

        Returns:
            The study, and whether it is new. If the queue already has a study with the same name and digest, that study
            is returned unchanged.

        Raises:
            NameTaken: A study of this name with another study file was cancelled or may not change, or the name must be
                new and is not.
            WrongMove: A study of this name with another study file is running.
        """
        stated = (
            submission.digest,
            submission.text,
            json.dumps(submission.targets),
            submission.submitted_by,
            submission.task.as_text(),
            str(submission.state),
        )

        def put(ask: Ask, again: bool) -> tuple[QueuedJob, bool]:
            there = _jobs(ask, "WHERE name = ?", submission.name)
            if not there:
                ask(_INSERT, submission.name, *stated)
                return _named(ask, submission.name), True
            if must_be_new and not again:
                raise NameTaken(f"the study must have a new name, but there is already a study {submission.name}")
            if there[0].digest != submission.digest:
                check_changeable(there[0], may_change=may_change)
                ask(_CHANGE, *stated, submission.name)
                return _named(ask, submission.name), False
            # On a second attempt, the first attempt may have inserted the study, so a study that is still waiting
            # counts as new. If it was in the queue before, the client is wrongly told that it is new. This is harmless.
            return there[0], again and there[0].state is submission.state

        return self._table.change(put)

    def assign(self, name: str, kind: TaskKind, options: Mapping[str, Any]) -> QueuedJob:
        """Put a study that is not waiting or running back into the queue with a task, such as another confirmation.

        Args:
            name: The name of the study.
            kind: What the study's process does.
            options: The options of the task, as JSON values.

        Raises:
            JobNotFound: No study has this name.
            WrongMove: The study is waiting or running, was cancelled, or has another task to do.
        """

        def put(ask: Ask, again: bool) -> QueuedJob:
            job = _named(ask, name)
            if again and job.state is JobState.QUEUED and (job.task.kind, job.task.options) == (kind, options):
                return job  # the first attempt has done it
            ask(_ASSIGN, task_after(job, kind, options).as_text(), str(JobState.QUEUED), name)
            return _named(ask, name)

        return self._table.change(put)

    @contextmanager
    def removing(self, name: str) -> Iterator[bool]:
        """Run the block, which removes what is stored of a study, and then remove the study from the queue.

        During the block the study counts as cancelled, so that nobody resumes it and no process of it starts. If the
        block fails, the study is in the queue as before. Yields whether the queue has the study.

        Raises:
            WrongMove: The study is waiting or running.
        """
        removed: list[QueuedJob] = []

        def cancel(ask: Ask, _: bool) -> None:
            jobs = _jobs(ask, "WHERE name = ?", name)
            for job in jobs:
                check_removable(job)
                ask(_SET_STATE, str(JobState.CANCELLED), name)
            if not removed:  # a repeated attempt would find the state that the first attempt has set
                removed.extend(jobs)

        def restore(ask: Ask, _: bool) -> None:
            for job in removed:
                ask(_SET_STATE, str(job.state), name)

        self._table.change(cancel)
        try:
            yield bool(removed)
        except BaseException:
            self._table.change(restore)
            raise
        self.remove(name)

    def remove(self, name: str) -> None:
        """Remove a study from the queue, so that another study may have its name. Do nothing if there is none.

        Raises:
            WrongMove: The study is waiting or running.
        """

        def take(ask: Ask, _: bool) -> None:
            for job in _jobs(ask, "WHERE name = ?", name):
                check_removable(job)
                ask("DELETE FROM {jobs} WHERE name = ?", name)

        self._table.change(take)

    def claim(
        self, owner: str, *, at_once: int, lease_s: float, targets: Collection[str] | None = None
    ) -> QueuedJob | None:
        """Claim a study to run it, or return None if no study is ready.

        If the lease of an active study has run out, claim that study and leave its state as it is. Otherwise, claim the
        first queued study whose targets all have fewer than `at_once` active studies, and make its state `RUNNING`.

        Args:
            owner: The name of the service that claims the study.
            at_once: How many studies may be active on one target at the same time, at least 1.
            lease_s: How long no other service can claim the study, in seconds.
            targets: The targets that the service has. Studies that need another target are left to other services.
                None claims studies on any target.
        """

        def fits(job: QueuedJob) -> bool:
            return targets is None or all(target in targets for target in job.targets)

        def take(ask: Ask, _: bool) -> QueuedJob | None:
            left = _jobs(ask, f"{_WHERE_ACTIVE} AND lease_until <= {{now}} ORDER BY number")
            job = next(filter(fits, left), None) or next(filter(fits, _ready(ask, at_once)), None)
            if job is None:
                return None
            if not job.active:
                ask(_START, str(JobState.RUNNING), job.name)
            ask(_LEASE, owner, lease_s, job.name)
            return _named(ask, job.name)

        return self._table.change(take)

    def renew(self, owner: str, *, lease_s: float) -> list[QueuedJob]:
        """Extend the leases of all active studies of a service.

        Args:
            owner: The name of the service.
            lease_s: How long the leases last from now on, in seconds.

        Returns:
            All active studies of the service. If the service was running a study that is missing here, another service
            has claimed that study.
        """

        def extend(ask: Ask, _: bool) -> list[QueuedJob]:
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
        task: Task | None = None,
        delay_s: float = 0.0,
    ) -> QueuedJob:
        """Change a study's state.

        Cancelling a study that is to be confirmed again or copied to MLflow cancels only this task. The study then has
        no task, and gets the state that it would have had after the task.

        Args:
            name: The name of the study.
            to: The new state. If the study is in this state already, only the values of the other arguments change.
            owner: The service that must own the study; None if any service may own it.
            note: The new note; None keeps the present one.
            crashes: The new number of crashes; None keeps the present one.
            task: The new task; None keeps the present one.
            delay_s: How long no service can claim the study after it has gone back into the queue, in seconds.

        Returns:
            The study in its new state.

        Raises:
            JobNotFound: No study has this name.
            WrongMove: The new state can't follow the present one, or another service owns the study.
        """
        seen: list[QueuedJob] = []

        def become(ask: Ask, again: bool) -> QueuedJob:
            job = _named(ask, name)
            if again and seen and cancels_task(seen[0], to) and (job.state, job.task) == (seen[0].task.then, Task()):
                return job  # the first attempt has done it
            seen.append(job)
            check_move(job, to, owner)
            state, new_note, new_task = to, note, task
            if cancels_task(job, to):
                state, new_note, new_task = job.task.then, note or "", Task()
            text = None if new_task is None else new_task.as_text()
            ask(_MOVE, str(state), str(state), new_note, crashes, text, str(state), delay_s, name)
            return _named(ask, name)

        return self._table.change(become)

    def find(self, name: str) -> QueuedJob:
        """Return the study with this name.

        Raises:
            JobNotFound: No study has this name.
        """
        return _named(self._table.rows, name)

    def study_file(self, name: str) -> str:
        """Return a study's file as it was submitted.

        Raises:
            JobNotFound: No study has this name.
        """
        job = self.find(name)
        ((text,),) = self._table.rows("SELECT study_file FROM {jobs} WHERE number = ?", job.number)
        return str(text)

    def jobs(self, *, before: int | None = None, limit: int = 100) -> list[QueuedJob]:
        """Return studies, the newest first.

        Args:
            before: Return only studies with a smaller number than this.
            limit: The largest number of studies to return.
        """
        newest = 2**62 if before is None else before
        where = "WHERE number < ? ORDER BY number DESC LIMIT ?"
        return _jobs(self._table.rows, where, newest, max(0, limit))

    def names(self) -> set[str]:
        """Return the names of all studies that were ever submitted."""
        return {name for (name,) in self._table.rows("SELECT name FROM {jobs}")}

    def counts(self) -> Mapping[JobState, int]:
        """Return the number of studies in each state. States without studies are left out."""
        rows = self._table.rows("SELECT state, count(*) FROM {jobs} GROUP BY state")
        return {JobState(state): count for state, count in rows}

    def close(self) -> None:
        """Close files and connections. Calling it twice is allowed."""
        self._table.close()


def _ready(ask: Ask, at_once: int) -> Iterator[QueuedJob]:
    """Yield the queued studies whose targets all have fewer than `at_once` active studies."""
    busy = Counter(target for job in _jobs(ask, _WHERE_ACTIVE) for target in job.targets)
    for job in _jobs(ask, "WHERE state = ? AND not_before <= {now} ORDER BY number", str(JobState.QUEUED)):
        if all(busy[target] < at_once for target in job.targets):
            yield job


def _named(ask: Ask, name: str) -> QueuedJob:
    found = _jobs(ask, "WHERE name = ?", name)
    if not found:
        raise JobNotFound(f"no study {name!r} was submitted to this service; check the name, or submit the study first")
    return found[0]


def _jobs(ask: Ask, where: str, *values: Any) -> list[QueuedJob]:
    return [_job(row) for row in ask(f"SELECT {{columns}} FROM {{jobs}} {where}", *values)]


def _job(row: tuple[Any, ...]) -> QueuedJob:
    number, name, digest, targets, submitted_by, state, owner, crashes, note, submitted_at, changed_at, task = row
    return QueuedJob(
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
        task=Task.parse(task),
    )


def _as_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
