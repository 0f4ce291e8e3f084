"""What bound a trial. A measurement bound by our own generator says nothing about the config it was taken with.

The causes are tried in a fixed order, the surest sign first: a quota or the asked rate is known for certain; a queue
that is not full, nor getting there, while we saturate is our own doing; a thread or socket at its limit binds whatever
else is going on; only then comes the broker, and last the size of the client's buffer.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Self

from runners.measurement import Measurement, Resources

BUSY_RATIO: Final = 0.9
"""A thread that wants a core this much has no room to do more; the rest is lost in hand-overs."""
DRAIN_BUSY_RATIO: Final = 0.8
"""The same of the thread that takes answers, which in Python shares its core with the one that sends."""
HELD_RATE_RATIO: Final = 0.98
"""Short of this the rate was not held; what is on its way when a short run ends is less."""
UNDER_WAY_RATIO: Final = 0.9
"""Short of this it was not held, whatever the lateness of what did arrive."""
LATE_MS: Final = 10.0
"""A paced sender that is this late on average has fallen behind: it looks for due records 4,000 times a second."""
QUEUE_FULL_RATIO: Final = 0.1
OUTRUN_RATIO: Final = 0.05
"""A queue that grows by this much of what is acknowledged is on its way to full: what empties it is the limit."""
HELD_BACK_RATIO: Final = 0.5
HOST_BUSY_RATIO: Final = 0.93
OTHERS_RATIO: Final = 0.5
"""Other processes that use this much of a busy host's cores decide how fast a run is, and not its config."""
THROTTLE_MS: Final = 1.0
IDLE_IN_FLIGHT: Final = 0.9
"""Fewer requests than this under way on average: the broker has nothing to do part of the time."""
BUFFER_LATENCY_TOLERANCE: Final = 0.1
"""How well Little's law must explain a latency. Source: the VU thesis's rows are met within 6 %."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The inputs of `judge`. None is unknown and never counts for or against a cause.

    Attributes:
        records_per_s: Acknowledged rate.
        offered_records_per_s: Rate that was asked for; None for a saturating load.
        mb_per_s: Acknowledged value bytes per second, in millions.
        duration_s: Seconds that were measured.
        mean_latency_ms: Mean from hand-over to acknowledgement.
        send_delay_ms: Mean from the intended send time to hand-over; None for a saturating load.
        queue_full_ratio: Share of the time in which the sender waited for room in the client's queue.
        queue_growth_ratio: Records by which the client's queue grew, per record acknowledged.
        queued_bytes: Bytes waiting in the client, mean.
        in_flight_requests: Requests awaiting a response, mean.
        throttle_ms: Mean time per response that brokers told the client to hold back.
        resources: What our threads, the client's, local brokers, this host and its connections used of what they had.
    """

    records_per_s: float
    offered_records_per_s: float | None = None
    mb_per_s: float | None = None
    duration_s: float | None = None
    mean_latency_ms: float | None = None
    send_delay_ms: float | None = None
    queue_full_ratio: float | None = None
    queue_growth_ratio: float | None = None
    queued_bytes: float | None = None
    in_flight_requests: float | None = None
    throttle_ms: float | None = None
    resources: Resources = field(default_factory=Resources)

    @classmethod
    def of(cls, measurement: Measurement) -> Self:
        """The evidence in a measurement."""
        activity = measurement.activity
        return cls(
            records_per_s=measurement.records_per_s,
            offered_records_per_s=measurement.workload.rate_records_per_s,
            mb_per_s=measurement.mb_per_s,
            duration_s=measurement.duration_s,
            mean_latency_ms=measurement.latency_check.seen_us / 1e3 if measurement.latency_check else None,
            send_delay_ms=measurement.send_delay.mean_us / 1e3 if measurement.send_delay.count else None,
            queue_full_ratio=activity.queue_full_ratio if activity else None,
            queue_growth_ratio=activity.queue_growth_ratio if activity else None,
            queued_bytes=activity.queued_bytes if activity else None,
            in_flight_requests=activity.in_flight_requests if activity else None,
            throttle_ms=activity.throttle_ms if activity else None,
            resources=measurement.resources,
        )

    @property
    def buffer_latency_ms(self) -> float | None:
        """What records wait when everything queued drains at the measured rate (Little's law)."""
        if self.queued_bytes is None or not self.mb_per_s:
            return None
        return self.queued_bytes / self.mb_per_s / 1e3


