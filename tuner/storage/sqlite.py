"""Studies in folders on this host: trials in a SQLite file, and attachments in files beside it."""

import fcntl
import json
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from runners.host_processes.locks import file_lock
from runners.reporting import Say
from tuner.model.errors import ResultsDamaged, ResultsUnwritable, StudyBusy, StudyNotFound
from tuner.model.progress import Progress
from tuner.model.study_files import LOCK_FILE, RESULTS_FILE, STUDY_FILE, TRIALS_FOLDER
from tuner.model.trial import Trial
from tuner.storage.bodies import (
    attachment_body,
    read_attachment,
    read_facts,
    read_trials,
    trial_body,
    undamaged,
)
from tuner.storage.folder_files import (
    read_progress,
    remove_folder,
    size_name,
    unwritable,
    write_for_everybody,
    write_progress,
    writing,
)
from tuner.storage.protocols import ResultsStore, Storage

_BUSY_S: Final = 30.0
"""How long to wait while another process has locked the file."""
_POLL_S: Final = 0.01
_UNWRITABLE: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY)

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
"""The SQL that migrates the tables from each version to the next; the first entry makes the tables.

A released migration is never changed.
"""


class SqliteFile:
    """An open SQLite file that threads may share. Committed data survives a crash.

    Args:
        path: The file; it and its folder are created if they are missing.
        migrations: The SQL that migrates the tables from each version to the next; the first entry makes the tables.
        may_write: Whether the user may write to the file and its folder. If not, the tables must have the newest
            version already.

    Raises:
        ResultsDamaged: The file can't be opened, or a newer release or another program made it.
        ResultsUnwritable: The file can't be written, for example because the disk is full.
    """

    def __init__(self, path: Path, migrations: Sequence[str], *, may_write: bool = True) -> None:
        if may_write:
            with writing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
        _check_no_folder(path)
        self.path = path
        self._lock = threading.RLock()
        opened = str(path) if may_write else _read_only_address(path)
        needed = "readable and writable" if may_write else "readable"
        try:
            self._db = sqlite3.connect(
                opened, timeout=_BUSY_S, isolation_level=None, check_same_thread=False, uri=not may_write
            )
        except sqlite3.OperationalError as error:
            raise ResultsDamaged(f"the file {path} must be {needed}, but SQLite says: {error}") from None
        try:
            if may_write:
                _use_wal(self._db)
                self._db.execute("PRAGMA synchronous = FULL")
            migrate(self._db, path, migrations)
        except sqlite3.OperationalError as error:  # the file may be intact, but locked or read-only
            self.close()
            if _is_unwritable(error):
                raise unwritable(path, str(error)) from None
            raise ResultsDamaged(f"the file {path} must be {needed}, but SQLite says: {error}") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            self.close()
            raise self._damaged(error) from None
        except ResultsDamaged:
            self.close()
            raise

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Run a statement and return its rows.

        Raises:
            ResultsDamaged: The file is damaged.
            ResultsUnwritable: The file can't be written, for example because the disk is full.
        """
        with self._telling(), self._lock:
            return self._db.execute(statement, values).fetchall()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Run the block as one transaction, during which no other thread or process can write to the file.

        Raises:
            ResultsDamaged: The file is damaged.
            ResultsUnwritable: The file can't be written. Only the end of the transaction may notice this.
        """
        with self._telling(), self._lock, transaction(self._db):
            yield

    def close(self) -> None:
        """Close the file; may be called again."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Turn SQLite's errors about the file or the disk in the block into `ResultsDamaged` or `ResultsUnwritable`."""
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if _is_unwritable(error):
                raise unwritable(self.path, str(error)) from None
            if _code(error) == sqlite3.SQLITE_BUSY:
                raise ResultsUnwritable(
                    f"another process has kept {self.path} locked for {_BUSY_S:.0f} s; end that process, or try again"
                ) from None
            # Subclasses of DatabaseError are other errors, such as a duplicate row, unless the message is about damage.
            of_damage = str(error).startswith(("Could not decode to UTF-8", "no such "))
            if isinstance(error, sqlite3.Error) and type(error) is not sqlite3.DatabaseError and not of_damage:
                raise
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> ResultsDamaged:
        said = str(error)[:200]
        return ResultsDamaged(
            f"{self.path} must be a SQLite file of kafka-tuner, but SQLite says: "
            f"{said if said.isprintable() else repr(said)}; "
            "move it away to start with a new one"
        )


