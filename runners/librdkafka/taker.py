"""The thread that takes records from a consumer of librdkafka, and cuts the load into windows."""

import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from runners.clock import NS_PER_MS, Clock
from runners.consumers.counting import ReadCounter
from runners.consumers.reading import OffsetRange
from runners.consumers.source import ReadSnapshot
from runners.librdkafka.consumer import ConsumerClient
from runners.runner import WindowSchedule

REST_NS: Final = 2_000_000
"""How long records may gather before they are taken, when they are read from the beginning.

Waking for each fetch would take CPU time from the client and from a broker on the same host. Longer rests could let the
client's queue grow so full that it pauses fetching.
"""
_POLL_MS: Final = 20


@dataclass(slots=True)
class Taker:
    """Takes records until the windows are over, everything was read, or `over` is set.

    Attributes:
        client: The consumer from which the records are taken.
        counter: Counts the records.
        clock: The benchmark's clock.
        ranges: The offsets to read in each partition.
        schedule: The windows of the warm-up and of the measured phase.
        rest_ns: How long to wait for more records when there are none to take; 0 takes each record as soon as it comes.
        start_ns: Start of the load. The times in `schedule` are relative to this moment.
        snapshots: Queue that receives the counters at the end of each window, or the error that ended this thread.
        over: Set by another thread to end this one.
    """

    client: ConsumerClient
    counter: ReadCounter
    clock: Clock
    ranges: Sequence[OffsetRange]
    schedule: WindowSchedule
    rest_ns: int = 0
    start_ns: int = 0
    snapshots: "queue.SimpleQueue[ReadSnapshot | BaseException]" = field(default_factory=queue.SimpleQueue)
    over: threading.Event = field(default_factory=threading.Event)
    _waited_ns: int = 0

    def run(self) -> None:
        """Let the client fetch from the start of the load on, and take the records."""
        try:
            self.clock.sleep_until(self.start_ns)
            self.client.start(self.ranges)
            for end_ns in self.schedule.ends_ns:
                ended = self._take_until(self.start_ns + end_ns)
                self.snapshots.put(self._snapshot(ended=ended))
                if ended or self.over.is_set():
                    break
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that controls the load
            self.snapshots.put(error)
        # The thread lives on until the end, so that its CPU time can still be read.
        self.over.wait()

    def _take_until(self, end_ns: int) -> bool:
        """Take records until a moment, and return whether everything was read before it."""
        client, counter, clock = self.client, self.counter, self.clock
        while (now := clock.now_ns()) < end_ns and not self.over.is_set():
            if not counter.unfinished:
                return True
            if client.take(0, counter):
                continue
            if self.rest_ns:
                clock.sleep_until(min(now + self.rest_ns, end_ns))
            else:
                client.take(max(1, min(_POLL_MS, (end_ns - now) // NS_PER_MS)), counter)
            self._waited_ns += clock.now_ns() - now
        return not counter.unfinished

    def _snapshot(self, *, ended: bool) -> ReadSnapshot:
        counter = self.counter
        return ReadSnapshot(self.clock.now_ns(), counter.taken, counter.value_bytes, self._waited_ns, ended)
