"""The queue in a SQLite file, for one service on one host."""

import json
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tuner.service.errors import QueueDamaged, job_not_found, name_taken
from tuner.service.queue.job import ACTIVE, Job, JobState, Submission, check_move
from tuner.storage.sqlite import transaction

SCHEMA_VERSION: Final = 1
QUEUE_FILE: Final = "service.db"
_BUSY_S: Final = 30.0
_TABLES: Final = """
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    study_file TEXT NOT NULL,
    targets TEXT NOT NULL,
    submitted_by TEXT NOT NULL,
    state TEXT NOT NULL,
    owner TEXT NOT NULL DEFAULT '',
    crashes INTEGER NOT NULL DEFAULT 0,
    note TEXT NOT NULL DEFAULT '',
    submitted_at REAL NOT NULL,
    changed_at REAL NOT NULL,
    lease_until REAL NOT NULL DEFAULT 0,
    not_before REAL NOT NULL DEFAULT 0
);
CREATE INDEX jobs_by_state ON jobs (state, number);
"""
_COLUMNS: Final = "number, name, digest, targets, submitted_by, state, owner, crashes, note, submitted_at, changed_at"
_ACTIVE: Final = ", ".join(f"'{state}'" for state in ACTIVE)


class SqliteQueue:
    """A `JobQueue` in one file. A clock that steps makes leases shorter or longer, and loses nothing.

    Raises:
        QueueDamaged: The file is no queue of ours, or of a newer release.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / QUEUE_FILE
        self._lock = threading.RLock()
        self._db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            with self._transaction():
                (version,) = self._db.execute("PRAGMA user_version").fetchone()
                if version not in (0, SCHEMA_VERSION):
                    raise QueueDamaged(
                        f"{path} must have version {SCHEMA_VERSION}, but has {version}: a newer release wrote it; "
                        "upgrade kafka-tuner"
                    )
                if version == 0:
                    for statement in filter(str.strip, _TABLES.split(";")):
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise QueueDamaged(f"{path} must be a SQLite file of ours, readable and writable, but: {error}") from None
        except QueueDamaged:
            self._db.close()
            raise

    def submit(self, submission: Submission) -> tuple[Job, bool]:
        """See `JobQueue.submit`."""
        with self._transaction():
            there = self._row("name = ?", submission.name)
            if there is not None:
                if there.digest != submission.digest:
                    raise name_taken(submission.name)
                return there, False
            now = time.time()
            self._db.execute(
                "INSERT INTO jobs (name, digest, study_file, targets, submitted_by, state, submitted_at, changed_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    submission.name, submission.digest, submission.text, json.dumps(submission.targets),
                    submission.submitted_by, JobState.QUEUED, now, now,
                ),
            )  # fmt: skip
            return self.find(submission.name), True

    def claim(self, owner: str, *, at_once: int, lease_s: float) -> Job | None:
        """See `JobQueue.claim`."""
        with self._transaction():
            now = time.time()
            left = self._row(f"state IN ({_ACTIVE}) AND lease_until <= ? ORDER BY number LIMIT 1", now)
            if left is not None:
                self._set(left.name, owner=owner, lease_until=now + lease_s)
                return self.find(left.name)
            taken: dict[str, int] = {}
            for job in self._rows(f"state IN ({_ACTIVE})"):
                for target in job.targets:
                    taken[target] = taken.get(target, 0) + 1
            for job in self._rows("state = ? AND not_before <= ? ORDER BY number", JobState.QUEUED, now):
                if all(taken.get(target, 0) < at_once for target in job.targets):
                    self._set(
                        job.name,
                        state=JobState.RUNNING,
                        owner=owner,
                        lease_until=now + lease_s,
                        changed_at=now,
                        note="",
                    )
                    return self.find(job.name)
            return None

    def renew(self, owner: str, *, lease_s: float) -> list[Job]:
        """See `JobQueue.renew`."""
        with self._transaction():
            self._db.execute(
                f"UPDATE jobs SET lease_until = ? WHERE owner = ? AND state IN ({_ACTIVE})",
                (time.time() + lease_s, owner),
            )
            return self._rows(f"owner = ? AND state IN ({_ACTIVE}) ORDER BY number", owner)

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
        """See `JobQueue.move`."""
        with self._transaction():
            job, now = self.find(name), time.time()
            check_move(job, to, owner)
            changes: dict[str, Any] = {}
            if to is not job.state:
                changes |= {"state": to, "changed_at": now}
            if note is not None:
                changes["note"] = note
            if crashes is not None:
                changes["crashes"] = crashes
            if to is JobState.QUEUED:
                changes["not_before"] = now + delay_s
            if changes:
                self._set(name, **changes)
            return self.find(name)

    def find(self, name: str) -> Job:
        """See `JobQueue.find`."""
        job = self._row("name = ?", name)
        if job is None:
            raise job_not_found(name)
        return job

    def study_file(self, name: str) -> str:
        """See `JobQueue.study_file`."""
        with self._lock:
            row = self._db.execute("SELECT study_file FROM jobs WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise job_not_found(name)
        return str(row[0])

    def jobs(self, *, states: Collection[JobState] = (), before: int | None = None, limit: int = 100) -> list[Job]:
        """See `JobQueue.jobs`."""
        wanted = tuple(states) or tuple(JobState)
        marks = ", ".join("?" * len(wanted))
        newest = before if before is not None else 2**62
        return self._rows(
            f"state IN ({marks}) AND number < ? ORDER BY number DESC LIMIT ?", *wanted, newest, max(0, limit)
        )

    def counts(self) -> Mapping[JobState, int]:
        """See `JobQueue.counts`."""
        with self._lock:
            rows = self._db.execute("SELECT state, count(*) FROM jobs GROUP BY state").fetchall()
        return {JobState(state): count for state, count in rows}

    def close(self) -> None:
        """See `JobQueue.close`."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, transaction(self._db):
            yield

    def _set(self, name: str, **changes: Any) -> None:
        named = ", ".join(f"{column} = ?" for column in changes)
        self._db.execute(f"UPDATE jobs SET {named} WHERE name = ?", (*changes.values(), name))

    def _rows(self, where: str, *values: Any) -> list[Job]:
        with self._lock:
            rows = self._db.execute(f"SELECT {_COLUMNS} FROM jobs WHERE {where}", values).fetchall()
        return [_job(row) for row in rows]

    def _row(self, where: str, *values: Any) -> Job | None:
        return next(iter(self._rows(where, *values)), None)


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
