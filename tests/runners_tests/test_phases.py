"""Windows cover both phases without gaps, and none is longer than a second."""

from hypothesis import given
from hypothesis import strategies as st

from runners.clock import NS_PER_S
from runners.measurement import Phase
from runners.runner import Phases
from runners.workload import RecordSizes, Workload

SECONDS = st.one_of(st.floats(0.001, 100), st.integers(1, 100).map(float))


@given(st.one_of(st.just(0.0), SECONDS), SECONDS)
def test_windows_have_no_gaps_and_belong_to_one_phase(warmup_s: float, measured_s: float) -> None:
    phases = Phases.of(Workload(RecordSizes.fixed(1), warmup_s=warmup_s, measured_s=measured_s))
    ends = phases.ends_ns
    lengths = [end - start for start, end in zip((0, *ends), ends, strict=False)]
    assert all(0 < length <= NS_PER_S + 1 for length in lengths)
    assert phases.measured_from_ns == int(warmup_s * NS_PER_S)
    assert ends[-1] == int(warmup_s * NS_PER_S) + int(measured_s * NS_PER_S)
    if phases.warm_windows:
        assert ends[phases.warm_windows - 1] == phases.measured_from_ns
    assert (phases.warm_windows == 0) == (warmup_s == 0)
    for part in (lengths[: phases.warm_windows], lengths[phases.warm_windows :]):
        assert max(part, default=0) - min(part, default=0) <= 1, "windows of one phase are equally long"


def test_whole_seconds_are_divided_into_windows_of_a_second() -> None:
    phases = Phases.of(Workload(RecordSizes.fixed(1), warmup_s=2, measured_s=3))
    assert phases.ends_ns == tuple(second * NS_PER_S for second in range(1, 6))
    assert [phases.phase(number) for number in range(5)] == [Phase.WARMUP] * 2 + [Phase.MEASURED] * 3
