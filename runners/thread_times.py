"""What threads used of the CPU, and what more they would have used: the time that they were ready, waiting for a core.

On a shared host a thread that never rests may get half a core. Its CPU time alone then looks as if it had time to
spare; with the waiting added it shows as what it is, a thread that could do no more.
Source: `/proc/PID/task/TID/schedstat` (Linux, Documentation/scheduler/sched-stats.rst): nanoseconds run, nanoseconds
waited on a run queue, times run.
"""

import contextlib
import os
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypeVar

import psutil

from runners.clock import NS_PER_S

CLIENT_THREAD_PREFIX: Final = "rdk:"
"""librdkafka names its threads so: rdk:main, rdk:broker1, ..."""

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class ThreadTime:
    """Times of a thread since it began, in seconds.

    Attributes:
        used_s: On a core.
        waited_s: Ready, but without a core; 0 where the platform does not tell.
    """

    used_s: float
    waited_s: float = 0.0

    @property
    def demand_s(self) -> float:
        """What it would have used had it been alone."""
        return self.used_s + self.waited_s

    @classmethod
    def of(cls, thread: threading.Thread) -> Self | None:
        """Those of a thread of this process; None once it has ended, or where nothing tells."""
        if not thread.is_alive() or thread.ident is None:
            return None
        if (counted := _schedstat(os.getpid(), thread.native_id)) is not None:
            return cls(*counted)
        try:
            return cls(time.clock_gettime_ns(time.pthread_getcpuclockid(thread.ident)) / NS_PER_S)
        except (OSError, AttributeError):
            return None


def thread_times(pid: int) -> dict[int, ThreadTime]:
    """All threads of a process by their ids.

    Raises:
        psutil.Error: The process has ended, or may not be looked at.
    """
    with contextlib.suppress(OSError):
        ids = [int(name) for name in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208 - ids, not paths
        if found := {each: ThreadTime(*counted) for each in ids if (counted := _schedstat(pid, each)) is not None}:
            return found
    return {each.id: ThreadTime(each.user_time + each.system_time) for each in psutil.Process(pid).threads()}


def client_thread_times() -> dict[tuple[int, str], ThreadTime]:
    """The client library's own threads in this process, by id and name; empty where threads have no names."""
    found = {}
    for number, spent in thread_times(os.getpid()).items():
        with contextlib.suppress(OSError):
            name = Path(f"/proc/self/task/{number}/comm").read_text().strip()
            if name.startswith(CLIENT_THREAD_PREFIX):
                found[number, name] = spent
    return found


def user_s(thread_ids: Collection[int]) -> float:
    """User-mode seconds that threads of this process used since they began, added up."""
    return sum(each.user_time for each in psutil.Process().threads() if each.id in thread_ids)


def _schedstat(pid: int, thread_id: int | None) -> tuple[float, float] | None:
    try:
        fields = Path(f"/proc/{pid}/task/{thread_id}/schedstat").read_text().split()
    except OSError:
        return None
    used_ns, waited_ns, times_run = (int(field) for field in fields)
    # A kernel that does not count writes zeros.
    return (used_ns / NS_PER_S, waited_ns / NS_PER_S) if times_run else None


def busiest(before: Mapping[K, ThreadTime], after: Mapping[K, ThreadTime], elapsed_s: float) -> ThreadTime | None:
    """The most that any one thread used, and wanted, per second between two readings; None of no threads."""
    if not after:
        return None
    spent = [between(before.get(key, ThreadTime(0.0)), now, elapsed_s) for key, now in after.items()]
    used = max(each.used_s for each in spent)
    return ThreadTime(used, max(each.demand_s for each in spent) - used)


def between(before: ThreadTime, after: ThreadTime, elapsed_s: float) -> ThreadTime:
    """What a thread used and waited per second between two readings."""
    return ThreadTime((after.used_s - before.used_s) / elapsed_s, (after.waited_s - before.waited_s) / elapsed_s)
