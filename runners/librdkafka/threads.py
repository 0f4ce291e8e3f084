"""The threads that measure a config: they send records, and take the deliveries of these records from the client.

At a fixed rate, one thread sends records and another thread takes deliveries, so that neither has to wait for the
other. At saturation, one thread does both in turn, so that one thread fewer has to be woken. The effect of this alone
was not measured.

The thread that takes deliveries also divides the measurement into windows, which are periods of at most a second with
separate counts.
"""

import math
import queue
from dataclasses import dataclass, field
from threading import Event
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from runners.clock import NS_PER_MS, NS_PER_S, NS_PER_US, Clock
from runners.histogram import Histogram, Recorder
from runners.librdkafka.tally import Tally
from runners.limits import budget_exceeded
from runners.load.latency_sampling import SAMPLES_PER_S
from runners.load.pacing import Schedule
from runners.load.payload import PayloadPool
from runners.load.windows import Cut
from runners.runner import WindowSchedule

CALL_RECORDS: Final = 1_000
"""The largest number of records that one call hands to the client.

The number is large enough to make the cost of a call negligible, and small enough that all records of a call leave at
nearly the same moment.
"""
CALL_BYTES: Final = 1_000_000
FULL_WAIT_NS: Final = 100_000
"""How long a sender with a fixed rate waits for room in the client's full queue before it tries again."""
FILL_NS: Final = 10_000_000
"""At saturation, how long records are sent before deliveries are taken. A full client queue ends this time early."""
SHORTEST_WAIT_NS: Final = 50_000
LONGEST_WAIT_NS: Final = 10_000_000
ROOM_SHARE: Final = 16
"""At saturation, deliveries may gather until about 1/16 of the client's queue is free.

Shorter rests would take CPU time from the client and from a broker on the same host, because each delivery would wake
our thread. Longer rests could let the queue run empty.
"""
TICK_NS: Final = 250_000
"""How long a sender with a fixed rate waits between two checks for records that are due.

So a record leaves at most this much later than intended because of the checks.
"""
_POLL_MS: Final = 20
_FAR_OFF_MS: Final = 1_000_000


class LoadClient(Protocol):
    """A producer that sends the records of a payload pool again and again.

    Attributes:
        notes_arrivals: Whether the client notes when a delivery arrives. Then `drain` may be called late without an
            effect on the latencies.
    """

    notes_arrivals: bool

    def send(self, intended_ns: NDArray[np.int64] | int, count: int) -> int:
        """Hand the next `count` records of the pool to the client library.

        Args:
            intended_ns: Intended send time of each record, shape (count,), or one time for all records. The time
                travels with the record and comes back with its delivery.
            count: Number of records, at least 1.

        Returns:
            Number of records that the client accepted. If it is below `count`, the client's queue is full or the end of
            the pool was reached, and the caller sends the rest with another call.

        Raises:
            WorkloadRefused: The client will never accept such a record.
            DeliveryFailed: The client can't send any more (a fatal error).
        """

    def drain(self, timeout_ms: int) -> None:
        """Take all events (deliveries, statistics, errors) that the client has, and count what they report.

        Args:
            timeout_ms: Longest wait for the first event, in milliseconds.
        """

    def waiting(self) -> int:
        """Return the number of records that were handed over and whose delivery has not been taken yet."""

    def purge(self) -> None:
        """Make the client give up all records that it still holds. These records then count as failed deliveries."""

    def close(self) -> None:
        """Close the client at once, and drop the records that it still holds."""


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
    _delays: list[NDArray[np.int64]] = field(default_factory=list)
    _recorder: Recorder = field(default_factory=Recorder)

    @property
    def sent_bytes(self) -> int:
        """Number of bytes of values and keys that the client has accepted so far."""
        return self._bytes_after(self.sent)

    def _bytes_after(self, sent: int) -> int:
        return self.pool.bytes_of_first(self.primed + sent)

    def fill(self, until_ns: int) -> bool:
        """Send as fast as the client accepts records, until its queue is full or the time is over.

        At least one call is made, unless the load has ended.

        Args:
            until_ns: The end of this time, on the benchmark's clock.

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

        A record that is late is sent at once and keeps its intended send time, so that its latency includes the delay.

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
        """Move the list of send delays into a histogram, which needs less memory.

        Always call this method from the same thread. It need not be the thread that sends.
        """
        delays, self._delays = self._delays, []
        if delays:
            self._recorder.record(np.concatenate(delays) // NS_PER_US)

    def send_delay(self) -> Histogram:
        """Return how late the records that were meant to leave in the measured phase (after the warm-up) were sent.

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
    if max_bytes is not None and pool.bytes_of_first(sent + records) > max_bytes:
        raise budget_exceeded(max_bytes, pool.bytes_of_first(sent))


