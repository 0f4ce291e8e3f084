"""The result of one run of one config under one workload, as immutable values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Self

from runners.measurements.end_to_end import EndToEnd, SampledDeliveries
from runners.measurements.histogram import Histogram
from runners.measurements.resources import Resources, cpu_ms_per_mb
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig

LATENCY_AGREEMENT_RATIO: Final = 0.03
"""Largest relative difference at which the mean latency that we measure agrees with the client's own statistics.

Source: VU thesis, metric validation: 3 %.
"""
_FAIR_SHARE_RATIO: Final = 0.1


class WindowKind(StrEnum):
    """Whether a window belongs to the warm-up, which does not count, or is measured."""

    WARMUP = "warmup"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadWindow:
    """A part of a load, at most a second long, and the records that were moved in it.

    Attributes:
        number: Number of the window, counted from 0 through the whole load.
        phase: Whether the window belongs to the warm-up or is measured. Only measured windows count.
        at_s: Seconds from the start of the load to the end of the window.
        duration_s: Length of the window in seconds.
        records: Number of records: acknowledged by the cluster, or taken by a consumer.
        value_bytes: Size of the values of these records.
        total_windows: Number of windows that the whole load has if nothing stops it.
    """

    number: int
    phase: WindowKind
    at_s: float
    duration_s: float
    records: int
    value_bytes: float
    total_windows: int

    @property
    def records_per_s(self) -> float:
        """Records per second."""
        return self.records / self.duration_s

    @property
    def mb_per_s(self) -> float:
        """Value bytes per second, in millions."""
        return self.value_bytes / self.duration_s / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(LoadWindow):
    """A part of a run, at most a second long, and what happened in it. Its records are the acknowledged ones.

    Attributes:
        failed: Number of records that the client failed to deliver in the window.
        queue_full_ratio: Share of the window in which the sender waited for room in the client's queue.
        latency: Latencies of a sample of the records acknowledged in the window.
    """

    failed: int
    queue_full_ratio: float
    latency: Histogram


@dataclass(frozen=True, slots=True)
class TimePoint:
    """Summary of one window, as a measurement stores it.

    Attributes:
        at_s: Seconds from the start of the load to the end of the window.
        phase: Whether the window belongs to the warm-up or is measured.
        records_per_s: Acknowledged records per second.
        p50_ms: Median latency.
        p99_ms: 99th percentile of the latency.
        queue_full_ratio: Share of the window in which the sender waited for room in the client's queue.
    """

    at_s: float
    phase: WindowKind
    records_per_s: float
    p50_ms: float
    p99_ms: float
    queue_full_ratio: float

    @classmethod
    def of(cls, window: Window) -> Self:
        """Return the summary of a window."""
        p50_us, p99_us = window.latency.percentiles_us(0.5, 0.99)
        return cls(
            at_s=window.at_s,
            phase=window.phase,
            records_per_s=window.records_per_s,
            p50_ms=p50_us / 1e3,
            p99_ms=p99_us / 1e3,
            queue_full_ratio=window.queue_full_ratio,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Numbers of records of a whole run, as counted by us, by the client library and by the topic.

    Warm-up and flush are included.

    Attributes:
        handed_over: Records that the client accepted from us.
        acknowledged: Successful deliveries that the client reported to us.
        failed: Number of records that the client failed to deliver, by the client's name for the error.
        transmitted: Records that the client wrote into requests, including those sent again, according to its
            statistics; None if unknown.
        retries: Requests that the client sent again, according to its statistics. The Java client counts the records
            of such requests; then this is their number, divided by the records of a batch.
        stored: Growth of the topic's end offsets; None if they could not be read.
        acks: The config's `acks`: 0, 1 or -1 (all).
        idempotent: Whether the producer is idempotent, so that retries can't cause duplicates.
        sole_writer: Whether only this run writes to the topic, because we created the topic.
        purged: Number of failed records that we made the client give up, because it still held them a minute after the
            load.
    """

    handed_over: int
    acknowledged: int
    failed: Mapping[str, int]
    transmitted: int | None
    retries: int
    stored: int | None = None
    acks: int
    idempotent: bool
    sole_writer: bool = False
    purged: int = 0

    @property
    def failed_records(self) -> int:
        """Number of records that the client failed to deliver, for any reason."""
        return sum(self.failed.values())

    @property
    def agree(self) -> bool:
        """Whether all known counts of the records agree."""
        return not self.differences()

    def differences(self) -> tuple[str, ...]:
        """Return one sentence for each disagreement between the counts; the result is empty if all counts agree."""
        sentences = [f"{count:,} records failed: {error}" for error, count in sorted(self.failed.items())]
        if self.purged:
            sentences.append(
                f"{self.purged:,} of them were still in the client's queue a minute after the load, and were given up; "
                "they do not count as lost"
            )
        missing = self.handed_over - self.acknowledged - self.failed_records
        if missing:
            sentences.append(
                f"{missing:,} accepted records were neither acknowledged nor given up before the run ended"
            )
        if self.transmitted is not None and self.transmitted != self.acknowledged:
            sentences.append(self._transmitted(self.transmitted - self.acknowledged))
        if self.stored is not None and self.stored != self.acknowledged:
            sentences.append(self._stored(self.stored - self.acknowledged))
        return tuple(sentences)

    def _transmitted(self, more: int) -> str:
        if more < 0:
            return f"the client's statistics count {-more:,} records fewer than were acknowledged"
        cause = f"{self.retries:,} requests were retried" if self.retries else "requests failed"
        return f"the client transmitted {more:,} records more than were acknowledged: {cause}"

    def _stored(self, more: int) -> str:
        if not self.sole_writer:
            return f"the topic's growth differs from the acknowledged records by {more:+,}: other producers write to it"
        if more < 0 and self.acks == 0:
            return (
                f"{-more:,} records were lost on the way: with acks=0 the broker sends no response, so the client saw "
                "no loss"
            )
        if more < 0:
            return f"LOSS: {-more:,} acknowledged records are not in the topic (did a lagging replica become leader?)"
        if self.retries and not self.idempotent:
            return f"{more:,} records are duplicates: requests were retried without enable.idempotence"
        return f"the topic holds {more:,} records that were never acknowledged: stored, but reported as failed"


