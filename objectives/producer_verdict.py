"""The verdict on a load of producers: what limited the throughput of a measurement.

A measurement that was limited by our own load generator says nothing about its config.

The causes are checked in the order of `_SIGNS`, and the first that applies is the verdict:

1. A quota, and a fixed rate that was delivered: these are certain.
2. Other processes, because threads that wait for a core look busier than they are.
3. Our own load generator: its threads were busy, or it never had to wait for room in the client's queue.
4. The client's thread, the network, the broker, and then the client's buffer.
5. Our own load generator again, if the queue was not full although nothing else was at its limit.
"""

from dataclasses import dataclass, field
from typing import Final, Self

from objectives.bottlenecks import (
    BUSY_RATIO,
    CLOSE_BEHIND_S,
    IDLE_IN_FLIGHT,
    Bottleneck,
    Signs,
    Verdict,
    broker_on_a_busy_host,
    busy_broker,
    first_sign,
    on_a_busy_host,
    other_processes,
    quota,
)
from runners.measurements.end_to_end import EndToEnd
from runners.measurements.measurement import Measurement
from runners.measurements.resources import Resources
from runners.reporting import percent

DRAIN_BUSY_RATIO: Final = 0.8
"""Our thread that processes delivery reports counts as busy if it needs a core for at least this share of the time.

The share is below `BUSY_RATIO`, because this thread shares the Python interpreter with the thread that sends.
"""
CALLER_BUSY_RATIO: Final = 0.7
"""The sender's thread counts as busy with the client's own code if it spends at least this share of the time there.

The share is below `BUSY_RATIO`, because the loop around the calls needs a core, too.
"""
RATE_REACHED_RATIO: Final = 0.98
"""If at least this share of the fixed rate was delivered, the fixed rate was the limit.

The rest may be in flight at the end. This is stricter than the constraint of a study (`LEAST_HELD_RATIO`): a study may
recommend a config that delivers 96 % of the rate, but something other than the fixed rate may have held it back.
"""
RATE_MISSED_RATIO: Final = 0.9
"""If less than this share of the fixed rate was delivered, something else was the limit, at any latency."""
LATE_MS: Final = 10.0
"""A paced sender that is this late on average has fallen behind; it checks for due records 4,000 times a second."""
QUEUE_FULL_RATIO: Final = 0.1
"""A sender that waited for room in the client's queue for less than this share of the time was hardly held back."""
OUTRUN_RATIO: Final = 0.05
"""A client queue that grows by at least this share of the acknowledged records is filling up.

Then the limit is not the thread that sends, but something that takes records out of the queue.
"""
HELD_BACK_RATIO: Final = 0.5
"""The network, or a broker that does not read, is the limit if it held the busiest connection back for this share of
the time.
"""
BUFFER_LATENCY_TOLERANCE: Final = 0.1
"""Largest relative error with which Little's law still explains a latency by the time in the client's buffer.

In the thesis of De Vos Meaker (2020), its error is at most 0.5 % for all 30 rows with a full buffer and records of at
least 100 B, if the buffered records are counted. Here their size is sampled.
"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The inputs of `judge`. None means unknown; an unknown value counts neither for nor against a cause.

    Attributes:
        records_per_s: Rate of acknowledged records.
        offered_records_per_s: The fixed rate; None for a saturating load.
        mb_per_s: Megabytes of acknowledged record values per second.
        duration_s: Duration of the measured phase, in seconds.
        mean_latency_ms: Mean time from sending a record to its acknowledgement.
        send_delay_ms: Mean time from the intended send time to sending; None for a saturating load.
        queue_full_ratio: Share of the time in which the sender waited for room in the client's queue.
        queue_growth_ratio: Records by which the client's queue grew, per acknowledged record.
        queued_bytes: Mean number of bytes in the queues of all producers together.
        in_flight_requests: Mean number of requests of all producers together that waited for a response.
        throttle_ms: Mean time for which brokers throttled the client, per response.
        link_used_ratio: Share that the records took of the bandwidth of the simulated link to the brokers; None without
            such a limit.
        consumers_behind_records: Records that were acknowledged and that the consumers beside the load had not taken at
            the end; None without consumers.
        consumer_cpu_cores: CPU that these consumers used on the producer's host, in cores.
        resources: The use of CPU and network by our threads, the client, local brokers and this host.
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
    link_used_ratio: float | None = None
    consumers_behind_records: int | None = None
    consumer_cpu_cores: float | None = None
    resources: Resources = field(default_factory=Resources)

    @classmethod
    def of(cls, measurement: Measurement) -> Self:
        """Return the evidence that a measurement contains."""
        activity, read = measurement.activity, measurement.end_to_end
        return cls(
            records_per_s=measurement.records_per_s,
            offered_records_per_s=measurement.workload.rate_records_per_s,
            mb_per_s=measurement.mb_per_s,
            duration_s=measurement.duration_s,
            mean_latency_ms=measurement.latency_check.seen_us / 1e3 if measurement.latency_check else None,
            send_delay_ms=measurement.send_delay.mean_us / 1e3 if measurement.send_delay.count else None,
            queue_full_ratio=activity.queue_full_ratio if activity else None,
            queue_growth_ratio=activity.queue_growth_ratio if activity else None,
            queued_bytes=activity.queued_bytes * measurement.producers if activity else None,
            in_flight_requests=activity.in_flight_requests * measurement.producers if activity else None,
            throttle_ms=activity.throttle_ms if activity else None,
            link_used_ratio=_link_used_ratio(measurement),
            consumers_behind_records=read.behind_records if read else None,
            consumer_cpu_cores=_consumer_cores(measurement, read) if read else None,
            resources=measurement.resources,
        )

    @property
    def buffer_latency_ms(self) -> float | None:
        """How long a record waits in the client's queue at the measured rate, by Little's law."""
        if self.queued_bytes is None or not self.mb_per_s:
            return None
        return self.queued_bytes / self.mb_per_s / 1e3


def judge(evidence: Evidence) -> Verdict:
    """Return the verdict on a measurement: what limited its throughput."""
    found = first_sign(evidence, _SIGNS)
    bound, because = found or (Bottleneck.UNKNOWN, "no limit that the load generator can measure was reached")
    return Verdict(bound, because, latency_is_buffer(evidence), _consumers_fell_behind(evidence))


def latency_is_buffer(evidence: Evidence) -> bool | None:
    """Return whether the time in a full client queue explains the latency, by Little's law; None if unknown."""
    full = evidence.queue_full_ratio
    if evidence.offered_records_per_s is not None or (full is not None and full < QUEUE_FULL_RATIO):
        return False
    expected, latency = evidence.buffer_latency_ms, evidence.mean_latency_ms
    if expected is None or latency is None or not expected:
        return None
    return abs(latency / expected - 1) <= BUFFER_LATENCY_TOLERANCE


