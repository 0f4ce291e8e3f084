"""Joining a producer's records with the consumers' arrivals, also by the clock of another host."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.consumer_runs.end_to_end_latency import (
    ClockOffset,
    _records_behind,
    arrival_times,
    offset_of,
    on_our_clock,
)
from runners.consumers.consumption import Arrivals
from runners.measurements.end_to_end import SampledDeliveries


def arrivals(*runs: tuple[int, int, int, int]) -> Arrivals:
    """Return runs of records: partition, first offset, last offset, time."""
    columns = np.array(runs, dtype=np.int64).reshape(-1, 4)
    return Arrivals(columns[:, 0].astype(np.int32), columns[:, 1], columns[:, 2], columns[:, 3])


def times(found: Arrivals, *places: tuple[int, int]) -> list[int]:
    """Return when the records at these places (partition, offset) were taken."""
    columns = np.array(places, dtype=np.int64)
    return [int(time) for time in arrival_times(found, columns[:, 0].astype(np.int32), columns[:, 1])]


def test_a_record_has_the_time_of_the_run_that_holds_its_offset() -> None:
    found = arrivals((0, 0, 9, 100), (1, 5, 7, 150), (0, 10, 10, 200), (0, 20, 29, 300))
    assert times(found, (0, 0), (0, 9), (0, 10), (0, 25), (1, 6)) == [100, 100, 200, 300, 150]


def test_a_record_that_nobody_took_has_no_time() -> None:
    found = arrivals((0, 5, 9, 100), (0, 20, 29, 300))
    assert times(found, (0, 4), (0, 10), (0, 30), (2, 5)) == [-1, -1, -1, -1]


def test_of_a_record_that_came_twice_the_first_time_counts() -> None:
    assert times(arrivals((0, 5, 9, 400), (0, 5, 9, 100)), (0, 7)) == [100]


@pytest.mark.parametrize(
    ("found", "behind"),
    [
        (arrivals((0, 1_000_000, 1_000_006, 90)), 13),
        (arrivals((0, 1_000_000, 1_000_019, 110)), 20),
        (arrivals((1, 0, 9, 90)), 15),
    ],
    ids=["taken in time", "taken later", "never taken"],
)
def test_records_that_the_topic_held_before_do_not_count_as_waiting(found: Arrivals, behind: int) -> None:
    offsets = np.array([1_000_005, 1_000_012, 1_000_019])
    times_ns = np.array([10, 20, 30])
    sent = SampledDeliveries(np.zeros(3, dtype=np.int32), offsets, times_ns, times_ns + 1, start_ns=0, end_ns=100)
    assert _records_behind(sent, found) == behind


SECONDS = st.floats(0.0, 5.0)


class Network:
    """A clock on this side, a clock on the other side, and the delays between them."""

    def __init__(self, ahead_s: float, ways: list[tuple[float, float]]) -> None:
        self.time_s, self._ahead_s, self._ways = 1_000.0, ahead_s, iter(ways)

    def now(self) -> float:
        return self.time_s

    def ask(self) -> float:
        there_s, back_s = next(self._ways)
        self.time_s += there_s
        answer = self.time_s + self._ahead_s
        self.time_s += back_s
        return answer


@given(st.floats(-1e4, 1e4), st.lists(st.tuples(SECONDS, SECONDS), min_size=1, max_size=6))
def test_an_offset_is_as_exact_as_it_says(ahead_s: float, ways: list[tuple[float, float]]) -> None:
    network = Network(ahead_s, ways)
    offset = offset_of(network.ask, network.now, readings=len(ways))
    assert abs(offset.ahead_s - ahead_s) <= offset.error_s + 1e-6
    assert offset.error_s == pytest.approx(min(there + back for there, back in ways) / 2, abs=1e-6)


def test_the_answer_with_the_shortest_round_trip_counts() -> None:
    network = Network(-3.0, [(2.0, 0.0), (0.001, 0.001), (0.0, 4.0)])
    offset = offset_of(network.ask, network.now, readings=3)
    assert offset.ahead_s == pytest.approx(-3.0)
    assert offset.error_s == pytest.approx(0.001)


@given(
    st.floats(-1e5, 1e5),
    st.floats(-1e-4, 1e-4),
    st.lists(st.floats(0, 600), min_size=1, max_size=20),
)
def test_moments_of_a_clock_that_runs_faster_are_converted_to_ours(
    ahead_s: float, drift_ratio: float, moments_s: list[float]
) -> None:
    """The other clock is `ahead_s` ahead at our 1,000 s, and gains `drift_ratio` seconds in each second."""
    since_s = np.array(moments_s)
    ours_s = 1_000.0 + since_s
    there_ns = np.array(np.round((ours_s + ahead_s + drift_ratio * since_s) * 1e9), dtype=np.int64)
    before, after = (ClockOffset(ahead_s + drift_ratio * after_s, 1e-4, 1_000.0 + after_s) for after_s in (0.0, 600.0))
    found_s = on_our_clock(there_ns, before, after) / 1e9
    # The offset is looked up at a moment that is itself off by the drift: 0.06 s of 600 s, and so 6 us.
    assert found_s == pytest.approx(ours_s, abs=1e-5)
