"""The results store: the truth about a study. What stands here was measured; all else is made from it.

A trial is on disk before anybody is told of it, so that a study killed at any moment goes on without losing a finished
trial, and without running one twice.
"""

import gzip
import json
import os
import sqlite3
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from tuner.study.errors import RecordDamaged, StudyNotFound
from tuner.study.home import RESULTS_FILE
from tuner.study.trial import Trial

SCHEMA_VERSION: Final = 1
STUDY_FILE: Final = "study.yaml"
_PROGRESS: Final = "progress.json"
_BUSY_S: Final = 30.0

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS trials (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    record_bytes TEXT NOT NULL,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (record_bytes, number)
);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, body TEXT NOT NULL);
"""


class ResultsStore(Protocol):
    """Keeps one study's trials and facts. One writer at a time, any number of readers."""

    def append(self, trial: Trial, attachments: Mapping[str, Any] | None = None) -> None:
        """Keep a trial; when this returns it survives a crash. Attachments are JSON values too large for a row.

        Raises:
            ValueError: A trial of that size and number is there already.
        """

    def trials(self, after: int = 0) -> list[tuple[int, Trial]]:
        """Trials with their sequence numbers, in the order they were kept, those after `after` only."""

    def attachment(self, trial: Trial, name: str) -> Any:
        """What was attached to a trial; None if nothing was."""

    def set_fact(self, name: str, value: Any) -> None:
        """Keep a JSON value under a name, instead of what stood there."""

    def facts(self) -> dict[str, Any]:
        """All facts."""

    def close(self) -> None:
        """Let go of files and connections; may be called again."""


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
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version not in (0, SCHEMA_VERSION):
                raise RecordDamaged(
                    f"{path} must have version {SCHEMA_VERSION}, but has {version}: a newer release wrote it; "
                    "upgrade kafka-tuner"
                )
            if version == 0:
                self._db.executescript(_TABLES)
                self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        except sqlite3.OperationalError as error:  # locked, or read-only: the file itself may be sound
            self._db.close()
            raise RecordDamaged(f"{path} must open for reading and writing, but: {error}") from None
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise _damaged(path, error) from None
        except RecordDamaged:
            self._db.close()
            raise

    def append(self, trial: Trial, attachments: Mapping[str, Any] | None = None) -> None:
        """See `ResultsStore.append`."""
        # Refused before anything is written: the attachments of the trial that is there stay its own.
        if self._rows("SELECT 1 FROM trials WHERE record_bytes = ? AND number = ?", trial.record_bytes, trial.number):
            raise ValueError(f"a trial is kept once, but {trial.key} is there already")
        # Files first: a row never names an attachment that is not there.
        for name, value in (attachments or {}).items():
            write_atomically(self._attachment_path(trial, name), gzip.compress(json.dumps(value).encode(), 5))
        body = json.dumps(trial.as_json(), separators=(",", ":"))
        try:
            with self._lock:
                self._db.execute(
                    "INSERT INTO trials (record_bytes, number, body) VALUES (?, ?, ?)",
                    (trial.record_bytes, trial.number, body),
                )
        except sqlite3.IntegrityError:
            raise ValueError(f"a trial is kept once, but {trial.key} is there already") from None

    def trials(self, after: int = 0) -> list[tuple[int, Trial]]:
        """See `ResultsStore.trials`."""
        rows = self._rows("SELECT sequence, body FROM trials WHERE sequence > ? ORDER BY sequence", after)
        return [(sequence, Trial.from_json(json.loads(body))) for sequence, body in rows]

    def attachment(self, trial: Trial, name: str) -> Any:
        """See `ResultsStore.attachment`."""
        path = self._attachment_path(trial, name)
        return json.loads(gzip.decompress(path.read_bytes())) if path.is_file() else None

    def set_fact(self, name: str, value: Any) -> None:
        """See `ResultsStore.set_fact`."""
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO facts (name, body) VALUES (?, ?)", (name, json.dumps(value)))

    def facts(self) -> dict[str, Any]:
        """See `ResultsStore.facts`."""
        return {name: json.loads(body) for name, body in self._rows("SELECT name, body FROM facts")}

    def close(self) -> None:
        """See `ResultsStore.close`."""
        with self._lock:
            self._db.close()

    def _rows(self, query: str, *values: str | int) -> list[Any]:
        try:
            with self._lock:
                return self._db.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:  # of the connection; of the file there is no kind of its own
                raise
            raise _damaged(self.folder / RESULTS_FILE, error) from None

    def _attachment_path(self, trial: Trial, name: str) -> Path:
        size = trial.record_bytes.replace(":", "-").replace(",", "_")
        return self.folder / "trials" / size / f"{trial.number:04d}-{name}.json.gz"


def _damaged(path: Path, error: sqlite3.DatabaseError) -> RecordDamaged:
    return RecordDamaged(f"{path} must be a SQLite file of ours, but: {error}; move it away to start anew")


def write_atomically(path: Path, data: bytes) -> None:
    """Write a whole file or none of it; whoever reads meanwhile sees the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(scratch, 0o644)  # noqa: PTH101 - the name is text here
        os.replace(scratch, path)  # noqa: PTH105
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def write_progress(folder: Path, progress: Mapping[str, Any]) -> None:
    """Tell other terminals what is being done now; not part of the record, so not awaited on disk."""
    path = folder / _PROGRESS
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps(progress), encoding="utf-8")
    scratch.replace(path)


def read_progress(folder: Path) -> dict[str, Any]:
    """What `write_progress` told last; empty if nothing."""
    try:
        told: dict[str, Any] = json.loads((folder / _PROGRESS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told