@dataclass(frozen=True, slots=True)
class LatencyCheck:
    """The mean latency that we measured, compared with the mean latency in the client's own statistics.

    Attributes:
        seen_us: The mean that we measured, from the moment when the client accepted a record until our thread handled
            its acknowledgement.
        client_us: The mean in the client's statistics: the sum of its times in queue, batch, output buffer and round
            trip. `runners.librdkafka.statistics.SendAccount` describes how they are weighted. For the Java client, see
            `runners.java_client.java_runner.latency_check_of`.
        queue_us: The part of `client_us` in which a record waited in the client's queue, for its batch to be closed or
            for an earlier request to be answered.
        outbuf_us: The part of `client_us` between building a request and writing it to the socket.
        rtt_us: The part of `client_us` between writing a request to the socket and the broker's response.
        drain_us: Mean time that delivery reports waited for our thread that handles them; None if unknown. This time is
            not part of `client_us`.
        batch_us: The part of `client_us` in which the client worked on a batch: building, compressing and checksumming
            it, and later handling its deliveries. librdkafka's statistics leave it out, because `int_latency` ends
            where building begins, and `outbuf_latency` begins where building has ended. We estimate it as the user-mode
            CPU of the client's threads per record, times the records of a batch. None if this platform does not report
            CPU times. For the Java client, this is the mean time that a record waits for the callbacks of others.
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
        """Difference between our mean latency and the client's, relative to the client's; NaN if either is missing."""
        return (self.seen_us - self.client_us) / self.client_us if self.client_us else math.nan

    @property
    def agrees(self) -> bool | None:
        """Whether our mean latency and the client's agree within 3 %; None if either is missing."""
        difference = self.difference_ratio
        return None if math.isnan(difference) else abs(difference) <= LATENCY_AGREEMENT_RATIO


