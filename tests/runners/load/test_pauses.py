"""A phase in which the load process stood still is repeated, and a load process that never goes on is killed."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import psutil
import pytest

from runners.clusters.cluster import RunningCluster
from runners.errors import GeneratorError, LoadPaused, WorkerLost
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.load.isolated import Isolated
from runners.measurements.measurement import Measurement, Window
from runners.pools.local_pool import LocalPool
from runners.pools.pool import FinishedJob, Job
from runners.runner import Limits, WatchDecision
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.conftest import TopicMaker
from tests.helpers.children import child_of

CONFIG = ProducerConfig.parse({"acks": 1})
STOP_S = 5.0
"""Far longer than the shortest pause that is detected, because other tests may keep this host busy."""
PATIENCE_S = 15.0
"""Longer than a load process takes to start on a busy host."""
LIMITS = Limits(max_bytes=10**9)


def load(rate: float | None, measured_s: float = 2.0) -> Workload:
    return Workload(RecordSizes.fixed(1000), warmup_s=0.5, measured_s=measured_s, rate_records_per_s=rate)


class Stopper:
    """A watch that stops the load process after the first window of each of the first `times` attempts."""

    def __init__(self, times: int, stop_s: float | None = STOP_S) -> None:
        self.left, self.stop_s, self.stopped = times, stop_s, 0
        self._timers: list[threading.Timer] = []

    def __call__(self, window: Window) -> WatchDecision:
        if window.number == 0 and self.left:
            self.left -= 1
            self.stopped = child_of(psutil.Process()).pid
            # Wait a moment, so that the load process has read the answer below and sends records when it is stopped.
            self._later(0.2, signal.SIGSTOP)
            if self.stop_s is not None:
                self._later(0.2 + self.stop_s, signal.SIGCONT)
        return WatchDecision.GO_ON

    def _later(self, seconds: float, what: signal.Signals) -> None:
        self._timers.append(threading.Timer(seconds, os.kill, (self.stopped, what)))
        self._timers[-1].start()

    def end(self) -> None:
        for timer in self._timers:
            timer.cancel()
            timer.join()


@contextmanager
def stopping(times: int, stop_s: float | None = STOP_S) -> Iterator[Stopper]:
    stopper = Stopper(times, stop_s)
    try:
        yield stopper
    finally:
        stopper.end()


@pytest.mark.broker
@pytest.mark.parametrize(
    ("generator", "rate"),
    [
        pytest.param("native", None, marks=pytest.mark.long),
        ("native", 500.0),
        pytest.param("python", 500.0, marks=pytest.mark.long),
    ],
)
def test_a_load_process_that_stood_still_gives_no_measurement(
    broker: RunningCluster, new_topic: TopicMaker, generator: str, rate: float | None
) -> None:
    runner = Isolated(LibrdkafkaRunner(broker, new_topic(), generator, LIMITS))
    with stopping(1) as stopper, pytest.raises(LoadPaused, match=r"the load process stood still for \d"):
        runner.run(CONFIG, load(rate), stopper)


def pooled(broker: RunningCluster, new_topic: TopicMaker, stopper: Stopper, patience_s: float = 60.0) -> FinishedJob:
    runner = Isolated(LibrdkafkaRunner(broker, new_topic(), limits=LIMITS), reuses_process=True, patience_s=patience_s)
    with closing(LocalPool()) as pool:
        pool.submit(Job("a key", (runner,), CONFIG, load(500.0)), stopper)
        done = pool.next_done()
    assert done is not None
    return done


@pytest.mark.broker
@pytest.mark.campaign
def test_a_phase_in_which_the_load_stood_still_is_repeated(broker: RunningCluster, new_topic: TopicMaker) -> None:
    with stopping(1) as stopper:
        done = pooled(broker, new_topic, stopper)
    assert isinstance(done.outcome, Measurement), done.outcome
    assert done.attempts == 2
    # The records of the first attempt are in the topic, too, but are not counted.
    assert done.outcome.counts.stored == done.outcome.counts.handed_over
    assert done.outcome.counts.differences() == ()


@pytest.mark.long
@pytest.mark.broker
def test_a_load_that_stands_still_in_each_attempt_is_an_error(broker: RunningCluster, new_topic: TopicMaker) -> None:
    with stopping(2) as stopper:
        done = pooled(broker, new_topic, stopper)
    assert isinstance(done.outcome, LoadPaused)
    assert done.attempts == 2
    assert "there were 2 attempts" in str(done.outcome)


@pytest.mark.long
@pytest.mark.broker
def test_a_load_process_that_never_continues_is_replaced(broker: RunningCluster, new_topic: TopicMaker) -> None:
    with stopping(1, None) as stopper:
        done = pooled(broker, new_topic, stopper, patience_s=PATIENCE_S)
        assert not psutil.pid_exists(stopper.stopped)
    assert isinstance(done.outcome, Measurement), done.outcome
    assert done.attempts == 2


@pytest.mark.broker
@pytest.mark.long
def test_without_a_pool_a_load_that_never_continues_is_an_error(broker: RunningCluster, new_topic: TopicMaker) -> None:
    runner = Isolated(LibrdkafkaRunner(broker, new_topic(), limits=LIMITS), patience_s=PATIENCE_S)
    with stopping(1, None) as stopper, pytest.raises(WorkerLost, match=r"every 15 s.*killed") as caught:
        runner.run(CONFIG, load(500.0), stopper)
    assert isinstance(caught.value, GeneratorError)
    assert not psutil.pid_exists(stopper.stopped)


@pytest.mark.broker
@pytest.mark.campaign
@pytest.mark.alone
def test_a_host_that_is_only_busy_is_no_pause(broker: RunningCluster, new_topic: TopicMaker) -> None:
    busy = [sys.executable, "-c", "while True: pass"]
    with ExitStack() as stack:
        for _ in range(6 * (os.cpu_count() or 1)):
            stack.callback(stack.enter_context(subprocess.Popen(busy)).kill)
        runner = LibrdkafkaRunner(broker, new_topic(), limits=Limits(max_bytes=4 * 10**9))
        seen = Isolated(runner).run(CONFIG, load(None, 5.0))
    assert seen.records
