"""Counts all deliveries, and records the latency of a random sample of them.

Each delivery is picked with the same probability, independently of all others. We don't pick, for example, every 100th
delivery: in batches of 10,000 records, that would always pick the same positions of a batch.
Source: Bernoulli sampling by geometric gaps, Vitter 1987.
"""

from collections import Counter, deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from runners.clock import NS_PER_US
from runners.measurements.end_to_end import SampledDeliveries
from runners.measurements.histogram import Histogram, Recorder

Offsets = tuple[NDArray[np.int32], NDArray[np.int64]]
"""The partitions and the offsets of records, each of shape (n,)."""
_GAPS = 4096
_NONE: NDArray[np.int64] = np.empty(0, dtype=np.int64)
_ERRORS_KEPT = 200


@dataclass(slots=True)
class Span:
    """A range of intended send times, which includes `start_ns` but not `end_ns`.

    The latencies of records that were meant to leave in this range are kept.

    The defaults lie in the far future, so that no latency is kept before the range is set.
    """

    start_ns: int = 1 << 62
    end_ns: int = 1 << 62


@dataclass(slots=True)
class DrainDelay:
    """Counts from which we compute how long deliveries waited in the client until our thread took and counted them.

    This uses the distributional form of Little's law. When an item leaves a first-in first-out queue, all items that
    are in the queue at that moment arrived while the leaving item waited. So the mean wait is the mean number of items
    left in the queue, divided by the arrival rate. Source: Keilson and Servi 1988.

    Attributes:
        events: Number of delivery events taken from the client.
        left_behind: Number of events that were still queued when an event was taken, summed over all events.
        first_ns: The time at which the first event was taken.
        last_ns: The time at which the last event was taken.
    """

    events: int = 0
    left_behind: int = 0
    first_ns: int = 0
    last_ns: int = 0

    def count(self, now_ns: int, left_behind: int) -> None:
        """Count one delivery event that was taken from the client's queue.

        Args:
            now_ns: When the event was taken.
            left_behind: Number of events that were still in the queue.
        """
        self.first_ns = self.first_ns or now_ns
        self.last_ns = now_ns
        self.events += 1
        self.left_behind += left_behind