def _link_used_ratio(measurement: Measurement) -> float | None:
    """Return how much of the link's bandwidth the records took; None if that is unknown, or if there is no limit."""
    limit_mb_per_s, activity = measurement.origin.link_mb_per_s, measurement.activity
    if limit_mb_per_s is None or activity is None or activity.wire_bytes is None:
        return None
    return activity.wire_bytes / measurement.duration_s / 1e6 / limit_mb_per_s


def _consumer_cores(measurement: Measurement, read: EndToEnd) -> float | None:
    """Return the CPU that the consumers used on the producer's host, in cores; None if it is unknown."""
    if read.clock_error_ms is not None:  # the consumers ran on another host, which has another clock
        return 0.0
    if read.client_cpu_ms_per_mb is None:
        return None
    taken_mb_per_s = read.records_per_s * measurement.workload.record_sizes.mean_bytes / 1e6
    return read.client_cpu_ms_per_mb * taken_mb_per_s / 1e3


def _consumers_fell_behind(evidence: Evidence) -> str:
    behind = evidence.consumers_behind_records or 0
    if behind <= CLOSE_BEHIND_S * evidence.records_per_s:
        return ""
    late = f" ({behind / evidence.records_per_s:.1f} s)" if evidence.records_per_s else ""
    return (
        f"the consumers were {behind:,} records{late} behind at the end, so the end-to-end latency shows how far they "
        "had fallen behind"
    )


