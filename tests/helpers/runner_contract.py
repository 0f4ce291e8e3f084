"""The contract of every `Runner`, as a class of tests that the tests of each implementation and wrapper inherit."""

import multiprocessing
import threading
from collections import Counter
from collections.abc import Callable
from typing import ClassVar, NamedTuple, Protocol

import psutil
import pytest

from runners.clock import NS_PER_S
from runners.measurements.measurement import Measurement, Window, WindowKind
from runners.runner import Runner, WatchDecision, WindowSchedule
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.client_threads import client_threads
from tests.helpers.waiting import eventually

CONFIG = ProducerConfig.parse({"linger.ms": 1, "acks": "all"})
PACED = Workload(
    RecordSizes.parse("50:1,150:1"),
    key_bytes=4,
    partitions=4,
    warmup_s=0.2,
    measured_s=1.2,
    rate_records_per_s=2_000,
    seed=7,
)
SATURATING = Workload(RecordSizes.fixed(1_000), partitions=4, warmup_s=0.0, measured_s=0.5)
SMALL_QUEUE = ProducerConfig.parse({"queue.buffering.max.messages": 1_000, "batch.num.messages": 100})


class Left(NamedTuple):
    """Threads and processes that a run may leave behind."""

    threads: Counter[str]
    client_threads: Counter[str]
    children: Counter[str]

    @classmethod
    def now(cls) -> "Left":
        """Return the current threads and child processes.

        Threads of librdkafka are counted by name: a client of another test whose broker has gone replaces its threads
        again and again. Two kinds of processes are left out: Python's helper process of `spawn`, which stays once it
        was started, and the PostgreSQL server of other tests, which starts and ends processes at any time.
        """
        multiprocessing.active_children()
        children = psutil.Process().children(recursive=True)
        return cls(
            Counter(thread.name for thread in threading.enumerate()),
            Counter(name for _, name in client_threads()),
            Counter(
                f"process {child.pid}" for child in children if not (_is_resource_tracker(child) or _is_postgres(child))
            ),
        )

    def beyond(self, before: "Left") -> list[str]:
        """Return the threads and processes that are there now and were not there `before`."""
        return [name for now, then in zip(self, before, strict=True) for name in now - then]


def check_nothing_left(before: Left) -> None:
    """Check that soon there are no threads and child processes besides those that were there `before`."""
    seen = ["left behind"]

    def gone() -> bool:
        seen[1:] = Left.now().beyond(before)
        return not seen[1:]

    eventually(gone, otherwise=seen)


def _is_resource_tracker(process: psutil.Process) -> bool:
    try:
        return "resource_tracker" in " ".join(process.cmdline())
    except psutil.Error:
        return False


def _is_postgres(process: psutil.Process) -> bool:
    try:
        return process.name().startswith("postgres")
    except psutil.Error:
        return False


class Ran(NamedTuple):
    """A run and what its watcher saw."""

    measurement: Measurement
    windows: list[Window]
    watching_threads: set[int]
    before: Left

    @property
    def counting(self) -> list[Window]:
        """The windows that the measurement covers: those of the warm-up if the run ended in it."""
        return [window for window in self.windows if window.phase is WindowKind.MEASURED] or self.windows


Stop = Callable[[Window], bool]


class Run(Protocol):
    """Runs a workload and records what the watcher sees."""

    def __call__(self, workload: Workload, config: ProducerConfig = CONFIG, stop: Stop = lambda _: False) -> Ran:
        """Run, and stop after a window for which `stop` returns true."""


def watched(runner: Runner, workload: Workload, config: ProducerConfig = CONFIG, stop: Stop = lambda _: False) -> Ran:
    """Run a runner and keep what the watcher saw."""
    windows: list[Window] = []
    threads: set[int] = set()

    def watch(window: Window) -> WatchDecision:
        windows.append(window)
        threads.add(threading.get_ident())
        return WatchDecision.STOP if stop(window) else WatchDecision.GO_ON

    before = Left.now()
    return Ran(runner.run(config, workload, watch), windows, threads, before)