@dataclass
class Tally:
    """The counters of deliveries, errors and latencies while the records of a workload are sent.

    Only the drain thread, which takes deliveries from the client, changes this object. Other threads may read the
    attributes that are single numbers.

    Attributes:
        seed: Seed of the sampling.
        sample_ratio: Probability with which a delivery's latency is recorded.
        acknowledged: Number of successful deliveries.
        failed: Number of records that the client gave up, by librdkafka's error name.
        measured: Intended send times of the measured phase.
        drain_delay: Counts from which we compute how long deliveries waited for the drain thread.
        statistics: The client's statistics reports that nobody has read yet, each with the time of its arrival.
        errors: The newest error messages of the client, each with the number of deliveries acknowledged before it.
        fatal: The error after which the client can't send any more; None if there was none.
        keeps_offsets: Whether the partition and the offset of each sampled record are kept.
    """

    seed: int = 0
    sample_ratio: float = 1.0
    acknowledged: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    measured: Span = field(default_factory=Span)
    drain_delay: DrainDelay = field(default_factory=DrainDelay)
    statistics: deque[tuple[int, str]] = field(default_factory=deque)
    errors: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=_ERRORS_KEPT))
    fatal: str | None = None
    keeps_offsets: bool = False

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self._total = Recorder()
        self._samples: list[tuple[NDArray[np.int64], int]] = []
        self._kept: list[tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], int]] = []
        self.resample(self.sample_ratio)

    def resample(self, ratio: float) -> None:
        """Set the probability with which the latency of a delivery is recorded from now on.

        Only the drain thread, which takes deliveries from the client, may call this.
        """
        self.sample_ratio = ratio
        self._place = 0
        self._picks = np.cumsum(self._rng.geometric(ratio, size=_GAPS)) - 1
        self._next, self._next_pick = 0, int(self._picks[0])

    def delivered(self, count: int) -> NDArray[np.int64]:
        """Count successful deliveries, and pick the deliveries whose latency is to be recorded.

        Args:
            count: Number of deliveries.

        Returns:
            Ascending indices of the picked deliveries, between 0 and `count - 1`, shape (n,).
        """
        self.acknowledged += count
        first, self._place = self._place, self._place + count
        if self._next_pick >= self._place:
            return _NONE
        while self._picks[-1] < self._place:
            gaps = max(_GAPS, int((self._place - self._picks[-1]) * self.sample_ratio))
            more = np.cumsum(self._rng.geometric(self.sample_ratio, size=gaps)) + self._picks[-1]
            self._picks = np.concatenate((self._picks[self._next :], more))
            self._next = 0
        end = int(np.searchsorted(self._picks, self._place))
        picked = self._picks[self._next : end] - first
        self._next, self._next_pick = end, int(self._picks[end])
        return picked

    def sample(
        self,
        intended_ns: NDArray[np.int64],
        served_ns: int,
        offsets: Offsets | None = None,
    ) -> None:
        """Record the latencies of sampled deliveries that arrived at the same moment.

        Args:
            intended_ns: Intended send times of the delivered records, shape (n,).
            served_ns: The time at which the deliveries arrived.
            offsets: Partitions and offsets of the records, each of shape (n,); None if they are not kept.
        """
        self._samples.append((intended_ns, served_ns))
        if offsets is not None:
            self._kept.append((*offsets, intended_ns, served_ns))

    def fail(self, error: str, count: int = 1) -> None:
        """Count records that the client gave up because of `error`, which is librdkafka's name for the error."""
        self.failed[error] += count

    @property
    def done(self) -> int:
        """Number of records whose delivery has succeeded or failed."""
        return self.acknowledged + sum(self.failed.values())

    def take_latencies(self) -> Histogram:
        """Return the sampled latencies of the deliveries that arrived since this method was last called.

        The latencies that belong to the measured phase (after the warm-up) are also added to the histogram that
        `latency` returns.
        """
        samples, self._samples = self._samples, []
        window = Recorder()
        if samples:
            intended = np.concatenate([intended_ns for intended_ns, _ in samples])
            latency_us = np.concatenate([served_ns - intended_ns for intended_ns, served_ns in samples]) // NS_PER_US
            window.record(latency_us)
            within = (intended >= self.measured.start_ns) & (intended < self.measured.end_ns)
            self._total.record(latency_us[within])
        return window.histogram()

    def latency(self) -> Histogram:
        """Return the latencies of all sampled records whose intended send time is in the measured phase.

        The measured phase begins after the warm-up.
        """
        return self._total.histogram()

    def deliveries(self, start_ns: int, end_ns: int) -> SampledDeliveries | None:
        """Return the sampled records with an intended send time in the measured phase; None if offsets are not kept.

        Args:
            start_ns: Start of the measured phase.
            end_ns: End of the measured phase, which may have been stopped early.
        """
        if not self.keeps_offsets:
            return None
        return SampledDeliveries(
            np.concatenate([np.empty(0, dtype=np.int32), *(partitions for partitions, _, _, _ in self._kept)]),
            np.concatenate([_NONE, *(offsets for _, offsets, _, _ in self._kept)]),
            np.concatenate([_NONE, *(intended for _, _, intended, _ in self._kept)]),
            np.concatenate([_NONE, *(np.full(len(each), served) for _, _, each, served in self._kept)]),
            start_ns,
            end_ns,
        ).within(start_ns, end_ns)

    def add_complaint(self, sentence: str) -> None:
        """Keep an error message of the client, so that `complaints` can return it."""
        self.errors.append((self.acknowledged, sentence))

    def complaints(self) -> list[str]:
        """Return the client's error messages since a record was last acknowledged, oldest first.

        Any thread may call this method.
        """
        return [sentence for acknowledged, sentence in list(self.errors) if acknowledged == self.acknowledged]