def _offered_rate(evidence: Evidence) -> str | None:
    offered = evidence.offered_records_per_s
    if offered is None or not _held(evidence, evidence.records_per_s / offered):
        return None
    return (
        f"{evidence.records_per_s:,.0f} records/s were delivered at a fixed rate of {offered:,.0f} records/s, "
        "so this rate was the limit"
    )


def _held(evidence: Evidence, delivered_ratio: float) -> bool:
    """Return whether the fixed rate was held, with records that were in flight at the end counted as delivered.

    If the client falls behind steadily, records are sent or acknowledged later and later. At the end of the phase, the
    delay is the time that the missing records would have taken. The mean delay over the phase is half of that
    time. If the measured latency is lower, the missing records were only in flight when the phase ended, for instance
    because of a short pause.
    """
    if delivered_ratio >= RATE_REACHED_RATIO:
        return True
    if delivered_ratio < RATE_MISSED_RATIO or evidence.duration_s is None or evidence.mean_latency_ms is None:
        return False
    late_ms = evidence.mean_latency_ms + (evidence.send_delay_ms or 0.0)
    return late_ms < (1 - delivered_ratio) * evidence.duration_s * 1e3 / 2


def _generator(evidence: Evidence) -> str | None:
    if evidence.queue_full_ratio is None or evidence.queue_full_ratio >= QUEUE_FULL_RATIO:
        return None
    if (evidence.queue_growth_ratio or 0.0) >= OUTRUN_RATIO:
        # A record leaves the client's queue only when our thread has processed its delivery.
        drain = evidence.resources.drain_demand_ratio or 0.0
        if drain < DRAIN_BUSY_RATIO:
            return None
        busy = (
            f"the load generator's thread for delivery reports was busy {percent(drain)} of the time "
            "while the client's queue grew"
        )
        return f"{busy}{on_a_busy_host(evidence.resources)}"
    on_busy_host = on_a_busy_host(evidence.resources)
    full = f"the client's queue was full only {percent(evidence.queue_full_ratio)} of the time"
    if evidence.offered_records_per_s is None:
        if _busy_in_client(evidence):
            return None
        # A saturating sender waits only when the queue is full.
        return f"{full}, so the load generator hardly had to wait: it sent as fast as it could{on_busy_host}"
    busiest = max(evidence.resources.sender_demand_ratio or 0.0, evidence.resources.drain_demand_ratio or 0.0)
    if busiest >= BUSY_RATIO and not _busy_in_client(evidence):
        return (
            f"{full}, and a thread of the load generator was busy {percent(busiest)} of the time: "
            f"it could not send faster{on_busy_host}"
        )
    if (evidence.send_delay_ms or 0.0) >= LATE_MS:
        return f"{full}, and records were sent {evidence.send_delay_ms:.0f} ms late{on_busy_host}"
    return None


def _busy_in_client(evidence: Evidence) -> bool:
    """Return whether the sender's thread was busy most of the time with the client's own code."""
    return (evidence.resources.sender_in_client_ratio or 0.0) >= CALLER_BUSY_RATIO


def _client_thread(evidence: Evidence) -> str | None:
    if _busy_in_client(evidence):
        in_client = percent(evidence.resources.sender_in_client_ratio)
        busy = f"the thread that sends was busy in the client's code {in_client}"
        return (
            f"{busy} of the time: this client builds and compresses batches there{on_a_busy_host(evidence.resources)}"
        )
    if (evidence.resources.client_thread_demand_ratio or 0.0) < BUSY_RATIO:
        return None
    busy = f"the client's own thread needed a core {percent(evidence.resources.client_thread_demand_ratio)} of the time"
    return f"{busy}: building and compressing batches takes that long{on_a_busy_host(evidence.resources)}"


