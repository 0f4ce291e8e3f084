"""Where MLflow keeps the mirror, and its client, quiet and impatient.

MLflow is imported here alone, and only when it is needed: it takes seconds.

What can go wrong does not touch the study's record:

StudyError
└── TrackingError           MLflow can't show the study now; `tuner sync` later      (exit 1)
    ├── TrackingBusy        another process is writing this study's mirror
    └── ReportFailed        trials are shown, but the report beside them could not be made
"""

import functools
import os
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote, urlsplit

from tuner.model.errors import StudyError
from tuner.model.spec import TrackingSpec
from tuner.storage.url import MASK, secrets_in

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run


class TrackingError(StudyError):
    """MLflow can't show the study as things are."""


class TrackingBusy(TrackingError):  # noqa: N818 - names say what happened
    """Another process is writing this study's mirror."""


class ReportFailed(TrackingError):  # noqa: N818
    """Every trial is shown, but the report beside them could not be made."""


URI_VARIABLE: Final = "MLFLOW_TRACKING_URI"
_STORE_FILE: Final = "mlflow.db"
_ARTIFACTS: Final = "mlartifacts"
_DATABASES: Final = ("sqlite", "postgresql", "mysql", "mssql")
_SQLITE: Final = "sqlite:///"


@dataclass(frozen=True, slots=True)
class TrackingLocation:
    """A tracking URI, and what goes with it.

    Attributes:
        uri: As MLflow takes it; may hold a password.
        artifacts: Folder of the artifacts, where no server takes them.
    """

    uri: str
    artifacts: Path

    @classmethod
    def of(cls, tracking: TrackingSpec, root: Path) -> "TrackingLocation":
        """The place that the study file names, else the environment, else a SQLite file beside the studies.

        Args:
            tracking: Of the study.
            root: The folder that the study's folder lies in.
        """
        uri = tracking.uri or os.environ.get(URI_VARIABLE) or _SQLITE + quote(str((root / _STORE_FILE).absolute()))
        return cls(uri, (root / _ARTIFACTS).absolute())

    @property
    def has_server(self) -> bool:
        """Whether a server is spoken to, which keeps artifacts itself; else a database is."""
        return urlsplit(self.uri).scheme.partition("+")[0] not in _DATABASES

    @property
    def is_web(self) -> bool:
        """Whether the server has pages to look at, under the same address."""
        return urlsplit(self.uri).scheme in ("http", "https")

    @property
    def sqlite_file(self) -> Path | None:
        """The file, where the store is one."""
        return Path(unquote(self.uri.removeprefix(_SQLITE))) if self.uri.startswith(_SQLITE) else None

    @property
    def shown(self) -> str:
        """The URI for people."""
        return self.masked(self.uri)

    def masked(self, text: str) -> str:
        """A text in which the URI's password can't be read."""
        for secret in secrets_in(self.uri):
            text = text.replace(secret, MASK)
        return text


def tracking_of(facts: Mapping[str, Any], uri: str | None = None) -> TrackingSpec:
    """What a study on record says of its mirror.

    Args:
        facts: Of the study.
        uri: Takes the place of the URI on record.
    """
    kept = facts.get("tracking") or {}
    return TrackingSpec(
        uri=uri or kept.get("uri"), experiment=kept.get("experiment"), enabled=kept.get("enabled", True)
    )


QUIET: Final = {
    # Source: mlflow/telemetry/utils.py of 3.17: DO_NOT_TRACK counts only when it is the word "true".
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_DISABLE_AGENT_HINT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}
"""For every process of ours that imports MLflow; what the user has set himself stays."""

_IMPATIENT: Final = {
    # A request is never sent twice behind our back: a run would be doubled. The mirror itself tries again.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
}
_REASON_CHARACTERS: Final = 300
_DATABASE_S: Final = 10
PAGE: Final = 1_000
"""As much as MLflow is asked for at once."""


def connect(place: TrackingLocation) -> "MlflowClient":
    """A client for the place; a SQLite file that is not there is made, which takes some seconds."""
    for name, value in (QUIET | _IMPATIENT).items():
        os.environ.setdefault(name, value)
    from mlflow import MlflowClient

    if place.uri.startswith("postgresql"):
        _await_database(place.uri)
    if place.sqlite_file is not None:
        _write_lazily()
    return MlflowClient(tracking_uri=place.uri)


@functools.cache
def _write_lazily() -> None:
    """Have SQLite files of MLflow's written without awaiting the disk at each change.

    Awaiting it makes a journalled file system write out all that brokers on this machine have left to it, in the middle
    of a measurement. The last changes may be lost with the machine's power, and `tuner sync` brings them back.
    """
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    @event.listens_for(Engine, "connect")
    def connected(connection: object, _: object) -> None:
        if isinstance(connection, sqlite3.Connection):
            # With a write-ahead log this is safe: the file stays whole whatever happens.
            connection.execute("PRAGMA journal_mode = WAL").close()
            connection.execute("PRAGMA synchronous = NORMAL").close()


def _await_database(uri: str) -> None:
    """Ask the database once: MLflow itself would ask for an hour where nobody answers, and can't be told not to."""
    import sqlalchemy

    # Without a pool nothing stays open.
    engine = sqlalchemy.create_engine(uri, poolclass=sqlalchemy.NullPool, connect_args={"connect_timeout": _DATABASE_S})
    engine.connect().close()


def runs_of(
    client: "MlflowClient", experiments: Sequence[str], condition: str, order_by: Sequence[str] = ()
) -> "list[Run]":
    """All runs of some experiments that keep a condition, however many there are."""
    found: list[Run] = []
    token = None
    while True:
        page = client.search_runs(
            list(experiments), condition, max_results=PAGE, order_by=list(order_by), page_token=token
        )
        found += page
        token = page.token
        if not token:
            return found


def experiment_id(client: "MlflowClient", place: TrackingLocation, name: str) -> str:
    """The experiment of that name, made if there is none.

    Raises:
        TrackingError: It was deleted.
    """
    found = client.get_experiment_by_name(name)
    if found is None:
        folder = place.artifacts / "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name)
        return str(client.create_experiment(name, artifact_location=None if place.has_server else folder.as_uri()))
    if found.lifecycle_stage != "active":
        raise TrackingError(
            f"the experiment must be there, but {name!r} was deleted: restore it with "
            f"`mlflow experiments restore --experiment-id {found.experiment_id}`, or name another (tracking.experiment)"
        )
    return str(found.experiment_id)


def reason(error: BaseException, place: TrackingLocation) -> str:
    """Why MLflow can't be written, in one line without a password."""
    from requests.exceptions import ConnectionError as NoConnection
    from requests.exceptions import Timeout

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, NoConnection | Timeout):
            return "it does not answer"
        cause = cause.__cause__ or cause.__context__
    first_line = (str(error).splitlines() or [""])[0][:_REASON_CHARACTERS]
    return place.masked(first_line if isinstance(error, TrackingError) else f"{type(error).__name__}: {first_line}")
