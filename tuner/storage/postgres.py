"""Studies in a PostgreSQL database, which several hosts can read, run and take over from each other."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from runners.reporting import Say
from tuner.model.errors import StorageUnreachable, StudyBusy, StudyNotFound
from tuner.model.progress import Progress
from tuner.model.trial import Trial
from tuner.storage.bodies import (
    attachment_body,
    read_attachment,
    read_facts,
    read_progress,
    read_trials,
    trial_body,
    undamaged,
)
from tuner.storage.folder_files import remove_without_results
from tuner.storage.postgres_connection import Connection, Db, closed_on_error
from tuner.storage.postgres_lease import LEASE_S, RENEWALS, RenewedLease, take, taken_over_error
from tuner.storage.postgres_schema import migrate, version_of
from tuner.storage.postgres_url import PostgresUrl
from tuner.storage.protocols import ResultsStore, Storage

READER_PATIENCE_S: Final = 10.0
"""How long a reader retries while the server does not answer: long enough for a restart of the server."""
DRIVER_PATIENCE_S: Final = 600.0
"""How long a running study retries while the server does not answer, so that its measurements are not lost."""
_HURRY_S: Final = 3.0
"""How long a study that the user has ended retries while the server does not answer."""
_LEAST_RENEWAL_S: Final = 1.0
"""If the server does not answer, a renewal of the lease is tried again for at least this many seconds."""
_LEASE_POLL_S: Final = 0.1
"""Seconds between two looks at whether the lease is held again."""
_STUDY: Final = "SELECT id FROM kafka_tuner.studies WHERE name = %s"
_CREATE: Final = "INSERT INTO kafka_tuner.studies (name) VALUES (%s) ON CONFLICT DO NOTHING"
_TEXT: Final = "SELECT study_file FROM kafka_tuner.studies WHERE id = %s"
_REMOVE: Final = "DELETE FROM kafka_tuner.studies WHERE id = %s"
_NAMES: Final = """
    SELECT name FROM kafka_tuner.studies AS study LEFT JOIN kafka_tuner.leases AS held ON held.study = study.id
    ORDER BY coalesce(held.renewed_at, study.created_at) DESC, study.id DESC
"""
_HELD: Final = "SELECT 1 FROM kafka_tuner.leases WHERE study = %s AND token = %s FOR SHARE"
"""The SQL that checks that we hold the lease, and locks it.

No other process can take the study over before our transaction ends.
"""
_TRIAL: Final = """
    INSERT INTO kafka_tuner.trials (study, record_bytes, number, body, token) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (study, record_bytes, number) DO NOTHING
"""
_THERE: Final = "SELECT body, token FROM kafka_tuner.trials WHERE study = %s AND record_bytes = %s AND number = %s"
_ATTACH: Final = (
    "INSERT INTO kafka_tuner.attachments (study, record_bytes, number, name, body) VALUES (%s, %s, %s, %s, %s)"
)
_ATTACHED: Final = """
    SELECT body FROM kafka_tuner.attachments WHERE study = %s AND record_bytes = %s AND number = %s AND name = %s
"""
_FACT: Final = f"""
    WITH held AS ({_HELD})
    INSERT INTO kafka_tuner.facts (study, name, body) SELECT %s, %s, %s FROM held
    ON CONFLICT (study, name) DO UPDATE SET body = excluded.body
"""
_STUDY_FILE: Final = f"""
    WITH held AS ({_HELD}) UPDATE kafka_tuner.studies SET study_file = %s WHERE id = %s AND EXISTS (SELECT FROM held)
"""
_PROGRESS: Final = """
    SELECT body, held.expires_at > clock_timestamp()
    FROM kafka_tuner.progress LEFT JOIN kafka_tuner.leases AS held USING (study) WHERE study = %s
