"""CPU use of the load generator, the client library, local brokers and the host, and waiting times of connections.

Counters are read at the start and at the end of the measured phase; their difference is the usage. A value that this
platform does not report, or that we may not read, is None and never 0.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

from runners.clusters.cluster import LocalBroker
from runners.host.kernel_counters import (
    CLIENT_THREAD_PREFIX,
    Connection,
    ConnectionWaits,
    SocketTimes,
    ThreadTime,
    between,
    busiest,
    longest_waits,
    named_thread_times,
    tcp_bytes,
    thread_times,
    user_s,
)
from runners.measurements.resources import BrokerUse, Resources

_SHORTEST_S: Final = 1e-3


@dataclass(frozen=True, slots=True)
class BrokerCounters:
    """The resources that a local broker has used since it started.

    Attributes:
        port: Port of its listener for clients.
        cpu_s: CPU time in seconds.
        written_bytes: Bytes that it has caused to be written to disks; None if unknown.
        moved: Bytes sent and received by each of its connections; None if unknown.
    """

    port: int
    cpu_s: float
    written_bytes: int | None = None
    moved: Mapping[Connection, tuple[int, int]] | None = None


@dataclass(frozen=True, slots=True)
class HostReading:
    """The values of all counters of CPU time and waiting time at one moment.

    The counters only increase. Times are in seconds.

    Attributes:
        at_s: Time of the reading, on the monotonic clock.
        own_threads: CPU times of the load generator's own threads, by role: `sender` sends the records, and `drain`
            handles the delivery reports.
        client_threads: CPU times of the client library's threads, by thread id and name.
        client_user_s: User-mode CPU time of the client library's threads, added up.
        process_cpu_s: CPU time of the process that holds the client.
        host_busy_s: Time in which the host's cores were busy, added up over all cores.
        host_total_s: Time in which the host's cores were busy or idle, added up over all cores.
        brokers: What each local broker has used, by process id.
        broker_threads: CPU times of the local brokers' threads, by process id and thread id.
        sockets: How long each TCP connection had to wait for the network or for its receiver.
        collector_s: CPU time of the garbage collector's threads, added up; None if there is no such collector.
    """

    at_s: float
    own_threads: Mapping[str, ThreadTime]
    client_threads: Mapping[tuple[int, str], ThreadTime]
    client_user_s: float
    process_cpu_s: float
    host_busy_s: float
    host_total_s: float
    brokers: Mapping[int, BrokerCounters] | None
    broker_threads: Mapping[tuple[int, int], ThreadTime] | None
    sockets: Mapping[Connection, ConnectionWaits] | None
    collector_s: float | None = None


@dataclass(frozen=True, slots=True)
class ClientProcess:
    """The process in which the client runs. The prefix of a thread's name tells what the thread does.

    Attributes:
        pid: Process id; None for this process.
        client: Prefixes for the threads of the client library.
        sender: Prefix for the thread that sends the records; empty if it is one of Python's threads.
        collector: Prefixes for the threads of the garbage collector; empty if there is none.
    """

    pid: int | None = None
    client: tuple[str, ...] = (CLIENT_THREAD_PREFIX,)
    sender: str = ""
    collector: tuple[str, ...] = ()

    def collector_s(self) -> float | None:
        """Return the CPU time that the garbage collector has used; None if there is none."""
        if not self.collector:
            return None
        return sum(each.used_s for each in named_thread_times(self.pid or os.getpid(), self.collector).values())


THIS_PROCESS: Final = ClientProcess()
"""The process of a librdkafka client: librdkafka's threads run in this process."""


@dataclass(slots=True)
class HostProbe:
    """Reads the counters of the process in which the client runs, of the host and of the local brokers.

    Attributes:
        brokers: The broker processes on this host.
        process: The process that holds the client.
        threads: The load generator's own threads, by role: `sender` sends the records, and `drain` handles the
            delivery reports. The load sets them; their thread ids are looked up at each reading.
        sockets: Samples the TCP connections of that process. Between two readings, call `sockets.sample()` several
            times a second.
    """

    brokers: Sequence[LocalBroker] = ()
    process: ClientProcess = THIS_PROCESS
    threads: Mapping[str, threading.Thread] = field(default_factory=dict)
    sockets: SocketTimes = field(init=False)
    _process: psutil.Process = field(init=False)

    def __post_init__(self) -> None:
        self.sockets = SocketTimes(self.process.pid)
        self._process = psutil.Process(self.process.pid)

    def read(self) -> HostReading:
        """Return the current values of all counters."""
        host = psutil.cpu_times()
        idle = host.idle + getattr(host, "iowait", 0.0)
        # User time already includes guest time, which must not be counted twice. Source: proc(5).
        total = sum(host) - getattr(host, "guest", 0.0) - getattr(host, "guest_nice", 0.0)
        own = self._process.cpu_times()
        self.sockets.sample()
        pid = self.process.pid or os.getpid()
        client_threads = named_thread_times(pid, self.process.client)
        brokers, broker_threads = self._brokers()
        return HostReading(
            at_s=time.monotonic(),
            own_threads=self._own_threads(pid),
            client_threads=client_threads,
            client_user_s=user_s({number for number, _ in client_threads}, pid),
            process_cpu_s=own.user + own.system,
            host_busy_s=total - idle,
            host_total_s=total,
            brokers=brokers or None,
            broker_threads=broker_threads or None,
            sockets=self.sockets.waits(),
            collector_s=self.process.collector_s(),
        )

    def _own_threads(self, pid: int) -> dict[str, ThreadTime]:
        spent = {role: times for role, thread in self.threads.items() if (times := ThreadTime.of(thread)) is not None}
        if self.process.sender:
            for times in named_thread_times(pid, (self.process.sender,)).values():
                spent["sender"] = times
        return spent

    def _brokers(self) -> tuple[dict[int, BrokerCounters], dict[tuple[int, int], ThreadTime]]:
        """Return what the local brokers that still run have used, and the CPU times of their threads.

        Returns:
            The counters of each broker by process id, and the times of each thread by process id and thread id.
        """
        used, spent = {}, {}
        for broker in self.brokers:
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(broker.pid)
                times = process.cpu_times()
                cpu_s = times.user + times.system
                used[broker.pid] = BrokerCounters(broker.port, cpu_s, _written_bytes(process), tcp_bytes(broker.pid))
                spent.update({(broker.pid, number): each for number, each in thread_times(broker.pid).items()})
        return used, spent


