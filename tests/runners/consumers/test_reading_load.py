"""The load of one consumer, with a client that the test moves."""

import itertools
import threading
from collections.abc import Mapping

from typing_extensions import override

from runners.clock import NS_PER_S, SystemClock
from runners.consumers.consumption import Arrivals, ReadCounts, ReadOrigin
from runners.consumers.fetch_account import FetchReport
from runners.consumers.reading import Reading
from runners.consumers.reading_load import ReadingLoad
from runners.consumers.source import ReadSnapshot, RecordSource
from runners.host.probe import HostProbe
from runners.load.pause_detector import KernelTimes, PauseDetector
from runners.load.watchdog import Watchdog
from runners.runner import WatchDecision, WindowSchedule

TAKES_S = 12


class SlowToBegin(RecordSource):
    """A client that takes a while to begin, in which this thread only waits, and then has read everything."""

    def __init__(self) -> None:
        self.now_ns = NS_PER_S

    @property
    @override
    def taken(self) -> int:
        return 40

    @property
    @override
    def fatal(self) -> str | None:
        return None

    @property
    @override
    def failed(self) -> Mapping[str, int]:
        return {}

    @property
    @override
    def threads(self) -> Mapping[str, threading.Thread]:
        return {}

    @override
    def begin(self, start_ns: int) -> None:
        self.now_ns += TAKES_S * NS_PER_S

    @override
    def next_snapshot(self, timeout_s: float) -> ReadSnapshot | None:
        return ReadSnapshot(SystemClock().now_ns(), self.taken, ended=True)

    @override
    def reports(self) -> list[FetchReport]:
        return []

    @override
    def complaints(self) -> list[str]:
        return []

    @override
    def stop(self) -> None:
        """Nothing is left to take."""

    @override
    def close(self) -> None:
        """No thread takes records."""

    @override
    def counts(self, received: int | None) -> ReadCounts:
        return ReadCounts(taken=self.taken, repeated=0, skipped=0, unread=0, stored=self.taken, received=received)

    @override
    def arrivals(self) -> Arrivals | None:
        return None


class EndsLater(SlowToBegin):
    """A client that takes all records in the warm-up, and later finds that the topic has no more."""

    def __init__(self) -> None:
        super().__init__()
        self._ended = itertools.chain([False], itertools.repeat(True))

    @override
    def begin(self, start_ns: int) -> None:
        """Nothing is slow."""

    @override
    def next_snapshot(self, timeout_s: float) -> ReadSnapshot | None:
        return ReadSnapshot(SystemClock().now_ns(), self.taken, ended=next(self._ended))


def test_a_measured_phase_without_any_record_gives_way_to_the_warm_up() -> None:
    """The last offset of a topic may be that of a transaction's end. A consumer gets no record for it."""
    clock = SystemClock()
    watchdog = Watchdog(clock, stall_patience_s=30.0)
    load = ReadingLoad(EndsLater(), WindowSchedule.lasting(1.0, 1.0), clock, watchdog, HostProbe())
    origin = ReadOrigin(client_version="of the test", cluster="none", topic="orders", partitions=1, started_at="now")
    seen = load.run(clock.now_ns(), lambda _: WatchDecision.GO_ON, Reading(), origin)
    assert seen.in_warm_up
    assert seen.records == 40
    assert seen.records_per_s > 0


def test_a_client_that_is_slow_to_begin_did_not_stand_still() -> None:
    source, clock = SlowToBegin(), SystemClock()
    pause_detector = PauseDetector(
        lambda: source.now_ns, lambda: KernelTimes({1: 0.0}, source.now_ns / NS_PER_S, 1), lambda: 0.0
    )
    watchdog = Watchdog(clock, stall_patience_s=30.0, pause_detector=pause_detector)
    load = ReadingLoad(source, WindowSchedule.lasting(0.0, 60.0), clock, watchdog, HostProbe())
    origin = ReadOrigin(client_version="of the test", cluster="none", topic="orders", partitions=1, started_at="now")
    seen = load.run(clock.now_ns(), lambda _: WatchDecision.GO_ON, Reading(), origin)
    assert seen.counts.taken == 40