"""


class PostgresStorage(Storage):
    """The studies in the schema `kafka_tuner` of a PostgreSQL database.

    A study's name in the database is the last part of the path of its folder.

    Args:
        url: The address of the database.
        lease_s: How long a process that runs a study keeps it without renewing the lease, in seconds.
        patience_s: How long a process that runs a study retries while the server does not answer, in seconds.
    """

    is_shared: Final = True

    def __init__(self, url: PostgresUrl, *, lease_s: float = LEASE_S, patience_s: float = DRIVER_PATIENCE_S) -> None:
        self._url, self._lease_s, self._patience_s = url, lease_s, patience_s

    @property
    @override
    def shown(self) -> str:
        return self._url.shown

    @override
    def has(self, folder: Path) -> bool:
        with closing(Connection(self._url, READER_PATIENCE_S)) as connection:
            return bool(self._rows(connection, _STUDY, folder.name))

    @override
    def find(self, name: str, root: Path) -> Path | None:
        names = self.names(root)
        return next((root / each for each in (name, Path(name).name) if each in names), None)

    @override
    def names(self, root: Path) -> list[str]:
        """Return the names of all studies, starting with the study that was run last."""
        with closing(Connection(self._url, READER_PATIENCE_S)) as connection:
            return [name for (name,) in self._rows(connection, _NAMES)]

    @override
    def create(self, folder: Path) -> bool:
        def make(db: Db, _: bool) -> bool:
            migrate(db, self.shown)
            return db.execute(_CREATE, [folder.name]).rowcount == 1

        with closing(Connection(self._url, READER_PATIENCE_S)) as connection:
            return connection.run(make)

    @override
    def read(self, folder: Path) -> ResultsStore:
        with closed_on_error(Connection(self._url, READER_PATIENCE_S)) as connection:
            return PostgresStore(connection, self._study(connection, folder.name), folder.name)

    @override
    def remove(self, folder: Path, name: str, tell: Say) -> None:
        """Remove a study with all its rows, and the files that the tuner made in its folder on this host."""
        with closing(Connection(self._url, READER_PATIENCE_S, tell=tell)) as connection:
            study = self._study(connection, folder.name)
            take(connection, study, name, self._lease_s, tell)
            ((study_file,),) = connection.rows(_TEXT, study)
            connection.run(lambda db, _: db.execute(_REMOVE, [study]))
        remove_without_results(folder, study_file)

    @override
    @contextmanager
    def drive(self, folder: Path, name: str, tell: Say) -> Iterator[ResultsStore]:
        folder.mkdir(parents=True, exist_ok=True)

        def begin(db: Db, _: bool) -> int:
            migrate(db, self.shown)
            db.execute(_CREATE, [folder.name])
            ((study,),) = db.execute(_STUDY, [folder.name]).fetchall()
            return int(study)

        with closing(Connection(self._url, READER_PATIENCE_S, tell=tell)) as connection:
            study = connection.run(begin)
            token = take(connection, study, name, self._lease_s, tell)
            connection.patience_s = self._patience_s
            renewing = Connection(self._url, max(_LEAST_RENEWAL_S, self._lease_s / RENEWALS), durable=False)
            lease = RenewedLease(renewing, study, token, self._lease_s)
            with closing(PostgresStore(connection, study, folder.name, lease)) as store:
                yield store

    def _study(self, connection: Connection, name: str) -> int:
        """Return the id of a study.

        Raises:
            StudyNotFound: There is no study of this name.
        """
        rows = self._rows(connection, _STUDY, name)
        if not rows:
            raise StudyNotFound(f"there is no study {name} in {self.shown}")
        return int(rows[0][0])

    def _rows(self, connection: Connection, query: str, *values: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query after migrating the tables; an empty list if there are no tables."""

        def look(db: Db, _: bool) -> list[tuple[Any, ...]]:
            if not version_of(db, self.shown):
                return []
            migrate(db, self.shown)
            return db.execute(query.encode(), values).fetchall()

        return connection.run(look)


