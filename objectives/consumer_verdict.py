"""The verdict on a load of consumers: what limited their throughput.

The causes are checked in the order of `_SIGNS`, and the first that applies is the verdict:

1. A quota, and consumers that had read everything that was written: these are certain.
2. Other processes, because threads that wait for a core look busier than they are.
3. Our own thread that takes records, if records were nearly always waiting for it.
4. The client's thread, then a client that sent no fetch requests although there was no record to take.
5. The broker if it is busy, the network, and then a broker that answers slowly.
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
from runners.consumers.consumption import Consumption
from runners.consumers.reading import Start
from runners.measurements.resources import Resources
from runners.reporting import percent

HARDLY_WAITED_RATIO: Final = 0.1
"""A thread that waits for records less than this share of the time was busy: it took records as fast as it could."""
FEW_IN_FLIGHT: Final = 0.5
"""If fewer requests than this are in flight on average, the client has no fetch request open most of the time."""
RECEIVING_RATIO: Final = 0.9
"""A connection that was receiving in this share of the samples was practically never idle between two fetches."""


@dataclass(frozen=True, slots=True)
class ReadEvidence:
    """The inputs of `judge_reading`. None means unknown; an unknown value counts neither for nor against a cause.

    Attributes:
        records_per_s: Rate at which records were taken.
        waiting_ratio: Share of the time in which there was no record to take.
        at_tail: Whether the consumers began at the tail, so that they could read only what was being written.
        lag_records: Mean number of records behind the end of the partitions.
        in_flight_requests: Mean number of requests of a consumer that waited for a response.
        throttle_ms: Mean time for which brokers throttled the client, per response.
        receiving_ratio: Share of the time in which the busiest connection was receiving.
        resources: The use of CPU by our threads, the clients, local brokers and this host.
    """

    records_per_s: float
    waiting_ratio: float
    at_tail: bool = False
    lag_records: float | None = None
    in_flight_requests: float | None = None
    throttle_ms: float | None = None
    receiving_ratio: float | None = None
    resources: Resources = field(default_factory=Resources)

    @classmethod
    def of(cls, consumption: Consumption) -> Self:
        """Return the evidence from the result of a load."""
        activity = consumption.activity
        return cls(
            records_per_s=consumption.records_per_s,
            waiting_ratio=consumption.waiting_ratio,
            at_tail=consumption.reading.start is Start.TAIL,
            lag_records=activity.lag_records if activity else None,
            in_flight_requests=activity.in_flight_requests if activity else None,
            throttle_ms=activity.throttle_ms if activity else None,
            receiving_ratio=activity.receiving_ratio if activity else None,
            resources=consumption.resources,
        )


def judge_reading(evidence: ReadEvidence) -> Verdict:
    """Return the verdict on a load of consumers: what limited their throughput."""
    found = first_sign(evidence, _SIGNS)
    return Verdict(*(found or (Bottleneck.UNKNOWN, "no limit that the load can measure was reached")))


def _written(evidence: ReadEvidence) -> str | None:
    lag = evidence.lag_records
    if not evidence.at_tail or lag is None or lag > CLOSE_BEHIND_S * evidence.records_per_s:
        return None
    if not evidence.records_per_s:
        return "nothing was written to the topic, so there was nothing to read"
    behind_ms = lag / evidence.records_per_s * 1e3
    return (
        f"the consumers read what was written, and were {lag:,.0f} records ({behind_ms:,.0f} ms) behind on average, so "
        "the producers were the limit"
    )


def _generator(evidence: ReadEvidence) -> str | None:
    if evidence.waiting_ratio >= HARDLY_WAITED_RATIO:
        return None
    return (
        f"the thread that takes records waited for them only {percent(evidence.waiting_ratio)} of the time, so it took "
        f"them as fast as it could{on_a_busy_host(evidence.resources)}"
    )


def _client_thread(evidence: ReadEvidence) -> str | None:
    used = evidence.resources
    if (used.client_thread_demand_ratio or 0.0) < BUSY_RATIO:
        return None
    busy = f"the client's own thread needed a core {percent(used.client_thread_demand_ratio)} of the time"
    return f"{busy}: receiving and decompressing batches takes that long{on_a_busy_host(used)}"


def _client_queue(evidence: ReadEvidence) -> str | None:
    in_flight = evidence.in_flight_requests
    if in_flight is None or in_flight >= FEW_IN_FLIGHT:
        return None
    return (
        f"only {in_flight:.2f} requests on average waited for the broker, although there was no record to take "
        f"{percent(evidence.waiting_ratio)} of the time: the client pauses fetching while its queue is full "
        "(queued.min.messages, queued.max.messages.kbytes, fetch.queue.backoff.ms)"
    )


def _network(evidence: ReadEvidence) -> str | None:
    in_flight, receiving = evidence.in_flight_requests or 0.0, evidence.receiving_ratio or 0.0
    if in_flight < IDLE_IN_FLIGHT or receiving < RECEIVING_RATIO:
        return None
    return (
        f"the busiest connection was receiving {percent(receiving)} of the time, and neither the client nor the "
        "broker was at its limit"
    )


def _answers(evidence: ReadEvidence) -> str | None:
    in_flight = evidence.in_flight_requests
    if in_flight is None or in_flight < FEW_IN_FLIGHT:
        return None
    return (
        f"{in_flight:.1f} requests on average waited for the broker's answer; a client sends the next request to a "
        "broker only after that"
    )


_SIGNS: Final[Signs[ReadEvidence]] = (
    (Bottleneck.QUOTA, lambda evidence: quota(evidence.throttle_ms)),
    (Bottleneck.OFFERED_RATE, _written),
    (Bottleneck.OTHER_PROCESSES, lambda evidence: other_processes(evidence.resources)),
    (Bottleneck.GENERATOR, _generator),
    (Bottleneck.CLIENT_THREAD, _client_thread),
    (Bottleneck.CLIENT_BUFFER, _client_queue),
    (Bottleneck.BROKER, lambda evidence: busy_broker(evidence.resources)),
    (Bottleneck.BROKER, lambda evidence: broker_on_a_busy_host(evidence.resources)),
    (Bottleneck.NETWORK, _network),
    (Bottleneck.BROKER, _answers),
)
