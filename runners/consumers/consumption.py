"""The result of a load of consumers, as immutable values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from runners.consumers.reading import Reading
from runners.measurements.measurement import LoadWindow, WindowKind
from runners.measurements.resources import Resources, cpu_ms_per_mb


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadWindow(LoadWindow):
    """A part of a load of consumers, at most a second long. It counts the records that were taken.

    Attributes:
        waiting_ratio: Share of the window in which the thread that takes records rested because there were no more
            records, on average over the consumers.
    """

    waiting_ratio: float


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """When records were taken: runs of records of one partition with ascending offsets, each taken at one moment.

    Attributes:
        partitions: Partition of each run, shape (n,).
        first_offsets: Offset of each run's first record, shape (n,).
        last_offsets: Offset of each run's last record, shape (n,). A run has every offset between the two.
        at_ns: When the run was taken, in nanoseconds of this host's monotonic clock (CLOCK_MONOTONIC), shape (n,). At
            the tail, records are taken as soon as the client has them. When a load reads from the beginning, they may
            wait in the client for up to 2 ms.
    """

    partitions: NDArray[np.int32]
    first_offsets: NDArray[np.int64]
    last_offsets: NDArray[np.int64]
    at_ns: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: Sequence["Arrivals"]) -> Self:
        """Return the runs of all parts, part by part."""
        return cls(
            np.concatenate([_NO_PARTITIONS, *(each.partitions for each in parts)]),
            np.concatenate([_NO_OFFSETS, *(each.first_offsets for each in parts)]),
            np.concatenate([_NO_OFFSETS, *(each.last_offsets for each in parts)]),
            np.concatenate([_NO_OFFSETS, *(each.at_ns for each in parts)]),
        )

    @property
    def records(self) -> int:
        """Number of records, including repeated ones."""
        return int((self.last_offsets - self.first_offsets + 1).sum())


_NO_PARTITIONS = np.empty(0, dtype=np.int32)
_NO_OFFSETS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCounts:
    """Numbers of records of a whole load, warm-up included, as counted by us, by the client and by the topic.

    Attributes:
        taken: Records that we took from the client, including repeated ones.
        repeated: Records that came twice, or out of order within their partition.
        skipped: Offsets of a partition, between the first and the last record taken from it, whose records never came.
            Transaction markers, compaction and retention cause such gaps.
        unread: Offsets before the end that were not reached when the time was over; 0 at the tail.
        stored: Number of offsets in the topic from the first to the last offset to read; None at the tail.
        received: Records that the client has received, by its own statistics; None if unknown. We may not have taken
            all of them.
        failed: Number of errors that came in place of records, by the client's name for the error.
        sole_writer: Whether only we write to the topic, so that every offset must hold a record.
        deleted: Offsets to read that retention deleted from the topic before the load ended.
    """

    taken: int
    repeated: int
    skipped: int
    unread: int
    stored: int | None
    received: int | None = None
    failed: Mapping[str, int] = field(default_factory=dict)
    sole_writer: bool = False
    deleted: int = 0

    @property
    def agree(self) -> bool:
        """Whether all known counts of the records agree."""
        return not self.differences()

    def differences(self) -> tuple[str, ...]:
        """Return one sentence for each disagreement between the counts; the result is empty if all counts agree."""
        sentences = [
            f"{count:,} errors came in place of records: {error}" for error, count in sorted(self.failed.items())
        ]
        if self.repeated:
            sentences.append(f"{self.repeated:,} records came twice, or out of order within their partition")
        if self.sole_writer and (late := min(self.skipped, self.deleted)):
            sentences.append(
                f"{late:,} records were deleted before a consumer read them: it was further behind than the topic's "
                "retention.bytes; use more consumers, or a lower rate"
            )
        if self.sole_writer and (lost := self.skipped - self.deleted) > 0:
            sentences.append(f"LOSS: {lost:,} offsets of a topic that only we write to hold no record")
        if self.stored is not None and (more := self.taken - self.repeated + self.skipped + self.unread - self.stored):
            sentences.append(f"the offsets of the topic differ from the records taken by {more:+,}")
        if self.received is not None and self._received_differ(self.received):
            sentences.append(f"the client's statistics count {self.received:,} records, but {self.taken:,} were taken")
        return tuple(sentences)

    def _received_differ(self, received: int) -> bool:
        # The client also counts records of a fetched batch that were deleted, or whose transaction was aborted.
        everything = self.stored is not None and not self.unread and not self.skipped
        return received != self.taken if everything else received < self.taken


@dataclass(frozen=True, slots=True)
class FetchActivity:
    """What the clients' statistics report about the measured phase, over all consumers.

    Attributes:
        fetches_per_s: Fetch requests per second.
        fetch_records: Mean number of records that a fetch brought; fetches that brought none count, too.
        fetch_bytes: Mean number of bytes that a fetch brought, as sent by the broker (after compression).
        fetch_ms: Mean time from sending a request until its response was read completely. A broker that has
            no new records lets a fetch wait.
        in_flight_requests: Mean number of requests of one consumer that await a response.
        throttle_ms: Mean time per response for which brokers told the client to pause (a quota).
        wire_bytes: Bytes received from brokers, after compression.
        queued_records: Mean number of records that a client had fetched and that were not taken yet.
        lag_records: Mean number of records behind the end of the partitions, over all consumers.
        receiving_ratio: Share of the time in which the busiest connection was receiving; None if unknown.
    """

    fetches_per_s: float
    fetch_records: float
    fetch_bytes: float
    fetch_ms: float
    in_flight_requests: float
    throttle_ms: float
    wire_bytes: int
    queued_records: float
    lag_records: float
    receiving_ratio: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOrigin:
    """Where, when and by which software a topic was read.

    Attributes:
        client_version: Version of the client library.
        cluster: Kind of cluster.
        topic: Name of the topic.
        partitions: Number of its partitions that were read.
        started_at: Start of the load in UTC, ISO 8601.
    """

    client_version: str
    cluster: str
    topic: str
    partitions: int
    started_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumption:
    """The result of one load of consumers, or of one of them.

    If everything was read during the warm-up, there is no measured phase, and the values are those of the warm-up.

    Attributes:
        reading: The settings of the load.
        origin: Where, when and by which software the topic was read.
        series: The windows, in order, with those of the warm-up.
        counts: The records as counted by us, by the client and by the topic.
        resources: Use of CPU and sockets in the measured phase.
        activity: What the clients' statistics report; None if they made no report in the measured phase.
        ended_s: Seconds from the start until everything was read; None if the time was over first.
        stopped_early: Whether `watch` stopped the load.
        arrivals: When each record was taken; None unless `reading.keep_arrivals`.
        warnings: Sentences for the user about anything that weakens the measurement.
    """

    reading: Reading
    origin: ReadOrigin
    series: tuple[ReadWindow, ...]
    counts: ReadCounts
    resources: Resources
    activity: FetchActivity | None
    ended_s: float | None = None
    stopped_early: bool = False
    arrivals: Arrivals | None = field(default=None, compare=False)
    warnings: tuple[str, ...] = ()

    @property
    def in_warm_up(self) -> bool:
        """Whether the values are those of the warm-up, because the load ended in it."""
        return all(window.phase is WindowKind.WARMUP for window in self.series)

    @property
    def measured(self) -> tuple[ReadWindow, ...]:
        """The windows of the measured phase, or all windows if the load ended in the warm-up."""
        return tuple(each for each in self.series if each.phase is WindowKind.MEASURED) or self.series

    @property
    def duration_s(self) -> float:
        """Total length of the `measured` windows in seconds."""
        return sum(window.duration_s for window in self.measured)

    @property
    def records(self) -> int:
        """Records taken in the `measured` windows."""
        return sum(window.records for window in self.measured)

    @property
    def value_bytes(self) -> float:
        """Size of the values of these records in bytes."""
        return sum(window.value_bytes for window in self.measured)

    @property
    def records_per_s(self) -> float:
        """Records taken per second."""
        return self.records / self.duration_s

    @property
    def mb_per_s(self) -> float:
        """Megabytes (10^6 bytes) of values taken per second."""
        return self.value_bytes / self.duration_s / 1e6

    @property
    def waiting_ratio(self) -> float:
        """Share of the time in which a consumer had no record to take, on average over the consumers."""
        return sum(window.waiting_ratio * window.duration_s for window in self.measured) / self.duration_s

    @property
    def client_cpu_ms_per_mb(self) -> float | None:
        """CPU milliseconds per million value bytes that the consumers' processes used; None if unknown."""
        return cpu_ms_per_mb(self.resources.process_cpu_cores, self.value_bytes, self.duration_s)

    @property
    def broker_cpu_ms_per_mb(self) -> float | None:
        """CPU milliseconds that local brokers used per million value bytes; None if unknown."""
        return cpu_ms_per_mb(self.resources.broker_cpu_cores, self.value_bytes, self.duration_s)
