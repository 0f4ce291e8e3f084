"""The open-loop schedule is exact, in order and never early."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from runners.clock import NS_PER_S
from runners.pacing import Schedule

RATES = st.one_of(st.floats(0.01, 1e7), st.sampled_from([1 / 3, 1.0, 20_000.0, 999_999.0, 1e6, 102_400.0, 1e8]))
STARTS_NS = st.integers(0, 1 << 60)
ELAPSED_NS = st.one_of(st.integers(-NS_PER_S, 3600 * NS_PER_S), st.integers(0, 100_000))


@given(RATES, STARTS_NS, ELAPSED_NS)
def test_exactly_the_records_with_past_intended_times_are_due(rate: float, start_ns: int, elapsed_ns: int) -> None:
    schedule, now_ns = Schedule(rate, start_ns), start_ns + elapsed_ns
    due = schedule.due(now_ns)
    last = max(0, due - 3)
    assert (schedule.intended_ns(last, due - last) <= now_ns).all()
    assert schedule.intended_ns(due, 1)[0] > now_ns


@given(RATES, STARTS_NS, st.integers(0, 10**8))
def test_record_k_is_due_k_periods_after_the_start(rate: float, start_ns: int, number: int) -> None:
    intended = int(Schedule(rate, start_ns).intended_ns(number, 1)[0])
    exact = start_ns + Fraction(number) * NS_PER_S / Fraction(rate)
    # A nanosecond for rounding up, and the precision of a double for a time this long.
    assert intended - exact + (intended - start_ns) * 2**-51 >= 0
    assert intended - exact <= 1 + (intended - start_ns) * 2**-51


@given(RATES, STARTS_NS, st.integers(0, 10**6), st.integers(1, 2_000))
def test_a_record_has_the_same_time_in_every_range(rate: float, start_ns: int, first: int, count: int) -> None:
    schedule = Schedule(rate, start_ns)
    together = schedule.intended_ns(first, count)
    assert (together[1:] >= together[:-1]).all()
    assert together[-1] == schedule.intended_ns(first + count - 1, 1)[0]


@given(st.integers(1, 10**6), st.integers(0, 1 << 60), st.integers(0, 20))
def test_a_whole_rate_gives_exactly_as_many_records_every_second(rate: int, start_ns: int, second: int) -> None:
    schedule = Schedule(rate, start_ns)
    begin = start_ns + second * NS_PER_S
    assert schedule.due(begin + NS_PER_S - 1) - schedule.due(begin - 1) == rate