@dataclass(slots=True)
class DrainWait:
    """How long the drain thread waits before it takes the next deliveries from the client, while its queue is full.

    Attributes:
        ns: The wait in nanoseconds; 0 if each delivery should be taken at once.
    """

    ns: int = 0

    def adapt(self, taken: int, waiting: int) -> None:
        """Lengthen or shorten the wait, so that about 1/16 of the client's queue is taken after each one.

        Args:
            taken: Number of records whose deliveries were taken after the last wait.
            waiting: Number of records that the client still holds.
        """
        if taken * ROOM_SHARE > waiting:
            self.ns = self.ns // 2 if self.ns > SHORTEST_WAIT_NS else 0
        elif taken:
            self.ns = min(max(2 * self.ns, SHORTEST_WAIT_NS), LONGEST_WAIT_NS)


@dataclass(slots=True)
class Drain:
    """Takes deliveries and other events from one client until `over` is set, and counts them window by window.

    A window is a period of at most a second.

    Attributes:
        client: The client.
        tally: Counts the deliveries.
        clock: The benchmark's clock.
        sender: The sender of the same load. At saturation, its records are sent by the drain's own thread.
        start_ns: Start of the load. The times in `schedule` are relative to this moment.
        schedule: The windows of the warm-up and of the measured phase. When the warm-up ends, the share of latencies to
            record is adapted to the rate.
        saturates: Whether to send records as fast as possible, and take deliveries in between. If not, another thread
            sends the records.
        cuts: Queue that receives the counters at the end of each window.
        over: Set by another thread to end the drain.
        ended: Set by this object when it has taken its last event and `tally` is complete.
    """

    client: LoadClient
    tally: Tally
    clock: Clock
    sender: Sender
    start_ns: int
    schedule: WindowSchedule
    saturates: bool = False
    cuts: "queue.SimpleQueue[Cut]" = field(default_factory=queue.SimpleQueue)
    over: Event = field(default_factory=Event)
    ended: Event = field(default_factory=Event)
    _wait: DrainWait = field(default_factory=DrainWait)

    def run(self) -> None:
        """Take events from the client until `over` is set; at saturation, also send the records.

        Then add the latencies since the end of the last window to the tally.
        """
        try:
            self._loop()
            self.tally.roll()
        finally:
            self.ended.set()

    def _loop(self) -> None:
        if self.saturates:
            self.clock.sleep_until(self.start_ns)
        window, before = 0, self.cut()
        while not self.over.is_set():
            left_ms = self._left_ms(window)
            if self.saturates and not self.sender.ended.is_set():
                self._send_and_take(left_ms)
            else:
                self.client.drain(min(_POLL_MS, max(0, left_ms)))
            if left_ms <= _POLL_MS and self._left_ms(window) <= 0:
                cut = self.cut()
                self.cuts.put(cut)
                window += 1
                if window == self.schedule.warm_windows:
                    self._adapt_sampling(before, cut)
                before = cut

    def _send_and_take(self, left_ms: int) -> None:
        """Send records until the client's queue is full, then let deliveries gather, and take them."""
        # If the client does not note when a delivery arrives, a delivery that is taken late seems to have arrived late.
        fill_ns = min(FILL_NS, left_ms * NS_PER_MS) if self.client.notes_arrivals else 0
        if self.sender.fill(self.clock.now_ns() + fill_ns):
            self.client.drain(0)
            return
        if self.sender.ended.is_set():
            return
        full_from_ns = self.clock.now_ns()
        if self.client.notes_arrivals:
            self.clock.sleep_until(full_from_ns + min(self._wait.ns, left_ms * NS_PER_MS))
        done = self.tally.done
        self.client.drain(min(_POLL_MS, max(0, left_ms)))
        self._wait.adapt(self.tally.done - done, self.client.waiting())
        self.sender.full_ns += self.clock.now_ns() - full_from_ns

    def cut(self) -> Cut:
        """Return the counters at this moment, and the latencies recorded since this method was last called."""
        latency = self.tally.roll()
        self.sender.settle_delays()
        failed = sum(self.tally.failed.values())
        return Cut(self.clock.now_ns(), self.tally.acknowledged, failed, self.sender.full_ns, latency)

    def _adapt_sampling(self, before: Cut, cut: Cut) -> None:
        rate = (cut.acknowledged - before.acknowledged) / (cut.at_ns - before.at_ns) * NS_PER_S
        self.tally.resample(min(1.0, SAMPLES_PER_S / max(rate, 1.0)))

    def _left_ms(self, window: int) -> int:
        """Return the time in milliseconds until the window with that index ends, rounded up.

        If there is no window with that index, return a long time.
        """
        if window >= len(self.schedule.ends_ns):
            return _FAR_OFF_MS
        return math.ceil((self.start_ns + self.schedule.ends_ns[window] - self.clock.now_ns()) / 1e6)
