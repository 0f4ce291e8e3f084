"""What can limit a load, and the signs of it that producers and consumers have in common."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from runners.measurements.resources import Resources
from runners.reporting import percent

BUSY_RATIO: Final = 0.9
"""A thread that needs a core for at least this share of the time counts as busy; context switches take the rest."""
HOST_BUSY_RATIO: Final = 0.93
"""A host counts as busy if at least this share of its CPU is used."""
OTHERS_RATIO: Final = 0.5
"""If other processes use this share of a busy host's cores, they, and not the config, limit the measurement."""
THROTTLE_MS: Final = 1.0
"""The quota is the limit if brokers delay each response by at least this many milliseconds on average."""
CLOSE_BEHIND_S: Final = 1.0
"""Consumers keep up with the producers if their lag is at most what they read in this many seconds."""
IDLE_IN_FLIGHT: Final = 0.9
"""The broker is idle part of the time if fewer requests than this are in flight on average."""


class Bottleneck(StrEnum):
    """The cause that limited the throughput."""

    GENERATOR = "generator"
    CLIENT_THREAD = "client thread"
    CLIENT_BUFFER = "client buffer"
    OFFERED_RATE = "offered rate"
    OTHER_PROCESSES = "other processes"
    QUOTA = "quota"
    BROKER = "broker"
    NETWORK = "network"
    UNKNOWN = "unknown"


_OTHER_LIMITS: Final[Mapping[str, tuple[str, str]]] = {
    Bottleneck.GENERATOR: ("the load generator", "the load generator was the bottleneck"),
    Bottleneck.OTHER_PROCESSES: ("other processes", "other processes on this host took the CPU"),
}
"""The causes that say nothing about the config: who limited the throughput, and the same as a clause."""
OTHER_LIMITS_TEXT: Final = " or ".join(who for who, _ in _OTHER_LIMITS.values())


def limited_by(bound: str) -> str:
    """Return who limited the throughput, in words; a cause that is not known here is returned as it is."""
    return _OTHER_LIMITS[bound][0] if bound in _OTHER_LIMITS else bound


@dataclass(frozen=True, slots=True)
class Verdict:
    """What limited the throughput of a measurement, and why we think so.

    Attributes:
        bound: The cause.
        because: The reason with its numbers, in one sentence.
        latency_is_buffer: Whether the mean latency is just the time that the client's full buffer takes to drain. It
            then shows how large the buffer is, not how fast the cluster is. None if this is not known.
        consumers_fell_behind: A sentence that states how far the consumers beside the load had fallen behind. The
            end-to-end latency then shows this distance, and not how soon a record can be read. Empty if the consumers
            kept up, or if there were none.
    """

    bound: Bottleneck
    because: str
    latency_is_buffer: bool | None = None
    consumers_fell_behind: str = ""

    @property
    def says_nothing_of_config(self) -> bool:
        """Whether the load generator or other processes were the limit, so that nothing is said about the config."""
        return self.bound in _OTHER_LIMITS

    @property
    def other_limit(self) -> str:
        """What limited the throughput instead of the config, as a clause; "" if the config can be judged."""
        return _OTHER_LIMITS[self.bound][1] if self.says_nothing_of_config else ""


AnyEvidence = TypeVar("AnyEvidence")
Signs = Sequence[tuple[Bottleneck, Callable[[AnyEvidence], str | None]]]
"""Causes in the order in which they are checked, each with its sign.

A sign is a function. It returns the reason if the evidence shows the cause, and else None.
"""


def first_sign(evidence: AnyEvidence, signs: Signs[AnyEvidence]) -> tuple[Bottleneck, str] | None:
    """Return the first cause that the evidence shows, with the reason; None if it shows none."""
    found = ((bound, because) for bound, sign in signs if (because := sign(evidence)) is not None)
    return next(found, None)


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
        consumer_cores: CPU in cores that consumers beside the load used. They do not count as other processes.
    """
    # For a broker on another host, or one whose process we can't read, the CPU use on this host is unknown. A broker in
    # a container or a virtual machine of this host looks like a broker on another host, and does not count as another
    # process.
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
    """Return what of a local broker was busy, a thread or all of it; None if neither was, or if that is unknown."""
    if (used.broker_thread_demand_ratio or 0.0) >= BUSY_RATIO:
        return f"a thread of the broker needed a core {percent(used.broker_thread_demand_ratio)} of the time"
    if used.broker_cpu_cores is not None and used.host_cores and used.broker_cpu_cores >= BUSY_RATIO * used.host_cores:
        return f"the broker used {used.broker_cpu_cores:.1f} of {used.host_cores} cores"
    return None


def broker_on_a_busy_host(used: Resources) -> str | None:
    """Return how much CPU a local broker uses on a busy host; None if the host is not busy, or if it is unknown."""
    if (used.host_cpu_ratio or 0.0) < HOST_BUSY_RATIO or used.broker_cpu_cores is None:
        return None
    in_use = percent(used.host_cpu_ratio)
    return f"the host's CPU is {in_use} used, and the broker uses {used.broker_cpu_cores:.1f} cores"


def on_a_busy_host(used: Resources) -> str:
    """Return a remark for the end of a sentence if the host's CPU is used up, else an empty text."""
    if (used.host_cpu_ratio or 0.0) < HOST_BUSY_RATIO:
        return ""
    return f" (the host's CPU is {percent(used.host_cpu_ratio)} used)"
