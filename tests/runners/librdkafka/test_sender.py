"""The sender keeps its schedule, catches up after a stall, and counts its waits.

The tests move the clock by hand.
"""

from collections.abc import Mapping
from threading import Event
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from runners.clock import NS_PER_S, Clock
from runners.errors import ByteBudgetExceeded
from runners.librdkafka.drain import LONGEST_WAIT_NS, ROOM_SHARE, Drain, DrainWait
from runners.librdkafka.load_client import CALL_RECORDS
from runners.librdkafka.sender import TICK_NS, Sender
from runners.librdkafka.tally import Tally
from runners.load.pacing import Schedule
from runners.load.payload import PayloadPool, make_pool
from runners.runner import WindowSchedule
from runners.workload import RecordSizes, Workload
from tests.helpers.moved_clock import MovedClock
from tests.runners.librdkafka.fake_client import FakeClient

START_NS = 5 * NS_PER_S
MS = 1_000_000
POOL = make_pool(RecordSizes.fixed(30_000))


class Client(FakeClient):
    """A client that acknowledges its records whenever it is asked to send, but not while its broker is away.

    Attributes:
        away: Start and end of the time in which the broker is away, by the clock.
        asked: Number of calls of `send`.
        ended: Whether the load has ended.
        over: Ends the drain.
    """

    ended: Event | None = None
    over: Event | None = None

    def __init__(
        self, clock: Clock, properties: Mapping[str, str] | None = None, away: tuple[int, int] = (0, 0)
    ) -> None:
        super().__init__(properties or {}, "topic", POOL, Tally(), clock)
        self.away = away
        self.asked = 0

    def send(self, intended_ns: NDArray[np.int64] | int, count: int) -> int:
        self.asked += 1
        self.closed_door = self.away[0] <= self._clock.now_ns() < self.away[1]
        super().drain(0)
        return super().send(intended_ns, count)

    def drain(self, timeout_ms: int) -> None:
        if timeout_ms and self.away[0] <= self._clock.now_ns() < self.away[1]:
            self._clock.sleep_until(self._clock.now_ns() + MS)
        self.closed_door = self.away[0] <= self._clock.now_ns() < self.away[1]
        super().drain(timeout_ms)
        self.end_with_the_load()

    def end_with_the_load(self) -> None:
        if self.ended and self.over and self.ended.is_set():
            self.over.set()


def paced(clock: MovedClock, client: Client, rate: float, seconds: float, warmup_s: float = 0.0) -> Sender:
    end_ns = START_NS + int(seconds * NS_PER_S)
    sender = Sender(client, POOL, clock, end_ns, START_NS + int(warmup_s * NS_PER_S))
    clock.at_ns = START_NS
    sender.paced(Schedule(rate, START_NS))
    return sender


def lateness(client: Client) -> NDArray[np.int64]:
    return np.array(client.taken_at, dtype=np.int64) - np.array(client.intended, dtype=np.int64)


@settings(max_examples=50)
@given(st.floats(1, 20_000), st.floats(0.01, 0.5), st.integers(0, 3 * MS))
def test_each_record_leaves_once_in_order_and_never_early(rate: float, seconds: float, oversleep_ns: int) -> None:
    clock = MovedClock(oversleep_ns=oversleep_ns)
    client = Client(clock)
    sender = paced(clock, client, rate, seconds)
    schedule = Schedule(rate, START_NS)
    due = schedule.due(sender.end_ns - 1)
    assert client.intended == schedule.intended_ns(0, due).tolist()
    assert client.sent == [number % len(POOL) for number in range(due)]
    assert (lateness(client) >= 0).all()
    assert sender.sent == due
    assert sender.full_ns == 0


def test_a_punctual_sender_is_late_by_little_more_than_a_tick() -> None:
    clock = MovedClock()
    client = Client(clock)
    sender = paced(clock, client, 20_000, 1.0)
    assert lateness(client).max() <= TICK_NS + CALL_RECORDS * clock.step_ns
    assert sender.send_delay().count == 20_000
    assert sender.send_delay().percentile_us(1.0) <= (TICK_NS + CALL_RECORDS * clock.step_ns) / 1_000


