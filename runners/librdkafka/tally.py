"""What the drain thread counts, and which deliveries it looks at closely.

Counts are complete. Latency is sampled: each delivery is picked with the same probability, independently of all others,
so that the sample can't beat in time with batches (a fixed stride of 100 over batches of 10,000 would always see the
same places of a batch). Source for the scheme: Bernoulli sampling by geometric gaps, Vitter 1987.
"""

from collections import Counter, deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from runners.clock import NS_PER_US
from runners.histogram import Histogram, Recorder

_GAPS = 4096
_NONE: NDArray[np.int64] = np.empty(0, dtype=np.int64)
_ERRORS_KEPT = 200


@dataclass(slots=True)
class Span:
    """The half-open span of intended send times whose latencies are kept; unset before the measured phase begins."""

    start_ns: int = 1 << 62
    end_ns: int = 1 << 62


@dataclass(slots=True)
class DrainDelay:
    """How long deliveries waited for us, by the distributional form of Little's law.

    In a first-in first-out queue, what stands behind an item when it leaves is what arrived while it waited: the mean
    number left behind, over the arrival rate, is the mean wait. Source: Keilson and Servi 1988.

    Attributes:
        events: Delivery events served.
        left_behind: Sum over these of the events still queued when each was taken.
        first_ns: When the first was taken.
        last_ns: When the last was taken.
    """

    events: int = 0
    left_behind: int = 0
    first_ns: int = 0
    last_ns: int = 0

    def taken(self, now_ns: int, left_behind: int) -> None:
        """Count one event."""
        self.first_ns = self.first_ns or now_ns
        self.last_ns = now_ns
        self.events += 1
        self.left_behind += left_behind


@dataclass
class Tally:
    """Owned by the drain thread; other threads only read its plain counters."""

    seed: int = 0
    sample_ratio: float = 1.0
    acknowledged: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    measured: Span = field(default_factory=Span)
    drain_delay: DrainDelay = field(default_factory=DrainDelay)
    statistics: deque[tuple[int, str]] = field(default_factory=deque)
    errors: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=_ERRORS_KEPT))
    fatal: str | None = None

    def __post_init__(self) -> None:
        """Begin with empty recorders."""
        self._rng = np.random.default_rng(self.seed)
        self._total = Recorder()
        self._samples: list[tuple[NDArray[np.int64], int]] = []
        self.resample(self.sample_ratio)

    def resample(self, ratio: float) -> None:
        """Pick deliveries with this probability from now on; called from the drain thread."""
        self.sample_ratio = ratio
        self._place = 0
        self._picks = np.cumsum(self._rng.geometric(ratio, size=_GAPS)) - 1
        self._next, self._next_pick = 0, int(self._picks[0])

    def delivered(self, count: int) -> NDArray[np.int64]:
        """Count deliveries; returns which of them to look at, as ascending indices below `count`, shape (n,)."""
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

    def sample(self, intended_ns: NDArray[np.int64], served_ns: int) -> None:
        """Keep the latencies of picked deliveries, shape (n,), that were served at one moment."""
        self._samples.append((intended_ns, served_ns))

    def fail(self, error: str, count: int = 1) -> None:
        """Count records that the client gave up."""
        self.failed[error] += count

    @property
    def done(self) -> int:
        """Deliveries seen, good or bad."""
        return self.acknowledged + sum(self.failed.values())

    def roll(self) -> Histogram:
        """Latencies of the window since the last call, by the time they were served; sorts them into the total too."""
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
        """Latencies of all sampled records that were meant to leave within the measured span."""
        return self._total.histogram()

    def say(self, sentence: str) -> None:
        """Keep an error sentence of the client."""
        self.errors.append((self.acknowledged, sentence))

    def complaints(self) -> list[str]:
        """What the client said since the last acknowledgement, oldest first; any thread may ask."""
        return [sentence for acknowledged, sentence in list(self.errors) if acknowledged == self.acknowledged]
