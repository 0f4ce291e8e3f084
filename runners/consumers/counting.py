"""Counts the records that a consumer takes, checks their order, and notes when they were taken.

Offsets are compared as arrays, so Python code runs only once for each run of consecutive offsets of one partition. A
batch has a few runs, or more if compaction has removed records.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from runners.consumers.consumption import Arrivals, ReadCounts
from runners.consumers.reading import OffsetRange
from runners.measurements.resources import sum_if_all_known


@dataclass(slots=True)
class _Position:
    """How far a partition was read.

    Attributes:
        following: The offset that should come next.
        end: The offset after the last one to read; None for no end.
        ended: Whether there is nothing more to read.
    """

    following: int
    end: int | None
    ended: bool


@dataclass
class ReadCounter:
    """Counts records of some partitions. Only one thread may use it, but others may read its single numbers.

    In each partition, offsets must ascend one by one. A record whose offset is not above all earlier ones counts as
    repeated, and an offset that is left out counts as skipped.

    Attributes:
        ranges: The offsets to read in each partition.
        keep_arrivals: Whether to note when the records were taken.
        taken: Number of records so far, including repeated ones.
        value_bytes: Size of their values.
        repeated: Number of records that came twice, or out of order.
        skipped: Number of offsets that were left out.
        failed: Number of errors that came in place of records, by the client's name for the error.
        unfinished: Number of partitions that still have records to read.
    """

    ranges: Iterable[OffsetRange]
    keep_arrivals: bool = False
    taken: int = 0
    value_bytes: int = 0
    repeated: int = 0
    skipped: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    unfinished: int = 0

    def __post_init__(self) -> None:
        self.ranges = tuple(self.ranges)
        self._positions = {
            each.partition: _Position(each.first, each.end, each.first == each.end) for each in self.ranges
        }
        self.unfinished = sum(not position.ended for position in self._positions.values())
        self._runs: list[tuple[int, int, int, int]] = []

    def add(self, partitions: NDArray[np.int32], offsets: NDArray[np.int64], value_bytes: int, at_ns: int) -> None:
        """Count records that were taken at the same moment.

        Args:
            partitions: The partition of each record, in the order in which the client gave them, shape (n,), n > 0.
            offsets: The offset of each record, shape (n,).
            value_bytes: Size of all values.
            at_ns: When they were taken, on the monotonic clock.
        """
        count = len(offsets)
        self.taken += count
        self.value_bytes += value_bytes
        # Records of one partition come in runs of ascending offsets, so the loop below has few runs to check.
        follows = (partitions[1:] == partitions[:-1]) & (offsets[1:] - offsets[:-1] == 1)
        starts = [0] if follows.all() else [0, *(np.flatnonzero(~follows) + 1).tolist()]
        lasts = [*(start - 1 for start in starts[1:]), count - 1]
        runs = list(zip(partitions[starts].tolist(), offsets[starts].tolist(), offsets[lasts].tolist(), strict=True))
        if self.keep_arrivals:
            self._runs += [(*run, at_ns) for run in runs]
        for partition, first, last in runs:
            self._check(self._positions[partition], first, last)

    def _check(self, position: _Position, first: int, last: int) -> None:
        """Compare a run of offsets of one partition with the offset that should come next."""
        if first > position.following:
            self.skipped += first - position.following
        elif first < position.following:
            self.repeated += min(last + 1, position.following) - first
        position.following = max(position.following, last + 1)
        if position.end is not None and position.following >= position.end:
            self._end(position)

    def _end(self, position: _Position) -> None:
        if not position.ended:
            position.ended = True
            self.unfinished -= 1

    def reach_end(self, partition: int, offset: int) -> None:
        """Note that the client has reached the end of a partition at an offset without a record.

        Earlier offsets that were not taken have no records for a consumer: they are transaction markers, or compaction
        has removed their records.
        """
        position = self._positions[partition]
        self.skipped += max(0, offset - position.following)
        position.following = max(position.following, offset)
        if position.end is not None:
            self._end(position)

    def fail(self, error: str) -> None:
        """Count an error that came in place of a record; `error` is the client's name for it."""
        self.failed[error] += 1

    def counts(self, received: int | None = None) -> ReadCounts:
        """Return the counts so far.

        Args:
            received: Number of records that the client has received, by its own statistics; None if unknown.
        """
        unread = sum(
            max(0, position.end - position.following)
            for position in self._positions.values()
            if position.end is not None
        )
        return ReadCounts(
            taken=self.taken,
            repeated=self.repeated,
            skipped=self.skipped,
            unread=unread,
            stored=sum_if_all_known(each.offsets for each in self.ranges),
            received=received,
            failed=dict(self.failed),
        )

    def arrivals(self) -> Arrivals | None:
        """Return when each record was taken; None unless `keep_arrivals` is set."""
        if not self.keep_arrivals:
            return None
        table = np.array(self._runs, dtype=np.int64).reshape(-1, 4)
        return Arrivals(table[:, 0].astype(np.int32), table[:, 1], table[:, 2], table[:, 3])
