"""The open-loop schedule is exact, in order and never early."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.clock import NS_PER_S
from runners.load.pacing import Bursts, Schedule
from runners.workload import RecordSizes, Workload

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


BURSTS = st.builds(Bursts, st.floats(1.01, 100), st.floats(0.05, 200), st.floats(0, 30))


@given(st.floats(0.1, 1e6), BURSTS, ELAPSED_NS)
def test_bursts_leave_no_record_out_and_send_none_too_early(rate: float, bursts: Bursts, elapsed_ns: int) -> None:
    schedule, now_ns = Schedule(rate, 10**18, bursts), 10**18 + elapsed_ns
    due = schedule.due(now_ns)
    last = max(0, due - 3)
    assert (schedule.intended_ns(last, due - last) <= now_ns).all()
    assert schedule.intended_ns(due, 1)[0] > now_ns
    times = schedule.intended_ns(last, 100)
    assert (times[1:] >= times[:-1]).all()


@given(BURSTS)
def test_the_first_record_is_due_at_the_start_whatever_the_bursts(bursts: Bursts) -> None:
    assert 0 <= Schedule(1_000, 10**18, bursts).intended_ns(0, 1)[0] - 10**18 <= 100


@pytest.mark.parametrize(("peak_ratio", "measured_s"), [(1.5, 10.0), (3.0, 12.0), (10.0, 60.0), (10.0, 5.0)])
def test_half_of_the_records_leave_in_bursts_at_the_peak_and_the_mean_is_the_rate(
    peak_ratio: float, measured_s: float
) -> None:
    rate, warmup_s = 1_000, 2.3
    load = Workload(
        RecordSizes.fixed(100),
        warmup_s=warmup_s,
        measured_s=measured_s,
        rate_records_per_s=rate,
        peak_ratio=peak_ratio,
    )
    bursts = Bursts.of(load)
    assert bursts is not None
    times = Schedule(rate, 0, bursts).intended_ns(0, int(2 * rate * (warmup_s + measured_s))) / NS_PER_S
    measured = times[(times >= warmup_s) & (times < warmup_s + measured_s)]
    assert len(measured) == pytest.approx(rate * measured_s, abs=2)
    burst_s = bursts.period_s / (2 * peak_ratio)
    in_burst = (measured - warmup_s) % bursts.period_s < burst_s
    assert in_burst.mean() == pytest.approx(0.5, abs=0.01)
    gaps = np.diff(measured)
    assert np.median(gaps[in_burst[1:]]) == pytest.approx(1 / (rate * peak_ratio), rel=0.01)
    if measured_s >= 2 * peak_ratio:
        assert burst_s == pytest.approx(1, rel=0.5), "a burst lasts about a second"


def test_a_constant_rate_has_no_bursts() -> None:
    assert Bursts.of(Workload(RecordSizes.fixed(100), rate_records_per_s=1_000)) is None
