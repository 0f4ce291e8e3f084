"""Merges the use of resources, such as CPU time, of several producers or consumers that ran at the same time."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from runners.measurement import Resources

Number = TypeVar("Number", int, float)


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
        client_user_demand_cores=sum_of_known(each.client_user_demand_cores for each in all_resources),
        process_cpu_cores=sum_of_known(each.process_cpu_cores for each in all_resources),
        host_cpu_ratio=highest(lambda each: each.host_cpu_ratio),
        host_cores=max((each.host_cores for each in all_resources if each.host_cores is not None), default=None),
        broker_cpu_cores=highest(lambda each: each.broker_cpu_cores),
        broker_thread_cpu_ratio=highest(lambda each: each.broker_thread_cpu_ratio),
        broker_thread_demand_ratio=highest(lambda each: each.broker_thread_demand_ratio),
        network_limited_ratio=highest(lambda each: each.network_limited_ratio),
        receiver_limited_ratio=highest(lambda each: each.receiver_limited_ratio),
        collector_cpu_cores=sum_of_known(each.collector_cpu_cores for each in all_resources),
        sender_in_client_ratio=highest(lambda each: each.sender_in_client_ratio),
        brokers=max((each.brokers for each in all_resources), key=len, default=()),
    )


def sum_of_known(values: Iterable[Number | None]) -> Number | None:
    """Return the sum of all values; None if any of them is unknown."""
    known = list(values)
    parts = [value for value in known if value is not None]
    return sum(parts[1:], start=parts[0]) if len(parts) == len(known) else None
