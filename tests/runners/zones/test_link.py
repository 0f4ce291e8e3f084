"""The schedule of a link: what is asked for, in which order bytes leave, and when."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.zones.delay_line import AHEAD_NS, LINE_BYTES, PACKET_BYTES, DelayLine
from runners.zones.lateness import Lateness
from runners.zones.link import Link, LinkDirection

MS = 1_000_000
Arrivals = list[tuple[int, int]]
"""The gap before each chunk in nanoseconds, and its bytes."""

arrivals = st.lists(st.tuples(st.integers(0, 5 * MS), st.integers(1, 100_000)), min_size=1, max_size=50)
directions = st.builds(LinkDirection, st.floats(0, 50), st.none() | st.floats(0.1, 1000))


def passed(direction: LinkDirection, arriving: Arrivals) -> list[tuple[int, int, int]]:
    """Return when each chunk arrives, when it leaves, and its bytes."""
    line: DelayLine[int] = DelayLine(direction)
    now, came = 0, []
    for gap, size in arriving:
        now += gap
        came.append(now)
        line.take(now, len(came) - 1, bytes(size))
    left = []
    while (leaves := line.wake_ns(0)) is not None:
        assert line.release(leaves - 1) is None, "a chunk never leaves too early"
        chunk = line.release(leaves)
        assert chunk is not None
        at, owner, data = chunk
        left.append((came[owner], at, len(data or b"")))
    return left


@given(directions, arrivals)
def test_each_chunk_leaves_in_turn_after_the_delay_and_at_the_bandwidth(
    direction: LinkDirection, arriving: Arrivals
) -> None:
    free = 0.0
    for (came, left, size), (_, asked) in zip(passed(direction, arriving), arriving, strict=True):
        assert size == asked
        free = max(free, came) + (size / (direction.mb_per_s * 1e-3) if direction.mb_per_s else 0.0)
        assert left == pytest.approx(free + direction.delay_ms * MS, abs=2.0)


@given(st.floats(0, 50), arrivals)
def test_a_delay_alone_moves_every_chunk_by_the_same_time(delay_ms: float, arriving: Arrivals) -> None:
    assert {left - came for came, left, _ in passed(LinkDirection(delay_ms), arriving)} == {round(delay_ms * MS)}


def test_the_delay_does_not_limit_the_throughput() -> None:
    left = passed(LinkDirection(delay_ms=20, mb_per_s=100), [(MS, 100_000)] * 50)
    assert left[-1][1] - left[0][1] == 49 * MS, "100 kB each millisecond, as they came"


def test_the_end_of_a_connection_takes_as_long_as_bytes_before_it() -> None:
    line: DelayLine[str] = DelayLine(LinkDirection(delay_ms=2, mb_per_s=1))
    line.take(0, "a", bytes(1000))
    line.take(0, "a", None)
    assert line.wake_ns(0) == 3 * MS
    assert line.release(3 * MS) == (3 * MS, "a", bytes(1000))
    assert line.release(3 * MS) == (3 * MS, "a", None)
    assert line.release(3 * MS) is None


def test_a_busy_line_takes_the_next_chunk_only_a_little_ahead() -> None:
    line: DelayLine[str] = DelayLine(LinkDirection(mb_per_s=1))
    takes = line.takes_ns()
    assert takes is not None
    assert takes <= 0
    line.take(0, "a", bytes(10_000))
    assert line.takes_ns() == 10 * MS - AHEAD_NS


def test_a_full_delay_line_takes_no_bytes() -> None:
    line: DelayLine[str] = DelayLine(LinkDirection(delay_ms=1000))
    line.take(0, "a", bytes(1))
    line.held_bytes = LINE_BYTES
    assert line.takes_ns() is None
    line.held_bytes -= 1
    assert line.takes_ns() is not None


@pytest.mark.parametrize(("mb_per_s", "chunk_bytes"), [(1, PACKET_BYTES), (10, 2500), (200, 50_000)])
def test_a_chunk_occupies_the_link_for_at_most_a_quarter_of_a_millisecond(mb_per_s: float, chunk_bytes: int) -> None:
    assert DelayLine(LinkDirection(mb_per_s=mb_per_s)).chunk_bytes == chunk_bytes


@pytest.mark.parametrize("delay_ms", [-0.1, 1_001.0, math.nan, math.inf])
def test_a_delay_out_of_range_is_refused(delay_ms: float) -> None:
    with pytest.raises(ValueError, match=f"delay must be 0 to 1,000 ms, but got {delay_ms:,.10g} ms"):
        Link.symmetric(delay_ms)


@pytest.mark.parametrize("mb_per_s", [0.0, -1.0, 0.001, math.nan, math.inf])
def test_a_bandwidth_out_of_range_is_refused(mb_per_s: float) -> None:
    with pytest.raises(ValueError, match=rf"bandwidth must be at least 0\.01 MB/s, but got {mb_per_s:g} MB/s"):
        Link.symmetric(0.0, mb_per_s)


def test_a_link_survives_its_way_to_the_proxy() -> None:
    link = Link(LinkDirection(1.5, 10.0), LinkDirection(2.0))
    assert Link.parse(link.as_settings()) == link


@given(st.lists(st.integers(0, 10**10), min_size=1, max_size=200), st.floats(0.01, 1.0))
def test_percentiles_of_the_lateness_are_a_quarter_too_high_at_most(durations_ns: list[int], ratio: float) -> None:
    late = Lateness()
    for duration in durations_ns:
        late.add(duration)
    in_us = sorted(duration // 1000 for duration in durations_ns)
    exact = in_us[max(math.ceil(ratio * len(in_us)) - 1, 0)]
    found = late.percentile_us(ratio)
    assert found is not None
    assert exact <= found <= exact * 1.25
    assert late.count == len(durations_ns)


def test_without_durations_there_is_no_percentile() -> None:
    assert Lateness().percentile_us(0.5) is None
