"""The result of an end-to-end measurement, which `runners.consumer_runs.end_to_end_latency` computes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runners.measurements.histogram import Histogram


@dataclass(frozen=True, slots=True, eq=False)
class SampledDeliveries:
    """A sample of the records of a measured phase that were acknowledged. Times are of this host's monotonic clock.

    Attributes:
        partitions: Partition of each record, shape (n,).
        offsets: Offset of each record, shape (n,).
        intended_ns: When each record was meant to leave; at saturation, when the client got it. Shape (n,).
        acknowledged_ns: When the acknowledgement of each record arrived, shape (n,).
        start_ns: Start of the measured phase.
        end_ns: End of the measured phase.
    """

    partitions: NDArray[np.int32]
    offsets: NDArray[np.int64]
    intended_ns: NDArray[np.int64]
    acknowledged_ns: NDArray[np.int64]
    start_ns: int
    end_ns: int

    def within(self, start_ns: int, end_ns: int) -> "SampledDeliveries":
        """Return the records that were meant to leave in a phase, from `start_ns` on and before `end_ns`."""
        inside = (self.intended_ns >= start_ns) & (self.intended_ns < end_ns)
        return SampledDeliveries(
            self.partitions[inside],
            self.offsets[inside],
            self.intended_ns[inside],
            self.acknowledged_ns[inside],
            start_ns,
            end_ns,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EndToEnd:
    """The end-to-end latencies of a measurement, and the counts of its consumers.

    Attributes:
        latency: Times from the intended send time of a record until a consumer had it.
        fetch: Times from the acknowledgement of a record until a consumer had it. A consumer may have a record before
            the producer has its acknowledgement; then this time counts as the shortest that a histogram has.
        consumers: Number of consumers.
        sampled: Number of records of which the producer noted the offset.
        missing: Number of these records that no consumer has taken.
        records_per_s: Records that all consumers took per second of the producer's measured phase.
        behind_records: Records that were acknowledged and not yet taken at the end of that phase.
        client_cpu_ms_per_mb: CPU milliseconds of the consumers' processes per megabyte of values; None if unknown.
        fetch_records: Mean number of records that a fetch brought; None if unknown.
        fetch_bytes: Mean number of bytes that a fetch brought, as the broker sent them; None if unknown.
        taken: Records that the consumers took in the whole run, warm-up included; repeated records count again.
        repeated: Records that came twice, or out of order within their partition.
        clock_error_ms: How far each of these times may be wrong, because the consumers ran on another host, whose clock
            was compared with the producer's; None if they ran on the producer's host.
        warnings: Sentences about anything that weakens these values.
    """

    latency: Histogram
    fetch: Histogram
    consumers: int
    sampled: int
    missing: int
    records_per_s: float
    behind_records: int
    client_cpu_ms_per_mb: float | None
    fetch_records: float | None
    fetch_bytes: float | None
    taken: int
    repeated: int
    clock_error_ms: float | None = None
    warnings: tuple[str, ...] = ()
