"""A connection to PostgreSQL that comes back: what was asked is asked again when the server was away.

psycopg is imported here alone. Nothing here knows what is asked.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from runners.reporting import Say
from tuner.model.errors import RecordDamaged, StorageMisnamed, StorageUnreachable, StudyError
from tuner.storage.url import StorageUrl

if TYPE_CHECKING:
    import psycopg

Db: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"
Result = TypeVar("Result")
Work = Callable[[Db, bool], Result]
"""Takes a connection, and whether it is done again: then what it did before may have been kept, or may not."""

_DEFAULTS: Final = {
    "application_name": "kafka-tuner",
    "connect_timeout": "10",
    # A server whose host has gone is noticed within half a minute, not after the system's two hours.
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
    "client_encoding": "UTF8",
}
_FIRST_PAUSE_S: Final = 0.1
_LAST_PAUSE_S: Final = 2.0
_NEWS_S: Final = 2.0
"""A restart that takes less is no news."""
_HOPELESS: Final = ("authentication failed", "no password supplied", "pg_hba.conf", "does not exist", "certificate")
"""Words of servers that answer, and will not answer otherwise in a moment. In other languages it takes the patience."""


_DURABLE: Final = """
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
"""
"""Stronger settings, such as those that wait for replicas, stay as they are."""


class Connection:
    """One connection at a time, for any number of threads, one after the other.

    Args:
        url: Where.
        patience_s: How long an answer is awaited when the server is away.
        durable: Whether what is kept must survive a crash of the server.
        tell: Told when the server is away for long.
    """

    def __init__(self, url: StorageUrl, patience_s: float, *, durable: bool = True, tell: Say | None = None) -> None:
        try:
            import psycopg
        except ImportError:
            raise StorageMisnamed(
                "a PostgreSQL storage needs psycopg, which is not installed: pip install 'kafka-tuner[postgres]'"
            ) from None
        self._psycopg = psycopg
        self._lost = (
            psycopg.OperationalError,
            psycopg.InterfaceError,
            # A server that was the first among several, and no longer is.
            psycopg.errors.ReadOnlySqlTransaction,
            # We were paused in the midst of a transaction, for longer than others may be made to wait.
            psycopg.errors.IdleInTransactionSessionTimeout,
        )
        self.url, self.patience_s, self.tell = url, patience_s, tell
        self._durable = durable
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._open: Db | None = None

    def run(self, work: Work[Result]) -> Result:
        """Do work on the connection; again on a new one if it breaks.

        Args:
            work: Commits by itself, or runs in a `transaction()` of its own.

        Raises:
            StorageUnreachable: The server was away for longer than our patience, or refuses us.
            RecordDamaged: The tables are not as they should be.
        """
        with self._lock:
            began_s, pause_s, again, told = time.monotonic(), _FIRST_PAUSE_S, False, False
            while True:
                try:
                    return work(self._connected(), again)
                except self._lost as error:
                    hopeless = self._open is None and any(words in str(error) for words in _HOPELESS)
                    self._drop()
                    away_s = time.monotonic() - began_s
                    if hopeless or away_s + pause_s > self.patience_s or self._closed.wait(pause_s):
                        raise StorageUnreachable(self._broken("answer", error)) from None
                    if self.tell is not None and away_s > _NEWS_S and not told:
                        away = self._broken("answer", error)
                        self.tell(f"{away}; waiting for up to {self.patience_s:.0f} s, nothing is lost")
                        told = True
                    pause_s, again = min(2 * pause_s, _LAST_PAUSE_S), True
                except self._psycopg.errors.InsufficientPrivilege as error:
                    self._drop()
                    raise StorageUnreachable(self._broken("do as it is asked", error)) from None
                except self._psycopg.Error as error:
                    self._drop()
                    raise RecordDamaged(self._broken("do as it is asked", error)) from None
                except StudyError:
                    raise
                except BaseException:
                    # Whatever came in between, a signal say, may have left half an answer on the line.
                    self._drop()
                    raise

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query, which is a `work` of its own; see `run`."""
        return self.run(lambda db, _: db.execute(statement.encode(), values).fetchall())

    def close(self) -> None:
        """End it, and whoever waits for it; may be called again."""
        self._closed.set()
        with self._lock:
            self._drop()

    def _connected(self) -> Db:
        if self._open is None or self._open.closed:
            if self._closed.is_set():
                raise StorageUnreachable(f"the connection to {self.url.shown} was closed")
            given = {**_DEFAULTS, **self.url.parameters}
            try:
                # Statements are not prepared: poolers between us and the server mix up whose they are.
                self._open = self._psycopg.connect(**given, autocommit=True, prepare_threshold=None)  # type: ignore[arg-type]
            except self._psycopg.ProgrammingError as error:
                raise StorageMisnamed(
                    f"{self.url.shown} must have options that libpq knows, but: {self._line(error)}"
                ) from None
            self._open.execute(_DURABLE if self._durable else "SET synchronous_commit = off")
        return self._open

    def _drop(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _broken(self, rule: str, error: Exception) -> str:
        return f"the storage at {self.url.shown} must {rule}, but: {self._line(error)}"

    def _line(self, error: Exception) -> str:
        """What a library says, in one line without a secret."""
        words = " ".join(str(error).split()) or type(error).__name__
        return self.url.masked(words.removeprefix("connection failed: "))


@contextmanager
def closed_on_error(connection: Connection) -> Iterator[Connection]:
    """A connection that is closed if what is done first with it fails, and is left open if not."""
    try:
        yield connection
    except BaseException:
        connection.close()
        raise
