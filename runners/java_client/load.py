"""Lets the Java process send one load, and collects its reports window by window."""

import os
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

import numpy as np
import psutil
from typing_extensions import override

from runners.clock import NS_PER_S, Clock
from runners.errors import DeliveryFailed, GeneratorError, RunnerError, TargetRefused, WorkloadRefused
from runners.host.kernel_counters import thread_times
from runners.host.probe import HostProbe
from runners.java_client.jvm import Jvm, Message
from runners.java_client.reports import ClientTotals, JavaReport, histogram_of, long_table
from runners.load.latency_sampling import first_sample_ratio
from runners.load.pacing import Bursts
from runners.load.pause_detector import KernelTimes, PauseDetector, kernel_times
from runners.load.payload import PayloadPool
from runners.load.producer_run import RawResult
from runners.load.watchdog import DeliveryReport, Watchdog, check_delivered
from runners.load.windows import CounterSnapshot, Windows
from runners.measurements.end_to_end import SampledDeliveries
from runners.measurements.histogram import Histogram
from runners.runner import Watch, WindowSchedule, budget_exceeded
from runners.workload import Workload

_CHECK_S: Final = 0.2
_COMPLAINTS_KEPT: Final = 200
_COLLECTOR: Final = -1
"""The key of the garbage collection's pauses among the waiting times of the threads. No thread has this id."""


