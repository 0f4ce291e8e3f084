"""Windows cover the warm-up and the measured time without gaps, and none is longer than a second."""

from hypothesis import given
from hypothesis import strategies as st

from runners.clock import NS_PER_S
from runners.measurements.measurement import WindowKind
from runners.runner import WindowSchedule
from runners.workload import RecordSizes, Workload

SECONDS = st.one_of(st.floats(0.001, 100), st.integers(1, 100).map(float))


@given(st.one_of(st.just(0.0), SECONDS), SECONDS)
def test_windows_have_no_gaps_and_are_of_one_kind(warmup_s: float, measured_s: float) -> None:
    schedule = WindowSchedule.of(Workload(RecordSizes.fixed(1), warmup_s=warmup_s, measured_s=measured_s))
    ends = schedule.ends_ns
    lengths = [end - start for start, end in zip((0, *ends), ends, strict=False)]
    assert all(0 < length <= NS_PER_S + 1 for length in lengths)
    assert schedule.measured_from_ns == int(warmup_s * NS_PER_S)
    assert ends[-1] == int(warmup_s * NS_PER_S) + int(measured_s * NS_PER_S)
    if schedule.warm_windows:
        assert ends[schedule.warm_windows - 1] == schedule.measured_from_ns
    assert (schedule.warm_windows == 0) == (warmup_s == 0)
    for part in (lengths[: schedule.warm_windows], lengths[schedule.warm_windows :]):
        assert max(part, default=0) - min(part, default=0) <= 1, "windows of one kind are equally long"


def test_whole_seconds_are_divided_into_windows_of_a_second() -> None:
    schedule = WindowSchedule.of(Workload(RecordSizes.fixed(1), warmup_s=2, measured_s=3))
    assert schedule.ends_ns == tuple(second * NS_PER_S for second in range(1, 6))
    assert [schedule.kind(number) for number in range(5)] == [WindowKind.WARMUP] * 2 + [WindowKind.MEASURED] * 3
