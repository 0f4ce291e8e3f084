"""The queue in PostgreSQL, for services on several hosts. All times are the server's."""

from collections.abc import Collection, Mapping
from datetime import UTC
from typing import Any, Final

from tuner.service.errors import job_not_found, name_taken
from tuner.service.queue.job import ACTIVE, Job, JobState, Submission, check_move
from tuner.storage.connection import Connection, Db
from tuner.storage.postgres_schema import migrate
from tuner.storage.url import StorageUrl

_PATIENCE_S: Final = 10.0
_COLUMNS: Final = "number, name, digest, targets, submitted_by, state, owner, crashes, note, submitted_at, changed_at"
_ACTIVE: Final = [str(state) for state in ACTIVE]
_SUBMITTING: Final = 0x6B61666B62
_CLAIMING: Final = 0x6B61666B63

_INSERT: Final = f"""
    INSERT INTO kafka_tuner.jobs
        (number, name, digest, study_file, targets, submitted_by, state, submitted_at, changed_at)
    SELECT coalesce(max(number), 0) + 1, %s, %s, %s, %s, %s, %s, now(), now() FROM kafka_tuner.jobs
    RETURNING {_COLUMNS}
"""
_ABANDONED: Final = f"""
    UPDATE kafka_tuner.jobs SET owner = %(owner)s, lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s)
    WHERE number = (
        SELECT number FROM kafka_tuner.jobs WHERE state = ANY(%(active)s) AND lease_until <= clock_timestamp()
        ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    RETURNING {_COLUMNS}
"""
_NEXT: Final = f"""
    UPDATE kafka_tuner.jobs
    SET state = %(running)s, owner = %(owner)s, note = '', changed_at = clock_timestamp(),
        lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s)
    WHERE number = (
        SELECT number FROM kafka_tuner.jobs AS waiting
        WHERE state = %(queued)s AND not_before <= clock_timestamp() AND NOT EXISTS (
            SELECT FROM unnest(waiting.targets) AS target
            WHERE (
                SELECT count(*) FROM kafka_tuner.jobs AS busy
                WHERE busy.state = ANY(%(active)s) AND target = ANY(busy.targets)
            ) >= %(at_once)s
        )
        ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    RETURNING {_COLUMNS}
"""
_RENEW: Final = f"""
    UPDATE kafka_tuner.jobs SET lease_until = clock_timestamp() + make_interval(secs => %s)
    WHERE owner = %s AND state = ANY(%s) RETURNING {_COLUMNS}
"""
_MOVE: Final = f"""
    UPDATE kafka_tuner.jobs
    SET changed_at = CASE WHEN state = %(to)s THEN changed_at ELSE clock_timestamp() END,
        state = %(to)s,
        note = coalesce(%(note)s, note),
        crashes = coalesce(%(crashes)s, crashes),
        not_before = CASE WHEN %(to)s = %(queued)s THEN clock_timestamp() + make_interval(secs => %(delay_s)s)
            ELSE not_before END
    WHERE name = %(name)s
    RETURNING {_COLUMNS}
"""


