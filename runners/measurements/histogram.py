"""Histograms of durations, which are filled from whole arrays and can be merged.

Percentiles can't be averaged. So a percentile over several producers, or over several windows (parts of a run), is
always computed from their merged histograms.

Source: HdrHistogram's bucket layout (hdrhistogram.org) with three significant digits, so a value is known within 0.1 %.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

LOWEST_US: Final = 1
HIGHEST_US: Final = 3_600_000_000
"""One hour. A longer duration is counted as one hour; in practice `message.timeout.ms` is a few minutes."""
SIGNIFICANT_DIGITS: Final = 3

_HALF_BITS: Final = 10  # half of a bucket has 2**10 sub-buckets, enough for three significant digits


def _indices(values: NDArray[np.int64]) -> NDArray[np.int64]:
    # The exponent that frexp returns is the bit length of an integer. It is exact below 2**53.
    bit_length = np.frexp(values.astype(np.float64))[1].astype(np.int64)
    bucket = np.maximum(bit_length - (_HALF_BITS + 1), 0)
    indices: NDArray[np.int64] = (bucket << _HALF_BITS) + (values >> bucket)
    return indices


def _bucket_us(index: int, *, highest: bool) -> float:
    """Return the highest value of a bucket in microseconds, or the lowest. `index` is its place in the counts."""
    bucket = max((index >> _HALF_BITS) - 1, 0)
    lowest = (index - (bucket << _HALF_BITS)) << bucket
    return float(lowest + ((1 << bucket) - 1 if highest else 0))


_SIZE: Final = int(_indices(np.array([HIGHEST_US]))[0]) + 1


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """An immutable histogram of durations in microseconds.

    Attributes:
        counts: Number of values in each bucket of the HDR layout, shape (buckets,), int64, read-only.
        sum_us: Exact sum of the recorded values. The mean is computed from it and so has no bucket error.
    """

    counts: NDArray[np.int64]
    sum_us: int

    def __post_init__(self) -> None:
        self.counts.flags.writeable = False

    @staticmethod
    def of(values_us: NDArray[np.int64] | Sequence[int]) -> "Histogram":
        """Return the histogram of `values_us`, in microseconds.

        Values below 1 count as 1, and values above an hour count as an hour.
        """
        recorder = Recorder()
        recorder.record(np.asarray(values_us, dtype=np.int64))
        return recorder.histogram()

    @classmethod
    def merge(cls, histograms: Iterable["Histogram"]) -> Self:
        """Return one histogram of all values in `histograms`; the result is empty if `histograms` is empty."""
        counts, total = np.zeros(_SIZE, dtype=np.int64), 0
        for histogram in histograms:
            counts += histogram.counts
            total += histogram.sum_us
        return cls(counts, total)

    def scaled(self, factor: float) -> "Histogram":
        """Return a histogram with this many times as many values, in which every percentile is about the same."""
        # Rounding the sums keeps percentiles and the total within half a value; rounding each bucket would not.
        counts = np.diff(np.rint(np.cumsum(self.counts) * factor), prepend=0).astype(np.int64)
        return Histogram(counts, round(self.sum_us * int(counts.sum()) / self.count) if self.count else 0)

    @classmethod
    def decoded(cls, text: str, sum_us: int) -> Self:
        """Return the histogram from HdrHistogram's compressed base64 format.

        Args:
            text: A histogram with our range and precision, as `encoded` and the other HdrHistogram libraries write it.
            sum_us: The exact sum of the values, which the format lacks.
        """
        hdr = HdrHistogram.decode(text)
        counts = np.zeros(_SIZE, dtype=np.int64)
        decoded_counts = np.ctypeslib.as_array(hdr.counts)[:_SIZE]
        counts[: len(decoded_counts)] = decoded_counts
        return cls(counts, sum_us)

    @property
    def count(self) -> int:
        """Number of recorded values."""
        return int(self.counts.sum())

    @property
    def mean_us(self) -> float:
        """Exact mean in microseconds, without bucket error; NaN if the histogram is empty."""
        return self.sum_us / self.count if self.count else float("nan")

    def percentile_us(self, ratio: float) -> float:
        """Return a percentile in microseconds: the value that a share of `ratio` of all values does not exceed.

        A ratio of 0.99 gives the p99. As in HdrHistogram, the result is the highest value of its bucket, or the
        bucket's lowest value if `ratio` is 0. The result is NaN if the histogram is empty.

        Raises:
            ValueError: `ratio` is not within 0 to 1.
        """
        return self.percentiles_us(ratio)[0]

    def percentiles_us(self, *ratios: float) -> list[float]:
        """Return several percentiles, each as `percentile_us` does. This takes little more time than one percentile."""
        for ratio in ratios:
            if not 0.0 <= ratio <= 1.0:
                raise ValueError(f"0 <= ratio <= 1 must hold for a percentile, but got ratio={ratio}")
        reached = np.cumsum(self.counts)
        count = int(reached[-1])
        if not count:
            return [float("nan")] * len(ratios)
        # As in HdrHistogram: at least one value, and rounded to the nearest count.
        wanted = [max(1, int(ratio * count + 0.5)) for ratio in ratios]
        buckets = zip(ratios, np.searchsorted(reached, wanted).tolist(), strict=True)
        return [_bucket_us(index, highest=ratio > 0) for ratio, index in buckets]

    def encoded(self) -> str:
        """Return the histogram in HdrHistogram's compressed base64 format.

        The HdrHistogram libraries of all languages can read this format.
        """
        hdr = HdrHistogram(LOWEST_US, HIGHEST_US, SIGNIFICANT_DIGITS)
        used = np.flatnonzero(self.counts)
        if len(used):
            # Both use the same buckets, so the counts are copied. Recording each value would take tens of milliseconds.
            np.ctypeslib.as_array(hdr.counts)[: len(self.counts)] = self.counts
            hdr.set_internal_tacking_values(int(used[0]), int(used[-1]), self.count)
        return str(hdr.encode(), "ascii")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return self.sum_us == other.sum_us and bool(np.array_equal(self.counts, other.counts))

    __hash__ = None  # type: ignore[assignment]


class Recorder:
    """Collects durations and turns them into a `Histogram`. Only one thread may use a recorder."""

    def __init__(self) -> None:
        self._counts = np.zeros(_SIZE, dtype=np.int64)
        self._sum_us = 0

    def record(self, values_us: NDArray[np.int64]) -> None:
        """Add `values_us`, an array of durations in microseconds, shape (n,)."""
        if not len(values_us):
            return
        clipped = np.clip(values_us, LOWEST_US, HIGHEST_US)
        used, occurrences = np.unique(_indices(clipped), return_counts=True)
        self._counts[used] += occurrences
        self._sum_us += int(clipped.sum())

    def histogram(self) -> Histogram:
        """Return a histogram of all values recorded so far. Later calls of `record` don't change it."""
        return Histogram(self._counts.copy(), self._sum_us)
