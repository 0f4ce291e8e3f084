"""The lease of a study: a row in the database with a token, and a thread that renews it.

The process that holds the lease, the driver, runs the study. Every new driver gets a higher token. Every write checks
the token. So a driver that was paused or cut off, and replaced in the meantime, can't write any more (fencing). All
times come from the server's clock, so hosts whose clocks differ agree on when a lease ends.

A driver that can't reach the server does not learn that it was replaced. It counts the time since its last renewal
itself, and stops measuring before its lease ends at the server.
"""

import json
import os
import socket
import threading
import time
import uuid
from typing import Any, Final

from runners.reporting import Say
from tuner.model.errors import StorageUnreachable, StudyBusy, StudyNotFound, StudyTakenOver
from tuner.model.progress import Progress
from tuner.storage.postgres_connection import Connection, Db

LEASE_S: Final = 30.0
"""How long a lease lasts without being renewed."""
RENEWALS: Final = 6
"""How often a lease is renewed in the time that it lasts."""
_POLL_S: Final = 0.5
_PROGRESS_S: Final = 0.5
"""The shortest time between two writes of the progress; progress in between is not written."""
_END_S: Final = 3.0
"""How long the end of a study waits for the thread to release the lease, and again after closing its connection."""

_TAKE: Final = """
    INSERT INTO kafka_tuner.leases AS held (study, token, owner, nonce, taken_at, renewed_at, expires_at)
    SELECT id, 1, %(owner)s, %(nonce)s, now, now, now + make_interval(secs => %(lease_s)s)
    FROM kafka_tuner.studies, clock_timestamp() AS now WHERE id = %(study)s
    ON CONFLICT (study) DO UPDATE SET
        token = held.token + 1, owner = excluded.owner, nonce = excluded.nonce,
        taken_at = excluded.taken_at, renewed_at = excluded.renewed_at, expires_at = excluded.expires_at
    WHERE held.expires_at <= clock_timestamp()
"""
_LOOK: Final = """
    SELECT token, owner, nonce, renewed_at, extract(epoch FROM expires_at - clock_timestamp())::float8
    FROM kafka_tuner.leases WHERE study = %s
"""
_RENEW: Final = """
    UPDATE kafka_tuner.leases
    SET renewed_at = clock_timestamp(), expires_at = clock_timestamp() + make_interval(secs => %s)
    WHERE study = %s AND token = %s
"""
_RELEASE: Final = "UPDATE kafka_tuner.leases SET expires_at = clock_timestamp() WHERE study = %s AND token = %s"
_PROGRESS: Final = """
    INSERT INTO kafka_tuner.progress (study, body)
    SELECT study, %s FROM kafka_tuner.leases WHERE study = %s AND token = %s
    ON CONFLICT (study) DO UPDATE SET body = excluded.body, told_at = clock_timestamp()
"""


def taken_over_error(name: str) -> StudyTakenOver:
    """Return the error for a process that runs a study which another process has taken over."""
    return StudyTakenOver(
        f"only one process may write to the study {name}, but another process has taken it over, because this "
        f"process did not renew its lease in time; what this process measured after that was not stored; see "
        "`tuner studies`"
    )


def take(connection: Connection, study: int, name: str, lease_s: float, tell: Say) -> int:
    """Take the lease of a study.

    If another process holds the lease, we watch whether that process renews it. If it does, the process is alive and
    runs the study. If it does not, we wait until the lease ends and then take it.

    Returns:
        The token that every write must carry.

    Raises:
        StudyBusy: Another process runs the study.
        StudyNotFound: Another process has removed the study in the meantime.
    """
    wanted = {
        "study": study,
        "owner": f"{socket.gethostname()} (process {os.getpid()})",
        "nonce": uuid.uuid4().hex,
        "lease_s": lease_s,
    }

    def attempt(db: Db, _: bool) -> tuple[Any, ...]:
        db.execute(_TAKE, wanted)
        # A lease is deleted only together with its study. Otherwise, there is one row, ours or another driver's.
        lease = db.execute(_LOOK, [study]).fetchone()
        if lease is None:
            raise StudyNotFound(f"there is no study {name} any more: another process has removed it")
        return lease

    first_look = None
    while True:
        token, owner, nonce, renewed_at, left_s = connection.run(attempt)
        if nonce == wanted["nonce"]:
            return int(token)
        if first_look is None:
            first_look = (token, renewed_at)
            tell(
                f"the study {name} is in use by {owner}; if that process has died, the study is free in "
                f"{max(0.0, left_s):.0f} s"
            )
        elif first_look != (token, renewed_at):
            raise StudyBusy(f"one process at a time may run the study {name}, but {owner} does; see `tuner studies`")
        time.sleep(min(_POLL_S, max(0.01, left_s)))


