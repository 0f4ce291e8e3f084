"""The windows of a load: what each contains, and which of them are measured."""

import pytest

from runners.clock import NS_PER_S
from runners.load.windows import CounterSnapshot, Windows
from runners.measurements.histogram import Histogram
from runners.measurements.measurement import Window, WindowKind
from runners.runner import WatchDecision, WindowSchedule

START_NS = 5 * NS_PER_S


def windows(warmup_s: float) -> Windows:
    """Return the windows of a load that measures two seconds, before the first one."""
    schedule = WindowSchedule.lasting(warmup_s, 2.0)
    return Windows(schedule, START_NS, 100.0, CounterSnapshot(START_NS, 1, 0, 0, Histogram.merge(())))


def snapshot(second: int) -> CounterSnapshot:
    """Return the counters after so many seconds, with 100 more records in each second than in the one before."""
    at_ns, records = START_NS + second * NS_PER_S, 1 + 50 * second * (second + 1)
    return CounterSnapshot(at_ns, records, second, second * NS_PER_S // 4, Histogram.of([1_000 * second]))


def measure(load: Windows, stop_after: int | None = None) -> tuple[int, int, bool, list[int]]:
    """Complete the windows of a load.

    Returns:
        When the measured phase began and ended, whether the load was stopped, and when the values of the warm-up were
        dropped. Times are in seconds.
    """
    dropped = list[int]()

    def watch(window: Window) -> WatchDecision:
        return WatchDecision.STOP if window.number + 1 == stop_after else WatchDecision.GO_ON

    before, after, stopped = load.measure(
        lambda: snapshot(len(load.series) + 1),
        lambda: len(load.series),
        lambda: dropped.append(len(load.series)),
        watch,
    )
    return before, after, stopped, dropped


def test_a_window_is_the_difference_between_two_readings() -> None:
    load = windows(1.0)
    load.add(snapshot(1))
    window = load.add(snapshot(2))
    assert (window.number, window.phase, window.total_windows) == (1, WindowKind.MEASURED, 3)
    assert (window.at_s, window.duration_s, window.queue_full_ratio) == (2.0, 1.0, 0.25)
    assert (window.records, window.value_bytes, window.failed) == (200, 20_000.0, 1)
    assert window.latency == snapshot(2).latency
    assert [point.records_per_s for point in load.series] == [100, 200]


def test_the_totals_leave_the_warm_up_out() -> None:
    load = windows(2.0)
    assert measure(load) == (2, 4, False, [2])
    assert (load.records, load.duration_ns, load.in_warm_up) == (700, 2 * NS_PER_S, False)
    assert load.served == Histogram.of([3_000, 4_000])
    assert len(load.series) == 4


@pytest.mark.parametrize("seconds", [1, 2])
def test_a_load_stopped_in_its_warm_up_has_the_totals_of_all_windows(seconds: int) -> None:
    load = windows(2.0)
    assert measure(load, stop_after=seconds) == (0, seconds, True, [])
    assert load.in_warm_up
    assert (load.records, load.duration_ns) == (snapshot(seconds).acknowledged - 1, seconds * NS_PER_S)
    assert load.served == Histogram.of([1_000 * second for second in range(1, seconds + 1)])


def test_without_a_warm_up_all_windows_are_measured() -> None:
    load = windows(0.0)
    assert measure(load, stop_after=1) == (0, 1, True, [])
    assert not load.in_warm_up
    assert load.records == 100
