"""The resources that a load, its host and the local brokers used, such as CPU time; also merged from several loads."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class BrokerUse:
    """What one broker on this host used in the measured phase. A value is None if it is unknown.

    Attributes:
        port: Port of the broker's listener for clients.
        cpu_cores: CPU that it used, in cores.
        disk_mb_per_s: Megabytes per second that it wrote to disks; 0 if its partitions are in memory.
        received_mb_per_s: Megabytes per second that it received from clients and other brokers.
        sent_mb_per_s: Megabytes per second that it sent to clients and other brokers.
    """

    port: int
    cpu_cores: float
    disk_mb_per_s: float | None = None
    received_mb_per_s: float | None = None
    sent_mb_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Resources:
    """Use of CPU and sockets in the measured phase. A value is None if it is unknown.

    CPU ratios of a thread are shares of one core, and socket ratios are shares of the elapsed time. A thread's demand
    is the CPU that it used plus the CPU that it was ready to use while other threads had the cores. On a busy host,
    only the demand shows whether a thread could have done more.

    Attributes:
        sender_cpu_ratio: CPU that our sender thread used.
        sender_demand_ratio: Demand of our sender thread.
        drain_cpu_ratio: CPU that our drain thread used, which handles delivery reports.
        drain_demand_ratio: Demand of our drain thread.
        client_thread_cpu_ratio: CPU that the busiest of the client's own threads used. They build, compress and send
            batches.
        client_thread_demand_ratio: The largest demand among the client's own threads.
        client_user_demand_cores: User-mode part of the demand of all the client's own threads, in cores: building
            batches, compression, checksums.
        process_cpu_cores: CPU that the whole load-generating process used, in cores.
        host_cpu_ratio: CPU that everything on this host used, as a share of all its cores.
        host_cores: Number of cores of this host.
        broker_cpu_cores: CPU that all local brokers used, in cores.
        broker_thread_cpu_ratio: CPU that the busiest thread of a local broker used.
        broker_thread_demand_ratio: The largest demand among the threads of local brokers.
        network_limited_ratio: Share of the time in which a connection had unsent data and had to wait for the network,
            not for the receiver's window or the send buffer. The connection with the largest share counts.
        receiver_limited_ratio: Share of the time in which a connection had to wait for its receiver, which did not
            read. The connection with the largest share counts.
        collector_cpu_cores: CPU that the threads of the client's garbage collector used, in cores; None for a client
            without one.
        sender_in_client_ratio: Share of the time in which our sender thread was inside the client's own code and did
            not wait for room in the client's queue. None if unknown. Kafka's Java client serialises and compresses in
            the caller's thread, so that this, and not `client_thread_cpu_ratio`, can be its limit.
        brokers: The use of each local broker that ran for the whole phase; empty if there are none.
    """

    sender_cpu_ratio: float | None = None
    sender_demand_ratio: float | None = None
    drain_cpu_ratio: float | None = None
    drain_demand_ratio: float | None = None
    client_thread_cpu_ratio: float | None = None
    client_thread_demand_ratio: float | None = None
    client_user_demand_cores: float | None = None
    process_cpu_cores: float | None = None
    host_cpu_ratio: float | None = None
    host_cores: int | None = None
    broker_cpu_cores: float | None = None
    broker_thread_cpu_ratio: float | None = None
    broker_thread_demand_ratio: float | None = None
    network_limited_ratio: float | None = None
    receiver_limited_ratio: float | None = None
    collector_cpu_cores: float | None = None
    sender_in_client_ratio: float | None = None
    brokers: tuple[BrokerUse, ...] = ()


def cpu_ms_per_mb(cores: float | None, value_bytes: float, duration_s: float) -> float | None:
    """Return the CPU milliseconds per million value bytes; None if the cores are unknown or there are no bytes.

    Args:
        cores: CPU that was used, in cores.
        value_bytes: Size of the values that were sent or taken in the same time.
        duration_s: This time, in seconds.
    """
    if cores is None or not value_bytes:
        return None
    return cores * 1e3 / (value_bytes / duration_s / 1e6)


def merge_resources(all_resources: Sequence[Resources]) -> Resources:
    """Merge the resources of several producers.

    For a value of a single thread, the result is the highest value of all producers. Values of a whole process are
    added up. All producers report the same host and the same brokers, so here too the result is the highest value.
    """

    def highest(part: Callable[[Resources], float | None]) -> float | None:
        return max((value for each in all_resources if (value := part(each)) is not None), default=None)

    return Resources(
        sender_cpu_ratio=highest(lambda each: each.sender_cpu_ratio),
        sender_demand_ratio=highest(lambda each: each.sender_demand_ratio),
        drain_cpu_ratio=highest(lambda each: each.drain_cpu_ratio),
        drain_demand_ratio=highest(lambda each: each.drain_demand_ratio),
        client_thread_cpu_ratio=highest(lambda each: each.client_thread_cpu_ratio),
        client_thread_demand_ratio=highest(lambda each: each.client_thread_demand_ratio),
        client_user_demand_cores=sum_if_all_known(each.client_user_demand_cores for each in all_resources),
        process_cpu_cores=sum_if_all_known(each.process_cpu_cores for each in all_resources),
        host_cpu_ratio=highest(lambda each: each.host_cpu_ratio),
        host_cores=max((each.host_cores for each in all_resources if each.host_cores is not None), default=None),
        broker_cpu_cores=highest(lambda each: each.broker_cpu_cores),
        broker_thread_cpu_ratio=highest(lambda each: each.broker_thread_cpu_ratio),
        broker_thread_demand_ratio=highest(lambda each: each.broker_thread_demand_ratio),
        network_limited_ratio=highest(lambda each: each.network_limited_ratio),
        receiver_limited_ratio=highest(lambda each: each.receiver_limited_ratio),
        collector_cpu_cores=sum_if_all_known(each.collector_cpu_cores for each in all_resources),
        sender_in_client_ratio=highest(lambda each: each.sender_in_client_ratio),
        brokers=max((each.brokers for each in all_resources), key=len, default=()),
    )


def sum_if_all_known(values: Iterable[Number | None]) -> Number | None:
    """Return the sum of all values; None if any of them is unknown."""
    everything = list(values)
    known = [value for value in everything if value is not None]
    return sum(known) if len(known) == len(everything) else None
