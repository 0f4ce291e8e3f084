"""A pool that runs benchmark jobs in this process, with one thread per producer.

Its runners should be `Isolated`, so that child processes send the load.
"""

import contextlib
import itertools
import multiprocessing
import queue
import threading
import time
from typing import Final

from runners.load.isolated import end_reused_processes
from runners.measurements.measurement import Window
from runners.pools.pool import FinishedJob, Job
from runners.pools.producer_process import WorkerReport, host_and_pid, prepare_producer, produce, runner_of
from runners.pools.producers import share_of_producer
from runners.pools.running_job import RunningJob
from runners.runner import Watch, go_on
from runners.workload import Workload

_LEAD_S: Final = 0.1
_CLOSE_TIMEOUT_S: Final = 2.5
_POLL_S: Final = 0.02

_numbers = itertools.count()


class LocalPool:
    """A `Pool` that needs no Ray, because it runs each producer of a job in a thread of this process.

    A thread can't be ended from outside, so `close` can end a job in two cases only. If the job's runner is `Isolated`,
    `close` kills its child process. If the runner calls `watch` during the run, the job stops at the next call. Any
    other job continues to run after `close`.
    """

    def __init__(self, capacity: int = 1) -> None:
        """Make the pool. It starts a thread only when a job is submitted.

        Args:
            capacity: Number of jobs that may run at the same time.
        """
        self.capacity = capacity
        self._messages: queue.SimpleQueue[tuple[RunningJob, int, Window | WorkerReport]] = queue.SimpleQueue()
        self._running: list[RunningJob] = []
        self._threads: list[threading.Thread] = []
        self._closing = threading.Event()

    def submit(self, job: Job, watch: Watch = go_on) -> None:
        """Start a job in new threads, one for each of its producers.

        Raises:
            ValueError: `capacity` jobs are already running.
        """
        if len(self._running) >= self.capacity:
            raise ValueError(f"at most {self.capacity} jobs may run at the same time, and {self.capacity} are running")
        running = RunningJob(job, watch)
        self._running.append(running)
        self._begin(running)

    def next_done(self) -> FinishedJob | None:
        """Wait until the next job ends; return None if no job is running."""
        while self._running:
            running, producer, message = self._messages.get()
            running.take(producer, message)
            if not running.over:
                continue
            if running.repeatable:
                self._begin(running)
                continue
            self._running.remove(running)
            return running.done(host_and_pid())
        return None

    def close(self) -> None:
        """Stop all jobs, kill their child processes, and wait up to 2.5 s for the threads to end."""
        self._closing.set()
        deadline = time.monotonic() + _CLOSE_TIMEOUT_S
        while self._live_threads() and time.monotonic() < deadline:
            ours = {thread.name for thread in self._live_threads()}
            for child in multiprocessing.active_children():
                if child.name in ours:
                    with contextlib.suppress(ValueError):  # its own thread has closed it meanwhile
                        child.kill()
            time.sleep(_POLL_S)
        self._running.clear()
        end_reused_processes()

    def _live_threads(self) -> list[threading.Thread]:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        return self._threads

    def _begin(self, running: RunningJob) -> None:
        stop = threading.Event()
        running.begin(stop.set)
        start = _CommonStart(running.job)
        for producer in range(len(running.job.runners)):
            thread = threading.Thread(
                target=self._run_producer,
                args=(running, producer, start, stop),
                name=f"tuner-job-{next(_numbers)}",
                daemon=True,
            )
            self._threads = [*self._live_threads(), thread]
            thread.start()

    def _run_producer(self, running: RunningJob, producer: int, start: "_CommonStart", stop: threading.Event) -> None:
        job = running.job
        workload = share_of_producer(job.workload, len(job.runners), producer)
        begin_unix_s = start.after_preparing(producer, workload)
        if self._closing.is_set():
            return
        runner = runner_of(job, producer, begin_unix_s, start.wait_s)

        def stopped() -> bool:
            if self._closing.is_set():
                raise _PoolClosed
            return stop.is_set()

        report = produce(
            runner, job.config, workload, lambda window: self._messages.put((running, producer, window)), stopped
        )
        self._messages.put((running, producer, report))


class _CommonStart:
    """The moment at which the producers of a job start. It is chosen when all of them are prepared.

    Attributes:
        wait_s: How long before that moment it is chosen, in seconds.
    """

    def __init__(self, job: Job) -> None:
        self.wait_s = job.wait_s(_LEAD_S)
        self._job = job
        self._prepared = threading.Barrier(len(job.runners), self._choose)
        self._unix_s = 0.0

    def after_preparing(self, producer: int, workload: Workload) -> float:
        """Prepare a producer, wait for the others, and return the moment to start, in seconds since 1970."""
        if len(self._job.runners) > 1:
            prepare_producer(self._job.runners[producer], self._job.config, workload)
        self._prepared.wait()
        return self._unix_s

    def _choose(self) -> None:
        self._unix_s = time.time() + self.wait_s


class _PoolClosed(Exception):
    """Raised in the thread of a producer to end its run, because the pool was closed."""
