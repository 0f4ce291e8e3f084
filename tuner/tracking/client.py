"""MLflow's client, quiet and impatient. MLflow is imported here alone, and only when it is needed: it takes seconds."""

import functools
import os
import sqlite3
from typing import TYPE_CHECKING, Final

from tuner.tracking.errors import TrackingError
from tuner.tracking.place import Place

if TYPE_CHECKING:
    from mlflow import MlflowClient

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


def connect(place: Place) -> "MlflowClient":
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

    engine = sqlalchemy.create_engine(uri, poolclass=sqlalchemy.NullPool, connect_args={"connect_timeout": _DATABASE_S})
    try:
        engine.connect().close()
    finally:
        engine.dispose()


def experiment_id(client: "MlflowClient", place: Place, name: str) -> str:
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


def reason(error: BaseException, place: Place) -> str:
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
