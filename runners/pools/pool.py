"""The interface of pools, which run benchmark jobs, and the code that all pools share.

A job has one runner for each of its producers. The load is divided among the producers, and their windows and
measurements are merged.

If a job has several producers, they first start the processes that they need (`prepare_producer`), because a Java
process takes seconds to start. When all producers have done so, the driver, which is the process that runs the study,
sets one moment at which all of them start (`StartingAt`). At that moment each producer opens its client and then starts
its load. So the loads begin a little apart, usually still in the warm-up. If they began further apart than 5 % of the
measured phase, the merged measurement has a warning. If they began more than half of the measured phase and more than a
second apart, the job is repeated once; if that happens again, the outcome is an error.
"""

import contextlib
import os
import socket
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from runners.consumer_runs.consumer_host import THIS_HOST, ConsumerHost
from runners.consumer_runs.with_consumers import TailConsumers, WithConsumers
from runners.errors import GeneratorError, LoadPaused, RunnerError, WorkerLost
from runners.measurements.measurement import Measurement, TimePoint, Window, sent_bytes_of
from runners.pools.placement import ANYWHERE, Placement
from runners.pools.producers import merge, merge_windows
from runners.runner import Runner, Watch, WatchDecision, go_on, prepare
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import ConfigError

Outcome = Measurement | RunnerError | ConfigError
CONSUMERS_START_S: Final = 3.0
"""How long the consumers beside the first producer may take to start. If they take longer, it begins late."""
_TOGETHER_RATIO: Final = 0.05
"""Producers that began further apart than this share of the measured time give a warning."""
_MOST_APART_RATIO, _MOST_APART_S = 0.5, 1.0
"""Producers that began further apart than both this share of the measured time and this time give no measurement."""


@dataclass(frozen=True, slots=True)
class Job:
    """One benchmark for a pool: a config, a workload and the runners that measure the config.

    Attributes:
        key: Identifies the job for the caller.
        runners: One runner per producer, all picklable. They run at the same time, from a common start.
        config: The config to measure.
        workload: The whole workload; `runners.pools.producers.share` divides it among the producers.
        on_attempt: Called before each attempt, before any record is sent, with the number of the attempt, from 1. It
            returns the runners of this attempt, as many as in `runners`. It is called in the thread that submits jobs
            or waits for them. With None, each attempt has the same runners.
        consumers: Read what the producers write, if the workload has consumers; None if there is no topic to read.
        placement: Where the producers and the consumers run. Only a Ray cluster has zones.
    """

    key: str
    runners: tuple[Runner, ...]
    config: ProducerConfig
    workload: Workload
    on_attempt: Callable[[int], tuple[Runner, ...]] | None = None
    consumers: TailConsumers | None = None
    placement: Placement = ANYWHERE

    def wait_s(self, lead_s: float) -> float:
        """Return how long the producers wait for their common start: not at all if there is only one.

        Args:
            lead_s: How long the producers wait if there are no consumers, in seconds. Consumers start before the first
                producer and need more time.
        """
        if len(self.runners) == 1:
            return 0.0
        return lead_s + (CONSUMERS_START_S if self.consumers is not None and self.workload.consumers else 0.0)


@dataclass(frozen=True, slots=True)
class FinishedJob:
    """A finished job and its outcome.

    Attributes:
        job: The job as it was submitted.
        outcome: The merged measurement of all producers, or the error that prevented it.
        attempts: Number of attempts; above 1 if the job was repeated.
        worker: Names of the processes that measured, as host/process id, separated by commas.
        sent_bytes: Bytes of values and keys that all producers sent in the last attempt; None if a producer could not
            report it.
    """

    job: Job
    outcome: Outcome
    attempts: int
    worker: str
    sent_bytes: int | None = None


class Pool(Protocol):
    """Runs benchmark jobs, at most `capacity` at the same time. Only one thread may use a pool."""

    @property
    def capacity(self) -> int:
        """Number of jobs that may run at the same time."""

    def submit(self, job: Job, watch: Watch = go_on) -> None:
        """Start a job.

        `next_done` calls `watch` in its caller's thread, in order, once for each window that all producers have
        completed. The load never waits for `watch`. When `watch` has returned `STOP`, the run ends with the next
        window, and `watch` is not called again. If the job is repeated, `watch` is called for its windows from number 0
        again. If `watch` raises an error, the job is stopped and `next_done` raises that error.

        Raises:
            ValueError: `capacity` jobs are already running, or the job has more producers than the pool has workers for
                one job.
        """

    def next_done(self) -> FinishedJob | None:
        """Wait until the next job ends.

        A job is repeated once if a worker died, hung or stood still for a while, and once if the producers began too
        far apart. If the same happens again, the outcome is an error: a `WorkerLost` or a `LoadPaused` for a worker.

        Returns:
            The job with its outcome, or None if no job is running.
        """

    def close(self) -> None:
        """Cancel the running jobs and leave no process behind.

        It may be called repeatedly, and after any error.
        """


