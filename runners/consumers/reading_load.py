"""One consumer of a load: its windows of at most a second, its reports, and the check whether to continue.

Both clients' readers use this code. How the records are taken is up to the `RecordSource`.
"""

import datetime
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from typing_extensions import override

from runners.clock import NS_PER_S, Clock, SystemClock
from runners.clusters.cluster import RunningCluster
from runners.consumers.consumption import Consumption, ReadOrigin, ReadWindow
from runners.consumers.fetch_account import FetchAccount
from runners.consumers.reading import OffsetRange, Reading
from runners.consumers.source import ReadSnapshot, RecordSource
from runners.errors import BrokerLost, TargetRefused
from runners.host.probe import THIS_PROCESS, ClientProcess, HostProbe, HostReading, usage
from runners.host.receiving import Receiving
from runners.load.watchdog import STALL_PATIENCE_S, DeliveryReport, PermanentErrors, Watchdog, any_runs
from runners.runner import WatchDecision, WindowSchedule

_CHECK_S: Final = 0.1
_POLL_S: Final = 0.02
_LAST_REPORT_PATIENCE_S: Final = 3.0


ReadWatch = Callable[[ReadWindow], WatchDecision]
"""A function that is called with each window of a load when the window ends, and decides whether the load continues."""
_PERMANENT: Final[PermanentErrors] = (
    (
        frozenset(
            {
                *("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"),
                *("TopicAuthorizationException", "ClusterAuthorizationException"),
            }
        ),
        TargetRefused,
        "the user must have permission to read the topic, but the broker answered {}; grant READ on it",
    ),
    (
        frozenset(
            {
                *("UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"),
                "UnknownTopicOrPartitionException",
            }
        ),
        BrokerLost,
        "the topic must exist for the whole load, but the broker answered {}; check whether the topic was deleted",
    ),
)
"""The errors of a broker's answers to a consumer that no retry can change."""
_SILENCE: Final = "no answer of a broker came for {silent_s:.0f} s; "
_FETCH_WAIT_PROPERTIES: Final = ("fetch.wait.max.ms", "fetch.max.wait.ms")
"""How long a broker may delay its answer if there are no new records: the name in librdkafka and in the Java client."""
_DEFAULT_FETCH_WAIT_MS: Final = "500"
"""The default of this property in both clients."""


def read_on(_: ReadWindow) -> WatchDecision:
    """Let the load continue after every window. This is the default if a caller passes no `watch`."""
    return WatchDecision.GO_ON


@dataclass(slots=True)
class ReadingProgress(DeliveryReport):
    """Reports the progress of a consumer to the watchdog. Answers of brokers count as progress, too.

    Attributes:
        source: The client from which the records are taken.
        responses: Number of responses that the client has received, by its newest report.
    """

    source: RecordSource
    responses: int = 0
    _acknowledged_before: int = -1
    _complaints: deque[str] = field(default_factory=deque)

    @property
    def acknowledged(self) -> int:
        """Number of records and responses so far."""
        return self.source.taken + self.responses

    done = acknowledged

    @override
    @property
    def failed(self) -> Mapping[str, int]:
        return self.source.failed

    @override
    @property
    def fatal(self) -> str | None:
        return self.source.fatal

    @override
    def complaints(self) -> list[str]:
        if self.acknowledged != self._acknowledged_before:
            self._acknowledged_before = self.acknowledged
            self._complaints.clear()
        self._complaints.extend(self.source.complaints())
        return list(self._complaints)


