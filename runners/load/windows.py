"""Windows of a load: parts of at most a second, each between two readings of the same counters."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from runners.clock import NS_PER_S
from runners.measurements.histogram import Histogram
from runners.measurements.measurement import TimePoint, Window
from runners.runner import Watch, WatchDecision, WindowSchedule

Counters = TypeVar("Counters")


@dataclass(frozen=True, slots=True)
class CounterSnapshot:
    """The counters of a load at the end of a window.

    All counters start with the measurement, but `latency` covers only this window.

    Attributes:
        at_ns: Time on the clock of the load.
        acknowledged: Number of acknowledged records.
        failed: Number of records that the client gave up.
        full_ns: Time for which the sender waited for room in the client's queue.
        latency: Latencies of the sampled deliveries of this window.
    """

    at_ns: int
    acknowledged: int
    failed: int
    full_ns: int
    latency: Histogram


@dataclass(slots=True)
class Windows:
    """The windows that a load has completed, and their totals.

    The totals are those of the measured phase, or of the warm-up if the load is stopped during it.

    Attributes:
        schedule: The windows of the whole load.
        start_ns: When the load began.
        mean_value_bytes: Mean size of the values, without keys.
        origin: The counters at the start of the first window that is measured; at first, at the start of the load.
        last: The counters at the end of the newest window.
        served: Latencies of the sampled deliveries of the measured windows.
        series: The summary of each window.
    """

    schedule: WindowSchedule
    start_ns: int
    mean_value_bytes: float
    origin: CounterSnapshot
    last: CounterSnapshot = field(init=False)
    served: Histogram = field(default_factory=lambda: Histogram.merge(()))
    series: list[TimePoint] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.last = self.origin

    def measure(
        self,
        next_snapshot: Callable[[], CounterSnapshot],
        read: Callable[[], Counters],
        forget: Callable[[], None],
        watch: Watch,
    ) -> tuple[Counters, Counters, bool]:
        """Collect all windows of a load, until the schedule ends or `watch` stops the load.

        Args:
            next_snapshot: Waits for the end of the next window, and returns the counters.
            read: Reads the counters that are needed only at both ends of the measured phase.
            forget: Called at the end of the warm-up, to discard the sums of the warm-up.
            watch: Called with each window.

        Returns:
            What `read` returned at both ends of the measured phase, and whether `watch` stopped the load.
        """
        before = read()
        for _ in self.schedule.ends_ns:
            window = self.add(next_snapshot())
            warm_up_ends = len(self.series) == self.schedule.warm_windows
            warm = read() if warm_up_ends else before
            if watch(window) is WatchDecision.STOP:
                # The values of the warm-up are used only if the run is stopped during the warm-up.
                return before, read(), True
            if warm_up_ends:
                before = warm
                self.origin, self.served = self.last, Histogram.merge(())
                forget()
        return before, read(), False

    def add(self, snapshot: CounterSnapshot) -> Window:
        """Return the window that ends with this reading of the counters, and count it."""
        number, previous = len(self.series), self.last
        duration_ns = max(snapshot.at_ns - previous.at_ns, 1)
        records = snapshot.acknowledged - previous.acknowledged
        window = Window(
            number=number,
            phase=self.schedule.kind(number),
            at_s=(snapshot.at_ns - self.start_ns) / NS_PER_S,
            duration_s=duration_ns / NS_PER_S,
            records=records,
            value_bytes=records * self.mean_value_bytes,
            failed=snapshot.failed - previous.failed,
            queue_full_ratio=min(1.0, (snapshot.full_ns - previous.full_ns) / duration_ns),
            latency=snapshot.latency,
            total_windows=len(self.schedule.ends_ns),
        )
        self.last = snapshot
        self.served = Histogram.merge((self.served, snapshot.latency))
        self.series.append(TimePoint.of(window))
        return window

    @property
    def in_warm_up(self) -> bool:
        """Whether all windows so far belong to the warm-up."""
        return len(self.series) <= self.schedule.warm_windows

    @property
    def duration_ns(self) -> int:
        """Length of the measured windows together; at least 1."""
        return max(self.last.at_ns - self.origin.at_ns, 1)

    @property
    def records(self) -> int:
        """Number of records acknowledged in the measured windows."""
        return self.last.acknowledged - self.origin.acknowledged
