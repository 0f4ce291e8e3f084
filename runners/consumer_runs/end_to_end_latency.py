"""End-to-end latency: from the moment at which a record should be sent until a consumer has it.

The producer's load stores the partition and the offset of a sample of its records, and the consumers store when they
took which offsets. The two are joined after the load, so joining does not slow the load down, and records need no extra
bytes.
"""

import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runners.clock import NS_PER_S, NS_PER_US
from runners.consumers.consumption import Arrivals, Consumption
from runners.host_processes.processes import boot_id
from runners.measurements.end_to_end import EndToEnd, SampledDeliveries
from runners.measurements.histogram import Histogram

READINGS: Final = 5
"""How many times we ask for the time of the other clock. An answer of a Ray worker takes about 2 ms."""
_CLOCK_ERROR_RATIO: Final = 0.1
"""If the clocks may differ by a larger part of the median end-to-end latency, the measurement has a warning."""


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The difference between another clock and ours.

    Attributes:
        ahead_s: Seconds by which the other clock is ahead; negative if it is behind.
        error_s: Largest possible error of `ahead_s`.
        at_s: When the offset was measured, on our clock, in seconds.
    """

    ahead_s: float = 0.0
    error_s: float = 0.0
    at_s: float = 0.0


SAME_CLOCK: Final = ClockOffset()


def clock_id() -> str:
    """Return an id of the monotonic clock of this process. Processes with the same id read the same clock."""
    if not sys.platform.startswith("linux"):
        return socket.gethostname()
    namespace = Path("/proc/self/ns/time")  # a container may have a clock of its own
    return f"{boot_id()} {namespace.stat().st_ino if namespace.exists() else ''}"


def offset_of(ask: Callable[[], float], now: Callable[[], float], readings: int = READINGS) -> ClockOffset:
    """Measure the offset of another clock by asking for its time repeatedly.

    The other process reads its clock at some moment between our request and the arrival of its answer, so the answer is
    wrong by at most half of the round trip. The answer with the shortest round trip is used. Source: Cristian,
    "Probabilistic clock synchronization", Distributed Computing 3 (1989).

    Args:
        ask: Returns the time of the other clock, in seconds.
        now: Returns the time of our clock, in seconds.
        readings: How often to read the other clock, at least once.
    """

    def answers() -> Iterable[ClockOffset]:
        for _ in range(readings):
            before = now()
            other_s = ask()
            after = now()
            yield ClockOffset(other_s - (before + after) / 2, (after - before) / 2, (before + after) / 2)

    return min(answers(), key=lambda offset: offset.error_s)


def on_our_clock(there_ns: NDArray[np.int64], before: ClockOffset, after: ClockOffset) -> NDArray[np.int64]:
    """Convert times of the other clock to times of our clock.

    Clocks of two hosts run at slightly different speeds. We assume that the offset changes at a constant rate between
    its two measurements. If somebody changes the speed of a clock in between, the result is wrong.

    Args:
        there_ns: The times of the other clock in nanoseconds, shape (n,).
        before: The offset as measured before these times.
        after: The offset as measured after them.

    Returns:
        The times of our clock in nanoseconds, shape (n,).
    """
    near_s = there_ns / NS_PER_S - before.ahead_s
    ahead_s = np.interp(near_s, [before.at_s, max(after.at_s, before.at_s)], [before.ahead_s, after.ahead_s])
    return there_ns - np.round(ahead_s * NS_PER_S).astype(np.int64)


def end_to_end_of(
    deliveries: SampledDeliveries, consumption: Consumption, offsets: tuple[ClockOffset, ClockOffset] | None
) -> EndToEnd:
    """Join the producer's records with the consumers' arrivals.

    Args:
        deliveries: The sampled records of the producers.
        consumption: The result of the consumers, with `arrivals`.
        offsets: How far the monotonic clock of the consumers' host was ahead of the producer's before and after the
            load; None if both had the same clock.
    """
    arrivals = consumption.arrivals
    assert arrivals is not None, "consumers beside a producer note when records arrive"
    if offsets is not None:
        arrivals = replace(arrivals, at_ns=on_our_clock(arrivals.at_ns, *offsets))
    taken_ns = arrival_times(arrivals, deliveries.partitions, deliveries.offsets)
    was_taken = taken_ns >= 0
    intended, acknowledged, taken = (
        deliveries.intended_ns[was_taken],
        deliveries.acknowledged_ns[was_taken],
        taken_ns[was_taken],
    )
    counts = arrivals.last_offsets - arrivals.first_offsets + 1
    in_phase = (arrivals.at_ns >= deliveries.start_ns) & (arrivals.at_ns < deliveries.end_ns)
    seconds = (deliveries.end_ns - deliveries.start_ns) / NS_PER_S
    missing, activity = int((~was_taken).sum()), consumption.activity
    warnings = list(consumption.warnings) + list(consumption.counts.differences())
    if missing:
        warnings.append(f"no consumer took {missing:,} of {len(was_taken):,} sampled records")
    latency = Histogram.of((taken - intended) // NS_PER_US)
    error_ms = None if offsets is None else max(each.error_s for each in offsets) * 1e3
    if error_ms is not None and latency.count:
        warnings += _clock_warnings(error_ms, latency.percentile_us(0.5) / 1e3)
    return EndToEnd(
        latency=latency,
        fetch=Histogram.of((taken - acknowledged) // NS_PER_US),
        consumers=consumption.reading.consumers,
        sampled=len(was_taken),
        missing=missing,
        records_per_s=float(counts[in_phase].sum()) / seconds,
        behind_records=_records_behind(deliveries, arrivals),
        client_cpu_ms_per_mb=consumption.client_cpu_ms_per_mb,
        fetch_records=activity.fetch_records if activity else None,
        fetch_bytes=activity.fetch_bytes if activity else None,
        taken=consumption.counts.taken,
        repeated=consumption.counts.repeated,
        clock_error_ms=error_ms,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _clock_warnings(error_ms: float, p50_ms: float) -> list[str]:
    """Return a warning if the two clocks may differ by a large part of the median latency; nothing if they do not."""
    if error_ms <= _CLOCK_ERROR_RATIO * p50_ms:
        return []
    return [
        f"the end-to-end latency (median {p50_ms:.2f} ms) may be wrong by {error_ms:.2f} ms, because producer and "
        "consumers have the clocks of two hosts"
    ]


def arrival_times(arrivals: Arrivals, partitions: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return when each record was first taken, in ns of the monotonic clock; -1 for a record that was not taken.

    Args:
        arrivals: When the consumers took which records.
        partitions: Partition of each record, shape (n,).
        offsets: Offset of each record, shape (n,).

    Returns:
        The times, shape (n,).
    """
    at_ns = np.full(len(offsets), -1, dtype=np.int64)
    for partition in np.unique(partitions).tolist():
        runs = np.flatnonzero(arrivals.partitions == partition)
        wanted = np.flatnonzero(partitions == partition)
        if not len(runs):
            continue
        # If records came twice, runs of offsets overlap. We need the earliest run that has an offset, so runs are
        # sorted by their first offset and then by their time.
        order = runs[np.lexsort((-arrivals.at_ns[runs], arrivals.first_offsets[runs]))]
        run = np.searchsorted(arrivals.first_offsets[order], offsets[wanted], side="right") - 1
        inside = run >= 0
        inside[inside] = arrivals.last_offsets[order][run[inside]] >= offsets[wanted][inside]
        at_ns[wanted[inside]] = arrivals.at_ns[order][run[inside]]
    return at_ns


def _records_behind(deliveries: SampledDeliveries, arrivals: Arrivals) -> int:
    """Return how many records were acknowledged and not taken at the end of the phase, from the sampled offsets."""
    behind = 0
    before = deliveries.acknowledged_ns < deliveries.end_ns
    for partition in np.unique(deliveries.partitions).tolist():
        sampled, runs = deliveries.partitions == partition, arrivals.partitions == partition
        acknowledged = deliveries.offsets[before & sampled]
        taken = arrivals.last_offsets[runs & (arrivals.at_ns < deliveries.end_ns)]
        if len(acknowledged):
            # The topic may hold older records. Without a record that was taken in time, count from the first one that
            # was taken later or sampled.
            first = np.concatenate((arrivals.first_offsets[runs], deliveries.offsets[sampled])).min()
            behind += max(0, int(acknowledged.max()) - int(taken.max() if len(taken) else first - 1))
    return behind