class RunnerContract:
    """The contract tests. A subclass names its implementation in `covers` and provides one in the fixture `runner`.

    Attributes:
        config: A config of the runner's client with `linger.ms=1` and `acks=all`.
        small_queue: A config whose queue holds a few of the records of `SATURATING`.
    """

    covers: ClassVar[type]
    config: ClassVar[ProducerConfig] = CONFIG
    small_queue: ClassVar[ProducerConfig] = SMALL_QUEUE

    @pytest.fixture
    def runner(self) -> Runner:
        raise NotImplementedError

    def test_a_paced_run_is_measured(self, runner: Runner) -> None:
        ran = watched(runner, PACED, self.config)
        self.check_windows(ran, WindowSchedule.of(PACED))
        self.check_sums(ran)
        self.check_nothing_is_left(ran)
        seen = ran.measurement
        assert len(ran.windows) == 3
        assert (seen.config, seen.workload) == (self.config, PACED)
        assert not seen.stopped_early
        assert seen.latency.count > 0
        assert 0 < seen.sample_ratio <= 1
        assert seen.counts.acks == -1

    def test_a_saturating_run_without_warm_up_is_measured(self, runner: Runner) -> None:
        ran = watched(runner, SATURATING, self.small_queue)
        self.check_windows(ran, WindowSchedule.of(SATURATING))
        self.check_sums(ran)
        assert ran.measurement.send_delay.count == 0
        assert ran.measurement.latency.count > 0

    def test_a_run_can_be_stopped_in_its_warm_up(self, runner: Runner) -> None:
        ran = watched(runner, PACED, self.config, stop=lambda _: True)
        assert len(ran.windows) == 1
        assert ran.measurement.stopped_early
        self.check_sums(ran)
        self.check_nothing_is_left(ran)

    def test_a_run_can_be_stopped_in_its_measured_phase(self, runner: Runner) -> None:
        ran = watched(runner, PACED, self.config, stop=lambda window: window.number >= 1)
        assert [window.number for window in ran.windows] == [0, 1]
        assert ran.measurement.stopped_early
        self.check_sums(ran)

    def test_an_error_of_the_watcher_ends_the_run(self, runner: Runner) -> None:
        class Enough(Exception):
            pass

        def watch(_: Window) -> WatchDecision:
            raise Enough

        before = Left.now()
        with pytest.raises(Enough):
            runner.run(self.config, PACED, watch)
        check_nothing_left(before)

    def check_windows(self, ran: Ran, schedule: WindowSchedule) -> None:
        """Check that all windows were shown, in order, without gaps, in the right phase and in the calling thread."""
        windows = ran.windows
        assert [window.number for window in windows] == list(range(len(schedule.ends_ns)))
        assert {window.total_windows for window in windows} == {len(schedule.ends_ns)}
        assert [window.phase for window in windows] == [schedule.kind(window.number) for window in windows]
        begins = [0.0, *(window.at_s for window in windows[:-1])]
        assert [window.at_s - window.duration_s for window in windows] == pytest.approx(begins)
        # No window ends before its time. How much later it ends depends on the machine.
        assert all(
            window.at_s >= end_ns / NS_PER_S - 1e-6 for window, end_ns in zip(windows, schedule.ends_ns, strict=True)
        )
        assert ran.watching_threads == {threading.get_ident()}
        assert [point.at_s for point in ran.measurement.series] == [window.at_s for window in windows]

    def check_sums(self, ran: Ran) -> None:
        """Check that the measurement is the sum of its windows and that all counts agree."""
        seen = ran.measurement
        assert seen.records == sum(window.records for window in ran.counting)
        assert seen.value_bytes == pytest.approx(sum(window.value_bytes for window in ran.counting))
        assert seen.duration_s == pytest.approx(sum(window.duration_s for window in ran.counting))
        assert seen.counts.differences() == ()
        assert seen.counts.acknowledged >= sum(window.records for window in ran.windows)
        assert len(seen.series) == len(ran.windows)

    def check_nothing_is_left(self, ran: Ran) -> None:
        """Check that there are no threads and child processes besides those from before the run."""
        check_nothing_left(ran.before)