@settings(max_examples=30)
@given(st.integers(0, 900), st.integers(1, 3_000))
def test_records_missed_in_a_pause_are_sent_with_their_intended_times(at_ms: int, pause_ms: int) -> None:
    pause = (START_NS + at_ms * MS, START_NS + (at_ms + pause_ms) * MS)
    clock = MovedClock(pauses=[pause])
    client = Client(clock)
    paced(clock, client, 1_000, 1.0)
    assert client.intended == Schedule(1_000, START_NS).intended_ns(0, 1_000).tolist()
    assert lateness(client).max() >= min(pause_ms, 1_000 - at_ms) * MS - 2 * MS, (
        "the pause shows in the delayed records"
    )


def test_an_absent_broker_delays_records_but_loses_none() -> None:
    clock = MovedClock()
    client = Client(clock, {"queue.buffering.max.messages": "100"}, away=(START_NS + 200 * MS, START_NS + 700 * MS))
    sender = paced(clock, client, 1_000, 1.0)
    assert client.intended == Schedule(1_000, START_NS).intended_ns(0, 1_000).tolist()
    # The queue holds 100 records, so the sender begins to wait 100 ms after the broker went away.
    assert sender.full_ns == pytest.approx(400 * MS, rel=0.01)
    # Of the records meant to leave during the wait, the first is late by the whole wait and the last is on time.
    waited = lateness(client)[300:700]
    assert waited[0] == pytest.approx(400 * MS, abs=2 * MS)
    assert waited.mean() == pytest.approx(200 * MS, abs=2 * MS)


def test_send_delays_of_the_warm_up_are_not_kept() -> None:
    clock = MovedClock(pauses=[(START_NS + 100 * MS, START_NS + 300 * MS)])
    sender = paced(clock, Client(clock), 1_000, 1.0, warmup_s=0.5)
    assert sender.send_delay().count == 500
    assert sender.send_delay().percentile_us(1.0) < 1_000


class Settling(np.ndarray[Any, np.dtype[np.int64]]):
    """Intended send times. While the sender computes with them, the delays are settled, as by the drain thread."""

    sender: Sender

    def __getitem__(self, key: Any) -> Any:
        self.sender.settle_delays()
        return np.asarray(self)[key]


class SettlingSchedule(Schedule):
    """A schedule whose intended send times settle the delays of a sender."""

    sender: Sender

    def intended_ns(self, first: int, count: int) -> NDArray[np.int64]:
        found = super().intended_ns(first, count).view(Settling)
        found.sender = self.sender
        return found


def test_no_send_delay_is_lost_if_delays_are_settled_while_the_sender_adds_some() -> None:
    clock = MovedClock(at_ns=START_NS)
    sender = Sender(Client(clock), POOL, clock, START_NS + NS_PER_S, START_NS)
    schedule = SettlingSchedule(1_000, START_NS)
    schedule.sender = sender
    sender.paced(schedule)
    assert sender.send_delay().count == sender.sent == 1_000


def test_a_paced_sender_can_be_stopped() -> None:
    clock = MovedClock()
    sender = Sender(Client(clock), POOL, clock, NS_PER_S, 0)
    sender.stop.set()
    sender.paced(Schedule(1_000, 0))
    assert sender.sent == 0


def saturated(clock: MovedClock, client: Client, max_bytes: int | None = None, primed: int = 0) -> Drain:
    """Return a drain that sends for 100 ms as fast as it can."""
    clock.at_ns = START_NS
    sender = Sender(client, POOL, clock, START_NS + 100 * MS, START_NS, max_bytes, primed)
    schedule = WindowSchedule.of(Workload(RecordSizes.fixed(30_000), warmup_s=0.0, measured_s=0.1))
    drain = Drain(client, Tally(), clock, sender, START_NS, schedule, saturates=True)
    client.ended, client.over = sender.ended, drain.over
    return drain


def test_a_saturating_sender_waits_for_nothing_but_a_full_queue() -> None:
    clock = MovedClock()
    client = Client(clock)
    drain = saturated(clock, client)
    drain.run()
    assert drain.sender.full_ns == 0
    assert drain.sender.sent == len(client.sent) > 0
    assert clock.at_ns >= drain.sender.end_ns
    assert max(client.intended) < drain.sender.end_ns