class PostgresQueue:
    """A `JobQueue` in a database; its rows lie beside the studies' own.

    A connection that breaks is made anew, and what was asked is asked again, which is harmless: a claim whose answer
    was lost is told by `renew`, and a move finds its state reached.

    Args:
        url: Of the database.
        patience_s: How long an answer is awaited when the server is away.

    Raises:
        StorageUnreachable: The server does not answer, or refuses us.
        RecordDamaged: A newer release made the tables, or another program.
    """

    def __init__(self, url: StorageUrl, *, patience_s: float = _PATIENCE_S) -> None:
        self._connection = Connection(url, patience_s)
        try:
            self._connection.run(lambda db, _: migrate(db, url.shown))
        except BaseException:
            self._connection.close()
            raise

    def submit(self, submission: Submission) -> tuple[Job, bool]:
        """See `JobQueue.submit`."""

        def put(db: Db, again: bool) -> tuple[Job, bool]:
            with db.transaction():
                # One after the other: numbers have no gaps, and who comes second sees what the first has put.
                db.execute("SELECT pg_advisory_xact_lock(%s)", [_SUBMITTING])
                there = _found(db, "name = %s", submission.name)
                if there is not None and there.digest != submission.digest:
                    raise name_taken(submission.name)
                if there is not None:
                    # After an answer that was lost it may be our own; whoever asks may then be told so twice.
                    return there, again and there.state is JobState.QUEUED
                values = (submission.name, submission.digest, submission.text, list(submission.targets))
                row = db.execute(_INSERT.encode(), [*values, submission.submitted_by, str(JobState.QUEUED)]).fetchone()
                assert row is not None
                return _job(row), True

        return self._connection.run(put)

    def claim(self, owner: str, *, at_once: int, lease_s: float) -> Job | None:
        """See `JobQueue.claim`."""
        asked = {
            "owner": owner,
            "at_once": at_once,
            "lease_s": lease_s,
            "active": _ACTIVE,
            "queued": str(JobState.QUEUED),
            "running": str(JobState.RUNNING),
        }

        def take(db: Db, _: bool) -> Job | None:
            left = db.execute(_ABANDONED.encode(), asked).fetchone()
            if left is not None:
                return _job(left)
            with db.transaction():
                # Two that take different studies of the same target would each see it free.
                db.execute("SELECT pg_advisory_xact_lock(%s)", [_CLAIMING])
                row = db.execute(_NEXT.encode(), asked).fetchone()
            return None if row is None else _job(row)

        return self._connection.run(take)

    def renew(self, owner: str, *, lease_s: float) -> list[Job]:
        """See `JobQueue.renew`."""
        values = [lease_s, owner, _ACTIVE]
        rows = self._connection.run(lambda db, _: db.execute(_RENEW.encode(), values).fetchall())
        return sorted(map(_job, rows), key=lambda job: job.number)

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
        asked = {
            "name": name,
            "to": str(to),
            "note": note,
            "crashes": crashes,
            "delay_s": delay_s,
            "queued": str(JobState.QUEUED),
        }

        def change(db: Db, _: bool) -> Job:
            with db.transaction():
                job = _found(db, "name = %s FOR UPDATE", name)
                if job is None:
                    raise job_not_found(name)
                check_move(job, to, owner)
                row = db.execute(_MOVE.encode(), asked).fetchone()
                assert row is not None, "its row is locked"
                return _job(row)

        return self._connection.run(change)

    def find(self, name: str) -> Job:
        """See `JobQueue.find`."""
        job = self._connection.run(lambda db, _: _found(db, "name = %s", name))
        if job is None:
            raise job_not_found(name)
        return job

    def study_file(self, name: str) -> str:
        """See `JobQueue.study_file`."""
        query = "SELECT study_file FROM kafka_tuner.jobs WHERE name = %s"
        row = self._connection.run(lambda db, _: db.execute(query, [name]).fetchone())
        if row is None:
            raise job_not_found(name)
        return str(row[0])

    def jobs(self, *, states: Collection[JobState] = (), before: int | None = None, limit: int = 100) -> list[Job]:
        """See `JobQueue.jobs`."""
        query = (
            f"SELECT {_COLUMNS} FROM kafka_tuner.jobs WHERE state = ANY(%s) AND number < %s "
            "ORDER BY number DESC LIMIT %s"
        )
        wanted = [str(state) for state in states or JobState]
        values = [wanted, 2**62 if before is None else before, max(0, limit)]
        return [_job(row) for row in self._connection.run(lambda db, _: db.execute(query.encode(), values).fetchall())]

    def counts(self) -> Mapping[JobState, int]:
        """See `JobQueue.counts`."""
        query = "SELECT state, count(*) FROM kafka_tuner.jobs GROUP BY state"
        rows = self._connection.run(lambda db, _: db.execute(query).fetchall())
        return {JobState(state): int(count) for state, count in rows}

    def close(self) -> None:
        """See `JobQueue.close`."""
        self._connection.close()


def _found(db: Db, where: str, *values: Any) -> Job | None:
    row = db.execute(f"SELECT {_COLUMNS} FROM kafka_tuner.jobs WHERE {where}".encode(), values).fetchone()
    return None if row is None else _job(row)


def _job(row: tuple[Any, ...]) -> Job:
    number, name, digest, targets, submitted_by, state, owner, crashes, note, submitted_at, changed_at = row
    return Job(
        number=number,
        name=name,
        digest=digest,
        targets=tuple(targets),
        submitted_by=submitted_by,
        state=JobState(state),
        owner=owner,
        crashes=crashes,
        note=note,
        submitted_at=submitted_at.astimezone(UTC).isoformat(timespec="milliseconds"),
        changed_at=changed_at.astimezone(UTC).isoformat(timespec="milliseconds"),
    )
