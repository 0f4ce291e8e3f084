"""Notices that this process stood still: it was stopped, or its container, its virtual machine or the whole host was.

The main thread of a load reads the clock a few times a second. A gap of more than a second between two readings means
that the process stood still, or that the host was too busy to run it. The kernel's counters show which of the two it
was:

- On a busy host, the main thread is on a core or waits for a core during nearly the whole gap, and the kernel counts
  that. Or it waits for another thread of this process, which waits for a core.
- A stopped process has no thread that waits for a core.
- In a virtual machine that stands still, the kernel counts no time of any core, neither busy nor idle.

We use the clock that also runs while the host sleeps (`CLOCK_BOOTTIME`).
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import psutil

from runners.clock import NS_PER_S
from runners.errors import LoadPaused
from runners.host.kernel_counters import ThreadTime, thread_times

LONGEST_GAP_S: Final = 1.0
"""If two readings of the clock are further apart than this, in seconds, the process stood still or the host was busy.

On 2 cores, beside 8 busy processes of the same priority, two readings were at most 0.3 s apart. Beside 4 to 12 busy
processes, with niceness 10 to 19 for us, they were up to 7.8 s apart. In such a gap, one of our threads waited for a
core for at least 88 % of the time, and the kernel counted the cores' time, busy or idle, for at least 97 %. If the
process stands still, both shares are near 0.
"""
_BUSY_SHARE: Final = 0.6
_COUNT_EVERY_S: Final = 0.5
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass(frozen=True, slots=True)
class KernelTimes:
    """Times that the kernel has counted since the threads began and since the host started.

    Attributes:
        waited_s: Time for which each thread of this process was ready to run but had no core, by thread id.
        cores_s: Time of all cores, busy and idle. Time that a hypervisor gave to others is left out.
        cores: Number of cores.
    """

    waited_s: Mapping[int, float]
    cores_s: float
    cores: int


def kernel_times() -> KernelTimes:
    """Return the current times of this process's threads and of all cores."""
    host = psutil.cpu_times()
    # User time already includes guest time.
    left_out = sum(getattr(host, name, 0.0) for name in ("guest", "guest_nice", "steal"))
    waited_s = {number: each.waited_s for number, each in thread_times(os.getpid()).items()}
    return KernelTimes(waited_s, sum(host) - left_out, psutil.cpu_count() or 1)


def demand_s() -> float:
    """Return for how many seconds this thread was on a core or waited for one, since it began."""
    times = ThreadTime.of(threading.current_thread())
    return 0.0 if times is None else times.demand_s


def boot_time_ns() -> int:
    """Return the nanoseconds since the host has started, including the time that it slept."""
    return time.clock_gettime_ns(_CLOCK)


@dataclass(slots=True)
class PauseDetector:
    """Finds out, at each call of `check`, whether this process stood still since the call before.

    Attributes:
        now_ns: Returns the time, on a clock that also runs while the host sleeps.
        kernel_times: Returns the times that the kernel has counted.
        demand_s: Returns for how many seconds the thread that calls `check` was on a core or waited for a core.
    """

    now_ns: Callable[[], int] = boot_time_ns
    kernel_times: Callable[[], KernelTimes] = kernel_times
    demand_s: Callable[[], float] = demand_s
    _checked_ns: int = field(init=False)
    _demanded_s: float = field(init=False)
    _counted_ns: int = field(init=False)
    _before: KernelTimes = field(init=False)
    _counted: KernelTimes = field(init=False)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forget earlier readings, so that the next call of `check` covers the time from now on."""
        self._before = self._counted = self.kernel_times()
        self._checked_ns = self._counted_ns = self.now_ns()
        self._demanded_s = self.demand_s()

    def check(self) -> None:
        """Raise an error if the process stood still since the last call. Call this a few times a second.

        Raises:
            LoadPaused: The process stood still for more than `LONGEST_GAP_S`.
        """
        now = self.now_ns()
        gap_s, self._checked_ns = (now - self._checked_ns) / NS_PER_S, now
        demanded_s = self.demand_s()
        in_gap_s, self._demanded_s = demanded_s - self._demanded_s, demanded_s
        if gap_s > LONGEST_GAP_S and not _was_busy(self._before, self.kernel_times(), gap_s, in_gap_s):
            raise LoadPaused(
                f"the load process stood still for {gap_s:.1f} s: it, its container, its virtual machine, or the "
                "command that waits for it was stopped. Measure again while nothing is stopped"
            )
        if (now - self._counted_ns) / NS_PER_S >= _COUNT_EVERY_S:
            # The process may stand still while it counts. So a gap is judged from the count before the last one, which
            # is surely older than the gap.
            self._before, self._counted, self._counted_ns = self._counted, self.kernel_times(), now


def _was_busy(before: KernelTimes, after: KernelTimes, gap_s: float, demand_s: float) -> bool:
    """Return whether the host ran for the whole gap, but was too busy for our threads.

    Args:
        before: The times before the gap.
        after: The times after the gap.
        gap_s: Seconds between the two readings of the clock.
        demand_s: For how many of these seconds the main thread of the load was on a core or waited for a core.
    """
    waited_s = max(each - before.waited_s.get(number, 0.0) for number, each in after.waited_s.items())
    host_ran = after.cores_s - before.cores_s >= _BUSY_SHARE * gap_s * after.cores
    return host_ran and max(waited_s, demand_s) >= _BUSY_SHARE * gap_s