def _network(evidence: Evidence) -> str | None:
    # The client's connections end at the process that imitates the link. The kernel counts that this process reads no
    # faster than the link allows as waiting for the receiver, as if the broker did not read.
    if (evidence.link_used_ratio or 0.0) >= BUSY_RATIO:
        # Windows end between acknowledgements, so the share may be a little above 1.
        used = percent(min(1.0, evidence.link_used_ratio or 0.0))
        return f"the records took {used} of the bandwidth of the link to the brokers"
    if (evidence.resources.network_limited_ratio or 0.0) < HELD_BACK_RATIO:
        return None
    return f"the network limited the busiest connection {percent(evidence.resources.network_limited_ratio)} of the time"


def _broker(evidence: Evidence) -> str | None:
    used = evidence.resources
    if (busy := busy_broker(used)) is not None:
        return busy
    if (used.receiver_limited_ratio or 0.0) >= HELD_BACK_RATIO:
        return f"the broker did not read from the busiest connection {percent(used.receiver_limited_ratio)} of the time"
    has_more_to_send = (
        (evidence.queue_full_ratio or 0.0) >= QUEUE_FULL_RATIO
        or (evidence.queue_growth_ratio or 0.0) >= OUTRUN_RATIO
        or evidence.offered_records_per_s is not None
    )
    in_flight = evidence.in_flight_requests
    if not has_more_to_send or (in_flight is not None and in_flight < IDLE_IN_FLIGHT):
        return None
    if (shared := broker_on_a_busy_host(used)) is not None:
        return shared
    if in_flight is not None:
        return f"{in_flight:.1f} requests on average waited for the broker while the client had more to send"
    return None


def _client_buffer(evidence: Evidence) -> str | None:
    if evidence.offered_records_per_s is None and latency_is_buffer(evidence):
        return (
            f"the {(evidence.queued_bytes or 0) / 1e6:.1f} MB of queued records "
            f"take {evidence.buffer_latency_ms:.0f} ms at {evidence.mb_per_s:.1f} MB/s, "
            f"and the mean latency is {evidence.mean_latency_ms:.0f} ms: "
            "the client's buffer is full"
        )
    if (evidence.queue_full_ratio or 0.0) < QUEUE_FULL_RATIO:
        return None
    full = percent(evidence.queue_full_ratio)
    return f"the client's queue was full {full} of the time while the broker had time to spare"


def _generator_by_exclusion(evidence: Evidence) -> str | None:
    """Return why the load generator was the limit, once every other cause is ruled out; None if evidence is missing.

    The client's queue was not full, although neither the client's thread nor the network nor the broker was at its
    limit. So the load generator did not send fast enough. If the queue grew a little, its length only fluctuated.
    """
    known = (evidence.queue_full_ratio, evidence.in_flight_requests, evidence.resources.client_thread_demand_ratio)
    if evidence.offered_records_per_s is not None or None in known:
        return None
    return (
        "neither the client's thread nor the network nor the broker was at its limit, but the client's queue was full "
        f"only {percent(evidence.queue_full_ratio)} of the time"
    )


_SIGNS: Final[Signs[Evidence]] = (
    (Bottleneck.QUOTA, lambda evidence: quota(evidence.throttle_ms)),
    (Bottleneck.OFFERED_RATE, _offered_rate),
    (
        Bottleneck.OTHER_PROCESSES,
        lambda evidence: other_processes(evidence.resources, evidence.consumer_cpu_cores or 0.0),
    ),
    (Bottleneck.GENERATOR, _generator),
    (Bottleneck.CLIENT_THREAD, _client_thread),
    (Bottleneck.NETWORK, _network),
    (Bottleneck.BROKER, _broker),
    (Bottleneck.CLIENT_BUFFER, _client_buffer),
    (Bottleneck.GENERATOR, _generator_by_exclusion),
)
