"""Studies in a PostgreSQL database, which every host that knows its address can read, run and take over."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from tuner.model.errors import StudyNotFound
from tuner.storage.connection import Connection, Db
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
_STUDY: Final = "SELECT id FROM kafka_tuner.studies WHERE name = %s"
_NAMES: Final = """
    SELECT name FROM kafka_tuner.studies AS study LEFT JOIN kafka_tuner.leases AS held ON held.study = study.id
    ORDER BY coalesce(held.renewed_at, study.created_at) DESC, study.id DESC
"""


class PostgresStorage:
    """A database's schema `kafka_tuner`; of a study's folder only the last part counts, as its name.

    Args:
        url: Of the database.
        lease_s: How long a driver that is silent keeps its study.
        patience_s: How long a driver waits for the server, once it has begun.
    """

    is_shared: Final = True

    def __init__(self, url: StorageUrl, *, lease_s: float = LEASE_S, patience_s: float = DRIVER_PATIENCE_S) -> None:
        self._url, self._lease_s, self._patience_s = url, lease_s, patience_s
        self.shown = url.shown

    def find(self, name: str, root: Path) -> Path | None:
        """See `Storage.find`."""
        given = Path(name)
        wanted = list(dict.fromkeys((name, given.name, given.stem)))
        there = set(self.names(root))
        return next((root / each for each in wanted if each in there), None)

    def names(self, root: Path) -> list[str]:
        """See `Storage.names`; the one that was driven last is the newest."""
        with closing(Connection(self._url, READER_PATIENCE_S)) as connection:
            return [name for (name,) in self._rows(connection, _NAMES)]

    def read(self, folder: Path) -> ResultsStore:
        """See `Storage.read`."""
        connection = Connection(self._url, READER_PATIENCE_S)
        try:
            found = self._rows(connection, _STUDY, folder.name)
            if not found:
                raise StudyNotFound(f"a study must be in {self.shown}, but {folder.name} is not")
        except BaseException:
            connection.close()
            raise
        return PostgresStore(connection, found[0][0], folder.name)

    @contextmanager
    def drive(self, folder: Path, name: str, tell: Tell) -> Iterator[ResultsStore]:
        """See `Storage.drive`. A lease whose driver has died is waited for until it ends."""
        folder.mkdir(parents=True, exist_ok=True)

        def begin(db: Db, _: bool) -> int:
            migrate(db, self.shown)
            db.execute("INSERT INTO kafka_tuner.studies (name) VALUES (%s) ON CONFLICT DO NOTHING", [folder.name])
            ((study,),) = db.execute(_STUDY, [folder.name]).fetchall()
            return int(study)

        with closing(Connection(self._url, READER_PATIENCE_S, tell=tell)) as connection:
            study = connection.run(begin)
            token = take(connection, study, name, self._lease_s, tell)
            connection.patience_s = self._patience_s
            keeper = Connection(self._url, _KEEPER_PATIENCE_S, durable=False)
            keeping = Keeping(keeper, study, token, self._lease_s)
            with closing(PostgresStore(connection, study, folder.name, keeping)) as store:
                yield store

    def _rows(self, connection: Connection, query: str, *values: str) -> list[tuple[Any, ...]]:
        """Rows of the tables, which are brought to the newest version first; none where there are no tables."""

        def look(db: Db, _: bool) -> list[tuple[Any, ...]]:
            if not version_of(db, self.shown):
                return []
            migrate(db, self.shown)
            return db.execute(query.encode(), values).fetchall()

        return connection.run(look)
