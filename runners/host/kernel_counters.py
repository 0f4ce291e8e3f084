"""Reads what the kernel counts for threads (CPU time used and waited for) and for TCP connections (waiting times).

**Threads.** On a busy host, a thread that never rests may get only half a core. Its CPU time alone suggests that it had
time to spare. If we add the time in which it was ready but waited for a core, we see the truth: the thread could do no
more. Source: `/proc/PID/task/TID/schedstat` (Linux, Documentation/scheduler/sched-stats.rst): nanoseconds run,
nanoseconds waited on a run queue, times run.

**Connections.** The kernel counts how long a TCP connection had data on its way (`tcpi_busy_time`). It also counts for
how much of that time the receiver's window or the send buffer was the limit. The rest of the time is not always the
network's fault. It includes waiting for a peer that has received everything and is slow to acknowledge, as in every
exchange of a request and its response. The network is the limit only while data lies *unsent* in the kernel. The kernel
reports only how many bytes are unsent now (`tcpi_notsent_bytes`). So we take a sample several times a second, and count
each interval that ends with unsent data. Source: Linux, include/uapi/linux/tcp.h and net/ipv4/tcp_output.c
(tcp_chrono_*).
"""

import contextlib
import ctypes
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
"""Prefix of the names of librdkafka's threads: rdk:main, rdk:broker1, ..."""

K = TypeVar("K")
_INFO_BYTES: Final = 192
_UNSENT: Final = struct.Struct("=I")
_UNSENT_OFFSET: Final = 144
_TIMES: Final = struct.Struct("=QQQ")
_TIMES_OFFSET: Final = 168
_MOVED: Final = struct.Struct("=QQ")
_MOVED_OFFSET: Final = 120
_PIDFD_GETFD: Final = 438
"""The number of this Linux system call, the same on every processor architecture. Source: pidfd_getfd(2), Linux 5.6."""

Connection = tuple[int, str]
"""The file descriptor of a connection and the address of its peer."""


@dataclass(frozen=True, slots=True)
class ThreadTime:
    """CPU times of a thread, in seconds: since the thread began, or per second between two readings.

    Attributes:
        used_s: Time on a core.
        waited_s: Time in which the thread was ready to run but had no core; 0 if the platform does not report it.
    """

    used_s: float
    waited_s: float = 0.0

    @property
    def demand_s(self) -> float:
        """CPU time that the thread would have used if it had never waited for a core."""
        return self.used_s + self.waited_s

    @classmethod
    def of(cls, thread: threading.Thread) -> Self | None:
        """Return the times of a thread of this process; None if it has ended or the platform does not report them."""
        if not thread.is_alive() or thread.ident is None:
            return None
        if (counted := _schedstat(os.getpid(), thread.native_id)) is not None:
            return cls(*counted)
        try:
            return cls(time.clock_gettime_ns(time.pthread_getcpuclockid(thread.ident)) / NS_PER_S)
        except (OSError, AttributeError):
            return None