@dataclass(frozen=True, slots=True)
class StartingAt:
    """A runner that waits for a moment of the wall clock and then measures with another runner.

    The producers of one job get the same moment, so that they start together even on different hosts.

    Attributes:
        runner: The runner that measures.
        unix_s: The moment to start, in seconds since 1970. If it has passed, the runner starts immediately.
        longest_s: The longest wait, in seconds. It matters if the wall clock was set back after `unix_s` was chosen.
    """

    runner: Runner
    unix_s: float
    longest_s: float

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Wait until the moment to start, and then measure the config with `runner`."""
        wait_s = self.unix_s - time.time()
        if wait_s > 0:
            time.sleep(min(wait_s, self.longest_s))
        return self.runner.run(config, workload, watch)


def runner_of(job: Job, producer: int, begin_unix_s: float, longest_s: float, host: ConsumerHost = THIS_HOST) -> Runner:
    """Return the runner of one producer of a job, which waits for the common start.

    The consumers run beside the first producer and start before it. They read the records of all producers.

    Args:
        job: The job.
        producer: The number of the producer, from 0.
        begin_unix_s: The common start, in seconds since 1970 on the clock of the producer's host.
        longest_s: The longest wait for the common start, in seconds.
        host: Where the consumers run.
    """
    runner = StartingAt(job.runners[producer], begin_unix_s, longest_s)
    if producer or job.consumers is None:
        return runner
    return WithConsumers(runner, job.consumers, host)


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """The result of one producer of a job.

    Attributes:
        outcome: The producer's measurement, or the error that prevented it.
        began_unix_s: When the producer's load began, in seconds since 1970; None if it completed no window.
    """

    outcome: Outcome
    began_unix_s: float | None = None


def prepare_producer(runner: Runner, config: ProducerConfig, workload: Workload) -> None:
    """Prepare the run of one producer of a job, if its runner can do that.

    An error is ignored here, because the run raises it again and reports it.

    Args:
        runner: The runner of the producer.
        config: The config to measure.
        workload: This producer's share of the workload.
    """
    with contextlib.suppress(Exception):
        prepare(runner, config, workload)


def produce(
    runner: Runner,
    config: ProducerConfig,
    workload: Workload,
    tell: Callable[[Window], None],
    stopped: Callable[[], bool],
) -> WorkerReport:
    """Run one producer of a job, and return its measurement or the error that prevented it.

    Args:
        runner: The runner to run.
        config: The config to measure.
        workload: This producer's share of the workload.
        tell: Called with each window when it ends.
        stopped: Called after each window. It returns whether the process that runs the study wants the run to end.
    """
    began: float | None = None

    def watch(window: Window) -> WatchDecision:
        nonlocal began
        if began is None:
            began = time.time() - window.at_s
        tell(window)
        return WatchDecision.STOP if stopped() else WatchDecision.GO_ON

    outcome: Outcome
    try:
        measured = runner.run(config, workload, watch)
        slowed = () if measured.origin.is_simulated else priority_warnings()
        outcome = replace(measured, warnings=(*measured.warnings, *slowed))
    except (RunnerError, ConfigError) as error:
        outcome = error
    except Exception as error:  # noqa: BLE001 - any defect must reach the driver as an error, not as silence
        outcome = GeneratorError(f"the runner failed: {type(error).__name__}: {error}")
    return WorkerReport(outcome, began)


def host_and_pid() -> str:
    """Return the name of this process, as host/process id."""
    return f"{socket.gethostname()}/{os.getpid()}"


def priority_warnings() -> tuple[str, ...]:
    """Return a warning if this process has a low priority."""
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    if niceness <= 0:
        return ()
    return (
        f"the load ran with niceness {niceness}, so other processes came first; run it without `nice` (on your Ray "
        "cluster, start the nodes with RAY_worker_niceness=0: Ray's default for its workers is 15)",
    )


def _sent_bytes(outcome: Outcome) -> int | None:
    """Return the bytes of values and keys that a producer sent; None if it could not report them."""
    if isinstance(outcome, Measurement):
        return sent_bytes_of(outcome)
    return 0 if isinstance(outcome, ConfigError) else outcome.sent_bytes  # a config is refused before a record is sent


class RunningJob:
    """A running job: its attempts, and the windows and reports that its producers have sent.

    Attributes:
        job: The job.
        attempts: Number of attempts that have been started.
    """

    def __init__(self, job: Job, watch: Watch) -> None:
        self.job = job
        self.attempts = 0
        self._watch = watch
        self._repeated_for: set[str] = set()

    def begin(self, stop: Callable[[], None]) -> None:
        """Begin a new attempt, and discard the windows and reports of the previous attempt.

        Args:
            stop: Called at most once per attempt, to ask all producers to end soon.
        """
        if self.attempts and self._fault is not None:
            self._repeated_for.add(self._fault)
        self.attempts += 1
        if self.job.on_attempt is not None:
            self.job = replace(self.job, runners=self.job.on_attempt(self.attempts))
        self._stop_producers = stop
        self._stop_requested = False
        self._windows: list[deque[Window]] = [deque() for _ in self.job.runners]
        self._series: list[TimePoint] = []
        self._reports: dict[int, WorkerReport] = {}

    def take(self, producer: int, message: Window | WorkerReport) -> None:
        """Handle a window (part of the run) or the final report that a producer has sent.

        When all producers have sent the window with the same number, the merged window is passed to `watch`.
        """
        if isinstance(message, WorkerReport):
            self._reports[producer] = message
            if not isinstance(message.outcome, Measurement):
                self._stop()
            return
        self._windows[producer].append(message)
        while all(self._windows):
            window = merge_windows([waiting.popleft() for waiting in self._windows])
            self._series.append(TimePoint.of(window))
            if not self._stop_requested:
                self._show_window(window)

    def _show_window(self, window: Window) -> None:
        try:
            decision = self._watch(window)
        except BaseException:
            self._stop()
            raise
        if decision is WatchDecision.STOP:
            self._stop()

    def _stop(self) -> None:
        if not self._stop_requested:
            self._stop_requested = True
            self._stop_producers()

    @property
    def over(self) -> bool:
        """Whether all producers of the job have sent their final reports."""
        return len(self._reports) == len(self.job.runners)

    @property
    def repeatable(self) -> bool:
        """Whether to run the job again: it gave no measurement, for a reason for which it was not repeated before."""
        return self._fault is not None and self._fault not in self._repeated_for

    @property
    def _fault(self) -> str | None:
        """The reason to repeat this attempt, which gave no measurement; None if there is no such reason."""
        if any(isinstance(report.outcome, WorkerLost | LoadPaused) for report in self._reports.values()):
            return "a worker was lost or stood still"
        return "the producers began too far apart" if self._too_far_apart else None

    @property
    def _apart_s(self) -> float:
        began = [report.began_unix_s for report in self._reports.values() if report.began_unix_s is not None]
        return max(began, default=0.0) - min(began, default=0.0)

    @property
    def _too_far_apart(self) -> bool:
        return self._apart_s > max(_MOST_APART_S, _MOST_APART_RATIO * self.job.workload.measured_s)

    def done(self, worker: str) -> FinishedJob:
        """Return the finished job and its producers' merged outcome; `worker` names the processes that measured."""
        sent = [_sent_bytes(report.outcome) for report in self._reports.values()]
        known = [each for each in sent if each is not None]
        in_all = sum(known) if len(known) == len(sent) else None
        return FinishedJob(self.job, self._outcome(), self.attempts, worker, in_all)

    def _outcome(self) -> Outcome:
        # The reports are in the order of their arrival. The first error is the cause of the others, unless a worker was
        # lost or stood still: that is always the cause.
        errors = [report.outcome for report in self._reports.values() if not isinstance(report.outcome, Measurement)]
        for kind in (WorkerLost, LoadPaused):
            for error in errors:
                if isinstance(error, kind):
                    return kind(f"{error}; there were {self.attempts} attempts, and none gave a measurement")
        if errors:
            return errors[0]
        if self._too_far_apart:
            return GeneratorError(
                f"the producers did not send at the same time: in the last of {self.attempts} attempts they began "
                f"{self._apart_s:.1f} s apart, and {self.job.workload.measured_s:g} s are measured; measure longer"
            )
        reports = [self._reports[producer] for producer in range(len(self.job.runners))]
        measurements = [report.outcome for report in reports if isinstance(report.outcome, Measurement)]
        merged = merge(measurements, self.job.workload, self._series)
        if self._apart_s <= _TOGETHER_RATIO * self.job.workload.measured_s:
            return merged
        warning = f"the producers began {self._apart_s:.2f} s apart: for that time, only some of them sent"
        return replace(merged, warnings=(*merged.warnings, warning))
