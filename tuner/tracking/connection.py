"""The connection to MLflow: where MLflow is, and a client that prints nothing and gives up after a short time.

Only this module imports MLflow, and only when it is needed, because the import takes seconds.

None of these errors affects the study's results:

StudyError
└── TrackingError           MLflow can't show the study now; run `tuner sync` later   (exit 1)
    ├── TrackingBusy        another process is writing this study to MLflow
    └── ReportFailed        MLflow shows all trials, but the report could not be made
"""

import functools
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote, urlsplit

from runners.host_processes.clean_up import temporary_folder
from tuner.model.errors import StudyError
from tuner.model.facts import TRACKING
from tuner.model.secrets_in_urls import masked, masked_url, secrets_in
from tuner.model.spec import TrackingSpec
from tuner.model.study_files import MLFLOW_ARTIFACTS, MLFLOW_FILE
from tuner.model.target import without_login
from tuner.storage.locations import unusable_file
from tuner.study_file.loading import tracking_uri_in

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run


class TrackingError(StudyError):
    """MLflow can't be read at the moment, or the study's results can't be written to MLflow."""


class TrackingBusy(TrackingError):
    """Another process is writing this study to MLflow."""


class ReportFailed(TrackingError):
    """MLflow shows all trials of the study, but the report to store with them could not be made."""


TEMPORARY_KIND: Final = "mlflow"
"""The kind of our temporary folders for MLflow."""
URI_VARIABLE: Final = "MLFLOW_TRACKING_URI"
_DATABASES: Final = ("sqlite", "postgresql", "mysql", "mssql")
_SQLITE: Final = "sqlite:///"
_SCHEMES: Final = ("http", "https", "file", "", "databricks", "databricks-uc", "uc", *_DATABASES)
"""The schemes of tracking URIs that MLflow itself supports; a path has none. Plugins add others.

Source: mlflow/tracking/_tracking_service/utils.py of 3.17.
"""


@dataclass(frozen=True, slots=True)
class TrackingLocation:
    """Where MLflow keeps the results of studies: its tracking URI, and the folder for artifacts.

    Attributes:
        uri: The URI for MLflow. It may contain a password.
        artifacts: The folder for artifacts. It is used only if there is no MLflow server, which would store the
            artifacts.
    """

    uri: str
    artifacts: Path

    @classmethod
    def of(cls, tracking: TrackingSpec, root: Path) -> "TrackingLocation":
        """Return the location of MLflow for a study.

        The location is taken from the study file, or else from the variable MLFLOW_TRACKING_URI. If neither names a
        location, it is a SQLite file.

        Args:
            tracking: The tracking section of the study.
            root: The folder that contains the study's folder. The SQLite file is in this folder too.

        Raises:
            TrackingError: No URI is given, and no URI can name the SQLite file, because its path is not UTF-8.
        """
        uri = tracking.uri or os.environ.get(URI_VARIABLE)
        if not uri:
            try:
                uri = _SQLITE + quote(str((root / MLFLOW_FILE).absolute()))
            except UnicodeEncodeError:
                raise TrackingError(
                    f"the path of MLflow's file must be UTF-8 text, but the file is in {root.absolute()}; rename that "
                    f"folder, let {URI_VARIABLE} name another place, or run the study with --no-mlflow"
                ) from None
        return cls(uri, (root / MLFLOW_ARTIFACTS).absolute())

    @property
    def has_server(self) -> bool:
        """Whether the URI names an MLflow server and not a database. A server stores the artifacts itself."""
        return urlsplit(self.uri).scheme.partition("+")[0] not in _DATABASES

    @property
    def is_web(self) -> bool:
        """Whether a browser can open the URI, because an MLflow server serves its web pages there."""
        return urlsplit(self.uri).scheme in ("http", "https")

    @property
    def sqlite_file(self) -> Path | None:
        """The path of the SQLite file that the URI names. None if the URI names a server or another database."""
        return Path(unquote(self.uri.removeprefix(_SQLITE))) if self.uri.startswith(_SQLITE) else None

    @property
    def shown(self) -> str:
        """The URI without its password, for messages."""
        return masked_url(self.uri)

    def masked(self, text: str) -> str:
        """Return the text with the URI's password masked."""
        return masked(text, secrets_in(self.uri))


