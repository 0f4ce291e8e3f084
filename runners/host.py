"""What the load cost: CPU of our threads, the client, the broker and the host; and what held the sockets back.

Read once at the start and once at the end of the measured phase; the difference is the usage. Everything that this
platform or our rights can't tell is None, never 0.
"""

import contextlib
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

from runners.clusters.cluster import LocalBroker
from runners.kernel_counters import (
    Connection,
    HeldBack,
    SocketTimes,
    ThreadTime,
    between,
    busiest,
    client_thread_times,
    most_held_back,
    thread_times,
    user_s,
)
from runners.measurement import Resources

_SHORTEST_S: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Reading:
    """Counters at one moment, all growing with time, in seconds."""

    at_s: float
    own_threads: Mapping[str, ThreadTime]
    client_threads: Mapping[tuple[int, str], ThreadTime]
    client_user_s: float
    process_cpu_s: float
    host_busy_s: float
    host_total_s: float
    brokers: Mapping[int, float] | None
    broker_threads: Mapping[tuple[int, int], ThreadTime] | None
    sockets: Mapping[Connection, HeldBack] | None


@dataclass(slots=True)
class HostProbe:
    """Reads counters of this process, the host and local brokers.

    Attributes:
        threads: Our own threads by role (`sender`, `drain`); their identities are read when a reading is taken.
        brokers: Broker processes on this host.
        sockets: The connections of this process; `look` at them several times a second between two readings.
    """

    threads: Mapping[str, threading.Thread]
    brokers: Sequence[LocalBroker] = ()
    sockets: SocketTimes = field(default_factory=SocketTimes)
    _process: psutil.Process = field(default_factory=psutil.Process)

    def read(self) -> Reading:
        """Take all counters now."""
        host = psutil.cpu_times()
        idle = host.idle + getattr(host, "iowait", 0.0)
        # Guest time is counted in user time too. Source: proc(5).
        total = sum(host) - getattr(host, "guest", 0.0) - getattr(host, "guest_nice", 0.0)
        own = self._process.cpu_times()
        self.sockets.look()
        client_threads = client_thread_times()
        broker_cpu, broker_threads = self._broker_times()
        return Reading(
            at_s=time.monotonic(),
            own_threads={
                role: spent for role, thread in self.threads.items() if (spent := ThreadTime.of(thread)) is not None
            },
            client_threads=client_threads,
            client_user_s=user_s({number for number, _ in client_threads}),
            process_cpu_s=own.user + own.system,
            host_busy_s=total - idle,
            host_total_s=total,
            brokers=broker_cpu or None,
            broker_threads=broker_threads or None,
            sockets=self.sockets.held_back(),
        )

    def _broker_times(self) -> tuple[dict[int, float], dict[tuple[int, int], ThreadTime]]:
        """CPU of each local broker, and of each of its threads; without those that have ended."""
        used, spent = {}, {}
        for broker in self.brokers:
            with contextlib.suppress(psutil.Error):
                times = psutil.Process(broker.pid).cpu_times()
                used[broker.pid] = times.user + times.system
                spent.update({(broker.pid, number): each for number, each in thread_times(broker.pid).items()})
        return used, spent


def usage(before: Reading, after: Reading) -> Resources:
    """What was used between two readings."""
    elapsed = max(after.at_s - before.at_s, _SHORTEST_S)
    own = {
        role: between(before.own_threads[role], now, elapsed)
        for role, now in after.own_threads.items()
        if role in before.own_threads
    }
    sender, drain = own.get("sender"), own.get("drain")
    client = busiest(before.client_threads, after.client_threads, elapsed)
    host_total = after.host_total_s - before.host_total_s
    broker_cores = broker_thread = held_back = None
    if before.brokers is not None and after.brokers is not None:
        broker_cores = (
            sum(cpu - before.brokers[pid] for pid, cpu in after.brokers.items() if pid in before.brokers) / elapsed
        )
    if before.broker_threads is not None and after.broker_threads is not None:
        broker_thread = busiest(before.broker_threads, after.broker_threads, elapsed)
    if before.sockets is not None and after.sockets is not None:
        held_back = most_held_back(before.sockets, after.sockets, elapsed)
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
        network_limited_ratio=None if held_back is None else held_back.network_s,
        receiver_limited_ratio=None if held_back is None else held_back.receiver_s,
    )


def _user_demand_cores(before: Reading, after: Reading, elapsed: float) -> float | None:
    """User-mode CPU of the client's threads, stretched by what they waited for a core."""
    spent = [
        between(before.client_threads.get(key, ThreadTime(0.0)), now, elapsed)
        for key, now in after.client_threads.items()
    ]
    used = sum(each.used_s for each in spent)
    if not used:
        return None
    return (after.client_user_s - before.client_user_s) / elapsed * sum(each.demand_s for each in spent) / used


def _used(spent: ThreadTime | None) -> float | None:
    return None if spent is None else spent.used_s


def _demand(spent: ThreadTime | None) -> float | None:
    return None if spent is None else spent.demand_s


def free_disk_bytes(paths: Iterable[Path]) -> int | None:
    """The least free space among the file systems that hold the paths given; None where none of them is there."""
    free = []
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # a broker that has ended takes its folder with it
            free.append(psutil.disk_usage(str(path)).free)
    return min(free, default=None)
