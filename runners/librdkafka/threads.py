"""The two threads of a load: one sends, on a schedule or as fast as it can; one serves deliveries and cuts windows."""

import math
import queue
from dataclasses import dataclass, field
from threading import Event
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from runners.clock import NS_PER_S, NS_PER_US, Clock
from runners.errors import ByteBudgetExceeded
from runners.histogram import Histogram, Recorder
from runners.librdkafka.tally import Tally
from runners.pacing import Schedule
from runners.payload import PayloadPool
from runners.runner import Phases

CALL_RECORDS: Final = 1_000
"""Records of one call: enough to hide the cost of the call, few enough that they truly leave at one moment."""
CALL_BYTES: Final = 1_000_000
FULL_WAIT_NS: Final = 100_000
"""How long to wait at first for room in a full queue before asking again."""
SHORTEST_WAIT_NS: Final = 50_000
LONGEST_WAIT_NS: Final = 5_000_000
ROOM_SHARE: Final = 16
"""Waits are made so long that a 16th of the queue comes free in one, or a call's worth if that is less: asking more
often takes CPU from the client and a broker on the same host, less often would let the queue run empty."""
TICK_NS: Final = 250_000
"""A paced sender looks for due records this often; it bounds the delay that pacing itself adds."""
SAMPLES_PER_S: Final = 20_000
"""Latencies looked at per second: 200,000 in ten seconds place a p99.9 within a few percent, for 2 % of a core."""
_POLL_MS: Final = 20
_FAR_OFF_MS: Final = 1_000_000
_GUESS_RECORDS_PER_S: Final = 4e6
_GUESS_BYTES_PER_S: Final = 300e6


class LoadClient(Protocol):
    """A producer that sends records of a payload pool, round and round."""

    def send(self, intended_ns: NDArray[np.int64] | int, count: int) -> int:
        """Hand over the next `count` records.

        Args:
            intended_ns: When each record was meant to leave, shape (count,), or one moment for all; it travels with
                the record and comes back with its delivery.
            count: How many records, at least 1.

        Returns:
            How many were taken; fewer than asked means that the client's queue is full (or the pool's end was reached):
            ask again with the rest.

        Raises:
            WorkloadRefused: The client will never take such a record.
            DeliveryFailed: The client is past sending anything (a fatal error).
        """

    def drain(self, timeout_ms: int) -> None:
        """Serve what the client has to say (deliveries, statistics, errors), waiting up to `timeout_ms` for it."""

    def waiting(self) -> int:
        """Records handed over whose delivery was not served yet."""

    def purge(self) -> None:
        """Make the client give up every record it still holds; their deliveries then arrive as failed."""

    def close(self) -> None:
        """Free everything at once; records still held are dropped."""


