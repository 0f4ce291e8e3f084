"""The offset of another clock, measured with a few questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.ray_crew import offset_of

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
    offset = offset_of(network.ask, network.now, asked=len(ways))
    assert abs(offset.ahead_s - ahead_s) <= offset.within_s + 1e-6
    assert offset.within_s == pytest.approx(min(there + back for there, back in ways) / 2, abs=1e-6)


def test_the_answer_with_the_shortest_round_trip_counts() -> None:
    network = Network(-3.0, [(2.0, 0.0), (0.001, 0.001), (0.0, 4.0)])
    offset = offset_of(network.ask, network.now, asked=3)
    assert offset.ahead_s == pytest.approx(-3.0)
    assert offset.within_s == pytest.approx(0.001)