def usage(before: HostReading, after: HostReading) -> Resources:
    """Return the use of CPU and sockets between two readings."""
    elapsed = max(after.at_s - before.at_s, _SHORTEST_S)
    own = {
        role: between(before.own_threads[role], now, elapsed)
        for role, now in after.own_threads.items()
        if role in before.own_threads
    }
    sender, drain = own.get("sender"), own.get("drain")
    client = busiest(before.client_threads, after.client_threads, elapsed)
    host_total = after.host_total_s - before.host_total_s
    broker_cores = broker_thread = waits = None
    brokers = _broker_uses(before, after, elapsed)
    if before.brokers is not None and after.brokers is not None:
        broker_cores = sum(each.cpu_cores for each in brokers)
    if before.broker_threads is not None and after.broker_threads is not None:
        broker_thread = busiest(before.broker_threads, after.broker_threads, elapsed)
    if before.sockets is not None and after.sockets is not None:
        waits = longest_waits(before.sockets, after.sockets, elapsed)
    return Resources(
        sender_cpu_ratio=_used(sender),
        sender_demand_ratio=_demand(sender),
        drain_cpu_ratio=_used(drain),
        drain_demand_ratio=_demand(drain),
        client_thread_cpu_ratio=_used(client),
        client_thread_demand_ratio=_demand(client),
        client_user_demand_cores=_user_demand_cores(before, after, elapsed),
        process_cpu_cores=(after.process_cpu_s - before.process_cpu_s) / elapsed,
        host_cpu_ratio=(after.host_busy_s - before.host_busy_s) / host_total if host_total > 0 else None,
        host_cores=psutil.cpu_count() or 1,
        broker_cpu_cores=broker_cores,
        broker_thread_cpu_ratio=_used(broker_thread),
        broker_thread_demand_ratio=_demand(broker_thread),
        network_limited_ratio=None if waits is None else waits.network_s,
        receiver_limited_ratio=None if waits is None else waits.receiver_s,
        collector_cpu_cores=_collector_cores(before, after, elapsed),
        brokers=brokers,
    )


def _broker_uses(before: HostReading, after: HostReading, elapsed: float) -> tuple[BrokerUse, ...]:
    """Return what each local broker used between two readings, in the order of their ports."""
    earlier, uses = before.brokers or {}, []
    for pid, now in (after.brokers or {}).items():
        was = earlier.get(pid)
        if was is None:
            continue
        written = sent = received = None
        if was.written_bytes is not None and now.written_bytes is not None:
            written = (now.written_bytes - was.written_bytes) / elapsed / 1e6
        if was.moved is not None and now.moved is not None:
            moved = [(now.moved[each], was.moved.get(each, (0, 0))) for each in now.moved]
            sent, received = (
                sum(max(0, count[way] - counted[way]) for count, counted in moved) / elapsed / 1e6 for way in (0, 1)
            )
        uses.append(BrokerUse(now.port, (now.cpu_s - was.cpu_s) / elapsed, written, received, sent))
    return tuple(sorted(uses, key=lambda each: each.port))


def _written_bytes(process: psutil.Process) -> int | None:
    """Return how many bytes a process has caused to be written to disks; None if that is unknown."""
    try:
        return int(process.io_counters().write_bytes)
    except (psutil.Error, AttributeError, OSError):  # not our process, or a platform without this count
        return None


def _user_demand_cores(before: HostReading, after: HostReading, elapsed: float) -> float | None:
    """Return the user-mode CPU that the client's threads used or waited for, in cores.

    The kernel does not divide waiting time into user mode and kernel mode. We divide it in the same ratio as the CPU
    time.
    """
    spent = [
        between(before.client_threads.get(key, ThreadTime(0.0)), now, elapsed)
        for key, now in after.client_threads.items()
    ]
    used = sum(each.used_s for each in spent)
    if not used:
        return None
    return (after.client_user_s - before.client_user_s) / elapsed * sum(each.demand_s for each in spent) / used


def _collector_cores(before: HostReading, after: HostReading, elapsed: float) -> float | None:
    if before.collector_s is None or after.collector_s is None:
        return None
    return (after.collector_s - before.collector_s) / elapsed


def _used(spent: ThreadTime | None) -> float | None:
    return None if spent is None else spent.used_s


def _demand(spent: ThreadTime | None) -> float | None:
    return None if spent is None else spent.demand_s


def free_disk_bytes(paths: Iterable[Path]) -> int | None:
    """Return the smallest number of free bytes on any file system that holds `paths`; None if no path exists."""
    free = []
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # the folder of a broker is removed when the broker ends
            free.append(psutil.disk_usage(str(path)).free)
    return min(free, default=None)
