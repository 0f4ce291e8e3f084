"""Takes the deliveries of a load's records from the client, and divides the measurement into windows.

At a fixed rate, one thread sends records and another thread takes deliveries, so that neither has to wait for the
other. At saturation, one thread does both in turn, so that one thread fewer has to be woken. The effect of this alone
was not measured.
"""

import math
import queue
from dataclasses import dataclass, field
from threading import Event
from typing import Final

from runners.clock import NS_PER_MS, NS_PER_S, Clock
from runners.librdkafka.load_client import LoadClient
from runners.librdkafka.sender import Sender
from runners.librdkafka.tally import Tally
from runners.load.latency_sampling import SAMPLES_PER_S
from runners.load.windows import CounterSnapshot
from runners.runner import WindowSchedule

FILL_NS: Final = 10_000_000
"""At saturation, how long records are sent before deliveries are taken. A full client queue ends this time early."""
SHORTEST_WAIT_NS: Final = 50_000
LONGEST_WAIT_NS: Final = 10_000_000
ROOM_SHARE: Final = 16
"""At saturation, deliveries may gather until about 1/16 of the client's queue is free.

If deliveries gathered for a shorter time, our thread would wake more often, and take CPU time from the client and from
a broker on the same host. If they gathered for longer, the queue could run empty.
"""
_POLL_MS: Final = 20
_FAR_OFF_MS: Final = 1_000_000


@dataclass(slots=True)
class DrainWait:
    """How long the drain thread waits before it takes the next deliveries, while the client's queue is full.

    Attributes:
        ns: The wait in nanoseconds; 0 if each delivery should be taken immediately.
    """

    ns: int = 0

    def adapt(self, taken: int, waiting: int) -> None:
        """Lengthen or shorten the wait, so that about 1/16 of the client's queue is taken after each wait.

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
        client: The producer from which the deliveries are taken.
        tally: Counts the deliveries.
        clock: The clock of the load.
        sender: The sender of the same load. At saturation, its records are sent by the drain's own thread.
        start_ns: Start of the load. The times in `schedule` are relative to this moment.
        schedule: The windows of the warm-up and of the measured phase. When the warm-up ends, the share of latencies to
            record is adapted to the rate.
        saturates: Whether to send records as fast as possible, and take deliveries in between. If not, another thread
            sends the records.
        snapshots: Queue that receives the counters at the end of each window.
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
    snapshots: "queue.SimpleQueue[CounterSnapshot]" = field(default_factory=queue.SimpleQueue)
    over: Event = field(default_factory=Event)
    ended: Event = field(default_factory=Event)
    _wait: DrainWait = field(default_factory=DrainWait)

    def run(self) -> None:
        """Take events from the client until `over` is set; at saturation, also send the records.

        Then add the latencies since the end of the last window to the tally.
        """
        try:
            self._loop()
            self.tally.take_latencies()
        finally:
            self.ended.set()

    def _loop(self) -> None:
        if self.saturates:
            self.clock.sleep_until(self.start_ns)
        window, before = 0, self.snapshot()
        while not self.over.is_set():
            left_ms = self._left_ms(window)
            if self.saturates and not self.sender.ended.is_set():
                self._send_and_take(left_ms)
            else:
                self.client.drain(min(_POLL_MS, max(0, left_ms)))
            if left_ms <= _POLL_MS and self._left_ms(window) <= 0:
                snapshot = self.snapshot()
                self.snapshots.put(snapshot)
                window += 1
                if window == self.schedule.warm_windows:
                    self._adapt_sampling(before, snapshot)
                before = snapshot

    def _send_and_take(self, left_ms: int) -> None:
        """Send records until the client's queue is full, then let deliveries gather, and take them."""
        # Some clients do not note when a delivery arrives. Taking it late would then make its latency longer.
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

    def snapshot(self) -> CounterSnapshot:
        """Return the counters at this moment, and the latencies recorded since this method was last called."""
        latency = self.tally.take_latencies()
        self.sender.settle_delays()
        failed = sum(self.tally.failed.values())
        return CounterSnapshot(self.clock.now_ns(), self.tally.acknowledged, failed, self.sender.full_ns, latency)

    def _adapt_sampling(self, before: CounterSnapshot, snapshot: CounterSnapshot) -> None:
        rate = (snapshot.acknowledged - before.acknowledged) / (snapshot.at_ns - before.at_ns) * NS_PER_S
        self.tally.resample(min(1.0, SAMPLES_PER_S / max(rate, 1.0)))

    def _left_ms(self, window: int) -> int:
        """Return the time in milliseconds until the window with that index ends, rounded up.

        If there is no window with that index, return a long time.
        """
        if window >= len(self.schedule.ends_ns):
            return _FAR_OFF_MS
        return math.ceil((self.start_ns + self.schedule.ends_ns[window] - self.clock.now_ns()) / 1e6)
