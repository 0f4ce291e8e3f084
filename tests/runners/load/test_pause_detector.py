"""The pause detector distinguishes a process that stood still from one that a busy host did not run."""

import threading
from dataclasses import replace

import pytest

from runners.clock import NS_PER_S
from runners.errors import LoadPaused
from runners.load.pause_detector import LONGEST_GAP_S, KernelTimes, PauseDetector, boot_time_ns, demand_s, kernel_times

CORES = 2


class Host:
    """A host whose time and counters the test moves."""

    def __init__(self) -> None:
        self.at_ns = NS_PER_S
        self.counted = KernelTimes({1: 0.0, 2: 0.0}, 0.0, CORES)
        self.demand_s = 0.0
        self.pause_detector = PauseDetector(lambda: self.at_ns, lambda: self.counted, lambda: self.demand_s)

    def after(
        self, seconds: float, *, waited_s: float = 0.0, cores_s: float | None = None, demand_s: float = 0.0
    ) -> None:
        """Let time pass, and check; by default no thread of ours waits, and the kernel counts the time of all cores."""
        self.at_ns += int(seconds * NS_PER_S)
        self.demand_s += demand_s
        cores_s = CORES * seconds if cores_s is None else cores_s
        waits = {**self.counted.waited_s, 2: self.counted.waited_s[2] + waited_s}
        self.counted = replace(self.counted, waited_s=waits, cores_s=self.counted.cores_s + cores_s)
        self.pause_detector.check()


@pytest.mark.parametrize("busy", [0.0, 1.0])
def test_a_host_that_runs_us_often_raises_nothing(busy: float) -> None:
    host = Host()
    for _ in range(100):
        host.after(0.2, waited_s=busy * 0.2)
    host.after(LONGEST_GAP_S)


@pytest.mark.parametrize("before", [0, 1, 2, 3, 4, 5, 20])
def test_a_stopped_process_waits_for_no_core(before: int) -> None:
    host = Host()
    for _ in range(before):
        host.after(0.2)
    with pytest.raises(LoadPaused, match=r"stood still for 12\.0 s"):
        host.after(12.0)


def test_a_stopped_process_is_seen_though_it_waited_before_and_after() -> None:
    host = Host()
    for _ in range(20):
        host.after(0.2, waited_s=0.2)
    with pytest.raises(LoadPaused):
        host.after(12.0, waited_s=2.0)


@pytest.mark.parametrize("before", [0, 1, 5, 20])
def test_a_process_that_waits_for_a_core_was_not_stopped(before: int) -> None:
    host = Host()
    for _ in range(before):
        host.after(0.2, waited_s=0.2)
    host.after(8.0, waited_s=7.0)
    host.after(1.1, waited_s=1.0)


def test_a_process_that_was_on_a_core_and_waited_for_one_was_not_stopped() -> None:
    host = Host()
    host.after(0.2)
    host.after(1.5, waited_s=0.5, demand_s=1.0)


def test_a_process_that_had_a_core_before_it_was_stopped_was_stopped() -> None:
    host = Host()
    for _ in range(20):
        host.after(0.2, demand_s=0.2)
    with pytest.raises(LoadPaused):
        host.after(1.5, demand_s=0.1)


def test_a_virtual_machine_that_was_stopped_counts_no_cores() -> None:
    """A thread that waited for a core when the machine was stopped seems to have waited all the time."""
    host = Host()
    host.after(0.2)
    with pytest.raises(LoadPaused):
        host.after(12.0, waited_s=12.0, cores_s=0.5, demand_s=12.0)


def test_the_counters_of_this_host_grow() -> None:
    before, began, demanded_s = kernel_times(), boot_time_ns(), demand_s()
    sum(range(10_000_000))
    after = kernel_times()
    assert after.cores_s > before.cores_s
    both = before.waited_s.keys() & after.waited_s.keys()  # other threads of this process may end in between
    assert threading.get_native_id() in both
    assert all(after.waited_s[thread] >= before.waited_s[thread] for thread in both)
    assert boot_time_ns() > began
    assert demand_s() > demanded_s
    assert after.cores == before.cores > 0
