"""A pool of this process alone: a thread for each producer. Its runners should be `Isolated`."""

import contextlib
import itertools
import multiprocessing
import queue
import threading
import time
from typing import Final

from runners.measurement import Window
from runners.merging import share
from runners.pool import Done, Job, Report, StartingAt, Underway, produce, whoami
from runners.runner import Runner, Watch, go_on
from runners.workload import Workload
from runners.wrappers import end_kept
from search_spaces.producer_config import ProducerConfig

_LEAD_S: Final = 0.1
_FAREWELL_S: Final = 2.5
_POLL_S: Final = 0.02

_numbers = itertools.count()


class LocalPool:
    """A `Pool` without Ray.

    A thread whose runner shows no windows can't be ended, only the child process of an `Isolated` one can be killed:
    `close` leaves a runner behind that is neither isolated nor showing windows.
    """

    def __init__(self, capacity: int = 1) -> None:
        """Nothing is started yet.

        Args:
            capacity: Jobs that may run at once.
        """
        self.capacity = capacity
        self._messages: queue.SimpleQueue[tuple[Underway, int, Window | Report]] = queue.SimpleQueue()
        self._running: list[Underway] = []
        self._threads: list[threading.Thread] = []
        self._closing = threading.Event()

    def submit(self, job: Job, watch: Watch = go_on) -> None:
        """See `Pool.submit`."""
        if len(self._running) >= self.capacity:
            raise ValueError(f"at most {self.capacity} jobs may run at once, and all slots are taken")
        underway = Underway(job, watch)
        self._running.append(underway)
        self._begin(underway)

    def next_done(self) -> Done | None:
        """See `Pool.next_done`."""
        while self._running:
            underway, producer, message = self._messages.get()
            underway.take(producer, message)
            if not underway.over:
                continue
            if underway.repeatable:
                self._begin(underway)
                continue
            self._running.remove(underway)
            return underway.done(whoami())
        return None

    def close(self) -> None:
        """See `Pool.close`."""
        self._closing.set()
        deadline = time.monotonic() + _FAREWELL_S
        while self._alive() and time.monotonic() < deadline:
            ours = {thread.name for thread in self._alive()}
            for child in multiprocessing.active_children():
                if child.name in ours:
                    with contextlib.suppress(ValueError):  # its own thread was quicker and has closed it
                        child.kill()
            time.sleep(_POLL_S)
        self._running.clear()
        end_kept()

    def _alive(self) -> list[threading.Thread]:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        return self._threads

    def _begin(self, underway: Underway) -> None:
        stop = threading.Event()
        underway.begin(stop.set)
        job = underway.job
        count = len(job.runners)
        begin_unix_s = time.time() + (_LEAD_S if count > 1 else 0.0)
        for producer, runner in enumerate(job.runners):
            thread = threading.Thread(
                target=self._work,
                args=(
                    underway,
                    producer,
                    StartingAt(runner, begin_unix_s),
                    job.config,
                    share(job.workload, count, producer),
                    stop,
                ),
                name=f"tuner-job-{next(_numbers)}",
                daemon=True,
            )
            self._threads = [*self._alive(), thread]
            thread.start()

    def _work(
        self,
        underway: Underway,
        producer: int,
        runner: Runner,
        config: ProducerConfig,
        workload: Workload,
        stop: threading.Event,
    ) -> None:
        def stopped() -> bool:
            if self._closing.is_set():
                raise _PoolClosed
            return stop.is_set()

        report = produce(
            runner, config, workload, lambda window: self._messages.put((underway, producer, window)), stopped
        )
        self._messages.put((underway, producer, report))


class _PoolClosed(Exception):  # noqa: N818 - what happened
    """Ends a run that nobody waits for."""
