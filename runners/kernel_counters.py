"""What the kernel counts of our threads and connections: CPU used and waited for, and what held a socket back.

**Threads.** On a shared host a thread that never rests may get half a core. Its CPU time alone then looks as if it
had time to spare; with the time added in which it was ready, waiting for a core, it shows as what it is, a thread
that could do no more. Source: `/proc/PID/task/TID/schedstat` (Linux, Documentation/scheduler/sched-stats.rst):
nanoseconds run, nanoseconds waited on a run queue, times run.

**Connections.** The kernel counts how long a TCP connection had data on its way (`tcpi_busy_time`), and how much of
that the receiver's window or the send buffer explains. The rest is not yet the network's doing: it holds the wait for
a peer that has all data and is slow to acknowledge, as in any exchange of one request and one response. Only while
data lies *unsent* in the kernel does the network hold it back, and that is a gauge (`tcpi_notsent_bytes`): so it is
looked at several times a second, and each interval counts that ends with unsent data. Source: Linux,
include/uapi/linux/tcp.h and net/ipv4/tcp_output.c (tcp_chrono_*).
"""

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self, TypeVar

import psutil

from runners.clock import NS_PER_S, US_PER_S

CLIENT_THREAD_PREFIX: Final = "rdk:"
"""librdkafka names its threads so: rdk:main, rdk:broker1, ..."""

K = TypeVar("K")
_INFO_BYTES: Final = 192
_UNSENT: Final = struct.Struct("=I")
_UNSENT_OFFSET: Final = 144
_TIMES: Final = struct.Struct("=QQQ")
_TIMES_OFFSET: Final = 168

Connection = tuple[int, str]
"""Descriptor and peer."""


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


@dataclass(frozen=True, slots=True)
class HeldBack:
    """How long a connection was held back since it was first seen, in seconds."""

    network_s: float = 0.0
    receiver_s: float = 0.0


@dataclass(slots=True)
class SocketTimes:
    """Adds up what held each connection back; looked at by one thread."""

    _seen: dict[Connection, tuple[int, int]] = field(default_factory=dict)
    _held: dict[Connection, HeldBack] = field(default_factory=dict)

    def look(self) -> None:
        """Take one more sample of every connection."""
        self.add(_tcp_infos())

    def add(self, sample: Iterable[tuple[Connection, bytes]]) -> None:
        """Take in one sample: of each open connection what the kernel tells as `struct tcp_info`."""
        seen = {}
        for connection, info in sample:
            (unsent,) = _UNSENT.unpack_from(info, _UNSENT_OFFSET)
            busy_us, receiver_us, buffer_us = _TIMES.unpack_from(info, _TIMES_OFFSET)
            seen[connection] = (busy_us - receiver_us - buffer_us, receiver_us)
            self._add(connection, seen[connection], unsent)
        self._seen = seen
        self._held = {connection: self._held[connection] for connection in seen}

    def _add(self, connection: Connection, now: tuple[int, int], unsent: int) -> None:
        before = self._seen.get(connection, now)
        held = self._held.get(connection, HeldBack())
        on_its_way_us, receiver_us = now[0] - before[0], now[1] - before[1]
        self._held[connection] = HeldBack(
            held.network_s + (on_its_way_us / US_PER_S if unsent else 0.0),
            held.receiver_s + receiver_us / US_PER_S,
        )

    def held_back(self) -> Mapping[Connection, HeldBack] | None:
        """The sums so far, of connections that are still open; None where the platform does not tell."""
        return dict(self._held) if _can_tell() else None


def _can_tell() -> bool:
    return Path("/proc/self/fd").exists() and hasattr(socket, "TCP_INFO")


def _tcp_infos() -> Iterator[tuple[Connection, bytes]]:
    if not _can_tell():
        return
    for entry in os.listdir("/proc/self/fd"):  # noqa: PTH208 - iterdir would hold a descriptor of the folder itself
        # librdkafka opens and closes its sockets while we look.
        with contextlib.suppress(OSError):
            if not str(Path("/proc/self/fd", entry).readlink()).startswith("socket:"):
                continue
            copy = os.dup(int(entry))
            try:
                connection = socket.socket(fileno=copy)
            except OSError:
                os.close(copy)
                continue
            with connection:
                if connection.type != socket.SOCK_STREAM or connection.family not in (socket.AF_INET, socket.AF_INET6):
                    continue
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
                if len(info) == _INFO_BYTES:  # an older kernel tells less
                    yield (int(entry), str(connection.getpeername())), info


def most_held_back(
    before: Mapping[Connection, HeldBack], after: Mapping[Connection, HeldBack], elapsed_s: float
) -> HeldBack:
    """The most that any one connection was held back per second between two readings, by each cause."""
    spans = [(before.get(connection, HeldBack()), now) for connection, now in after.items()]
    return HeldBack(
        max((now.network_s - was.network_s for was, now in spans), default=0.0) / elapsed_s,
        max((now.receiver_s - was.receiver_s for was, now in spans), default=0.0) / elapsed_s,
    )
