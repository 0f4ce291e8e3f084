"""The offset of another clock, measured with a few questions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.consumer_runs.clock_offset import ClockOffset, offset_of, on_our_clock

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
    assert abs(offset.ahead_s - ahead_s) <= offset.within_s + 1e-6
    assert offset.within_s == pytest.approx(min(there + back for there, back in ways) / 2, abs=1e-6)


def test_the_answer_with_the_shortest_round_trip_counts() -> None:
    network = Network(-3.0, [(2.0, 0.0), (0.001, 0.001), (0.0, 4.0)])
    offset = offset_of(network.ask, network.now, readings=3)
    assert offset.ahead_s == pytest.approx(-3.0)
    assert offset.within_s == pytest.approx(0.001)


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
