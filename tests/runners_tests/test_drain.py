"""The drain takes deliveries in bulk while records are sent as fast as possible, and no window misses any of them.

The tests move the clock by hand.
"""

import pytest

from runners.clock import NS_PER_MS
from runners.librdkafka.tally import Tally
from runners.librdkafka.threads import LONGEST_REST_NS, Drain, Rest, Sender
from runners.payload import make_pool
from runners.runner import Phases
from runners.workload import RecordSizes, Workload
from tests.runners_tests.fake_client import FakeClient
from tests.runners_tests.moved_clock import MovedClock

PER_MS = 1_000
FAILED_PER_DRAIN = 3
WINDOW_MS = 100
POOL = make_pool(RecordSizes.fixed(30_000))


class Flowing(FakeClient):
    """A client whose long queue is always full. Its broker acknowledges 1,000 records per millisecond.

    Attributes:
        drains: Number of calls of `drain`.
    """

    def __init__(self, clock: MovedClock, tally: Tally) -> None:
        super().__init__({}, "topic", POOL, tally, clock)
        self.moved, self.counted = clock, tally
        self.drains = 0
        self.drain_over: Drain | None = None

    def drain(self, timeout_ms: int) -> None:
        self.drains += 1
        self.counted.delivered(self.moved.now_ns() * PER_MS // NS_PER_MS - self.counted.acknowledged)
        self.counted.fail("_MSG_TIMED_OUT", FAILED_PER_DRAIN)
        if self.drain_over and self.moved.at_ns > 1.5 * WINDOW_MS * NS_PER_MS:
            self.drain_over.over.set()

    def waiting(self) -> int:
        return 1_000_000


def drained(rest: Rest | None) -> tuple[Drain, Flowing]:
    """Return a drain that took deliveries over a window of 0.1 s and half as long after it."""
    clock, tally = MovedClock(), Tally(sample_ratio=1e-9)
    client = Flowing(clock, tally)
    sender = Sender(client, POOL, clock, 0, 0)
    phases = Phases.of(Workload(RecordSizes.fixed(1), warmup_s=0.0, measured_s=WINDOW_MS / 1e3))
    client.drain_over = drain = Drain(client, tally, clock, sender, 0, phases, rest)
    drain.run()
    return drain, client


def test_deliveries_are_taken_a_few_times_in_a_window() -> None:
    rest = Rest()
    _, client = drained(rest)
    assert rest.ns == LONGEST_REST_NS
    assert client.drains < 50


def test_each_delivery_is_taken_at_once_without_rests() -> None:
    _, client = drained(None)
    assert client.drains > 1_000


def test_a_window_has_every_delivery_that_arrived_before_its_end() -> None:
    drain, client = drained(Rest())
    cut = drain.cuts.get_nowait()
    assert cut.at_ns == pytest.approx(WINDOW_MS * NS_PER_MS, abs=NS_PER_MS), "the end of a window is no rest's end"
    assert cut.acknowledged == pytest.approx(cut.at_ns * PER_MS / NS_PER_MS, rel=0.001)
    assert 0 < cut.failed < FAILED_PER_DRAIN * client.drains
    assert client.counted.failed["_MSG_TIMED_OUT"] == FAILED_PER_DRAIN * client.drains


def test_the_sender_hears_of_room_after_each_look() -> None:
    drain, _ = drained(Rest())
    assert drain.sender.room.is_set()
