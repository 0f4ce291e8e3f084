"""Histograms of durations: HdrHistogram's layout, filled a whole array at a time, mergeable.

Percentiles of several producers or windows come from merged histograms, never from other percentiles.

Source: HdrHistogram's bucket layout (hdrhistogram.org), three significant digits: a value is known within 0.1 %.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

LOWEST_US: Final = 1
HIGHEST_US: Final = 3_600_000_000
"""Values above an hour are counted as an hour; `message.timeout.ms` is minutes in practice."""
SIGNIFICANT_DIGITS: Final = 3

_HALF_BITS: Final = 10  # a sub-bucket half holds 2**10 values: 3 significant digits


def _indices(values: NDArray[np.int64]) -> NDArray[np.int64]:
    # frexp's exponent is the bit length, exact below 2**53.
    bit_length = np.frexp(values.astype(np.float64))[1].astype(np.int64)
    bucket = np.maximum(bit_length - (_HALF_BITS + 1), 0)
    indices: NDArray[np.int64] = (bucket << _HALF_BITS) + (values >> bucket)
    return indices


_SIZE: Final = int(_indices(np.array([HIGHEST_US]))[0]) + 1


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Counts of durations in microseconds; an immutable value.

    Attributes:
        counts: Occurrences per bucket of the HDR layout, shape (buckets,), int64, read-only.
        sum_us: Exact sum of the recorded values, so that the mean carries no bucket error.
    """

    counts: NDArray[np.int64]
    sum_us: int

    @staticmethod
    def of(values_us: NDArray[np.int64] | Sequence[int]) -> "Histogram":
        """Histogram of the values given, in microseconds. Values below 1 count as 1, above an hour as an hour."""
        recorder = Recorder()
        recorder.record(np.asarray(values_us, dtype=np.int64))
        return recorder.histogram()

    @classmethod
    def merge(cls, histograms: Iterable["Histogram"]) -> Self:
        """The histogram of all values of the histograms given; an empty one for none."""
        counts, total = np.zeros(_SIZE, dtype=np.int64), 0
        for histogram in histograms:
            counts += histogram.counts
            total += histogram.sum_us
        counts.flags.writeable = False
        return cls(counts, total)

    @property
    def count(self) -> int:
        """How many values were recorded."""
        return int(self.counts.sum())

    @property
    def mean_us(self) -> float:
        """Exact mean in microseconds; NaN of an empty histogram."""
        return self.sum_us / self.count if self.count else float("nan")

    def percentile_us(self, ratio: float) -> float:
        """The value that the given share (0 to 1) of all values does not exceed, in microseconds.

        Like HdrHistogram, the highest value of the bucket is given (of share 0 the lowest). NaN of an empty histogram.

        Raises:
            ValueError: `ratio` is not within 0 to 1.
        """
        if not 0.0 <= ratio <= 1.0:
            raise ValueError(f"0 <= ratio <= 1 must hold, but got ratio={ratio}")
        if not self.count:
            return float("nan")
        # As HdrHistogram does it: at least one value, and half a count of slack against rounding.
        wanted = max(1, int(ratio * self.count + 0.5))
        index = int(np.searchsorted(np.cumsum(self.counts), wanted))
        bucket = max((index >> _HALF_BITS) - 1, 0)
        lowest = (index - (bucket << _HALF_BITS)) << bucket
        return float(lowest + ((1 << bucket) - 1 if ratio else 0))

    def encoded(self) -> str:
        """HdrHistogram's compressed base64 form, which its tools in every language read."""
        hdr = HdrHistogram(LOWEST_US, HIGHEST_US, SIGNIFICANT_DIGITS)
        used = np.flatnonzero(self.counts)
        if len(used):
            # Its slots are ours: recording value by value would take tens of milliseconds.
            np.ctypeslib.as_array(hdr.counts)[: len(self.counts)] = self.counts
            hdr.set_internal_tacking_values(int(used[0]), int(used[-1]), self.count)
        return str(hdr.encode(), "ascii")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return self.sum_us == other.sum_us and bool(np.array_equal(self.counts, other.counts))

    __hash__ = None  # type: ignore[assignment]


class Recorder:
    """Fills a histogram; owned by one thread."""

    def __init__(self) -> None:
        self._counts = np.zeros(_SIZE, dtype=np.int64)
        self._sum_us = 0

    def record(self, values_us: NDArray[np.int64]) -> None:
        """Count the values given, in microseconds, shape (n,)."""
        if not len(values_us):
            return
        clipped = np.clip(values_us, LOWEST_US, HIGHEST_US)
        used, occurrences = np.unique(_indices(clipped), return_counts=True)
        self._counts[used] += occurrences
        self._sum_us += int(clipped.sum())

    def histogram(self) -> Histogram:
        """What was recorded so far; it does not change any more."""
        counts = self._counts.copy()
        counts.flags.writeable = False
        return Histogram(counts, self._sum_us)