def test_the_wait_for_room_is_counted() -> None:
    clock = MovedClock()
    client = Client(clock, {"queue.buffering.max.messages": "10"}, away=(START_NS + 20 * MS, START_NS + 70 * MS))
    drain = saturated(clock, client)
    drain.run()
    assert 49 * MS <= drain.sender.full_ns <= 51 * MS


class SteadyClient(Client):
    """Acknowledges a million bytes per millisecond. Its queue of 3 MB is always full."""

    def send(self, intended_ns: NDArray[np.int64] | int, count: int) -> int:
        self.asked += 1
        return FakeClient.send(self, intended_ns, count)

    def drain(self, timeout_ms: int) -> None:
        self._clock.sleep_until(self._clock.now_ns() + (MS if timeout_ms else 0))
        free = (self._clock.now_ns() - START_NS) // MS * 33 - self._transmitted
        for _ in range(min(free, len(self._held))):
            self._held.popleft()
            self._transmitted += 1
            self._tally.delivered(1)
        self.end_with_the_load()


def test_waits_let_the_sender_rest_and_keep_the_queue_filled() -> None:
    clock = MovedClock(step_ns=100)
    client = SteadyClient(clock, {"queue.buffering.max.messages": "100"})
    drain = saturated(clock, client)
    drain.run()
    assert drain.sender.sent >= 33 * 100 - 1, (
        "the queue never ran empty: everything was sent that could be acknowledged in 100 ms"
    )
    assert drain.sender.full_ns > 50 * MS
    assert client.asked < 300, "the sender asked again only when there was room"


def rested(queue_records: int, records_per_ms: int, rests: int = 200) -> list[int]:
    """Return how many records were taken after each rest from a client whose queue is always filled again."""
    rest, taken = DrainWait(), [1]
    for _ in range(rests):
        rest.adapt(taken[-1], queue_records - taken[-1])
        taken.append(max(1, min(queue_records, rest.ns * records_per_ms // MS)))
    return taken


def test_deliveries_are_taken_in_bulk_while_the_queue_is_long() -> None:
    taken = rested(queue_records=1_000_000, records_per_ms=1_000)
    assert taken[-1] == LONGEST_WAIT_NS // MS * 1_000


@pytest.mark.parametrize("records_per_ms", [10, 100, 1_000, 10_000])
def test_a_rest_ends_before_the_queue_runs_empty(records_per_ms: int) -> None:
    taken = rested(queue_records=10_000, records_per_ms=records_per_ms)
    assert max(taken) <= 2 * max(10_000 // ROOM_SHARE, records_per_ms * MS // 20 // MS)


def test_a_short_queue_gets_no_rests() -> None:
    assert set(rested(queue_records=10, records_per_ms=1_000)[1:]) <= {1, 10}


@settings(max_examples=40)
@given(st.integers(0, 40_000_000), st.integers(0, 5))
def test_the_byte_budget_is_never_exceeded(max_bytes: int, primed: int) -> None:
    clock = MovedClock()
    client = Client(clock)
    drain = saturated(clock, client, max_bytes, primed)
    with pytest.raises(ByteBudgetExceeded, match=f"(at most|only) {max_bytes:,} bytes"):
        drain.run()
    sender = drain.sender
    sent = primed * 30_000 + int(POOL.lengths[np.array(client.sent, dtype=int)].sum())
    assert sent == sender.sent_bytes <= max(max_bytes, primed * 30_000)
    assert sent + 1_000_000 > max_bytes, "less than one call of the budget is left"


def test_the_byte_budget_holds_for_a_paced_load() -> None:
    clock = MovedClock()
    client = Client(clock)
    sender = Sender(client, POOL, clock, NS_PER_S, 0, max_bytes=300_000)
    with pytest.raises(ByteBudgetExceeded, match="has already sent 300,000 and would send 30,000 at once"):
        sender.paced(Schedule(1_000, 0))
    assert sender.sent_bytes == 300_000


def test_bytes_are_counted_with_keys_over_any_number_of_rounds() -> None:
    pool: PayloadPool = make_pool(RecordSizes.parse("10000:1,50000:2"), key_bytes=8)
    sizes = (pool.lengths + 8).tolist()
    for records in (0, 1, 7, len(pool), len(pool) + 3, 2 * len(pool) + 1):
        whole, rest = divmod(records, len(pool))
        assert pool.bytes_of_first(records) == whole * sum(sizes) + sum(sizes[:rest])
