"""Sends the records of a load, each when it is due or as fast as the client accepts them."""

from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runners.clock import NS_PER_US, Clock
from runners.librdkafka.load_client import CALL_RECORDS, LoadClient
from runners.load.pacing import Schedule
from runners.load.payload import PayloadPool
from runners.measurements.histogram import Histogram, Recorder
from runners.runner import budget_exceeded

CALL_BYTES: Final = 1_000_000
FULL_WAIT_NS: Final = 100_000
"""How long a sender with a fixed rate waits for room in the client's full queue before it tries again."""
TICK_NS: Final = 250_000
"""How long a sender with a fixed rate waits between two checks for records that are due.

So a record leaves at most this much later than intended because of the checks.
"""


@dataclass(slots=True)
class Sender:
    """Sends records until it is stopped or its end time is reached.

    Only the sending thread changes this object. Other threads only read its counters and set `stop`.

    Attributes:
        client: The client that sends the records.
        pool: The records to send. Their sizes are also used to compute how many bytes were sent.
        clock: The clock of the intended send times.
        end_ns: No record is meant to leave at or after this moment.
        measured_from_ns: Send delays are recorded for records that are meant to leave from this moment on.
        max_bytes: Largest number of bytes of values and keys that may be sent; None for no limit.
        primed: Number of records from the pool that were sent before this sender began.
        stop: Set by another thread to stop the sender.
        ended: Set by this object when it will send no more records.
        sent: Number of records from this sender that the client has accepted so far.
        full_ns: Time for which the sender has waited for room in the client's queue.
    """

    client: LoadClient
    pool: PayloadPool
    clock: Clock
    end_ns: int
    measured_from_ns: int
    max_bytes: int | None = None
    primed: int = 0
    stop: Event = field(default_factory=Event)
    ended: Event = field(default_factory=Event)
    sent: int = 0
    full_ns: int = 0
    _delays: deque[NDArray[np.int64]] = field(default_factory=deque)
    _recorder: Recorder = field(default_factory=Recorder)

    @property
    def sent_bytes(self) -> int:
        """Number of bytes of values and keys that the client has accepted so far."""
        return self.pool.bytes_of_first(self.primed + self.sent)

    def fill(self, until_ns: int) -> bool:
        """Send as fast as the client accepts records, until its queue is full or the time is over.

        At least one call is made, unless the load has ended.

        Args:
            until_ns: The end of this time, on the clock of the load.

        Returns:
            Whether the client's queue still has room and the load has not ended.

        Raises:
            ByteBudgetExceeded: The next call would exceed `max_bytes`.
        """
        call = int(np.clip(CALL_BYTES // self.pool.mean_bytes, 1, CALL_RECORDS))
        while not self.stop.is_set() and (now := self.clock.now_ns()) < self.end_ns:
            self._check_budget(call)
            taken = self.client.send(now, call)
            if not taken:
                return False
            self.sent += taken
            if now >= until_ns:
                return True
        self.ended.set()
        return False

    def paced(self, schedule: Schedule) -> None:
        """Send each record when it is due by the schedule.

        A record that is late is sent immediately and keeps its intended send time, so that its latency includes the
        delay.

        Raises:
            ByteBudgetExceeded: The next call would exceed `max_bytes`.
        """
        while not self.stop.is_set():
            now = self.clock.now_ns()
            due = schedule.due(min(now, self.end_ns - 1))
            if due > self.sent:
                self._send_due(schedule.intended_ns(self.sent, min(due - self.sent, CALL_RECORDS)), now)
            elif now >= self.end_ns:
                break
            if due <= self.sent:
                # Wait at least a tick, even if more records become due: one call per record would use up a whole core.
                following = int(schedule.intended_ns(self.sent, 1)[0])
                self.clock.sleep_until(min(max(following, now + TICK_NS), max(self.end_ns, now)))
        self.ended.set()

    def _send_due(self, intended_ns: NDArray[np.int64], now_ns: int) -> None:
        self._check_budget(len(intended_ns))
        taken = self.client.send(intended_ns, len(intended_ns))
        if taken:
            self.sent += taken
            self._delays.append(now_ns - intended_ns[:taken][intended_ns[:taken] >= self.measured_from_ns])
        else:
            self.clock.sleep_until(now_ns + FULL_WAIT_NS)
            self.full_ns += self.clock.now_ns() - now_ns

    def _check_budget(self, records: int) -> None:
        check_budget(self.pool, self.primed + self.sent, records, self.max_bytes)

    def settle_delays(self) -> None:
        """Move the send delays into a histogram, which needs less memory.

        Always call this method from the same thread. It need not be the thread that sends.
        """
        delays = []
        # The sending thread may add delays at any moment. So they are taken from the queue one by one: delays that were
        # added while we replaced the queue could be lost.
        with suppress(IndexError):
            while True:
                delays.append(self._delays.popleft())
        if delays:
            self._recorder.record(np.concatenate(delays) // NS_PER_US)

    def send_delay(self) -> Histogram:
        """Return how late the records of the measured phase, which follows the warm-up, were sent.

        The histogram is empty if records are sent as fast as possible.
        """
        self.settle_delays()
        return self._recorder.histogram()


def check_budget(pool: PayloadPool, sent: int, records: int, max_bytes: int | None) -> None:
    """Check that a run may send its next records.

    Args:
        pool: The records to send.
        sent: Number of records from the pool that the run has sent.
        records: Number of records to send next.
        max_bytes: Largest number of bytes of values and keys that the run may send; None for no limit.

    Raises:
        ByteBudgetExceeded: The run would exceed `max_bytes`.
    """
    if max_bytes is not None and (after_bytes := pool.bytes_of_first(sent + records)) > max_bytes:
        sent_bytes = pool.bytes_of_first(sent)
        raise budget_exceeded(max_bytes, sent_bytes, after_bytes - sent_bytes)