def check_uri(uri: str) -> None:
    """Check that MLflow supports the scheme of a tracking URI.

    Raises:
        TrackingError: It does not. The message does not show a password.
    """
    plain = "" if uri in _SCHEMES else urlsplit(uri).scheme.partition("+")[0]
    if not uri or (plain not in _SCHEMES and not entry_points(group="mlflow.tracking_store", name=plain)):
        shown = masked_url(uri) if "://" in uri else without_login(uri)
        raise TrackingError(
            "MLflow's address must begin with http://, https:// or the scheme of a database "
            f"({', '.join(f'{name}://' for name in _DATABASES)}), but got {shown!r}"
        )


def tracking_of(facts: Mapping[str, Any], uri: str | None = None, study_file: str = "") -> TrackingSpec:
    """Return the settings for MLflow that are stored with a study.

    Args:
        facts: The facts of the study.
        uri: Replaces the stored URI.
        study_file: The stored study file. A URI with a password is stored only there, with a variable in place of the
            password.

    Raises:
        StudyFileError: The URI is needed from the study file, and a variable in it is not set.
    """
    kept = facts.get(TRACKING) or {}
    uri = uri or kept.get("uri") or tracking_uri_in(study_file)
    return TrackingSpec(uri=uri, experiment=kept.get("experiment"), enabled=kept.get("enabled", True))


QUIET: Final = {
    # Source: mlflow/telemetry/utils.py of 3.17: DO_NOT_TRACK counts only when it is the word "true".
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_DISABLE_AGENT_HINT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}
"""Environment variables for each of our processes that imports MLflow. Variables that the user has set are kept."""

_AS_CLIENT: Final = {
    # MLflow must not repeat a request by itself, because that could create a run twice. Instead, we try again later.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    # An error of a database is logged with a traceback before it is raised. We say ourselves what is wrong.
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",
}
_REASON_CHARACTERS: Final = 300
_DATABASE_S: Final = 10
PAGE: Final = 1_000
"""The number of runs or experiments that one request to MLflow asks for."""


def connect(location: TrackingLocation) -> "MlflowClient":
    """Return an MLflow client for the given location.

    If the location is a SQLite file that does not exist, the file is created, which takes some seconds.

    Raises:
        TrackingError: MLflow does not support the scheme of the URI.
    """
    check_uri(location.uri)
    import_mlflow()
    from mlflow import MlflowClient

    if location.sqlite_file is not None:
        _write_lazily()
        _create_whole(location.sqlite_file)
    if not location.has_server:
        _connect_once(location.uri)
    return MlflowClient(tracking_uri=location.uri)


def import_mlflow() -> None:
    """Import MLflow, which reads our environment variables for it then."""
    for name, value in (QUIET | _AS_CLIENT).items():
        os.environ.setdefault(name, value)
    import mlflow  # noqa: F401


def _create_whole(file: Path) -> None:
    """Create MLflow's SQLite file with all of its tables, unless the file or its folder is special or exists.

    MLflow creates the tables one after another. If this is interrupted, MLflow can't use the file, and can't complete
    it. So the file gets its name when it is complete.
    """
    if file.exists() or not file.parent.is_dir() or "?" in file.name or file.name == ":memory:":
        return
    from mlflow import MlflowClient

    with temporary_folder(TEMPORARY_KIND, ".mlflow-", str(file.parent)) as folder:
        begun, whole = folder / "begun.db", folder / "whole.db"
        MlflowClient(tracking_uri=_SQLITE + quote(str(begun)))
        with closing(sqlite3.connect(begun)) as db:
            db.execute("VACUUM INTO ?", (str(whole),))  # a copy that needs no file beside it
        try:
            file.hardlink_to(whole)
        except FileExistsError:
            pass  # another process was quicker
        except OSError:  # the file system has no hard links
            whole.replace(file)


