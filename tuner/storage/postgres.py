"""Studies in a PostgreSQL database, which every host that knows its address can read, run and take over."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tuner.model.errors import StudyNotFound
from tuner.storage.connection import Connection, Db, Result
from tuner.storage.postgres_lease import LEASE_S, Keeping, take
from tuner.storage.postgres_schema import migrate, version_of
from tuner.storage.postgres_store import PostgresStore
from tuner.storage.protocols import ResultsStore, Tell
from tuner.storage.url import StorageUrl

READER_PATIENCE_S: Final = 10.0
"""Of who looks on: a restart is waited for, an outage is said."""
DRIVER_PATIENCE_S: Final = 600.0
"""Of who has measured something: it is worth waiting for."""
_KEEPER_PATIENCE_S: Final = 1.0


class PostgresStorage:
    """A database's schema `kafka_tuner`; of a study's folder only the last part counts, as its name.

    Args:
        url: Of the database.
        lease_s: How long a driver that is silent keeps its study.
        patience_s: How long a driver waits for the server, once it has begun.
    """

    def __init__(self, url: StorageUrl, *, lease_s: float = LEASE_S, patience_s: float = DRIVER_PATIENCE_S) -> None:
        self._url, self._lease_s, self._patience_s = url, lease_s, patience_s

    @property
    def shown(self) -> str:
        """See `Storage.shown`."""
        return self._url.shown

    @property
    def is_shared(self) -> bool:
        """See `Storage.is_shared`."""
        return True

    def find(self, name: str, root: Path) -> Path | None:
        """See `Storage.find`."""
        given = Path(name)
        wanted = list(dict.fromkeys((name, given.name, given.stem)))
        there = set(self._names())
        return next((root / each for each in wanted if each in there), None)

    def names(self, root: Path) -> list[str]:
        """See `Storage.names`; the one that was driven last is the newest."""
        return self._names()

    def read(self, folder: Path) -> ResultsStore:
        """See `Storage.read`."""
        connection = Connection(self._url, READER_PATIENCE_S)

        def look(db: Db, _: bool) -> tuple[Any, ...] | None:
            if not version_of(db, self.shown):
                return None
            migrate(db, self.shown)
            return db.execute("SELECT id FROM kafka_tuner.studies WHERE name = %s", [folder.name]).fetchone()

        try:
            found = connection.run(look)
            if found is None:
                raise StudyNotFound(f"a study must be in {self.shown}, but {folder.name} is not")
        except BaseException:
            connection.close()
            raise
        return PostgresStore(connection, found[0], folder.name)

    @contextmanager
    def drive(self, folder: Path, name: str, tell: Tell) -> Iterator[ResultsStore]:
        """See `Storage.drive`. A lease whose driver has died is waited for until it ends."""
        folder.mkdir(parents=True, exist_ok=True)
        connection = Connection(self._url, READER_PATIENCE_S, tell=tell)

        def begin(db: Db, _: bool) -> int:
            migrate(db, self.shown)
            db.execute("INSERT INTO kafka_tuner.studies (name) VALUES (%s) ON CONFLICT DO NOTHING", [folder.name])
            row = db.execute("SELECT id FROM kafka_tuner.studies WHERE name = %s", [folder.name]).fetchone()
            assert row is not None
            return int(row[0])

        try:
            study = connection.run(begin)
            token = take(connection, study, name, self._lease_s, tell)
            connection.patience_s = self._patience_s
            keeper = Connection(self._url, _KEEPER_PATIENCE_S, durable=False)
        except BaseException:
            connection.close()
            raise
        store = PostgresStore(connection, study, folder.name, token, Keeping(keeper, study, token, self._lease_s))
        try:
            yield store
        finally:
            store.close()

    def _names(self) -> list[str]:
        def look(db: Db, _: bool) -> list[tuple[Any, ...]]:
            if not version_of(db, self.shown):
                return []
            migrate(db, self.shown)
            return db.execute(
                "SELECT name FROM kafka_tuner.studies AS study LEFT JOIN kafka_tuner.leases AS held "
                "ON held.study = study.id ORDER BY coalesce(held.renewed_at, study.created_at) DESC, study.id DESC"
            ).fetchall()

        return [name for (name,) in self._once(look)]

    def _once(self, work: Callable[[Db, bool], Result]) -> Result:
        connection = Connection(self._url, READER_PATIENCE_S)
        try:
            return connection.run(work)
        finally:
            connection.close()
