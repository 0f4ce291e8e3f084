"""Open-loop pacing: which records are due when, whatever the system under test does.

The schedule is fixed before the run. A sender that falls behind sends late, never less, and each record keeps its
intended time, so that a stall shows in the latency of every record that it delayed (no coordinated omission).
"""

import numpy as np
from numpy.typing import NDArray

from runners.clock import NS_PER_S


class Schedule:
    """Records evenly spaced at a fixed rate; record k is due `k / rate` seconds after the start."""

    def __init__(self, rate_records_per_s: float, start_ns: int) -> None:
        """A schedule that begins at `start_ns` of the clock in use."""
        self._rate = rate_records_per_s
        self._start_ns = start_ns

    def due(self, now_ns: int) -> int:
        """How many records are due at a moment: all with an intended time not after it."""
        if now_ns < self._start_ns:
            return 0
        # The estimate may be a record off at the edge; the intended times decide.
        first = max(0, int((now_ns - self._start_ns) * self._rate / NS_PER_S) - 1)
        return first + int(np.count_nonzero(self.intended_ns(first, 4) <= now_ns))

    def intended_ns(self, first: int, count: int) -> NDArray[np.int64]:
        """Intended send times of records `first` to `first + count - 1`, shape (count,), nanoseconds of the clock."""
        numbers = np.arange(first, first + count, dtype=np.float64)
        # Rounded up, so that a record is never due before its own intended time.
        return self._start_ns + np.ceil(numbers * (NS_PER_S / self._rate)).astype(np.int64)
