"""Counts how late the chunks leave a link, compared with the schedule.

The proxy must not import NumPy, which `runners.measurements.histogram` needs.
"""

from typing import Final

from runners.clock import NS_PER_US

_BUCKETS: Final = 128


class Lateness:
    """A histogram of durations from 0, with a resolution of a quarter of each power of two (in microseconds).

    Attributes:
        count: How many durations were added.
    """

    def __init__(self) -> None:
        self.count = 0
        self._counts = [0] * _BUCKETS

    def add(self, duration_ns: int) -> None:
        """Add a duration in nanoseconds. A negative one counts as 0."""
        us = max(duration_ns, 0) // NS_PER_US
        shift = max(us.bit_length() - 3, 0)
        self._counts[min(4 * shift + (us >> shift), _BUCKETS - 1)] += 1
        self.count += 1

    def percentile_us(self, ratio: float) -> int | None:
        """Return the whole microseconds that a share of `ratio` of all durations does not exceed.

        The result is rounded up to the end of its bucket, which is at most a quarter more. It is None if no duration
        was added.
        """
        left = ratio * self.count
        for index, count in enumerate(self._counts):
            left -= count
            if count and left <= 0:
                shift = max(index // 4 - 1, 0)
                return ((index - 4 * shift + 1) << shift) - 1
        return None