@dataclass(frozen=True, slots=True)
class ClientActivity:
    """What the client's statistics report about the measured phase.

    Attributes:
        queue_full_ratio: Share of the time in which our sender waited for room in the client's queue.
        queue_growth_ratio: Records by which the client's queues grew, per acknowledged record. It tells by how much the
            sender was faster than the deliveries.
        queued_records: Mean number of records in the client's queues, including those in flight.
        queued_bytes: Mean size of the records in the client's queues.
        in_flight_requests: Mean number of requests that await a response, over all brokers.
        throttle_ms: Mean time per response for which brokers told the client to pause (a quota).
        wire_bytes: Bytes sent to brokers, after compression; None if unknown.
        batch_records: Mean number of records in a produce batch.
        batch_bytes: Mean size of a produce batch on the wire.
        retries: Number of requests sent again.
        partitions_used: Number of partitions that received at least a tenth of their fair share; None if unknown.
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


def used_partitions(records: Sequence[int]) -> int | None:
    """Return the number of partitions that received at least a tenth of their fair share; None if none got a record.

    Args:
        records: Number of records written to each partition.
    """
    if not sum(records):
        return None
    fair = sum(records) / len(records)
    return sum(each >= fair * _FAIR_SHARE_RATIO for each in records)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where, when and by which software a measurement was taken.

    Attributes:
        generator: The load generator: `native` or `python` on librdkafka, `java`, or `simulated`.
        client_version: Version of the client library.
        cluster: Kind of cluster, and the link to it if there is one.
        topic: Topic that was written to.
        started_at: Start of the run in UTC, ISO 8601.
        payload_zlib_ratio: Compressed size of the payload, divided by its plain size, under zlib level 6.
        link_mb_per_s: Megabytes per second that the simulated link to the brokers carries; None: there is no limit.
    """

    generator: str
    client_version: str
    cluster: str
    topic: str
    started_at: str
    payload_zlib_ratio: float
    link_mb_per_s: float | None = None

    @property
    def is_simulated(self) -> bool:
        """Whether a model computed the measurement."""
        return self.generator == "simulated"


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result of one run.

    Attributes:
        config: The config that was measured.
        workload: The workload that it was measured with.
        origin: Where, when and by which software it was measured.
        duration_s: Actual length of the measured phase in seconds.
        records: Number of records acknowledged in the measured phase.
        value_bytes: Size of the values of these records; keys and framing are not counted.
        latency: Latencies of a sample of records, in microseconds from the intended send time to the acknowledgement.
            In a paced phase (records sent at a fixed rate), these records have their intended send time in the measured
            phase, however late they were sent. In a saturating phase (records sent as fast as the client accepts them),
            they were acknowledged in the measured phase, because a full queue may accept no record for seconds. With
            acks=0, the latency ends at the local hand-off (see `latency_is_local`).
        send_delay: Microseconds from the intended send time until the client was given the record, for all records;
            empty for a saturating phase.
        sample_ratio: Share of the deliveries whose latency was recorded.
        counts: The records as counted by us, by the client and by the topic.
        latency_check: Our mean latency compared with that of the client's statistics; None if the client sent none.
        resources: Use of CPU and sockets.
        activity: What the client's statistics report; None if the client sent no statistics.
        series: Summaries of all windows, in order.
        stopped_early: Whether `watch` stopped the run before its end.
        warnings: Sentences for the user about anything that weakens the measurement.
        flush_s: Seconds after the last window in which the client still delivered records.
        sent_bytes: Bytes of values and keys that were sent in the whole run; None if only the records were counted.
        end_to_end: The result of the consumers that ran beside the load; None without consumers.
        deliveries: The sampled records with their offsets, from which `end_to_end` is computed; None if it is computed
            or not wanted.
        producers: Number of producers that sent at the same time. Queues, requests and batches in `activity` are those
            of one of them, on average.
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
    sent_bytes: int | None = None
    end_to_end: EndToEnd | None = None
    deliveries: SampledDeliveries | None = field(default=None, compare=False, repr=False)
    producers: int = 1

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
        """Whether the latency covers this host only.

        With acks=0 no broker answers, so the latency ends when the client has sent the record.
        """
        return self.counts.acks == 0

    @property
    def wire_bytes_per_value_byte(self) -> float | None:
        """Bytes on the wire per byte of value; None if unknown.

        The ratio is below 1 if compression saves more than keys and framing add.
        """
        if self.activity is None or self.activity.wire_bytes is None or not self.value_bytes:
            return None
        return self.activity.wire_bytes / self.value_bytes

    @property
    def broker_cpu_ms_per_mb(self) -> float | None:
        """CPU milliseconds that local brokers used per million value bytes; None if unknown."""
        return cpu_ms_per_mb(self.resources.broker_cpu_cores, self.value_bytes, self.duration_s)

    @property
    def client_cpu_ms_per_mb(self) -> float | None:
        """CPU milliseconds per million value bytes that the process with the client used; None if unknown.

        The load generator is in that process, too.
        """
        return cpu_ms_per_mb(self.resources.process_cpu_cores, self.value_bytes, self.duration_s)


def sent_bytes_of(measurement: Measurement) -> int:
    """Return the bytes of values and keys that a run has sent; if only records were counted, about so many."""
    if measurement.sent_bytes is not None:
        return measurement.sent_bytes
    each_bytes = measurement.workload.record_sizes.mean_bytes + measurement.workload.key_bytes
    return math.ceil(measurement.counts.handed_over * each_bytes)