@dataclass(slots=True)
class Sender:
    """Sends until told to stop, or its end time is reached. Owned by its thread; others only read the plain counters.

    Attributes:
        client: Where records go.
        pool: What is sent; tells the bytes of what was sent.
        clock: The clock of intended times.
        end_ns: No record is meant to leave at or after this moment.
        measured_from_ns: Send delays count for records meant to leave from here on.
        max_bytes: Value and key bytes that may be sent at most; None for no limit.
        primed: Records that were sent from the pool before this sender began.
        sent: Records of this sender taken by the client so far.
        full_ns: Time spent waiting for room in the client's queue.
    """

    client: LoadClient
    pool: PayloadPool
    clock: Clock
    end_ns: int
    measured_from_ns: int
    max_bytes: int | None = None
    primed: int = 0
    stop: Event = field(default_factory=Event)
    sent: int = 0
    full_ns: int = 0
    _delays: list[NDArray[np.int64]] = field(default_factory=list)
    _recorder: Recorder = field(default_factory=Recorder)

    @property
    def sent_bytes(self) -> int:
        """Value and key bytes taken by the client so far."""
        return self._bytes_after(self.sent)

    def _bytes_after(self, sent: int) -> int:
        return self.pool.bytes_of_first(self.primed + sent)

    def saturate(self) -> None:
        """Send as fast as the client accepts.

        Raises:
            ByteBudgetExceeded: The next call would pass `max_bytes`.
        """
        call = int(np.clip(CALL_BYTES // self.pool.mean_bytes, 1, CALL_RECORDS))
        wait_ns, hoped = FULL_WAIT_NS, 0
        self._guard(call)
        while not self.stop.is_set():
            now = self.clock.now_ns()
            if now >= self.end_ns:
                return
            taken = self.client.send(now, call)
            if hoped:
                wait_ns = wait_ns // 2 if taken >= hoped else wait_ns * 2
                wait_ns, hoped = min(max(wait_ns, SHORTEST_WAIT_NS), LONGEST_WAIT_NS), 0
            if taken:
                self.sent += taken
                if self.max_bytes is not None:
                    self._guard(call)
            else:
                hoped = max(1, min(call, self.client.waiting() // ROOM_SHARE))
                self._wait(now, wait_ns)

    def paced(self, schedule: Schedule) -> None:
        """Send what is due, when it is due; when late, send at once and keep the intended times.

        Raises:
            ByteBudgetExceeded: As for `saturate`.
        """
        while not self.stop.is_set():
            now = self.clock.now_ns()
            due = schedule.due(min(now, self.end_ns - 1))
            if due > self.sent:
                self._send_due(schedule.intended_ns(self.sent, min(due - self.sent, CALL_RECORDS)), now)
            elif now >= self.end_ns:
                return
            if due <= self.sent:
                # Not before the tick is over, however much falls due in it: calls for single records would take a core.
                following = int(schedule.intended_ns(self.sent, 1)[0])
                self.clock.sleep_until(min(max(following, now + TICK_NS), max(self.end_ns, now)))

    def _send_due(self, intended_ns: NDArray[np.int64], now_ns: int) -> None:
        self._guard(len(intended_ns))
        taken = self.client.send(intended_ns, len(intended_ns))
        if taken:
            self.sent += taken
            self._delays.append(now_ns - intended_ns[:taken][intended_ns[:taken] >= self.measured_from_ns])
        else:
            self._wait(now_ns, FULL_WAIT_NS)

    def _wait(self, since_ns: int, wait_ns: int) -> None:
        self.clock.sleep_until(since_ns + wait_ns)
        self.full_ns += self.clock.now_ns() - since_ns

    def _guard(self, records: int) -> None:
        if self.max_bytes is None:
            return
        if self._bytes_after(self.sent + records) > self.max_bytes:
            raise ByteBudgetExceeded(
                f"a run may send at most {self.max_bytes:,} bytes, and {self.sent_bytes:,} are sent; allow more "
                "(--max-bytes), or measure for fewer seconds"
            )

    def settle_delays(self) -> None:
        """Sort the send delays so far into their histogram, so that memory stays bounded; any one thread may do it."""
        delays, self._delays = self._delays, []
        if delays:
            self._recorder.record(np.concatenate(delays) // NS_PER_US)

    def send_delay(self) -> Histogram:
        """Send delays of the records meant to leave in the measured phase; empty for a saturating load."""
        self.settle_delays()
        return self._recorder.histogram()


def first_sample_ratio(rate_records_per_s: float | None, mean_bytes: float) -> float:
    """What share of the deliveries to look at before the first window tells the true rate."""
    guess = rate_records_per_s or min(_GUESS_RECORDS_PER_S, _GUESS_BYTES_PER_S / mean_bytes)
    return min(1.0, SAMPLES_PER_S / guess)


@dataclass(frozen=True, slots=True)
class Cut:
    """The counters when a window ended; all but `latency` grow from the start of the run."""

    at_ns: int
    acknowledged: int
    failed: int
    full_ns: int
    latency: Histogram


@dataclass(slots=True)
class Drain:
    """Serves one client until `over` is set.

    Attributes:
        start_ns: When the load starts; the phases count from there.
        phases: The run's windows; when the warm-up's last one ends, sampling adapts to the rate.
        cuts: Where each window's counters are put when it ends.
        over: Set by others: come to an end.
        ended: Set here: the tally is complete.
    """

    client: LoadClient
    tally: Tally
    clock: Clock
    sender: Sender
    start_ns: int
    phases: Phases
    cuts: "queue.SimpleQueue[Cut]" = field(default_factory=queue.SimpleQueue)
    over: Event = field(default_factory=Event)
    ended: Event = field(default_factory=Event)

    def run(self) -> None:
        """Loop until told that it is over; then sort in the samples that came after the last window."""
        try:
            self._loop()
            self.tally.roll()
        finally:
            self.ended.set()

    def _loop(self) -> None:
        window, before = 0, self.cut()
        while not self.over.is_set():
            left_ms = self._left_ms(window)
            self.client.drain(min(_POLL_MS, max(0, left_ms)))
            if left_ms <= _POLL_MS and self._left_ms(window) <= 0:
                cut = self.cut()
                self.cuts.put(cut)
                window += 1
                if window == self.phases.warm_windows:
                    self._adapt(before, cut)
                before = cut

    def cut(self) -> Cut:
        """The counters now."""
        latency = self.tally.roll()
        self.sender.settle_delays()
        failed = sum(self.tally.failed.values())
        return Cut(self.clock.now_ns(), self.tally.acknowledged, failed, self.sender.full_ns, latency)

    def _adapt(self, before: Cut, cut: Cut) -> None:
        rate = (cut.acknowledged - before.acknowledged) / (cut.at_ns - before.at_ns) * NS_PER_S
        self.tally.resample(min(1.0, SAMPLES_PER_S / max(rate, 1.0)))

    def _left_ms(self, window: int) -> int:
        """Time to the end of a window, rounded up; of windows past the last, far off."""
        if window >= len(self.phases.ends_ns):
            return _FAR_OFF_MS
        return math.ceil((self.start_ns + self.phases.ends_ns[window] - self.clock.now_ns()) / 1e6)
