"""A connection to PostgreSQL that reconnects after an outage of the server and repeats the interrupted work.

This is the only module that imports psycopg. Other modules contain the SQL statements.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from runners.reporting import Say
from tuner.model.errors import ResultsDamaged, StorageMisnamed, StorageUnreachable, StudyError
from tuner.storage.postgres_url import PostgresUrl

if TYPE_CHECKING:
    import psycopg

Db: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"
Result = TypeVar("Result")
Work = Callable[[Db, bool], Result]
"""A function that runs statements on a connection.

Its second argument is whether this is a repetition after a lost connection. If it is, the server may or may not have
committed the first attempt.
"""

_DEFAULTS: Final = {
    "application_name": "kafka-tuner",
    "connect_timeout": "10",
    # With these settings, a server whose host has gone is noticed within half a minute instead of two hours.
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
    "client_encoding": "UTF8",
}
_FIRST_PAUSE_S: Final = 0.1
_LAST_PAUSE_S: Final = 2.0
_ANSWER_S: Final = 30.0
"""How long to wait for the answer to one statement; the server may stand still with its connections open."""
_LEAST_ANSWER_S: Final = 1.0
_NEWS_S: Final = 2.0
"""Seconds of an outage after which the user gets a message."""
_HOPELESS: Final = ("authentication failed", "no password supplied", "pg_hba.conf", "does not exist", "certificate")
"""Words in the messages of errors that a retry can't solve, so that we report these errors immediately.

If a server reports such an error in another language than English, we retry until `patience_s` has passed.
"""


_SETTINGS: Final = """
    SELECT set_config('idle_in_transaction_session_timeout', '30s', false),
        CASE WHEN current_setting('synchronous_commit') = 'off' OR NOT %(durable)s
        THEN set_config('synchronous_commit', CASE WHEN %(durable)s THEN 'on' ELSE 'off' END, false) END
"""
"""Settings of a new connection.

The server ends a transaction in the middle of which our process stands still, since its locks keep others waiting.
Synchronous commits are switched on if they are off; stronger settings, such as waiting for replicas, are kept.
"""


class Connection:
    """A connection to a PostgreSQL database that reconnects when needed.

    Several threads may share the connection; it serves one thread at a time.

    Args:
        url: The address of the database.
        patience_s: How long to retry while the server does not answer, in seconds. It may be changed at any time, also
            while another thread retries.
        durable: Whether committed data must survive a crash of the server.
        tell: Called with a sentence for the user if the server does not answer for long.
    """

    def __init__(self, url: PostgresUrl, patience_s: float, *, durable: bool = True, tell: Say | None = None) -> None:
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
            # The server was the primary of a cluster and is now a replica.
            psycopg.errors.ReadOnlySqlTransaction,
            # Our process was paused during a transaction for longer than the server allows.
            psycopg.errors.IdleInTransactionSessionTimeout,
        )
        self.url, self.patience_s, self.tell = url, patience_s, tell
        self._durable = durable
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._open: Db | None = None

    def run(self, work: Work[Result]) -> Result:
        """Do the work on the connection, and repeat it on a new connection if the connection breaks.

        Args:
            work: The work. It must be a single statement or open its own `transaction()`.

        Raises:
            StorageUnreachable: The server did not answer for `patience_s`, refused the login, or does not
                allow us to use the tables.
            ResultsDamaged: The server refuses a statement, because the tables are not as expected.
        """
        with self._lock:
            began_s, pause_s, again, user_was_told = time.monotonic(), _FIRST_PAUSE_S, False, False
            while True:
                try:
                    return work(self._connected(), again)
                except self._lost as error:
                    hopeless = self._open is None and any(words in str(error) for words in _HOPELESS)
                    self._drop()
                    away_s = time.monotonic() - began_s
                    if hopeless or away_s + pause_s > self.patience_s or self._closed.wait(pause_s):
                        raise StorageUnreachable(self._broken("does not answer", error)) from None
                    if self.tell is not None and away_s > _NEWS_S and not user_was_told:
                        away = self._broken("does not answer", error)
                        self.tell(f"{away}; retrying for up to {self.patience_s:.0f} s, nothing is lost")
                        user_was_told = True
                    pause_s, again = min(2 * pause_s, _LAST_PAUSE_S), True
                except self._psycopg.errors.InsufficientPrivilege as error:
                    self._drop()
                    message = self._broken("does not allow kafka-tuner to use its tables", error)
                    raise StorageUnreachable(message) from None
                except self._psycopg.Error as error:
                    self._drop()
                    raise ResultsDamaged(self._broken("has damaged tables", error)) from None
                except StudyError:
                    raise
                except BaseException:
                    # An interruption, such as a signal, may have left half of an answer on the connection.
                    self._drop()
                    raise

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run one query as `run` does, and return its rows."""
        return self.run(lambda db, _: db.execute(statement.encode(), values).fetchall())

    def close(self) -> None:
        """Close the connection, and stop waiting for the server; may be called again."""
        self._closed.set()
        with self._lock:
            self._drop()

    def _connected(self) -> Db:
        if self._open is None or self._open.closed:
            if self._closed.is_set():
                raise StorageUnreachable(f"the connection to {self.url.shown} was closed")
            parameters = {**_DEFAULTS, **self.url.parameters}
            try:
                # Statements are not prepared, because connection poolers mix up prepared statements of several clients.
                self._open = self._bounded().connect(**parameters, autocommit=True, prepare_threshold=None)  # type: ignore[arg-type]
            except self._psycopg.ProgrammingError as error:
                raise StorageMisnamed(
                    f"{self.url.shown} must have only options that libpq knows, but libpq says: {self._line(error)}"
                ) from None
            self._open.execute(_SETTINGS, {"durable": self._durable})
        return self._open

    def _bounded(self) -> "type[psycopg.Connection[tuple[Any, ...]]]":
        """Return the library's class of connections, in which each wait for the server has an end."""
        import psycopg

        closed = self._closed

        class Bounded(psycopg.Connection[tuple[Any, ...]]):
            def wait(self, gen: Generator[Any, Any, Result], *args: Any, **options: Any) -> Result:
                return super().wait(within(gen, self.pgconn.finish), *args, **options)

        def within(waiting: Generator[Any, Any, Result], finish: Callable[[], None]) -> Generator[Any, Any, Result]:
            # The library hands control back here several times a second, also while no answer comes.
            began_s, state = time.monotonic(), None
            while True:
                try:
                    state = yield waiting.send(state)
                except StopIteration as done:
                    result: Result = done.value
                    return result
                answer_s = min(_ANSWER_S, max(self.patience_s, _LEAST_ANSWER_S))
                if not state and (closed.is_set() or time.monotonic() - began_s > answer_s):
                    finish()
                    raise psycopg.OperationalError(f"no answer came within {answer_s:.0f} s")

        return Bounded

    def _drop(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _broken(self, what: str, error: Exception) -> str:
        return f"the storage at {self.url.shown} {what}: {self._line(error)}"

    def _line(self, error: Exception) -> str:
        """Return the text of a library's error on one line and without secrets."""
        words = " ".join(str(error).split()) or type(error).__name__
        return self.url.masked(words.removeprefix("connection failed: "))


@contextmanager
def closed_on_error(connection: Connection) -> Iterator[Connection]:
    """Close the connection if the block raises an error; otherwise leave it open."""
    try:
        yield connection
    except BaseException:
        connection.close()
        raise
