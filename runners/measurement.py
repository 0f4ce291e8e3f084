"""What one run of one config under one workload gave: immutable values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from runners.histogram import Histogram
from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig

LATENCY_AGREEMENT_RATIO: Final = 0.03
"""Seen and internal mean latency must agree this well. Source: VU thesis, section on metric validation: 3 %."""


class Phase(StrEnum):
    """What part of a run a window belongs to."""

    WARMUP = "warmup"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class Window:
    """A second or less of a run, as it ends.

    Attributes:
        number: Counting from 0 over both phases.
        phase: Whether it counts.
        at_s: Seconds from the start of the load to the window's end.
        duration_s: Its length.
        records: Records acknowledged in it.
        value_bytes: Their values' size.
        failed: Records given up in it.
        queue_full_ratio: Share of its time in which the sender waited for room in the client's queue.
        latency: Latencies of the sampled records acknowledged in it.
        total_windows: How many windows the run has when nothing stops it.
    """

    number: int
    phase: Phase
    at_s: float
    duration_s: float
    records: int
    value_bytes: float
    failed: int
    queue_full_ratio: float
    latency: Histogram
    total_windows: int

    @property
    def records_per_s(self) -> float:
        """Acknowledged records per second."""
        return self.records / self.duration_s

    @property
    def mb_per_s(self) -> float:
        """Acknowledged value bytes per second, in millions."""
        return self.value_bytes / self.duration_s / 1e6


@dataclass(frozen=True, slots=True)
class TimePoint:
    """One window, boiled down for the record."""

    at_s: float
    phase: Phase
    records_per_s: float
    p50_ms: float
    p99_ms: float
    queue_full_ratio: float

    @classmethod
    def of(cls, window: Window) -> Self:
        """The essence of a window."""
        return cls(
            at_s=window.at_s,
            phase=window.phase,
            records_per_s=window.records_per_s,
            p50_ms=window.latency.percentile_us(0.5) / 1e3,
            p99_ms=window.latency.percentile_us(0.99) / 1e3,
            queue_full_ratio=window.queue_full_ratio,
        )


@dataclass(frozen=True, slots=True)
class Counts:
    """Three independent counts of the whole run, warm-up and flush included.

    Attributes:
        handed_over: Records that the client took from us.
        acknowledged: Good deliveries we saw.
        failed: Records the client gave up, by librdkafka's error name.
        transmitted: Records the client's statistics say it wrote into requests, repeats included; None if not told.
        retries: Requests sent again, by the client's statistics.
        stored: Growth of the topic's end offsets; None if it could not be read.
        acks: The config's `acks`: 0, 1 or -1 (all).
        idempotent: Whether retries can't duplicate.
        sole_writer: Whether nobody but this run writes to the topic (one that we own).
    """

    handed_over: int
    acknowledged: int
    failed: Mapping[str, int]
    transmitted: int | None
    retries: int
    stored: int | None
    acks: int
    idempotent: bool
    sole_writer: bool

    @property
    def failed_records(self) -> int:
        """Records the client gave up, all errors together."""
        return sum(self.failed.values())

    @property
    def agree(self) -> bool:
        """Whether all counts that could be taken say the same."""
        return not self.differences()

    def differences(self) -> tuple[str, ...]:
        """Each disagreement as a sentence that says what it is; empty when all counts agree."""
        found = [f"{count:,} records failed: {error}" for error, count in sorted(self.failed.items())]
        missing = self.handed_over - self.acknowledged - self.failed_records
        if missing:
            found.append(f"{missing:,} records handed over were neither acknowledged nor given up before the run ended")
        if self.transmitted is not None and self.transmitted != self.acknowledged:
            found.append(self._transmitted(self.transmitted - self.acknowledged))
        if self.stored is not None and self.stored != self.acknowledged:
            found.append(self._stored(self.stored - self.acknowledged))
        return tuple(found)

    def _transmitted(self, more: int) -> str:
        if more < 0:
            return f"the client's statistics count {-more:,} records fewer than were acknowledged"
        cause = f"{self.retries:,} requests were retried" if self.retries else "records in failed requests"
        return f"the client transmitted {more:,} records more than were acknowledged: {cause}"

    def _stored(self, more: int) -> str:
        if not self.sole_writer:
            return f"the topic grew by {more:+,} records against those acknowledged: other writers use it too"
        if more < 0 and self.acks == 0:
            return f"{-more:,} records were lost on the way: acks=0 asks for no answer, so nobody noticed"
        if more < 0:
            return f"LOSS: {-more:,} acknowledged records are not in the topic (a replica that lagged became leader?)"
        if self.retries and not self.idempotent:
            return f"{more:,} records are duplicates: requests were retried without enable.idempotence"
        return f"the topic holds {more:,} records that were never acknowledged: stored, but reported as failed"


@dataclass(frozen=True, slots=True)
class LatencyCheck:
    """Mean latency seen by us against the client's own account of it.

    Attributes:
        seen_us: Mean from hand-over to our serving of the acknowledgement (send delay taken off).
        client_us: The client's account: queue + batch + outbuf + rtt; `runners.librdkafka.statistics.Account` has the
            weights.
        queue_us: The part of `client_us` spent in the client's queue, waiting for a batch or for room in flight.
        outbuf_us: The part between a request's being built and its being on the socket.
        rtt_us: The part between the socket and the broker's response.
        drain_us: Mean time that deliveries waited for our drain thread (not part of `client_us`); None if unknown.
        batch_us: The part in which the client worked on the batch: built, compressed and checksummed it, and took it
            apart again. Its statistics leave that out (`int_latency` ends where building begins, `outbuf_latency`
            begins where it ended), so it is estimated: user-mode CPU of its threads per record x records of a batch.
            None where this platform does not tell.
    """

    seen_us: float
    client_us: float
    queue_us: float
    outbuf_us: float
    rtt_us: float
    drain_us: float | None
    batch_us: float | None = None

    @property
    def difference_ratio(self) -> float:
        """How far the seen mean lies from the client's, relative to the client's; NaN if either is missing."""
        return (self.seen_us - self.client_us) / self.client_us if self.client_us else math.nan

    @property
    def agrees(self) -> bool | None:
        """Whether the two agree within 3 %; None if either is missing."""
        difference = self.difference_ratio
        return None if math.isnan(difference) else abs(difference) <= LATENCY_AGREEMENT_RATIO


@dataclass(frozen=True, slots=True)
class Resources:
    """Use of CPU and sockets in the measured phase. Ratios are of one core or of the elapsed time; None is not known.

    A thread's demand is what it used and what it was ready to use but did not get, others having the cores: on a shared
    host only the demand tells whether it could have done more.

    Attributes:
        sender_cpu_ratio: Our sending thread.
        sender_demand_ratio: Its demand.
        drain_cpu_ratio: Our thread that serves deliveries.
        drain_demand_ratio: Its demand.
        client_thread_cpu_ratio: The busiest of the client's own threads (building, compressing, sending batches).
        client_thread_demand_ratio: The largest demand among these.
        client_user_demand_cores: User-mode part of the demand of all these, in cores: building, compressing, checksums.
        process_cpu_cores: The whole load-generating process, in cores.
        host_cpu_ratio: This host, of all its cores.
        host_cores: How many it has.
        broker_cpu_cores: All local brokers together, in cores.
        broker_thread_cpu_ratio: The busiest thread of a local broker.
        broker_thread_demand_ratio: The largest demand among its threads.
        network_limited_ratio: The connection most held back by the network: share of time with unsent data that neither
            the receiver's window nor the send buffer explains.
        receiver_limited_ratio: The connection most held back by a receiver that does not read.
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


