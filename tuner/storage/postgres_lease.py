"""Who runs a study, on any host: a row with a token that grows with each driver, and a thread that renews it.

All times are the server's own: hosts whose clocks differ can't take from each other what is not over. The token is the
fence: a driver that was paused, or cut off, and comes back to find another in its place can write nothing any more.
"""

import json
import os
import socket
import threading
import time
import uuid
from typing import Any, Final

from runners.reporting import Say
from tuner.model.errors import StorageUnreachable, StudyBusy, StudyTakenOver
from tuner.model.trial import Progress
from tuner.storage.connection import Connection, Db

LEASE_S: Final = 30.0
_RENEWALS: Final = 6
"""In the time that a lease lasts."""
_POLL_S: Final = 0.5
_PROGRESS_S: Final = 0.5
"""Progress is told at most so often; what comes in between is never seen."""
_FAREWELL_S: Final = 3.0

_TAKE: Final = """
    INSERT INTO kafka_tuner.leases AS held (study, token, owner, nonce, taken_at, renewed_at, expires_at)
    SELECT %(study)s, 1, %(owner)s, %(nonce)s, now, now, now + make_interval(secs => %(lease_s)s)
    FROM clock_timestamp() AS now
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


def taken_over(name: str) -> StudyTakenOver:
    """What a driver is told that is no longer the one."""
    return StudyTakenOver(
        f"only the driver that holds the study {name} may add to it, but another has taken it over from this one, "
        f"which did not renew its lease in time: nothing of this one's is kept since; `tuner status {name}` shows it"
    )


def take(connection: Connection, study: int, name: str, lease_s: float, tell: Say) -> int:
    """Become the study's driver.

    A lease that is renewed while we look is another's who lives; one that is not is waited for until it ends.

    Returns:
        The token to write with.

    Raises:
        StudyBusy: Another driver is at work.
    """
    asked = {
        "study": study,
        "owner": f"{socket.gethostname()} (process {os.getpid()})",
        "nonce": uuid.uuid4().hex,
        "lease_s": lease_s,
    }

    def attempt(db: Db, _: bool) -> tuple[Any, ...]:
        db.execute(_TAKE, asked)
        (lease,) = db.execute(_LOOK, [study]).fetchall()  # ours, or another's in our way: leases are never deleted
        return lease

    seen = None
    while True:
        token, owner, nonce, renewed_at, left_s = connection.run(attempt)
        if nonce == asked["nonce"]:
            return int(token)
        if seen is None:
            seen = (token, renewed_at)
            tell(f"the study {name} is held by {owner}; if that has died, it is free in {max(0.0, left_s):.0f} s")
        elif seen != (token, renewed_at):
            raise StudyBusy(f"one process at a time may run the study {name}, but {owner} does; `tuner status {name}`")
        time.sleep(min(_POLL_S, max(0.01, left_s)))


class Keeping:
    """A thread that renews a lease, and tells the driver's progress on its way; on a connection of its own.

    Args:
        connection: Used by nobody else; closed in the end.
        study: Its number.
        token: Of the lease.
        lease_s: How long it lasts without being renewed.
    """

    def __init__(self, connection: Connection, study: int, token: int, lease_s: float) -> None:
        self._connection, self._study, self.token, self._lease_s = connection, study, token, lease_s
        self._news, self._ending = threading.Event(), threading.Event()
        self._progress: str | None = None
        self.lost = False
        self._thread = threading.Thread(target=self._run, name="tuner-lease", daemon=True)
        self._thread.start()

    def tell(self, progress: Progress) -> None:
        """Let others see this soon; never waits."""
        self._progress = json.dumps(progress.as_json())
        self._news.set()

    def end(self) -> None:
        """Tell the last progress, give the lease back, and end. Where the server is away, the lease ends by itself."""
        self._ending.set()
        self._news.set()
        self._thread.join(_FAREWELL_S)
        self._connection.close()
        self._thread.join()

    def _run(self) -> None:
        renewed_s, period_s = time.monotonic(), self._lease_s / _RENEWALS
        while not self._ending.is_set() and not self.lost:
            self._news.wait(max(0.0, renewed_s + period_s - time.monotonic()))
            self._news.clear()
            if self._tell() and time.monotonic() - renewed_s >= period_s / 2 and self._renew():
                renewed_s = time.monotonic()
            self._ending.wait(min(_PROGRESS_S, period_s / 2))
        self._tell()
        self._asked(_RELEASE, self._study, self.token)

    def _renew(self) -> bool:
        renewed = self._asked(_RENEW, self._lease_s, self._study, self.token)
        self.lost = self.lost or renewed == 0
        return bool(renewed)

    def _tell(self) -> bool:
        """Whether the server heard what there was to tell."""
        told, self._progress = self._progress, None
        if told is None:
            return True
        heard = self._asked(_PROGRESS, told, self._study, self.token)
        if heard is None and self._progress is None:
            self._progress = told  # told with the next attempt, unless something newer has come by then
        self.lost = self.lost or heard == 0
        return heard is not None

    def _asked(self, statement: str, *values: Any) -> int | None:
        """Rows that were changed; None where the server is away."""
        try:
            return self._connection.run(lambda db, _: db.execute(statement.encode(), values).rowcount)
        except StorageUnreachable:
            return None
