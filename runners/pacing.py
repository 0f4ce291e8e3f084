"""Open-loop pacing: a schedule that says at which moment each record is due.

The schedule is fixed before the run, and the system under test can't change it. A sender that falls behind sends late
but never skips a record, and each record keeps its intended send time. So a stall shows in the latency of every record
that it delayed (no coordinated omission).
"""

import numpy as np
from numpy.typing import NDArray

from runners.clock import NS_PER_S


class Schedule:
    """Send times of records at a fixed rate: record k, counted from 0, is due `k / rate` seconds after the start."""

    def __init__(self, rate_records_per_s: float, start_ns: int) -> None:
        """Make a schedule that begins at `start_ns` on the benchmark's clock."""
        self._rate = rate_records_per_s
        self._start_ns = start_ns

    def due(self, now_ns: int) -> int:
        """Return how many records are due at `now_ns`: those with an intended send time at or before it."""
        if now_ns < self._start_ns:
            return 0
        # The division may be wrong by one record, so we start earlier and compare the next intended times exactly.
        first = max(0, int((now_ns - self._start_ns) * self._rate / NS_PER_S) - 1)
        return first + int(np.count_nonzero(self.intended_ns(first, 4) <= now_ns))

    def intended_ns(self, first: int, count: int) -> NDArray[np.int64]:
        """Return the intended send times of `count` records, in nanoseconds, shape (count,).

        `first` is the number of the first of these records, counted from 0.
        """
        numbers = np.arange(first, first + count, dtype=np.float64)
        # Rounded up, so that a record is never due too early.
        return self._start_ns + np.ceil(numbers * (NS_PER_S / self._rate)).astype(np.int64)