def _now_s() -> float:
    """Return the time of a clock of this host that can't be set, and that continues while the host is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class RenewedLease:
    """The lease on a study that this process runs, with a thread that renews the lease and writes the study's progress.

    Args:
        connection: A connection for this thread alone, which `end` closes.
        study: The study's number in the database.
        token: The token of the lease.
        lease_s: How long the lease lasts without being renewed, in seconds.
    """

    def __init__(self, connection: Connection, study: int, token: int, lease_s: float) -> None:
        self._connection, self._study, self.token, self._lease_s = connection, study, token, lease_s
        self._news, self._ending = threading.Event(), threading.Event()
        self._progress: str | None = None
        self.lost = False
        self._ends_s, self._ended = _now_s() + self._own_s, 0
        self._thread = threading.Thread(target=self._run, name="tuner-lease", daemon=True)
        self._thread.start()

    def tell(self, progress: Progress) -> None:
        """Pass the progress report to the thread, which writes it soon, and return without waiting."""
        self._progress = json.dumps(progress.as_json())
        self._news.set()

    def lost_leases(self) -> int | None:
        """Return how often the lease has ended so far, by our own clock; None while it has ended and is not renewed."""
        return self._ended if _now_s() <= self._ends_s else None

    @property
    def _own_s(self) -> float:
        """Seconds after a renewal for which we still measure: less than the lease, because stopping takes time."""
        return self._lease_s * (1 - 1 / RENEWALS)

    def end(self) -> None:
        """Write the last progress, release the lease and end the thread.

        If the server does not answer, the lease ends by itself.
        """
        self._ending.set()
        self._news.set()
        self._thread.join(_END_S)
        self._connection.close()
        self._thread.join(_END_S)

    def _run(self) -> None:
        renewed_s, period_s = time.monotonic(), self._lease_s / RENEWALS
        while not self._ending.is_set() and not self.lost:
            self._news.wait(max(0.0, renewed_s + period_s - time.monotonic()))
            self._news.clear()
            if self._tell() and time.monotonic() - renewed_s >= period_s / 2 and self._renew():
                renewed_s = time.monotonic()
            self._ending.wait(min(_PROGRESS_S, period_s / 2))
        self._tell()
        self._changed_rows(_RELEASE, self._study, self.token)

    def _renew(self) -> bool:
        asked_s = _now_s()
        renewed = self._changed_rows(_RENEW, self._lease_s, self._study, self.token)
        self.lost = self.lost or renewed == 0
        if renewed:
            # `lost_leases` reads these two in the other order, in another thread.
            self._ended += _now_s() > self._ends_s
            self._ends_s = asked_s + self._own_s
        return bool(renewed)

    def _tell(self) -> bool:
        """Write the latest progress; return False if the server did not answer."""
        progress, self._progress = self._progress, None
        if progress is None:
            return True
        changed = self._changed_rows(_PROGRESS, progress, self._study, self.token)
        if changed is None and self._progress is None:
            self._progress = progress  # the next attempt writes it, unless there is newer progress by then
        self.lost = self.lost or changed == 0
        return changed is not None

    def _changed_rows(self, statement: str, *values: Any) -> int | None:
        """Run a statement and return how many rows it changed; None if the server does not answer."""
        try:
            return self._connection.run(lambda db, _: db.execute(statement.encode(), values).rowcount)
        except StorageUnreachable:
            return None