class Bottleneck(StrEnum):
    """What kept the throughput from being higher."""

    GENERATOR = "generator"
    CLIENT_THREAD = "client thread"
    CLIENT_BUFFER = "client buffer"
    OFFERED_RATE = "offered rate"
    OTHER_PROCESSES = "other processes"
    QUOTA = "quota"
    BROKER = "broker"
    NETWORK = "network"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What bound a trial, and why we say so.

    Attributes:
        bound: The cause.
        because: The numbers behind it, in one sentence.
        latency_is_buffer: Whether the mean latency is just the time that the client's full buffer takes to drain; then
            it says how large the buffer is, not how quick the cluster. None where this can't be told.
    """

    bound: Bottleneck
    because: str
    latency_is_buffer: bool | None = None

    @property
    def says_nothing_of_config(self) -> bool:
        """Whether the measurement must not be used to judge the config's throughput."""
        return self.bound in (Bottleneck.GENERATOR, Bottleneck.OTHER_PROCESSES)


def judge(seen: Evidence) -> Verdict:
    """Give the verdict on one measurement."""
    for bound, sign in _SIGNS:
        because = sign(seen)
        if because is not None:
            return Verdict(bound, because, latency_is_buffer(seen))
    return Verdict(Bottleneck.UNKNOWN, "no limit that can be read from here was reached", latency_is_buffer(seen))


def latency_is_buffer(seen: Evidence) -> bool | None:
    """Whether Little's law over the client's queue explains the latency of a full queue."""
    full = seen.queue_full_ratio
    if seen.offered_records_per_s is not None or (full is not None and full < QUEUE_FULL_RATIO):
        return False
    expected, latency = seen.buffer_latency_ms, seen.mean_latency_ms
    if expected is None or latency is None or not expected:
        return None
    return abs(latency / expected - 1) <= BUFFER_LATENCY_TOLERANCE


def _quota(seen: Evidence) -> str | None:
    if (seen.throttle_ms or 0.0) < THROTTLE_MS:
        return None
    return f"brokers told the client to hold back {seen.throttle_ms:.0f} ms per response: a quota"


def _offered_rate(seen: Evidence) -> str | None:
    offered = seen.offered_records_per_s
    if offered is None or not _held(seen, seen.records_per_s / offered):
        return None
    return f"{seen.records_per_s:,.0f} records/s were delivered of {offered:,.0f} offered: more was not asked for"


def _held(seen: Evidence, delivered_ratio: float) -> bool:
    """Whether the offered rate was held, but for what a pause at the edge of a short phase left under way.

    A load that falls behind all along is late by what it misses when the phase ends, and by half of that on average;
    what is missed without such lateness was only under way.
    """
    if delivered_ratio >= HELD_RATE_RATIO:
        return True
    if delivered_ratio < UNDER_WAY_RATIO or seen.duration_s is None or seen.mean_latency_ms is None:
        return False
    late_ms = seen.mean_latency_ms + (seen.send_delay_ms or 0.0)
    return late_ms < (1 - delivered_ratio) * seen.duration_s * 1e3 / 2


def _generator(seen: Evidence) -> str | None:
    if seen.queue_full_ratio is None or seen.queue_full_ratio >= QUEUE_FULL_RATIO:
        return None
    if (seen.queue_growth_ratio or 0.0) >= OUTRUN_RATIO:
        # A record leaves the queue when its answer was taken, and that is our work too.
        drain = seen.resources.drain_demand_ratio or 0.0
        if drain < DRAIN_BUSY_RATIO:
            return None
        busy = f"our thread that takes the client's answers was busy {drain:.0%} while its queue grew"
        return f"{busy}{_on_a_full_host(seen)}"
    full = f"the client's queue was full only {seen.queue_full_ratio:.0%} of the time"
    if seen.offered_records_per_s is None:
        # A full queue is all that a saturating sender ever waits for.
        return f"{full}, so our sender never had to wait: it could not send faster{_on_a_full_host(seen)}"
    busiest = max(seen.resources.sender_demand_ratio or 0.0, seen.resources.drain_demand_ratio or 0.0)
    if busiest >= BUSY_RATIO:
        return f"{full} and our thread was busy {busiest:.0%}: we could not send faster{_on_a_full_host(seen)}"
    if (seen.send_delay_ms or 0.0) >= LATE_MS:
        return f"{full} and records left us {seen.send_delay_ms:.0f} ms late{_on_a_full_host(seen)}"
    return None


def _on_a_full_host(seen: Evidence) -> str:
    if (seen.resources.host_cpu_ratio or 0.0) < HOST_BUSY_RATIO:
        return ""
    return f" (the host's CPU is {seen.resources.host_cpu_ratio:.0%} used)"


