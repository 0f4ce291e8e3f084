"""Runs one load: sends the records of a workload with one client, and counts deliveries in windows of at most a second.

A load has a warm-up, a measured phase, and a flush, which is the wait for the last deliveries. `LibrdkafkaRunner` turns
the raw result of a load into a measurement.
"""

import contextlib
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from runners.clock import NS_PER_MS, NS_PER_S, Clock
from runners.host.probe import HostProbe
from runners.librdkafka.drain import Drain
from runners.librdkafka.load_client import LoadClient
from runners.librdkafka.sender import Sender, check_budget
from runners.librdkafka.statistics import SendAccount, StatisticsReport
from runners.librdkafka.tally import Tally
from runners.load.pacing import Bursts, Schedule
from runners.load.payload import PayloadPool
from runners.load.producer_run import RawResult
from runners.load.watchdog import Watchdog, check_delivered
from runners.load.windows import CounterSnapshot, Windows
from runners.runner import Watch, WindowSchedule
from runners.workload import Workload

_CHECK_S: Final = 0.2
"""The watchdog checks the load at least this often."""
_LEAD_NS: Final = 5_000_000
"""The load begins this long after its threads are made, so that they run when it begins."""
_PRIME_POLL_MS: Final = 50
_LAST_REPORT_PATIENCE_S: Final = 3.0
"""How long to wait for the client's last statistics report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrdkafkaResult(RawResult):
    """The raw result of sending the records of a workload with one config.

    The counters in the client's statistics reports (`StatisticsReport`) start when the client starts. `account` covers
    only the measured phase, which begins after the warm-up.

    Attributes:
        queue_full_ratio: Share of the measured phase in which the sender waited for room in the client's queue.
        account: Totals of the client's statistics reports in the measured phase.
        at_start: The client's report at the start of the measured phase.
        at_end: The client's report at the end of the measured phase.
        last: The client's report after the last delivery.
        handed_over: Number of records that the client accepted in the whole run.
    """

    queue_full_ratio: float
    account: SendAccount
    at_start: StatisticsReport | None
    at_end: StatisticsReport | None
    last: StatisticsReport | None
    handed_over: int


@dataclass(slots=True)
class LibrdkafkaLoad:
    """Sends the records of a workload with one client, and measures throughput and latency."""

    client: LoadClient
    tally: Tally
    pool: PayloadPool
    workload: Workload
    clock: Clock
    watchdog: Watchdog
    probe: HostProbe
    max_bytes: int | None = None
    _primed: int = 0
    _sender: Sender | None = None
    _thread_errors: list[BaseException] = field(default_factory=list)
    _account: SendAccount = field(default_factory=SendAccount)
    _last: StatisticsReport | None = None

    def run(self, watch: Watch) -> LibrdkafkaResult:
        """Send one record to open the connection, then warm up, measure, and wait for the last deliveries.

        Other threads send the records and take the deliveries; see `Sender` and `Drain`. These threads have ended when
        this method returns or raises an error. Call this method only once.

        Args:
            watch: Called with the values of each window. It can stop the load early.

        Raises:
            RunnerError: The errors that `Watchdog` and `Sender` raise.
        """
        self._prime()
        start_ns = self.clock.now_ns() + _LEAD_NS
        schedule = WindowSchedule.of(self.workload)
        measured_from_ns, end_ns = start_ns + schedule.measured_from_ns, start_ns + schedule.ends_ns[-1]
        self.tally.measured.start_ns, self.tally.measured.end_ns = measured_from_ns, end_ns
        sender = Sender(self.client, self.pool, self.clock, end_ns, measured_from_ns, self.max_bytes, self._primed)
        self._sender = sender
        rate = self.workload.rate_records_per_s
        drain = Drain(self.client, self.tally, self.clock, sender, start_ns, schedule, saturates=rate is None)
        threads = [self._thread("drain", drain.run)]
        if rate is not None:
            threads.append(self._thread("sender", lambda: self._pace(sender, rate, start_ns, drain.over)))
        self.probe.threads = {"sender": threads[-1], "drain": threads[0]}
        try:
            for thread in threads:
                thread.start()
            return self._control(sender, drain, schedule, start_ns, watch)
        finally:
            sender.stop.set()
            drain.over.set()
            for thread in threads:
                thread.join()

    @property
    def sent_bytes(self) -> int:
        """Number of bytes of values and keys that the client has accepted so far; final when `run` has ended."""
        return self.pool.bytes_of_first(self._primed) if self._sender is None else self._sender.sent_bytes

    def _thread(self, role: str, work: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that called run
                self._thread_errors.append(error)

        return threading.Thread(target=guarded, name=f"tuner-{role}", daemon=True)

    def _prime(self) -> None:
        """Send one record and wait for its delivery.

        This opens the connection. If permissions are missing or the topic is not suitable, the method raises an error
        before the load begins.
        """
        check_budget(self.pool, 0, 1, self.max_bytes)
        self._primed = 1
        self.client.send(self.clock.now_ns(), 1)
        while not self.tally.done:
            self.client.drain(_PRIME_POLL_MS)
            self.watchdog.check(self.tally, self.client.waiting())
        self.watchdog.check(self.tally, self.client.waiting())

    def _pace(self, sender: Sender, rate_records_per_s: float, start_ns: int, over: threading.Event) -> None:
        self.clock.sleep_until(start_ns)
        sender.paced(Schedule(rate_records_per_s, start_ns, Bursts.of(self.workload)))
        # The thread lives on until the end, so that its CPU time can still be read.
        over.wait()

    def _control(
        self, sender: Sender, drain: Drain, schedule: WindowSchedule, start_ns: int, watch: Watch
    ) -> LibrdkafkaResult:
        origin = CounterSnapshot(start_ns, self.tally.acknowledged, 0, 0, self.tally.take_latencies())
        windows = Windows(schedule, start_ns, self.pool.mean_bytes, origin)
        (before, at_start), (after, at_end), stopped = windows.measure(
            lambda: self._next_snapshot(drain), lambda: (self.probe.read(), self._last), self._forget_warm_up, watch
        )
        flushed_from_ns = self.clock.now_ns()
        self._flush(sender)
        flush_s = (self.clock.now_ns() - flushed_from_ns) / NS_PER_S
        self._await_last_report()
        drain.over.set()
        drain.ended.wait()
        paced = self.workload.rate_records_per_s is not None and not windows.in_warm_up
        return LibrdkafkaResult(
            duration_s=windows.duration_ns / NS_PER_S,
            records=windows.records,
            queue_full_ratio=min(1.0, (windows.last.full_ns - windows.origin.full_ns) / windows.duration_ns),
            latency=self.tally.latency() if paced else windows.served,
            served=windows.served,
            send_delay=sender.send_delay(),
            series=tuple(windows.series),
            before=before,
            after=after,
            account=self._account,
            at_start=at_start,
            at_end=at_end,
            last=self._last,
            handed_over=sender.sent + sender.primed,
            purged=self.watchdog.purged(self.tally),
            deliveries=self.tally.deliveries(windows.origin.at_ns, windows.last.at_ns),
            stopped_early=stopped,
            sample_ratio=self.tally.sample_ratio,
            flush_s=flush_s,
        )

    def _next_snapshot(self, drain: Drain) -> CounterSnapshot:
        while True:
            with contextlib.suppress(queue.Empty):
                snapshot = drain.snapshots.get(timeout=_CHECK_S)
                self._read_reports(self._account)
                self._check()
                return snapshot
            self._check()
            self.probe.sockets.sample()

    def _forget_warm_up(self) -> None:
        self._account = SendAccount()

    def _check(self) -> None:
        if self._thread_errors:
            raise self._thread_errors[0]
        self.watchdog.check(self.tally, self.client.waiting())

    def _read_reports(self, account: SendAccount | None) -> None:
        while self.tally.statistics:
            self._last = StatisticsReport.parse(*self.tally.statistics.popleft())
            if account is not None:
                account.add(self._last)

    def _flush(self, sender: Sender) -> None:
        """Wait until the client has delivered, or given up, every record."""
        sender.stop.set()
        while not sender.ended.wait(_CHECK_S):  # a call in progress may send records that are not counted yet
            self._check()
        while self.client.waiting():
            self._check()
            if self.watchdog.flush_is_over(self.tally):
                self.client.purge()
            self.clock.sleep_until(self.clock.now_ns() + 2 * NS_PER_MS)
        check_delivered(self.tally)

    def _await_last_report(self) -> None:
        """Wait for a statistics report of the client that covers all deliveries.

        The client makes a report at a fixed interval, so the last one may come a little later than the last delivery.
        """
        self._read_reports(None)
        if self._last is None:
            return
        deadline = self.clock.now_ns() + int(_LAST_REPORT_PATIENCE_S * NS_PER_S)
        settled_ns = self.clock.now_ns()
        while self._last.at_ns < settled_ns and self.clock.now_ns() < deadline:
            self.clock.sleep_until(self.clock.now_ns() + 5 * NS_PER_MS)
            self._read_reports(None)
