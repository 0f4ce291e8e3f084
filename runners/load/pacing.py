"""Open-loop pacing: a schedule that says at which moment each record is due.

The schedule is fixed before the run, and the system under test can't change it. A sender that falls behind sends late
but never skips a record, and each record keeps its intended send time. So a stall shows in the latency of every record
that it delayed (no coordinated omission).

**Bursts.** With a `peak_ratio` above 1, half of the records leave in bursts, in which the rate is that many times the
mean rate. The other half is spread over the time between the bursts. A burst lasts about a second, and the measured
phase has a whole number of bursts and of the times between them, so that its mean rate is the fixed rate.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from runners.clock import NS_PER_S
from runners.workload import Workload

Times = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bursts:
    """How bursts shift the send times of a constant rate.

    Each period begins with a burst. The first half of the period's records leave during the burst, and the second half
    evenly between the burst and the next period.

    Attributes:
        peak_ratio: The rate in a burst, divided by the mean rate; above 1.
        period_s: Seconds from the beginning of a burst to the beginning of the next burst.
        origin_s: When one of the periods begins, in seconds after the start.
    """

    peak_ratio: float
    period_s: float
    origin_s: float

    @classmethod
    def of(cls, workload: Workload) -> Self | None:
        """Return the bursts of a workload; None if its rate is constant."""
        if workload.peak_ratio <= 1:
            return None
        count = max(1, round(workload.measured_s / (2 * workload.peak_ratio)))
        return cls(workload.peak_ratio, workload.measured_s / count, workload.warmup_s)

    @property
    def _burst_s(self) -> float:
        return self.period_s / (2 * self.peak_ratio)

    def shifted(self, even_s: Times) -> Times:
        """Convert send times at a constant rate to send times with bursts, both in seconds after the start."""
        half, burst = self.period_s / 2, self._burst_s
        whole, within = self._split(even_s + self._even(np.array([-self.origin_s]))[0])
        slow = burst + (within - half) * (self.period_s - burst) / half
        return self.origin_s + whole + np.where(within < half, within / self.peak_ratio, slow)

    def even(self, at_s: float) -> float:
        """Convert one send time with bursts to the send time at a constant rate: the inverse of `shifted`."""
        moments = np.array([at_s - self.origin_s, -self.origin_s])
        now, start = self._even(moments)
        return float(now - start)

    def _even(self, since_origin_s: Times) -> Times:
        half, burst = self.period_s / 2, self._burst_s
        whole, within = self._split(since_origin_s)
        slow = half + (within - burst) * half / (self.period_s - burst)
        return whole + np.where(within < burst, within * self.peak_ratio, slow)

    def _split(self, seconds: Times) -> tuple[Times, Times]:
        """Return when the period of each moment began, and how long ago that was, in seconds."""
        whole = np.floor(seconds / self.period_s) * self.period_s
        return whole, seconds - whole


class Schedule:
    """Send times of records at a fixed rate: record k, counted from 0, is due `k / rate` seconds after the start.

    Bursts shift these times.
    """

    def __init__(self, rate_records_per_s: float, start_ns: int, bursts: Bursts | None = None) -> None:
        """Make a schedule that begins at `start_ns` on the clock of the load."""
        self._rate, self._bursts = rate_records_per_s, bursts
        self._start_ns = start_ns

    def due(self, now_ns: int) -> int:
        """Return how many records are due at `now_ns`: those with an intended send time at or before it."""
        if now_ns < self._start_ns:
            return 0
        seconds = (now_ns - self._start_ns) / NS_PER_S
        if self._bursts is not None:
            seconds = self._bursts.even(seconds)
        # The product may be wrong by one record, so we start earlier and compare the next intended times exactly.
        first = max(0, int(seconds * self._rate) - 1)
        return first + int(np.count_nonzero(self.intended_ns(first, 4) <= now_ns))

    def intended_ns(self, first: int, count: int) -> NDArray[np.int64]:
        """Return the intended send times of `count` records, in nanoseconds, shape (count,).

        `first` is the number of the first of these records, counted from 0.
        """
        numbers = np.arange(first, first + count, dtype=np.float64)
        # Rounded up, so that a record is never due too early.
        if self._bursts is None:
            return self._start_ns + np.ceil(numbers * (NS_PER_S / self._rate)).astype(np.int64)
        return self._start_ns + np.ceil(self._bursts.shifted(numbers / self._rate) * NS_PER_S).astype(np.int64)