@dataclass(frozen=True, slots=True)
class ClientActivity:
    """What the client's statistics tell of the measured phase.

    Attributes:
        queue_full_ratio: Share of the time in which our sender waited for room in the client's queue.
        queue_growth_ratio: Records by which the queues grew, per record acknowledged: the sender was that much faster.
        queued_records: Mean records in the client's queues, those in flight included.
        queued_bytes: Mean size of these.
        in_flight_requests: Mean requests awaiting a response, all brokers.
        throttle_ms: Mean time per response that brokers told the client to hold back.
        wire_bytes: Bytes sent to brokers, after compression.
        batch_records: Mean records of a produce batch.
        batch_bytes: Mean size of a produce batch on the wire.
        retries: Requests sent again.
        partitions_used: Partitions that got at least a tenth of their fair share.
    """

    queue_full_ratio: float
    queue_growth_ratio: float
    queued_records: float
    queued_bytes: float
    in_flight_requests: float
    throttle_ms: float
    wire_bytes: int | None
    batch_records: float
    batch_bytes: float
    retries: int
    partitions_used: int | None


@dataclass(frozen=True, slots=True)
class Origin:
    """With what a measurement was taken.

    Attributes:
        generator: `native`, `python`, or `simulated`.
        client_version: Version of the client library.
        cluster: Kind of cluster.
        topic: Topic written to.
        started_at: UTC, ISO 8601.
        payload_zlib_ratio: Compressed over plain size of the payload under zlib level 6.
    """

    generator: str
    client_version: str
    cluster: str
    topic: str
    started_at: str
    payload_zlib_ratio: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """The outcome of one run.

    Attributes:
        config: What was measured.
        workload: Under which load.
        origin: With what it was taken.
        duration_s: Length of the measured phase as it was.
        records: Records acknowledged in the measured phase.
        value_bytes: Size of their values (keys and framing not counted).
        latency: Microseconds from the intended send time to the acknowledgement, sampled. Paced: of all records meant
            to leave in the measured phase, however late they were. Saturating: of those acknowledged in it, as a full
            queue may take none for seconds. With acks=0 it is the local hand-off only (see `latency_is_local`).
        send_delay: Microseconds from the intended send time to the hand-over, all records; empty for a saturating load.
        sample_ratio: Share of deliveries whose latency was taken.
        counts: The three counts.
        latency_check: The two latencies; None without client statistics.
        resources: CPU and sockets.
        activity: The client's own account; None without client statistics.
        series: The windows, boiled down.
        stopped_early: Whether `watch` ended the run before its time.
        warnings: Sentences for the user about what weakens the measurement.
        flush_s: Load after the last window: what the client still had to deliver, awaited.
    """

    config: ProducerConfig
    workload: Workload
    origin: Origin
    duration_s: float
    records: int
    value_bytes: float
    latency: Histogram
    send_delay: Histogram
    sample_ratio: float
    counts: Counts
    latency_check: LatencyCheck | None
    resources: Resources
    activity: ClientActivity | None
    series: tuple[TimePoint, ...]
    stopped_early: bool = False
    warnings: tuple[str, ...] = ()
    flush_s: float = 0.0

    @property
    def records_per_s(self) -> float:
        """Acknowledged records per second."""
        return self.records / self.duration_s

    @property
    def mb_per_s(self) -> float:
        """Acknowledged value bytes per second, in millions."""
        return self.value_bytes / self.duration_s / 1e6

    @property
    def latency_is_local(self) -> bool:
        """True with acks=0: nobody answers, so the latency ends when the client let go of the record."""
        return self.counts.acks == 0

    @property
    def wire_bytes_per_value_byte(self) -> float | None:
        """Bytes on the wire per byte of value; below 1 when compression wins more than framing costs."""
        if self.activity is None or self.activity.wire_bytes is None or not self.value_bytes:
            return None
        return self.activity.wire_bytes / self.value_bytes

    @property
    def broker_cpu_ms_per_mb(self) -> float | None:
        """CPU milliseconds that local brokers spent per million value bytes."""
        if self.resources.broker_cpu_cores is None or not self.value_bytes:
            return None
        return self.resources.broker_cpu_cores * 1e3 / self.mb_per_s
