"""At saturation, deliveries are taken in bulk between two bursts of records, and no window misses any of them.

The tests move the clock by hand.
"""

from threading import Event

import numpy as np
import pytest
from numpy.typing import NDArray

from runners.clock import NS_PER_MS
from runners.librdkafka.drain import Drain
from runners.librdkafka.sender import Sender
from runners.librdkafka.tally import Tally
from runners.load.payload import make_pool
from runners.runner import WindowSchedule
from runners.workload import RecordSizes, Workload
from tests.helpers.moved_clock import MovedClock
from tests.runners.librdkafka.fake_client import FakeClient

PER_MS = 1_000
FAILED_PER_DRAIN = 3
WINDOW_MS = 100
POOL = make_pool(RecordSizes.fixed(30_000))


class Flowing(FakeClient):
    """A client with a queue of a million records. Its broker acknowledges 1,000 records per millisecond.

    Attributes:
        drains: Number of calls of `drain`.
        over: Ends the drain, half a window after the window's end.
    """

    notes_arrivals = True

    def __init__(self, clock: MovedClock, tally: Tally) -> None:
        super().__init__({"queue.buffering.max.messages": "1000000"}, "topic", POOL, tally, clock)
        self.moved, self.counted = clock, tally
        self.drains = self.accepted = 0
        self.over: Event | None = None

    def send(self, intended_ns: NDArray[np.int64] | int, count: int) -> int:
        taken = min(count, 1_000_000 - self.waiting())
        self.accepted += taken
        return taken

    def drain(self, timeout_ms: int) -> None:
        self.drains += 1
        done = min(self.accepted, self.moved.now_ns() * PER_MS // NS_PER_MS)
        self.counted.delivered(done - self.counted.acknowledged)
        self.counted.fail("_MSG_TIMED_OUT", FAILED_PER_DRAIN)
        if self.over and self.moved.at_ns > 1.5 * WINDOW_MS * NS_PER_MS:
            self.over.set()

    def waiting(self) -> int:
        return self.accepted - self.counted.acknowledged


def drained(*, saturates: bool, load_ms: int = WINDOW_MS) -> tuple[Drain, Flowing]:
    """Return a drain that took deliveries over a window of 0.1 s and half as long after it."""
    clock, tally = MovedClock(), Tally(sample_ratio=1e-9)
    client = Flowing(clock, tally)
    sender = Sender(client, POOL, clock, load_ms * NS_PER_MS, 0)
    schedule = WindowSchedule.of(Workload(RecordSizes.fixed(1), warmup_s=0.0, measured_s=WINDOW_MS / 1e3))
    drain = Drain(client, tally, clock, sender, 0, schedule, saturates)
    client.over = drain.over
    drain.run()
    return drain, client


def test_deliveries_are_taken_a_few_times_in_a_window() -> None:
    drain, client = drained(saturates=True, load_ms=2 * WINDOW_MS)
    assert client.drains < 50
    assert client.waiting() > 900_000, "the queue is kept full"
    assert drain.sender.sent == client.accepted


def test_nothing_is_sent_after_the_end_of_the_load() -> None:
    drain, _ = drained(saturates=True)
    assert drain.sender.ended.is_set()
    sent = drain.sender.sent
    assert not drain.sender.fill(2 * WINDOW_MS * NS_PER_MS)
    assert drain.sender.sent == sent


def test_each_delivery_is_taken_at_once_at_a_fixed_rate() -> None:
    drain, client = drained(saturates=False)
    assert client.drains > 1_000
    assert drain.sender.sent == 0, "another thread sends"


def test_a_window_has_every_delivery_that_arrived_before_its_end() -> None:
    drain, client = drained(saturates=True)
    snapshot = drain.snapshots.get_nowait()
    assert snapshot.at_ns == pytest.approx(WINDOW_MS * NS_PER_MS, abs=2 * NS_PER_MS), (
        "the end of a window is no rest's end"
    )
    assert snapshot.acknowledged == pytest.approx(snapshot.at_ns * PER_MS / NS_PER_MS, rel=0.001)
    assert 0 < snapshot.failed < FAILED_PER_DRAIN * client.drains
    assert client.counted.failed["_MSG_TIMED_OUT"] == FAILED_PER_DRAIN * client.drains