class SqliteStore(ResultsStore):
    """The results of one study in its folder: trials in a SQLite file, and attachments in files beside it.

    Raises:
        ResultsDamaged: The file is damaged, or a newer release or another program made it.
        StudyNotFound: The folder holds no results, and `create` is False.
    """

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        self.folder = folder
        path = folder / RESULTS_FILE
        if not create and not path.is_file():
            raise StudyNotFound(f"the folder of a study must hold {RESULTS_FILE}, but {folder} does not")
        may_write = create or (all(os.access(each, os.W_OK, effective_ids=True) for each in (path, folder)))
        self._file = SqliteFile(path, MIGRATIONS, may_write=may_write)

    @override
    def append(self, trial: Trial, attachments: Mapping[str, Any] | None = None) -> None:
        # Check first, so that a refused trial does not overwrite the attachments of the stored trial.
        key = (trial.record_bytes, trial.number)
        if self._file.rows("SELECT 1 FROM trials WHERE record_bytes = ? AND number = ?", *key):
            raise ValueError(f"a trial can be stored only once, but {trial.key} is there already")
        # Write the files first, so that a stored trial always has its attachments.
        for name, value in (attachments or {}).items():
            path = self._attachment_path(trial, name)
            with writing(path):
                write_for_everybody(path, attachment_body(value))
        try:
            self._file.rows("INSERT INTO trials (record_bytes, number, body) VALUES (?, ?, ?)", *key, trial_body(trial))
        except sqlite3.IntegrityError:
            raise ValueError(f"a trial can be stored only once, but {trial.key} is there already") from None

    @override
    def trials(self, after: int = 0, limit: int | None = None) -> list[tuple[int, Trial]]:
        most = -1 if limit is None else limit  # for SQLite, a negative limit is no limit
        asked = "SELECT sequence, body FROM trials WHERE sequence > ? ORDER BY sequence LIMIT ?"
        return read_trials(self._file.rows(asked, after, most), str(self._file.path))

    @override
    def attachment(self, trial: Trial, name: str) -> Any:
        path = self._attachment_path(trial, name)
        with undamaged(f"the file {path}"):
            return read_attachment(path.read_bytes()) if path.is_file() else None

    @override
    def set_fact(self, name: str, value: Any) -> None:
        self._file.rows("INSERT OR REPLACE INTO facts (name, body) VALUES (?, ?)", name, json.dumps(value))

    @override
    def facts(self) -> dict[str, Any]:
        return read_facts(self._file.rows("SELECT name, body FROM facts"), str(self._file.path))

    @override
    def set_study_file(self, text: str) -> None:
        with writing(self.folder / STUDY_FILE):
            write_for_everybody(self.folder / STUDY_FILE, text.encode())

    @override
    def study_file(self) -> str:
        path = self.folder / STUDY_FILE
        with undamaged(f"the file {path}"):
            return path.read_text(encoding="utf-8") if path.is_file() else ""

    @override
    def set_progress(self, progress: Progress) -> None:
        write_progress(self.folder, progress)

    @override
    def progress(self) -> Progress | None:
        return read_progress(self.folder)

    @override
    def lost_leases(self) -> int:
        return 0  # the kernel keeps the lock of the folder as long as this process lives

    @override
    def await_lease(self) -> None:
        """Return immediately, because `lost_leases` is never None."""

    @override
    def hold(self, what: str) -> TextIOWrapper | None:
        file = (self.folder / f"{what}.lock").open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return file

    @override
    def hurry(self) -> None:
        """Do nothing, as there is no server to wait for."""

    @override
    def close(self) -> None:
        self._file.close()

    def _attachment_path(self, trial: Trial, name: str) -> Path:
        return self.folder / TRIALS_FOLDER / size_name(trial.record_bytes) / f"{trial.number:04d}-{name}.json.gz"