@dataclass(slots=True)
class JavaProgress(DeliveryReport):
    """The last report of the Java client, in the form that the watchdog needs (`DeliveryReport`)."""

    report: JavaReport = field(default_factory=JavaReport)
    fatal: str | None = None
    _said: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=_COMPLAINTS_KEPT))

    @override
    @property
    def acknowledged(self) -> int:
        return self.report.acknowledged

    @override
    @property
    def failed(self) -> Mapping[str, int]:
        return self.report.failed

    @override
    @property
    def done(self) -> int:
        return self.report.done

    @override
    def complaints(self) -> list[str]:
        return [sentence for acknowledged, sentence in self._said if acknowledged == self.acknowledged]

    def add_complaints(self, sentences: list[str]) -> None:
        """Add error messages of the client."""
        self._said.extend((self.acknowledged, sentence) for sentence in sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaResult(RawResult):
    """The raw result of a load.

    Attributes:
        at_start: The report at the start of the measured phase.
        at_end: The report at its end.
        last: The report after the last delivery.
        gauges: The client's counters of each report in the measured phase, with the number of its records that waited.
        partition_records: Number of records acknowledged in the whole run, by partition.
    """

    at_start: JavaReport
    at_end: JavaReport
    last: JavaReport
    gauges: tuple[tuple[ClientTotals, int], ...]
    partition_records: tuple[int, ...]


@dataclass(slots=True)
class JavaLoad:
    """Lets the Java process send the records of a workload, and measures throughput and latency."""

    jvm: Jvm
    pool: PayloadPool
    workload: Workload
    clock: Clock
    watchdog: Watchdog
    probe: HostProbe
    max_bytes: int | None = None
    keeps_offsets: bool = False
    progress: JavaProgress = field(default_factory=JavaProgress)
    _pause_detector: PauseDetector = field(init=False)
    _gauges: list[tuple[ClientTotals, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._pause_detector = PauseDetector(
            now_ns=lambda: self.progress.report.at_ns or self.clock.now_ns(), kernel_times=self._kernel_times
        )

    @property
    def sent_bytes(self) -> int:
        """Number of bytes of values and keys that the client was given so far; final when `run` has ended."""
        return self.progress.report.sent_bytes

    def run(self, properties: Mapping[str, str], topic: str, watch: Watch) -> JavaResult:
        """Send one record to open the connection, then warm up, measure, and wait for the last deliveries.

        If this raises an error, the Java process may continue to send, so the caller must end it.

        Args:
            properties: Properties of the Java producer, with those of the connection.
            topic: The topic to write to.
            watch: Called with the values of each window (a period of at most a second). It can stop the load early.

        Raises:
            RunnerError: There is no result. `runners.errors` lists the reasons.
        """
        schedule, bursts = WindowSchedule.of(self.workload), Bursts.of(self.workload)
        self.jvm.send_pool(self.pool)
        self.jvm.send(
            {
                "do": "run",
                "properties": dict(properties),
                "topic": topic,
                "rate_records_per_s": self.workload.rate_records_per_s,
                "bursts": None if bursts is None else asdict(bursts),
                "max_bytes": self.max_bytes,
                "sample_ratio": first_sample_ratio(self.workload.rate_records_per_s, self.pool.mean_bytes),
                "seed": self.workload.seed,
                "keep_offsets": self.keeps_offsets,
                "ends_ns": schedule.ends_ns,
                "warm_windows": schedule.warm_windows,
                "measured_from_ns": schedule.measured_from_ns,
            }
        )
        self.watchdog.pause_detector.begin()
        self._pause_detector.begin()
        start_ns = int(self._await("started")["start_ns"])
        return self._control(schedule, start_ns, watch)

    def _control(self, schedule: WindowSchedule, start_ns: int, watch: Watch) -> JavaResult:
        self._gauges.clear()
        windows = Windows(schedule, start_ns, self.pool.mean_bytes, self._snapshot(Histogram.merge(()), start_ns))
        (before, at_start), (after, at_end), stopped = windows.measure(
            lambda: self._snapshot(histogram_of(self._await("window")["latency"])),
            lambda: (self.probe.read(), self.progress.report),
            self._gauges.clear,
            watch,
        )
        if stopped:
            self.jvm.send({"do": "stop"})
        gauges = tuple(self._gauges)
        ended = self._flushed()
        self.jvm.send({"do": "close"})
        paced = self.workload.rate_records_per_s is not None and not windows.in_warm_up
        return JavaResult(
            duration_s=windows.duration_ns / NS_PER_S,
            records=windows.records,
            latency=histogram_of(ended["latency"]) if paced else windows.served,
            served=windows.served,
            send_delay=histogram_of(ended["send_delay"]),
            sample_ratio=float(ended["sample_ratio"]),
            series=tuple(windows.series),
            before=before,
            after=after,
            at_start=at_start,
            at_end=at_end,
            last=self.progress.report,
            gauges=gauges,
            partition_records=tuple(ended["partitions"]),
            deliveries=_deliveries(ended, windows.origin.at_ns, windows.last.at_ns) if self.keeps_offsets else None,
            stopped_early=stopped,
            flush_s=float(ended["flush_s"]),
            purged=self.watchdog.purged(self.progress),
        )

    def _snapshot(self, latency: Histogram, at_ns: int | None = None) -> CounterSnapshot:
        report = self.progress.report
        failed, full_ns = sum(report.failed.values()), int(report.client.wait_ns)
        return CounterSnapshot(at_ns or report.at_ns, report.acknowledged, failed, full_ns, latency)

    def _flushed(self) -> Message:
        """Wait until the client has delivered, or given up, every record."""
        gave_up = False
        while True:
            message = self._next()
            if not gave_up and self.watchdog.flush_is_over(self.progress):
                self.jvm.send({"do": "give up"})
                gave_up = True
            if message["is"] == "ended":
                break
        check_delivered(self.progress)
        return message

    def _await(self, kind: str) -> Message:
        while True:
            message = self._next()
            if message["is"] == kind:
                return message

    def _next(self) -> Message:
        """Return the next message, after checking that the load can still give a measurement."""
        while (message := self.jvm.next_message(_CHECK_S)) is None:
            self._check()
        self._take(message)
        return message

    def _take(self, message: Message) -> None:
        if "at_ns" in message:
            self.progress.report = JavaReport.parse(message)
            self._gauges.append((self.progress.report.client, self.progress.report.waiting))
        if message["is"] == "refused":
            raise self._refused(message["kind"], message["because"])
        if "at_ns" in message:
            self._pause_detector.check()
        self._check()

    def _check(self) -> None:
        self.progress.add_complaints(self.jvm.complaints())
        self.watchdog.check(self.progress, self.progress.report.waiting)
        self.probe.sockets.sample()

    def _refused(self, kind: str, because: str) -> RunnerError:
        match kind:
            case "budget":
                return budget_exceeded(self.max_bytes or 0, self.sent_bytes)
            case "record":
                return WorkloadRefused(f"the client refuses a record: {because}")
            case "config":
                return TargetRefused(f"the properties must be valid for the Java client, but it reports: {because}")
            case "fatal":
                return DeliveryFailed(f"the client stopped for good: {because}")
            case _:
                return GeneratorError(f"the Java load generator failed: {because}")

    def _kernel_times(self) -> KernelTimes:
        """Read how long the Java process's threads waited for a core, and how long garbage collection stopped them."""
        host = kernel_times()
        try:
            waited_s = {number: each.waited_s for number, each in thread_times(self.jvm.pid).items()}
        except psutil.Error:  # the process has ended; reading its pipe reports this
            waited_s = {os.getpid(): 0.0}
        collected_s = self.progress.report.collector_ms / 1e3
        return KernelTimes({**waited_s, _COLLECTOR: collected_s}, host.cores_s, host.cores)


def _deliveries(ended: Message, start_ns: int, end_ns: int) -> SampledDeliveries:
    """Return the sampled records of the measured phase, from the last message of a load."""
    table = long_table(ended["sampled_offsets"])
    partitions = table[:, 0].astype(np.int32)
    return SampledDeliveries(partitions, table[:, 1], table[:, 2], table[:, 3], start_ns, end_ns).within(
        start_ns, end_ns
    )