class PostgresStore(ResultsStore):
    """The results of one study in PostgreSQL. Only the process that holds the study's lease can write them.

    Args:
        connection: The connection, which is closed with the store.
        study: The study's number in the database.
        name: The study's name.
        lease: The lease that we hold, which is released when the store is closed; None for a reader.
    """

    def __init__(self, connection: Connection, study: int, name: str, lease: RenewedLease | None = None) -> None:
        self._connection, self._study, self._name, self._lease = connection, study, name, lease
        self._where = f"the study {name} in {connection.url.shown}"

    @override
    def append(self, trial: Trial, attachments: Mapping[str, Any] | None = None) -> None:
        token = self._writing().token
        key = (self._study, trial.record_bytes, trial.number)
        body = trial_body(trial)
        files = [(*key, name, attachment_body(value)) for name, value in (attachments or {}).items()]

        def keep(db: Db, again: bool) -> None:
            with db.transaction():
                if db.execute(_HELD, [self._study, token]).fetchone() is None:
                    raise taken_over_error(self._name)
                if db.execute(_TRIAL, [*key, body, token]).rowcount:
                    with db.cursor() as cursor:
                        cursor.executemany(_ATTACH, files)
                # After a lost connection, a trial with our token means that our first commit succeeded.
                elif not (again and db.execute(_THERE, key).fetchone() == (body, token)):
                    raise ValueError(f"a trial can be stored only once, but {trial.key} is there already")

        self._connection.run(keep)

    @override
    def trials(self, after: int = 0, limit: int | None = None) -> list[tuple[int, Trial]]:
        rows = self._connection.rows(
            "SELECT sequence, body FROM kafka_tuner.trials WHERE study = %s AND sequence > %s ORDER BY sequence "
            "LIMIT %s",
            self._study,
            after,
            limit,
        )
        return read_trials(rows, self._where)

    @override
    def attachment(self, trial: Trial, name: str) -> Any:
        rows = self._connection.rows(_ATTACHED, self._study, trial.record_bytes, trial.number, name)
        with undamaged(f"the attachment {name} of trial {trial.key} in {self._where}"):
            return read_attachment(rows[0][0]) if rows else None

    @override
    def set_fact(self, name: str, value: Any) -> None:
        self._change(_FACT, self._study, self._writing().token, self._study, name, json.dumps(value))

    @override
    def facts(self) -> dict[str, Any]:
        rows = self._connection.rows("SELECT name, body FROM kafka_tuner.facts WHERE study = %s", self._study)
        return read_facts(rows, self._where)

    @override
    def set_study_file(self, text: str) -> None:
        self._change(_STUDY_FILE, self._study, self._writing().token, text, self._study)

    @override
    def study_file(self) -> str:
        rows = self._connection.rows(_TEXT, self._study)
        return str(rows[0][0]) if rows else ""  # another process may have removed the study

    @override
    def set_progress(self, progress: Progress) -> None:
        """Store a progress report; readers see it within a second.

        Raises:
            StudyTakenOver: Another process runs the study now, so this one must stop measuring.
        """
        self._writing().tell(progress)

    @override
    def progress(self) -> Progress | None:
        """Return the progress that was stored last; None if there is none.

        The field `Progress.alive` says whether the study's lease is still valid. The process ID can't show this,
        because the process that runs the study may be on any host.
        """
        rows = self._connection.rows(_PROGRESS, self._study)
        report = read_progress(rows[0][0]) if rows else None
        return replace(report, alive=bool(rows[0][1])) if report is not None else None

    @override
    def lost_leases(self) -> int | None:
        return self._writing().lost_leases()

    @override
    def await_lease(self) -> None:
        shown, patience_s = self._connection.url.shown, self._connection.patience_s
        began_s = time.monotonic()
        if self.lost_leases() is None and self._connection.tell is not None:
            self._connection.tell(
                f"the lease of the study could not be renewed, as the storage at {shown} does not answer; nothing is "
                f"measured until it does, for up to {patience_s:.0f} s, and the running trial begins again then"
            )
        while self.lost_leases() is None:
            if time.monotonic() - began_s > patience_s:
                raise StorageUnreachable(
                    f"a study is run only while its lease in {shown} is renewed, but the server did not answer for "
                    f"{patience_s:.0f} s; run the study again to continue it"
                )
            time.sleep(_LEASE_POLL_S)

    @override
    def hold(self, what: str) -> Connection | None:
        """Take a lock on a task for this study; return None if another process holds the lock.

        The server releases the lock when the connection ends, even if this process is killed.
        """
        key = f"kafka-tuner {what} {self._study}"
        with closed_on_error(Connection(self._connection.url, self._connection.patience_s)) as connection:
            ((is_ours,),) = connection.rows("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", key)
        if is_ours:
            return connection
        connection.close()
        return None

    @override
    def hurry(self) -> None:
        self._connection.patience_s = min(self._connection.patience_s, _HURRY_S)

    @override
    def close(self) -> None:
        """Release the lease and close the connection; may be called again."""
        if self._lease is not None:
            self._lease.end()
        self._connection.close()

    def _writing(self) -> RenewedLease:
        """Return the lease that allows this process to write.

        Raises:
            StudyBusy: The store was opened for reading only.
            StudyTakenOver: We have lost the lease to another process.
        """
        if self._lease is None:
            raise StudyBusy(
                f"only the process that runs the study {self._name} may write to it, but it was opened for reading here"
            )
        if self._lease.lost:
            raise taken_over_error(self._name)
        return self._lease

    def _change(self, statement: str, *values: str | int) -> None:
        if not self._connection.run(lambda db, _: db.execute(statement.encode(), values).rowcount):
            raise taken_over_error(self._name)
