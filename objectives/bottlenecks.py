"""Signs of what limits a load, for producers and consumers alike."""

from typing import Final

from runners.measurement import Resources
from runners.reporting import percent

BUSY_RATIO: Final = 0.9
"""A thread that needs a core for at least this share of the time counts as busy; context switches take the rest."""
HOST_BUSY_RATIO: Final = 0.93
OTHERS_RATIO: Final = 0.5
"""If other processes use this share of a busy host's cores, they, and not the config, limit the measurement."""
THROTTLE_MS: Final = 1.0
CLOSE_BEHIND_S: Final = 1.0
"""Consumers keep up with the producers if their lag is at most what they read in this many seconds."""


def quota(throttle_ms: float | None) -> str | None:
    """Return how long brokers throttled the client; None if they did not.

    Args:
        throttle_ms: Mean time for which brokers throttled the client, per response; None if unknown.
    """
    if (throttle_ms or 0.0) < THROTTLE_MS:
        return None
    return f"brokers throttled the client by {throttle_ms:.0f} ms per response, because of a quota"


def other_processes(used: Resources, consumer_cores: float = 0.0) -> str | None:
    """Return how much of a busy host other processes used; None if that was little, or is unknown.

    Args:
        used: The use of CPU by our threads, the client, local brokers and this host.
        consumer_cores: CPU that consumers beside the load used, which are no other processes, in cores.
    """
    # For a broker on another host, or one whose process we can't read, the CPU use on this host is unknown.
    if (
        used.host_cpu_ratio is None
        or not used.host_cores
        or used.process_cpu_cores is None
        or used.broker_cpu_cores is None
    ):
        return None
    threads = (used.sender_cpu_ratio, used.drain_cpu_ratio, used.client_thread_cpu_ratio, used.broker_thread_cpu_ratio)
    if max(ratio or 0.0 for ratio in threads) >= BUSY_RATIO:
        return None  # it had a core to itself, and is the limit whatever else runs
    others = used.host_cpu_ratio * used.host_cores - used.process_cpu_cores - used.broker_cpu_cores - consumer_cores
    if used.host_cpu_ratio < HOST_BUSY_RATIO or others < OTHERS_RATIO * used.host_cores:
        return None
    return (
        f"the host's CPU is {percent(used.host_cpu_ratio)} used, and {others:.1f} of its {used.host_cores} cores "
        "are used by processes other than the client and the broker"
    )


def busy_broker(used: Resources) -> str | None:
    """Return which part of a local broker was busy; None if none was, or if it is unknown."""
    if (used.broker_thread_demand_ratio or 0.0) >= BUSY_RATIO:
        return f"a thread of the broker needed a core {percent(used.broker_thread_demand_ratio)} of the time"
    if used.broker_cpu_cores is not None and used.host_cores and used.broker_cpu_cores >= BUSY_RATIO * used.host_cores:
        return f"the broker used {used.broker_cpu_cores:.1f} of {used.host_cores} cores"
    return None


def broker_on_a_full_host(used: Resources) -> str | None:
    """Return what a local broker uses of a host that is full; None if the host is not full, or if it is unknown."""
    if (used.host_cpu_ratio or 0.0) < HOST_BUSY_RATIO or used.broker_cpu_cores is None:
        return None
    in_use = percent(used.host_cpu_ratio)
    return f"the host's CPU is {in_use} used, and the broker uses {used.broker_cpu_cores:.1f} cores"


def on_a_full_host(used: Resources) -> str:
    """Return a remark for the end of a sentence if the host's CPU is used up, else an empty text."""
    if (used.host_cpu_ratio or 0.0) < HOST_BUSY_RATIO:
        return ""
    return f" (the host's CPU is {percent(used.host_cpu_ratio)} used)"
