"""The queue's table: in a SQLite file for a service on one host, in PostgreSQL for services on several."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tuner.storage.connection import Connection, Db, Result, closed_on_error
from tuner.storage.postgres_schema import migrate
from tuner.storage.sqlite import SqliteFile
from tuner.storage.url import StorageUrl

QUEUE_FILE: Final = "service.db"
_MIGRATIONS: Final = (
    """
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
    """,
)
"""Of the SQLite file; PostgreSQL's are in `tuner.storage.postgres_schema`. What was released never changes."""

_IN_SQLITE: Final = {
    "jobs": "jobs",
    "columns": "number, name, digest, targets, submitted_by, state, owner, crashes, note, submitted_at, changed_at",
    "targets": "?",
    "now": "((julianday('now') - 2440587.5) * 86400.0)",
    "second": "1.0",
}
_IN_POSTGRES: Final = {
    "jobs": "kafka_tuner.jobs",
    "columns": "number, name, digest, array_to_json(targets)::text, submitted_by, state, owner, crashes, note, "
    "extract(epoch FROM submitted_at)::float8, extract(epoch FROM changed_at)::float8",
    "targets": "ARRAY(SELECT json_array_elements_text(?))",
    "now": "statement_timestamp()",
    "second": "interval '1 second'",
}
_LOCKS: Final = (0x6B61666B62, 0x6B61666B63)
"""Taken by whoever changes the queue. Two, as earlier releases take the first to submit and the second to claim."""
_ALONE: Final = """
    SELECT set_config('idle_in_transaction_session_timeout', %s, true),
        pg_advisory_xact_lock(%s), pg_advisory_xact_lock(%s)
"""

Ask = Callable[..., list[Any]]
"""Takes a statement, and a value for each `?` in it; returns the rows that it gives.

The statement may hold these words, for which each database has its own:
    {jobs}     the table
    {columns}  what a `Job` is read from: targets as JSON, moments as seconds since 1970
    {targets}  stands for a value as `?` does: targets as JSON
    {now}      this moment by the database's clock, the same throughout the statement
    {second}   what a number of seconds is multiplied by to be added to a moment
"""
Change = Callable[[Ask, bool], Result]
"""Takes what runs statements, and whether it is done again: then what it did before may have been kept, or may not."""


class SqliteTable:
    """A file in the folder of studies. A clock that steps makes leases shorter or longer, and loses nothing.

    Raises:
        RecordDamaged: The file is no queue of ours, or of a newer release.
    """

    def __init__(self, folder: Path) -> None:
        self._file = SqliteFile(folder / QUEUE_FILE, _MIGRATIONS)

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """See `Ask`."""
        return self._file.rows(statement.format_map(_IN_SQLITE), *values)

    def change(self, work: Change[Result]) -> Result:
        """Do work whole or not at all, while nobody else changes the table."""
        with self._file.alone():
            return work(self.rows, False)

    def close(self) -> None:
        """See `JobQueue.close`."""
        self._file.close()


class PostgresTable:
    """A table beside the studies' own.

    A connection that breaks is made anew, and what was asked is asked again.

    Args:
        url: Of the database.
        patience_s: How long an answer is awaited when the server is away.
        silence_s: How long the server waits for a service that falls silent in the midst of a change, and all others
            with it.

    Raises:
        StorageUnreachable: The server does not answer, or refuses us.
        RecordDamaged: A newer release made the tables, or another program.
    """

    def __init__(self, url: StorageUrl, *, patience_s: float = 10.0, silence_s: float = 5.0) -> None:
        self._silence = f"{silence_s:.0f}s"
        with closed_on_error(Connection(url, patience_s)) as self._connection:
            self._connection.run(lambda db, _: migrate(db, url.shown))

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """See `Ask`."""
        return self._connection.run(lambda db, _: _rows(db, statement, *values))

    def change(self, work: Change[Result]) -> Result:
        """Do work whole or not at all, while nobody else changes the table."""

        def alone(db: Db, again: bool) -> Result:
            with db.transaction():
                db.execute(_ALONE, [self._silence, *_LOCKS])
                return work(lambda statement, *values: _rows(db, statement, *values), again)

        return self._connection.run(alone)

    def close(self) -> None:
        """See `JobQueue.close`."""
        self._connection.close()


def _rows(db: Db, statement: str, *values: Any) -> list[Any]:
    asked = db.execute(statement.format_map(_IN_POSTGRES).replace("?", "%s").encode(), values)
    return asked.fetchall() if asked.description else []
