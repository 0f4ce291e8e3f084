"""Runs the load of one consumer: takes its records as fast as they come, in windows of at most a second.

One thread takes records (`Taker`). The main thread collects the counters of the windows, the client's statistics and
its messages, and asks the watchdog whether the load can go on.
"""

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from runners.clock import NS_PER_S, Clock
from runners.consumers.consumption import FetchActivity, ReadCounts, ReadWindow
from runners.consumers.counting import ReadCounter
from runners.consumers.reader import ReadWatch
from runners.consumers.reading import Stretch
from runners.host import HostProbe, Reading
from runners.librdkafka.consumer import ConsumerClient
from runners.librdkafka.fetch_statistics import FetchAccount, FetchReport
from runners.librdkafka.taker import ReadCut, Taker
from runners.receiving import Receiving
from runners.runner import Phases, WatchDecision
from runners.watchdog import Watchdog

_LOOK_S: Final = 0.1
_POLL_MS: Final = 20
_LAST_REPORT_PATIENCE_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class ReadingResult:
    """The raw result of the load of one consumer.

    Attributes:
        series: The windows.
        counts: The counts of the whole load.
        before: The counters of the host at the start of the phase that counts.
        after: The same counters at its end.
        activity: What the client's statistics report about that phase.
        ended_s: Seconds from the start until everything was read; None if the time was over first.
        stopped_early: Whether `watch` stopped the load.
    """

    series: tuple[ReadWindow, ...]
    counts: ReadCounts
    before: Reading
    after: Reading
    activity: FetchActivity | None
    ended_s: float | None
    stopped_early: bool


@dataclass(slots=True)
class Progress:
    """What the watchdog sees of a consumer: answers of the brokers count as much as records do.

    Attributes:
        client: The client.
        counter: Counts the records.
        responses: Number of responses that the client has received, by its newest statistics.
    """

    client: ConsumerClient
    counter: ReadCounter
    responses: int = 0
    _seen: int = -1
    _since: deque[str] = field(default_factory=deque)

    @property
    def acknowledged(self) -> int:
        """Number of records and responses so far."""
        return self.counter.taken + self.responses

    done = acknowledged

    @property
    def failed(self) -> Mapping[str, int]:
        """Number of errors that came in place of records, by the client's name for the error."""
        return self.counter.failed

    @property
    def fatal(self) -> str | None:
        """The error after which the client can't go on; None if there was none."""
        return self.client.fatal

    def complaints(self) -> list[str]:
        """Return the client's error messages since the last record or response."""
        if self.acknowledged != self._seen:
            self._seen = self.acknowledged
            self._since.clear()
        while self.client.complaints:
            self._since.append(self.client.complaints.popleft())
        return list(self._since)


@dataclass(slots=True)
class ReadingLoad:
    """Reads some partitions with one client, and measures how fast.

    Attributes:
        client: The client, which has not started yet.
        stretches: What to read.
        counter: Counts the records.
        phases: The windows of the warm-up and of the measured phase.
        clock: The benchmark's clock.
        watchdog: Raises an error if the load can't go on.
        probe: Reads the counters of this process, the host and local brokers.
        rest_ns: See `Taker`.
    """

    client: ConsumerClient
    stretches: Sequence[Stretch]
    counter: ReadCounter
    phases: Phases
    clock: Clock
    watchdog: Watchdog
    probe: HostProbe
    rest_ns: int = 0
    _progress: Progress = field(init=False)
    _account: FetchAccount = field(default_factory=FetchAccount)
    _receiving: Receiving = field(default_factory=Receiving)
    _series: list[ReadWindow] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with no progress."""
        self._progress = Progress(self.client, self.counter)

    def run(self, start_ns: int, watch: ReadWatch) -> ReadingResult:
        """Read from a moment on, and return what was measured. Call this method only once.

        Args:
            start_ns: When to begin, on the benchmark's clock.
            watch: Called with each window; it can stop the load.

        Raises:
            RunnerError: The errors that `Watchdog` and `ConsumerClient` raise.
        """
        taker = Taker(self.client, self.counter, self.clock, self.stretches, start_ns, self.phases, self.rest_ns)
        thread = threading.Thread(target=taker.run, name="tuner-take", daemon=True)
        self.probe.threads = {"drain": thread}
        thread.start()
        try:
            return self._control(taker, start_ns, watch)
        finally:
            taker.over.set()
            thread.join()

    def _control(self, taker: Taker, start_ns: int, watch: ReadWatch) -> ReadingResult:
        before, stopped = self.probe.read(), False
        previous = ReadCut(start_ns)
        for number in range(len(self.phases.ends_ns)):
            cut = self._next_cut(taker)
            window = self._window(number, start_ns, previous, cut)
            previous = cut
            if number == self.phases.warm_windows - 1 and not cut.ended:
                warm = self.probe.read(), self._account.restarted()
            else:
                warm = None
            if watch(window) is WatchDecision.STOP:
                stopped = True
                break
            if cut.ended:
                break
            if warm:
                # The values of the warm-up are used only if the load ends in the warm-up.
                (before, self._account), self._receiving = warm, Receiving()
        after = self.probe.read()
        taker.over.set()
        received = self._await_last_report()
        return ReadingResult(
            series=tuple(self._series),
            counts=self.counter.counts(received),
            before=before,
            after=after,
            activity=self._account.activity(self._receiving.ratio()),
            ended_s=(previous.at_ns - start_ns) / NS_PER_S if previous.ended else None,
            stopped_early=stopped and not previous.ended,
        )

    def _next_cut(self, taker: Taker) -> ReadCut:
        while True:
            with contextlib.suppress(queue.Empty):
                found = taker.cuts.get(timeout=_LOOK_S)
                self._listen()
                if isinstance(found, ReadCut):
                    self._check()
                    return found
                raise found
            self._listen()
            self._check()
            self._receiving.look(self._account.exchange_s)

    def _check(self) -> None:
        # A consumer always waits for an answer: without records, a broker answers after fetch.wait.max.ms.
        self.watchdog.look(self._progress, waiting=1)

    def _listen(self) -> None:
        self.client.listen(0)
        while self.client.statistics:
            report = FetchReport.parse(*self.client.statistics.popleft())
            self._account.add(report)
            self._progress.responses = report.responses

    def _window(self, number: int, start_ns: int, previous: ReadCut, cut: ReadCut) -> ReadWindow:
        duration_ns = max(cut.at_ns - previous.at_ns, 1)
        window = ReadWindow(
            number=number,
            phase=self.phases.phase(number),
            at_s=(cut.at_ns - start_ns) / NS_PER_S,
            duration_s=duration_ns / NS_PER_S,
            records=cut.records - previous.records,
            value_bytes=cut.value_bytes - previous.value_bytes,
            total_windows=len(self.phases.ends_ns),
            waiting_ratio=min(1.0, (cut.waited_ns - previous.waited_ns) / duration_ns),
        )
        self._series.append(window)
        return window

    def _await_last_report(self) -> int | None:
        """Wait for a statistics report that covers all records, and return how many it counts; None without one."""
        account = self._account
        deadline_ns = (settled_ns := self.clock.now_ns()) + int(_LAST_REPORT_PATIENCE_S * NS_PER_S)
        while self.clock.now_ns() < deadline_ns:
            self.client.listen(_POLL_MS)
            while self.client.statistics:
                report = FetchReport.parse(*self.client.statistics.popleft())
                account.last = account.last or report
                if report.at_ns >= settled_ns:
                    return report.records
        return None
