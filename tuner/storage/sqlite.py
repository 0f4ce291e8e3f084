"""Studies in folders of this host: rows in a SQLite file, attachments in files beside it."""

import fcntl
import gzip
import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

from runners.places import target_lock
from runners.reporting import Say
from tuner.model.errors import RecordDamaged, StudyBusy, StudyNotFound
from tuner.model.trial import Progress, Trial
from tuner.storage.files import RESULTS_FILE, STUDY_FILE, read_progress, size_name, write_atomically, write_progress
from tuner.storage.protocols import ResultsStore

_BUSY_S: Final = 30.0

MIGRATIONS: Final = (
    """
    CREATE TABLE IF NOT EXISTS trials (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT,
        record_bytes TEXT NOT NULL,
        number INTEGER NOT NULL,
        body TEXT NOT NULL,
        UNIQUE (record_bytes, number)
    );
    CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, body TEXT NOT NULL);
    """,
)
"""What leads from each version of the tables to the next, the first from nothing; what was released never changes."""


class SqliteFile:
    """An open file, for any number of threads; what it has kept survives a crash.

    Args:
        path: The file; made, with its folder, where it is missing.
        migrations: What leads from each version of its tables to the next, the first from nothing.

    Raises:
        RecordDamaged: It is no file of ours, or of a newer release.
    """

    def __init__(self, path: Path, migrations: Sequence[str]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._lock = threading.RLock()
        self._db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            migrate(self._db, path, migrations)
        except sqlite3.OperationalError as error:  # locked, or read-only: the file itself may be sound
            self.close()
            raise RecordDamaged(f"{path} must open for reading and writing, but: {error}") from None
        except sqlite3.DatabaseError as error:
            self.close()
            raise self._damaged(error) from None
        except RecordDamaged:
            self.close()
            raise

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Run a statement; the rows that it gives, if any.

        Raises:
            RecordDamaged: The file can't be read.
        """
        try:
            with self._lock:
                return self._db.execute(statement, values).fetchall()
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:  # of the connection; of the file there is no kind of its own
                raise
            raise self._damaged(error) from None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """What is done inside is done whole or not at all, and nobody else writes to the file meanwhile."""
        with self._lock, transaction(self._db):
            yield

    def close(self) -> None:
        """Let go of it; may be called again."""
        with self._lock:
            self._db.close()

    def _damaged(self, error: sqlite3.DatabaseError) -> RecordDamaged:
        return RecordDamaged(f"{self.path} must be a SQLite file of ours, but: {error}; move it away to start anew")


class SqliteStore:
    """Rows in SQLite, attachments in files beside it, everything in the study's folder.

    Raises:
        RecordDamaged: The file is no store of ours, or of a newer release.
        StudyNotFound: With `create` off, there is none.
    """

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        self.folder = folder
        path = folder / RESULTS_FILE
        if not create and not path.is_file():
            raise StudyNotFound(f"a study's folder must hold {RESULTS_FILE}, but {folder} does not")
        self._file = SqliteFile(path, MIGRATIONS)

    def append(self, trial: Trial, attachments: Mapping[str, Any] | None = None) -> None:
        """See `ResultsStore.append`."""
        # Refused before anything is written: the attachments of the trial that is there stay its own.
        key = (trial.record_bytes, trial.number)
        if self._file.rows("SELECT 1 FROM trials WHERE record_bytes = ? AND number = ?", *key):
            raise ValueError(f"a trial is kept once, but {trial.key} is there already")
        # Files first: a row never names an attachment that is not there.
        for name, value in (attachments or {}).items():
            write_atomically(self._attachment_path(trial, name), gzip.compress(json.dumps(value).encode(), 5))
        body = json.dumps(trial.as_json(), separators=(",", ":"))
        try:
            self._file.rows("INSERT INTO trials (record_bytes, number, body) VALUES (?, ?, ?)", *key, body)
        except sqlite3.IntegrityError:
            raise ValueError(f"a trial is kept once, but {trial.key} is there already") from None

    def trials(self, after: int = 0) -> list[tuple[int, Trial]]:
        """See `ResultsStore.trials`."""
        rows = self._file.rows("SELECT sequence, body FROM trials WHERE sequence > ? ORDER BY sequence", after)
        return [(sequence, Trial.from_json(json.loads(body))) for sequence, body in rows]

    def attachment(self, trial: Trial, name: str) -> Any:
        """See `ResultsStore.attachment`."""
        path = self._attachment_path(trial, name)
        return json.loads(gzip.decompress(path.read_bytes())) if path.is_file() else None

    def set_fact(self, name: str, value: Any) -> None:
        """See `ResultsStore.set_fact`."""
        self._file.rows("INSERT OR REPLACE INTO facts (name, body) VALUES (?, ?)", name, json.dumps(value))

    def facts(self) -> dict[str, Any]:
        """See `ResultsStore.facts`."""
        return {name: json.loads(body) for name, body in self._file.rows("SELECT name, body FROM facts")}

    def set_study_file(self, text: str) -> None:
        """See `ResultsStore.set_study_file`."""
        write_atomically(self.folder / STUDY_FILE, text.encode())

    def study_file(self) -> str:
        """See `ResultsStore.study_file`."""
        path = self.folder / STUDY_FILE
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def set_progress(self, progress: Progress) -> None:
        """See `ResultsStore.set_progress`."""
        write_progress(self.folder, progress)

    def progress(self) -> Progress | None:
        """See `ResultsStore.progress`."""
        return read_progress(self.folder)

    def hold(self, what: str) -> TextIOWrapper | None:
        """See `ResultsStore.hold`."""
        file = (self.folder / f"{what}.lock").open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return file

    def close(self) -> None:
        """See `ResultsStore.close`."""
        self._file.close()

    def _attachment_path(self, trial: Trial, name: str) -> Path:
        return self.folder / "trials" / size_name(trial.record_bytes) / f"{trial.number:04d}-{name}.json.gz"


class FolderStorage:
    """Keeps each study in a folder of its own; names are looked up below one root."""

    shown: Final = "folders of this host"
    is_shared: Final = False

    def find(self, name: str, root: Path) -> Path | None:
        """See `Storage.find`."""
        given = Path(name)
        for folder in (given, root / name, root / given.stem):
            if (folder / RESULTS_FILE).is_file():
                return folder.absolute()
        return None

    def names(self, root: Path) -> list[str]:
        """See `Storage.names`."""
        found = sorted(root.glob(f"*/{RESULTS_FILE}"), key=lambda path: path.stat().st_mtime, reverse=True)
        return [path.parent.name for path in found]

    def read(self, folder: Path) -> ResultsStore:
        """See `Storage.read`."""
        return SqliteStore(folder, create=False)

    @contextmanager
    def drive(self, folder: Path, name: str, tell: Say) -> Iterator[ResultsStore]:
        """See `Storage.drive`. The kernel ends the lock with its holder, so nothing is ever waited for."""

        def refuse(holder: str) -> None:
            raise StudyBusy(f"one process at a time may run the study {name}, but {holder} does; `tuner status {name}`")

        folder.mkdir(parents=True, exist_ok=True)
        lock = target_lock(str(folder), name, root=folder / "lock", on_wait=refuse)
        with lock, closing(SqliteStore(folder)) as store:
            yield store


def migrate(db: sqlite3.Connection, path: Path, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Bring the tables of a file to the newest version, all steps or none.

    Raises:
        RecordDamaged: A newer release wrote the file, or another program.
    """
    if _version(db, path, len(migrations)) == len(migrations):
        return
    with transaction(db):
        for number in range(_version(db, path, len(migrations)), len(migrations)):
            for statement in migrations[number].split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number + 1}")


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """What is done inside is done whole or not at all, and nobody else writes to the file meanwhile.

    Args:
        db: A connection without transactions of its own (`isolation_level=None`).
    """
    with db:  # which takes back what was not committed
        db.execute("BEGIN IMMEDIATE")
        yield
        # Ctrl-C is told after the statement in which it came, which may be this one: nothing is taken back then.
        db.execute("COMMIT")


def _version(db: sqlite3.Connection, path: Path, newest: int) -> int:
    # In this order: another process may make the tables between the two, and these are ours then.
    has_tables = db.execute("SELECT 1 FROM sqlite_master").fetchone() is not None
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    if not 0 <= version <= newest:
        raise RecordDamaged(
            f"{path} must have version {newest} or older, but has {version}: a newer release wrote it; "
            "upgrade kafka-tuner"
        )
    if version == 0 and has_tables:
        raise RecordDamaged(f"{path} must be a SQLite file of ours, but another program's tables are in it")
    return version