@functools.cache
def _write_lazily() -> None:
    """Let MLflow write its SQLite file without waiting for the disk at each change.

    Waiting for the disk in the middle of a measurement makes a journalling file system also write everything that
    brokers on this machine have left in its cache. If MLflow does not wait, the last changes may be lost when the
    machine loses power. In that case, `tuner sync` writes them again.
    """
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    @event.listens_for(Engine, "connect")
    def connected(connection: object, _: object) -> None:
        if isinstance(connection, sqlite3.Connection):
            # With a write-ahead log this is safe: the file can't get corrupted.
            connection.execute("PRAGMA journal_mode = WAL").close()
            connection.execute("PRAGMA synchronous = NORMAL").close()


def _connect_once(uri: str) -> None:
    """Connect to the database once, so that an error shows at once. MLflow would try again for almost two minutes.

    If a PostgreSQL server does not answer, MLflow would even try for an hour, so this connection has a time limit.
    """
    import sqlalchemy

    limit = {"connect_timeout": _DATABASE_S} if uri.startswith("postgresql") else {}
    # Without a pool, no connection stays open.
    sqlalchemy.create_engine(uri, poolclass=sqlalchemy.NullPool, connect_args=limit).connect().close()


@contextmanager
def read_from(location: TrackingLocation) -> Iterator["MlflowClient"]:
    """Yield an MLflow client for reading.

    Raises:
        TrackingError: MLflow can't be read.
    """
    try:
        yield connect(location)
    except StudyError:
        raise
    except Exception as error:  # the errors of MLflow, its database and the network share no base class
        raise TrackingError(
            f"MLflow at {location.shown} can't be read: {reason(error, location)}; check the URI and the server"
        ) from error


def runs_of(
    client: "MlflowClient", experiments: Sequence[str], condition: str, order_by: Sequence[str] = ()
) -> "list[Run]":
    """Return all runs of the given experiments that match a condition in MLflow's filter language."""
    runs: list[Run] = []
    token = None
    while True:
        page = client.search_runs(
            list(experiments), condition, max_results=PAGE, order_by=list(order_by), page_token=token
        )
        runs += page
        token = page.token
        if not token:
            return runs


def experiment_id(client: "MlflowClient", location: TrackingLocation, name: str) -> str:
    """Return the id of the MLflow experiment with that name, and create the experiment if it does not exist.

    Raises:
        TrackingError: The experiment is marked as deleted in MLflow.
    """
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        folder = location.artifacts / "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name)
        return str(client.create_experiment(name, artifact_location=None if location.has_server else folder.as_uri()))
    if experiment.lifecycle_stage != "active":
        raise TrackingError(
            f"the MLflow experiment must exist, but {name!r} was deleted: restore it with "
            f"`mlflow experiments restore --experiment-id {experiment.experiment_id}`, or name another experiment "
            "(tracking.experiment)"
        )
    return str(experiment.experiment_id)


def reason(error: BaseException, location: TrackingLocation) -> str:
    """Return, in one line without a password, why MLflow can't be read or written."""
    from requests.exceptions import ConnectionError as NoConnection
    from requests.exceptions import Timeout

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, NoConnection | Timeout):
            return "the server does not answer"
        if isinstance(of_database := getattr(cause, "orig", None), BaseException):
            error = of_database  # SQLAlchemy's own text may begin with something else than this reason
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, OSError) and error.filename is not None:
        return unusable_file(error)
    first_line = location.masked((str(error).splitlines() or [""])[0])[:_REASON_CHARACTERS]
    return first_line if isinstance(error, TrackingError) else f"{type(error).__name__}: {first_line}"