def thread_times(pid: int) -> dict[int, ThreadTime]:
    """Return the times of all threads of a process, by thread id.

    Raises:
        psutil.Error: The process has ended, or we may not read its times.
    """
    with contextlib.suppress(OSError):
        ids = [int(name) for name in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208 - ids, not paths
        if times := {each: ThreadTime(*counted) for each in ids if (counted := _schedstat(pid, each)) is not None}:
            return times
    return {each.id: ThreadTime(each.user_time + each.system_time) for each in psutil.Process(pid).threads()}


def named_thread_times(pid: int, prefixes: tuple[str, ...]) -> dict[tuple[int, str], ThreadTime]:
    """Return the times of the threads of a process whose names begin in one of these ways, by thread id and name.

    The result is empty on platforms where threads have no names. Linux keeps the first 15 letters of a name.

    Raises:
        psutil.Error: The process has ended, or we may not read its times.
    """
    times = {}
    for number, spent in thread_times(pid).items():
        with contextlib.suppress(OSError):
            name = Path(f"/proc/{pid}/task/{number}/comm").read_text().strip()
            if name.startswith(prefixes):
                times[number, name] = spent
    return times


def user_s(thread_ids: Collection[int], pid: int | None = None) -> float:
    """Return the user-mode CPU time that threads have used since they began, added up, in seconds.

    Args:
        thread_ids: Ids of threads.
        pid: The process that they belong to; by default this one.
    """
    return sum(each.user_time for each in psutil.Process(pid).threads() if each.id in thread_ids)


def _schedstat(pid: int, thread_id: int | None) -> tuple[float, float] | None:
    try:
        fields = Path(f"/proc/{pid}/task/{thread_id}/schedstat").read_text().split()
    except OSError:
        return None
    used_ns, waited_ns, times_run = (int(field) for field in fields)
    # A kernel that does not count these times writes zeros.
    return (used_ns / NS_PER_S, waited_ns / NS_PER_S) if times_run else None


def busiest(before: Mapping[K, ThreadTime], after: Mapping[K, ThreadTime], elapsed_s: float) -> ThreadTime | None:
    """Return the CPU use of the busiest thread per second between two readings; None if there are no threads.

    `used_s` of the result is the largest CPU time that one thread used. `demand_s` is the largest time that one thread
    used or waited for a core. The two values may come from different threads.
    """
    if not after:
        return None
    spent = [between(before.get(key, ThreadTime(0.0)), now, elapsed_s) for key, now in after.items()]
    used = max(each.used_s for each in spent)
    return ThreadTime(used, max(each.demand_s for each in spent) - used)


def between(before: ThreadTime, after: ThreadTime, elapsed_s: float) -> ThreadTime:
    """Return the CPU time that a thread used and waited for, per second between two readings."""
    return ThreadTime((after.used_s - before.used_s) / elapsed_s, (after.waited_s - before.waited_s) / elapsed_s)


@dataclass(frozen=True, slots=True)
class ConnectionWaits:
    """How long a TCP connection had to wait: in seconds since we first saw it, or per second between two readings.

    Attributes:
        network_s: Time in which the connection had to wait for the network.
        receiver_s: Time in which the connection had to wait for its receiver, which did not read.
    """

    network_s: float = 0.0
    receiver_s: float = 0.0


@dataclass(slots=True)
class SocketTimes:
    """Adds up how long each TCP connection waits for the network and for its receiver. Only one thread may use it.

    Attributes:
        pid: The process whose connections are sampled: this process or one that it has started. None: this process.
    """

    pid: int | None = None
    _seen: dict[Connection, tuple[int, int]] = field(default_factory=dict)
    _waits: dict[Connection, ConnectionWaits] = field(default_factory=dict)

    def sample(self) -> None:
        """Take one sample of the waiting times of every TCP connection of the process."""
        self.add(tcp_infos(self.pid))

    def add(self, sample: Iterable[tuple[Connection, bytes]]) -> None:
        """Add one sample: for each open connection, the kernel's `struct tcp_info`."""
        seen = {}
        for connection, info in sample:
            (unsent,) = _UNSENT.unpack_from(info, _UNSENT_OFFSET)
            busy_us, receiver_us, buffer_us = _TIMES.unpack_from(info, _TIMES_OFFSET)
            seen[connection] = (busy_us - receiver_us - buffer_us, receiver_us)
            self._add(connection, seen[connection], unsent)
        self._seen = seen
        self._waits = {connection: self._waits[connection] for connection in seen}

    def _add(self, connection: Connection, now: tuple[int, int], unsent: int) -> None:
        before = self._seen.get(connection, now)
        waits = self._waits.get(connection, ConnectionWaits())
        on_its_way_us, receiver_us = now[0] - before[0], now[1] - before[1]
        self._waits[connection] = ConnectionWaits(
            waits.network_s + (on_its_way_us / US_PER_S if unsent else 0.0),
            waits.receiver_s + receiver_us / US_PER_S,
        )

    def waits(self) -> Mapping[Connection, ConnectionWaits] | None:
        """Return how long each open connection has waited so far for the network and for its receiver.

        The result is None if the platform does not report these times.
        """
        return dict(self._waits) if _has_tcp_info() else None


def _has_tcp_info() -> bool:
    return Path("/proc/self/fd").exists() and hasattr(socket, "TCP_INFO")


def tcp_infos(pid: int | None) -> Iterator[tuple[Connection, bytes]]:
    """Yield the kernel's `struct tcp_info` of each TCP connection of a process; None stands for this process."""
    if not _has_tcp_info():
        return
    folder = f"/proc/{pid or 'self'}/fd"
    try:
        entries = os.listdir(folder)  # noqa: PTH208 - iterdir would keep a descriptor of the folder open
    except OSError:
        return  # the process has ended
    for entry in entries:
        # The client may close a socket while we read its values.
        with contextlib.suppress(OSError):
            if not str(Path(folder, entry).readlink()).startswith("socket:"):
                continue
            copy = _copied(int(entry), pid)
            try:
                connection = socket.socket(fileno=copy)
            except OSError:
                os.close(copy)
                continue
            with connection:
                if connection.type != socket.SOCK_STREAM or connection.family not in (socket.AF_INET, socket.AF_INET6):
                    continue
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
                if len(info) == _INFO_BYTES:  # an older kernel returns a shorter struct
                    yield (int(entry), str(connection.getpeername())), info


def tcp_bytes(pid: int | None) -> dict[Connection, tuple[int, int]] | None:
    """Return the bytes that each open TCP connection of a process has sent and received.

    With `pid=None`, they are those of this process.

    Bytes count as sent when the peer has acknowledged them (`tcpi_bytes_acked`, `tcpi_bytes_received`). The result is
    None if the platform does not report them, or if we have no right to inspect the process.
    """
    found = {connection: _MOVED.unpack_from(info, _MOVED_OFFSET) for connection, info in tcp_infos(pid)}
    return {each: (sent, received) for each, (sent, received) in found.items()} or None


def _copied(descriptor: int, pid: int | None) -> int:
    """Return a copy of a descriptor of this process or, if the kernel allows it, of one that this process has started.

    Raises:
        OSError: The descriptor is closed, or we may not copy it.
    """
    if pid is None:
        return os.dup(descriptor)
    process = os.pidfd_open(pid)
    try:
        copy: int = ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_GETFD, process, descriptor, 0)
        if copy < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
        return copy
    finally:
        os.close(process)


def longest_waits(
    before: Mapping[Connection, ConnectionWaits], after: Mapping[Connection, ConnectionWaits], elapsed_s: float
) -> ConnectionWaits:
    """Return the longest wait of a connection for the network, and the longest wait of a connection for its receiver.

    Both times are in seconds per second between two readings. They may come from different connections.
    """
    spans = [(before.get(connection, ConnectionWaits()), now) for connection, now in after.items()]
    return ConnectionWaits(
        max((now.network_s - was.network_s for was, now in spans), default=0.0) / elapsed_s,
        max((now.receiver_s - was.receiver_s for was, now in spans), default=0.0) / elapsed_s,
    )