@dataclass(slots=True)
class ReadingLoad:
    """Reads some partitions with one client, and measures how fast. Use it once.

    Attributes:
        source: The client from which the records are taken; `begin` was not called yet.
        schedule: The windows of the warm-up and of the measured phase.
        clock: The clock of the load.
        watchdog: Raises an error if the load can't continue.
        probe: Reads the counters of the client's process, the host and local brokers.
    """

    source: RecordSource
    schedule: WindowSchedule
    clock: Clock
    watchdog: Watchdog
    probe: HostProbe
    _progress: ReadingProgress = field(init=False)
    _account: FetchAccount = field(default_factory=FetchAccount)
    _receiving: Receiving = field(init=False)
    _series: list[ReadWindow] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._progress, self._receiving = ReadingProgress(self.source), Receiving(self.probe.process.pid)

    def run(self, start_ns: int, watch: ReadWatch, reading: Reading, origin: ReadOrigin) -> Consumption:
        """Read from `start_ns` on, and return the result.

        Args:
            start_ns: When to begin, on the clock of the load.
            watch: Called with each window; it can stop the load.
            reading: The settings of the load, which become a part of the result.
            origin: Where, when and by which software the topic is read; becomes a part of the result.

        Raises:
            RunnerError: The errors that `Watchdog` and the source raise.
        """
        source = self.source
        source.begin(start_ns)
        self.probe.threads = source.threads
        before, stopped, of_warm_up = self.probe.read(), False, None
        # The `begin` of the source may take seconds: a busy Java process reads the windows of a long load.
        self.watchdog.pause_detector.begin()
        previous = ReadSnapshot(start_ns)
        for number in range(len(self.schedule.ends_ns)):
            snapshot = self._next_snapshot()
            window = self._window(number, start_ns, previous, snapshot)
            previous = snapshot
            warm: tuple[HostReading, FetchAccount] | None = None
            if number == self.schedule.warm_windows - 1 and not snapshot.ended:
                warm = self.probe.read(), self._account.restarted()
            if watch(window) is WatchDecision.STOP:
                stopped = True
                break
            if snapshot.ended:
                break
            if warm:
                # The values of the warm-up are used only if the load ends in the warm-up.
                of_warm_up = before, self._account, self._receiving
                before, self._account = warm
                self._receiving = Receiving(self.probe.process.pid)
        after = self.probe.read()
        source.stop()
        received = self._await_last_report()
        warm_windows = self._series[: self.schedule.warm_windows]
        if previous.ended and of_warm_up and not any(each.records for each in self._series[len(warm_windows) :]):
            # The last records came in the warm-up. Only offsets without a record followed: ends of transactions.
            self._series, after = warm_windows, before
            before, self._account, self._receiving = of_warm_up
        return Consumption(
            reading=reading,
            origin=origin,
            series=tuple(self._series),
            counts=source.counts(received),
            resources=usage(before, after),
            activity=self._account.activity(self._receiving.ratio()),
            ended_s=(previous.at_ns - start_ns) / NS_PER_S if previous.ended else None,
            stopped_early=stopped and not previous.ended,
            arrivals=source.arrivals(),
        )

    def _next_snapshot(self) -> ReadSnapshot:
        while True:
            snapshot = self.source.next_snapshot(_CHECK_S)
            self._take_reports()
            # A consumer always waits for an answer: without records, a broker answers after fetch.wait.max.ms.
            self.watchdog.check(self._progress, waiting=1)
            if snapshot is not None:
                return snapshot
            self._receiving.sample(self._account.exchange_s)

    def _take_reports(self) -> None:
        for report in self.source.reports():
            self._account.add(report)
            self._progress.responses = report.responses

    def _window(self, number: int, start_ns: int, previous: ReadSnapshot, snapshot: ReadSnapshot) -> ReadWindow:
        duration_ns = max(snapshot.at_ns - previous.at_ns, 1)
        window = ReadWindow(
            number=number,
            phase=self.schedule.kind(number),
            at_s=(snapshot.at_ns - start_ns) / NS_PER_S,
            duration_s=duration_ns / NS_PER_S,
            records=snapshot.records - previous.records,
            value_bytes=snapshot.value_bytes - previous.value_bytes,
            total_windows=len(self.schedule.ends_ns),
            waiting_ratio=min(1.0, (snapshot.waited_ns - previous.waited_ns) / duration_ns),
        )
        self._series.append(window)
        return window

    def _await_last_report(self) -> int | None:
        """Wait for a client report that covers all records, and return its number of records; None if none came."""
        settled_ns = self.clock.now_ns()
        deadline_ns = settled_ns + int(_LAST_REPORT_PATIENCE_S * NS_PER_S)
        while self.clock.now_ns() < deadline_ns:
            self.source.next_snapshot(_POLL_S)
            for report in self.source.reports():
                self._account.last = self._account.last or report
                if report.at_ns >= settled_ns:
                    return report.records
        return None


@dataclass(frozen=True, slots=True)
class Reader(ABC):
    """One consumer of a load on a topic. It can be pickled, and reads in the process that calls `read`.

    Attributes:
        cluster: The cluster to read from.
        topic: Name of the topic.
        ranges: The offsets to read in each partition.
        reading: The settings of the load: when it starts and ends, and the consumer properties.
    """

    cluster: RunningCluster
    topic: str
    ranges: tuple[OffsetRange, ...]
    reading: Reading

    @abstractmethod
    def read(self, ready: Callable[[], int], watch: ReadWatch) -> Consumption:
        """Open a client, wait for the common start, read, and return what was measured.

        Nothing of the client is left behind, even if an error is raised.

        Args:
            ready: Called when the client can begin. It returns when to begin, in nanoseconds of this host's monotonic
                clock.
            watch: Called with each window, in the calling thread. If it returns `STOP`, the load ends soon.

        Raises:
            RunnerError: There is no measurement.
        """

    def read_from(
        self,
        source: RecordSource,
        client_version: str,
        ready: Callable[[], int],
        watch: ReadWatch,
        process: ClientProcess = THIS_PROCESS,
    ) -> Consumption:
        """Wait for the common start, read with an open client, and return what was measured. The source is closed.

        Args:
            source: The client from which the records are taken.
            client_version: The client library and its version.
            ready: Called when the client can begin; it returns when to begin, on the clock of the load.
            watch: Called with each window; it can stop the load.
            process: The process that holds the client.

        Raises:
            RunnerError: The errors that `Watchdog` and the source raise.
        """
        clock, cluster, reading = SystemClock(), self.cluster, self.reading
        with closing(source):
            probe = HostProbe(cluster.local_brokers, process)
            start_ns = ready()
            started_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            set_waits = (reading.properties[name] for name in _FETCH_WAIT_PROPERTIES if name in reading.properties)
            wait_ms = next(set_waits, _DEFAULT_FETCH_WAIT_MS)
            watchdog = Watchdog(
                clock,
                stall_patience_s=max(STALL_PATIENCE_S, reading.outage_s) + int(wait_ms) / 1e3,
                outage_s=reading.outage_s,
                broker_alive=partial(any_runs, cluster.local_brokers),
                permanent=_PERMANENT,
                silence=_SILENCE,
            )
            schedule = WindowSchedule.lasting(reading.warmup_s, reading.measured_s)
            load = ReadingLoad(source, schedule, clock, watchdog, probe)
            origin = ReadOrigin(
                client_version=client_version,
                cluster=cluster.kind,
                topic=self.topic,
                partitions=len(self.ranges),
                started_at=started_at,
            )
            return load.run(start_ns, watch, reading, origin)
