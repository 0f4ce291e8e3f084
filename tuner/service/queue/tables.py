"""The table of the queue, in a SQLite file for a service on one host or in PostgreSQL for several hosts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tuner.model.study_files import QUEUE_FILE
from tuner.storage.postgres_connection import Connection, Db, Result, closed_on_error
from tuner.storage.postgres_schema import migrate
from tuner.storage.postgres_url import PostgresUrl
from tuner.storage.sqlite import SqliteFile

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
    "ALTER TABLE jobs ADD COLUMN task TEXT NOT NULL DEFAULT '';",
)
"""The migrations of the SQLite file. Those of PostgreSQL are in `tuner.storage.postgres_schema`.

A released migration must never change.
"""

_IN_SQLITE: Final = {
    "jobs": "jobs",
    "columns": "number, name, digest, targets, submitted_by, state, owner, crashes, note, submitted_at, changed_at, "
    "task",
    "targets": "?",
    "now": "((julianday('now') - 2440587.5) * 86400.0)",
    "second": "1.0",
}
_IN_POSTGRES: Final = {
    "jobs": "kafka_tuner.jobs",
    "columns": "number, name, digest, array_to_json(targets)::text, submitted_by, state, owner, crashes, note, "
    "extract(epoch FROM submitted_at)::float8, extract(epoch FROM changed_at)::float8, task",
    "targets": "ARRAY(SELECT json_array_elements_text(?))",
    "now": "statement_timestamp()",
    "second": "interval '1 second'",
}
_LOCKS: Final = (0x6B61666B62, 0x6B61666B63)
"""Advisory locks that every change of the queue takes.

There are two, because earlier releases take the first one to submit a study and the second one to claim it.
"""
_ALONE: Final = """
    SELECT set_config('idle_in_transaction_session_timeout', %s, true),
        pg_advisory_xact_lock(%s), pg_advisory_xact_lock(%s)
"""

Ask = Callable[..., list[Any]]
"""Runs an SQL statement with a value for each `?` in it, and returns its rows.

The statement may contain these placeholders, which stand for different SQL in each database:
    {jobs}     the table
    {columns}  the columns of a `QueuedJob`, with the targets as JSON and times as seconds since 1970
    {targets}  like `?`, a placeholder for a value: the targets as JSON
    {now}      the present time by the database's clock, the same everywhere in the statement
    {second}   one second: a number of seconds, multiplied by it, can be added to a time
"""
Change = Callable[[Ask, bool], Result]
"""A function that changes the table. It takes an `Ask`, and whether this is a second attempt.

On a second attempt, the function can't know whether the first attempt was committed.
"""


class SqliteTable:
    """The table of the queue, in a SQLite file in the folder of the studies.

    Leases depend on the host's clock. If the clock jumps, the leases become shorter or longer, but no study is lost.

    Raises:
        ResultsDamaged: The file is not a queue, or a newer release wrote it.
    """

    def __init__(self, folder: Path) -> None:
        self._file = SqliteFile(folder / QUEUE_FILE, _MIGRATIONS)

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Run a statement, which may use the placeholders of `Ask`, and return its rows."""
        return self._file.rows(statement.format_map(_IN_SQLITE), *values)

    def change(self, work: Change[Result]) -> Result:
        """Call `work` in a transaction during which nobody else can change the table, and return its result."""
        with self._file.alone():
            return work(self.rows, False)

    def close(self) -> None:
        """Close the file. Calling it twice is allowed."""
        self._file.close()


class PostgresTable:
    """The table of the queue, in the PostgreSQL database that also holds the studies.

    When the connection breaks, a new one is opened and the statement is repeated.

    Args:
        url: The address of the database.
        patience_s: How long to wait for a database server that does not answer, in seconds.
        silence_s: How long the database server waits for a service that stops responding in the middle of a change, in
            seconds. All other services wait for the same time, because the silent service holds the locks.

    Raises:
        StorageUnreachable: The database server does not answer or refuses the connection.
        ResultsDamaged: A newer release or another program made the tables.
    """

    def __init__(self, url: PostgresUrl, *, patience_s: float = 10.0, silence_s: float = 5.0) -> None:
        self._silence = f"{silence_s:.0f}s"
        with closed_on_error(Connection(url, patience_s)) as self._connection:
            self._connection.run(lambda db, _: migrate(db, url.shown))

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Run a statement, which may use the placeholders of `Ask`, and return its rows."""
        return self._connection.run(lambda db, _: _rows(db, statement, *values))

    def change(self, work: Change[Result]) -> Result:
        """Call `work` in a transaction during which nobody else can change the table, and return its result."""

        def alone(db: Db, again: bool) -> Result:
            with db.transaction():
                db.execute(_ALONE, [self._silence, *_LOCKS])
                return work(lambda statement, *values: _rows(db, statement, *values), again)

        return self._connection.run(alone)

    def close(self) -> None:
        """Close the connection. Calling it twice is allowed."""
        self._connection.close()


def _rows(db: Db, statement: str, *values: Any) -> list[Any]:
    asked = db.execute(statement.format_map(_IN_POSTGRES).replace("?", "%s").encode(), values)
    return asked.fetchall() if asked.description else []
