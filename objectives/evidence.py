"""What a verdict is based on: a few numbers of a measurement, each of which may be unknown."""

from dataclasses import dataclass
from typing import Self

from runners.measurement import Measurement


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
        sender_demand_ratio: What our sending thread used of a core, and waited for.
        drain_demand_ratio: What our delivery thread used and waited for.
        client_thread_demand_ratio: The most that one of the client's own threads used and waited for.
        broker_cpu_cores: Local brokers, in cores.
        broker_thread_demand_ratio: The most that one thread of a local broker used and waited for.
        host_cpu_ratio: This host, of all its cores.
        host_cores: Cores of this host.
        network_limited_ratio: Share of the time in which the network held a connection back.
        receiver_limited_ratio: Share of the time in which the receiver held a connection back.
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
    sender_demand_ratio: float | None = None
    drain_demand_ratio: float | None = None
    client_thread_demand_ratio: float | None = None
    broker_cpu_cores: float | None = None
    broker_thread_demand_ratio: float | None = None
    host_cpu_ratio: float | None = None
    host_cores: int | None = None
    network_limited_ratio: float | None = None
    receiver_limited_ratio: float | None = None

    @classmethod
    def of(cls, measurement: Measurement) -> Self:
        """The evidence in a measurement."""
        resources, activity = measurement.resources, measurement.activity
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
            sender_demand_ratio=resources.sender_demand_ratio,
            drain_demand_ratio=resources.drain_demand_ratio,
            client_thread_demand_ratio=resources.client_thread_demand_ratio,
            broker_cpu_cores=resources.broker_cpu_cores,
            broker_thread_demand_ratio=resources.broker_thread_demand_ratio,
            host_cpu_ratio=resources.host_cpu_ratio,
            host_cores=resources.host_cores,
            network_limited_ratio=resources.network_limited_ratio,
            receiver_limited_ratio=resources.receiver_limited_ratio,
        )

    @property
    def buffer_latency_ms(self) -> float | None:
        """What records wait when everything queued drains at the measured rate (Little's law)."""
        if self.queued_bytes is None or not self.mb_per_s:
            return None
        return self.queued_bytes / self.mb_per_s / 1e3