def _client_thread(seen: Evidence) -> str | None:
    if (seen.resources.client_thread_demand_ratio or 0.0) < BUSY_RATIO:
        return None
    busy = f"the client's own thread wanted a core {seen.resources.client_thread_demand_ratio:.0%} of the time"
    return f"{busy}: building and compressing batches takes that long{_on_a_full_host(seen)}"


def _network(seen: Evidence) -> str | None:
    if (seen.resources.network_limited_ratio or 0.0) < HELD_BACK_RATIO:
        return None
    return f"the network held the busiest connection back {seen.resources.network_limited_ratio:.0%} of the time"


def _other_processes(seen: Evidence) -> str | None:
    used = seen.resources
    # What a broker elsewhere, or one that we can't look into, uses of this host is not known.
    if (
        used.host_cpu_ratio is None
        or not used.host_cores
        or used.process_cpu_cores is None
        or used.broker_cpu_cores is None
    ):
        return None
    others = used.host_cpu_ratio * used.host_cores - used.process_cpu_cores - used.broker_cpu_cores
    if used.host_cpu_ratio < HOST_BUSY_RATIO or others < OTHERS_RATIO * used.host_cores:
        return None
    return (
        f"the host's CPU is {used.host_cpu_ratio:.0%} used, and {others:.1f} of its {used.host_cores} cores "
        "by processes that are neither the client nor the broker"
    )


def _broker(seen: Evidence) -> str | None:
    used = seen.resources
    if (used.broker_thread_demand_ratio or 0.0) >= BUSY_RATIO:
        return f"a thread of the broker wanted a core {used.broker_thread_demand_ratio:.0%} of the time"
    if used.broker_cpu_cores is not None and used.host_cores and used.broker_cpu_cores >= BUSY_RATIO * used.host_cores:
        return f"the broker used {used.broker_cpu_cores:.1f} of {used.host_cores} cores"
    if (used.receiver_limited_ratio or 0.0) >= HELD_BACK_RATIO:
        return f"the broker did not read from the busiest connection {used.receiver_limited_ratio:.0%} of the time"
    full, outrun = (seen.queue_full_ratio or 0.0) >= QUEUE_FULL_RATIO, (seen.queue_growth_ratio or 0.0) >= OUTRUN_RATIO
    waits = full or outrun or seen.offered_records_per_s is not None
    in_flight = seen.in_flight_requests
    if not waits or (in_flight is not None and in_flight < IDLE_IN_FLIGHT):
        return None
    if (used.host_cpu_ratio or 0.0) >= HOST_BUSY_RATIO and used.broker_cpu_cores is not None:
        return (
            f"the host's CPU is {used.host_cpu_ratio:.0%} used, {used.broker_cpu_cores:.1f} cores of it by the broker"
        )
    if in_flight is not None:
        return f"{in_flight:.1f} requests at a time waited for it while the client had more to send"
    return None


def _client_buffer(seen: Evidence) -> str | None:
    if seen.offered_records_per_s is None and latency_is_buffer(seen):
        return (
            f"{(seen.queued_bytes or 0) / 1e6:.1f} MB queued in the client at {seen.mb_per_s:.1f} MB/s take "
            f"{seen.buffer_latency_ms:.0f} ms, and the latency is {seen.mean_latency_ms:.0f} ms: the buffer is full"
        )
    if (seen.queue_full_ratio or 0.0) < QUEUE_FULL_RATIO:
        return None
    return f"the client's queue was full {seen.queue_full_ratio:.0%} of the time while the broker had time to spare"


def _nothing_else(seen: Evidence) -> str | None:
    """All that empties the queue is known to have had room, so that its growth was only a swing."""
    known = (seen.queue_full_ratio, seen.in_flight_requests, seen.resources.client_thread_demand_ratio)
    if seen.offered_records_per_s is not None or None in known:
        return None
    return f"nothing that empties the client's queue was at its limit, and it was full only {seen.queue_full_ratio:.0%}"


_SIGNS: Final[tuple[tuple[Bottleneck, Callable[[Evidence], str | None]], ...]] = (
    (Bottleneck.QUOTA, _quota),
    (Bottleneck.OFFERED_RATE, _offered_rate),
    (Bottleneck.GENERATOR, _generator),
    (Bottleneck.CLIENT_THREAD, _client_thread),
    (Bottleneck.NETWORK, _network),
    (Bottleneck.OTHER_PROCESSES, _other_processes),
    (Bottleneck.BROKER, _broker),
    (Bottleneck.CLIENT_BUFFER, _client_buffer),
    (Bottleneck.GENERATOR, _nothing_else),
)