class FolderStorage(Storage):
    """Studies in folders on this host, one folder per study.

    The kernel releases the lock of a folder when the process that runs the study dies.
    """

    shown: Final = "folders of this host"
    is_shared: Final = False

    @override
    def has(self, folder: Path) -> bool:
        return (folder / RESULTS_FILE).is_file()

    @override
    def find(self, name: str, root: Path) -> Path | None:
        for folder in (Path(name), root / name):
            if self.has(folder):
                return folder.absolute()
            _check_no_folder(folder / RESULTS_FILE)
        return None

    @override
    def names(self, root: Path) -> list[str]:
        """Return the names of the studies below `root`, starting with the study that was written last.

        Folders that we may not enter are listed last, because we can't see whether they hold a study.

        Raises:
            OSError: `root` exists and can't be listed.
        """
        written: dict[str, float] = {}
        for folder in root.iterdir() if root.exists() else ():
            try:
                status = (folder / RESULTS_FILE).stat()
                if not stat.S_ISDIR(status.st_mode):
                    written[folder.name] = status.st_mtime
            except PermissionError:
                if folder.name != "lost+found":  # the file system's own folder, and no study
                    written[folder.name] = 0.0
            except (FileNotFoundError, NotADirectoryError):
                pass  # the folder is not a study, or another process has just removed it
        return sorted(written, key=written.__getitem__, reverse=True)

    @override
    def create(self, folder: Path) -> bool:
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            return False
        return True

    @override
    def read(self, folder: Path) -> ResultsStore:
        return SqliteStore(folder, create=False)

    @override
    def remove(self, folder: Path, name: str, tell: Say) -> None:
        if not self.has(folder):
            raise StudyNotFound(f"the folder of a study must hold {RESULTS_FILE}, but {folder} does not")
        with _locked(folder, name), writing(folder):
            remove_folder(folder)

    @override
    @contextmanager
    def drive(self, folder: Path, name: str, tell: Say) -> Iterator[ResultsStore]:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder, name), closing(SqliteStore(folder)) as store:
            yield store


@contextmanager
def _locked(folder: Path, name: str) -> Iterator[None]:
    """Hold the lock of a study's folder.

    Raises:
        StudyBusy: Another process runs the study.
        ResultsUnwritable: The lock file can't be written.
    """

    def refuse(holder: str) -> None:
        raise StudyBusy(f"one process at a time may run the study {name}, but {holder} does; see `tuner studies`")

    with ExitStack() as stack:
        with writing(folder):
            stack.enter_context(file_lock(folder / LOCK_FILE, "another run", refuse))
        yield


def _check_no_folder(path: Path) -> None:
    """Check that a path is not that of a folder.

    Raises:
        ResultsDamaged: It is.
    """
    if path.is_dir():
        raise ResultsDamaged(f"{path.absolute()} must be a SQLite file of kafka-tuner, but is a folder; move it away")


def _use_wal(db: sqlite3.Connection) -> None:
    """Switch a file to WAL mode.

    If another process switches a new file at the same time, or writes to it for the first time, SQLite raises an error
    immediately instead of waiting. So we wait here.
    """
    ends_s = time.monotonic() + _BUSY_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > ends_s:
                raise
            time.sleep(_POLL_S)
        else:
            return


def _read_only_address(path: Path) -> str:
    """Return the address at which SQLite opens a file that may only be read.

    To read a file in WAL mode, SQLite writes other files beside it, unless the address says that the file does not
    change. If there is no WAL file, no process has the file open, so the address says this. The connection then does
    not see later changes.
    """
    unchanged = "" if path.with_name(f"{path.name}-wal").exists() else "&immutable=1"
    return f"{path.absolute().as_uri()}?mode=ro{unchanged}"


def migrate(db: sqlite3.Connection, path: Path, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Migrate the tables of a SQLite file to the newest version, in one transaction.

    Raises:
        ResultsDamaged: A newer release or another program made the file.
    """
    newest = len(migrations)
    if _version(db, path, newest) == newest:
        return
    with transaction(db):
        for number in range(_version(db, path, newest), newest):
            for statement in migrations[number].split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number + 1}")


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Run the block as one transaction, during which no other process can write to the file.

    Args:
        db: A connection that opens no transactions by itself (`isolation_level=None`).
    """
    with db:  # rolls back if the block raises an error
        db.execute("BEGIN IMMEDIATE")
        yield
        # If Ctrl-C comes during this statement, Python raises it afterwards. Then nothing is rolled back.
        db.execute("COMMIT")


def _is_unwritable(error: Exception) -> bool:
    """Return whether the system refused to write a file."""
    return _code(error) in _UNWRITABLE


def _code(error: Exception) -> int:
    """Return the kind of an error of SQLite; 0 for errors of Python's module itself, which have no code."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF  # the low byte is the kind of the error


def _version(db: sqlite3.Connection, path: Path, newest: int) -> int:
    # This order matters: if another process makes our tables between the two queries, they are not mistaken for another
    # program's tables.
    has_tables = db.execute("SELECT 1 FROM sqlite_master").fetchone() is not None
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    if not 0 <= version <= newest:
        raise ResultsDamaged(
            f"{path} must have version {newest} or older, but has {version}: a newer release wrote it; "
            "upgrade kafka-tuner"
        )
    if version == 0 and has_tables:
        raise ResultsDamaged(f"{path} must be a SQLite file of kafka-tuner, but has another program's tables")
    return version
