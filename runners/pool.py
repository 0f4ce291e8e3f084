"""What work is measured on: jobs, the pool that takes them, and the producers that make up one.

A job has one runner for each of its producers: one load is divided among them, and their windows and measurements are
joined as they come. Several producers start at one moment of the wall clock, agreed by the driver (`StartingAt`). From
there each builds its client up and starts its load; the loads begin as far apart as these times differ, and the warm-up
absorbs it. Where they began further apart than 5 % of the measured phase, the merged measurement says so.
"""

import os
import socket
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from runners.errors import GeneratorError, RunnerError, WorkerLost
from runners.measurement import Measurement, TimePoint, Window
from runners.merging import merge, merge_windows
from runners.runner import Runner, Watch, WatchDecision, go_on
from runners.workload import Workload
from search_spaces.errors import ConfigError
from search_spaces.producer_config import ProducerConfig

Outcome = Measurement | RunnerError | ConfigError
_TOGETHER_RATIO: Final = 0.05
_ATTEMPTS: Final = 2


def no_matter(attempt: int) -> None:
    """For jobs that need not know how often they are begun."""


@dataclass(frozen=True, slots=True)
class Job:
    """One benchmark for one slot.

    Attributes:
        key: Who asks; comes back with the outcome.
        runners: One for each producer, all picklable; several run at the same time from a common start.
        config: What is measured.
        workload: The whole load; `runners.merging.share` divides it among the producers.
        on_attempt: Called before each attempt, from 1, in the thread that submits or waits; nothing is sent meanwhile.
    """

    key: str
    runners: tuple[Runner, ...]
    config: ProducerConfig
    workload: Workload
    on_attempt: Callable[[int], None] = no_matter


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a job.

    Attributes:
        job: As it was submitted.
        outcome: The producers' measurements as one, or why there is none.
        attempts: 2 where a lost worker was replaced and the job repeated.
        worker: Who measured, as host/process id; several producers' are separated by commas.
    """

    job: Job
    outcome: Outcome
    attempts: int
    worker: str


class Pool(Protocol):
    """Runs jobs on its slots; for one thread."""

    @property
    def capacity(self) -> int:
        """Jobs that may run at once."""

    def submit(self, job: Job, watch: Watch = go_on) -> None:
        """Start a job on a free slot.

        `watch` is called by `next_done`, in its caller's thread, once for each window that all producers have reached,
        in order. A load never waits for it: a `STOP` is heeded at the end of the window after it, and no further
        window is shown. A job that is repeated begins again at window 0. An error raised by `watch` stops the job and
        leaves `next_done`.

        Raises:
            ValueError: No slot is free, or the job has more producers than a slot.
        """

    def next_done(self) -> Done | None:
        """Wait for the next job to end, in the order of ending.

        A job whose worker died is repeated once; when that worker dies too, the outcome is a `WorkerLost`.

        Returns:
            The job with its outcome, or None when no job is running.
        """

    def close(self) -> None:
        """Cancel what runs and leave no process behind; may be called again, and after any error."""


@dataclass(frozen=True, slots=True)
class StartingAt:
    """Waits for a moment of the wall clock before it runs another runner; hosts that share a job share the time.

    Attributes:
        runner: What to run.
        unix_s: When, in seconds since 1970; the past starts at once.
    """

    runner: Runner
    unix_s: float

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """See `Runner.run`."""
        time.sleep(max(0.0, self.unix_s - time.time()))
        return self.runner.run(config, workload, watch)


@dataclass(frozen=True, slots=True)
class Report:
    """What came of one producer.

    Attributes:
        outcome: Its measurement, or why there is none.
        began_unix_s: When its load began; None where it showed no window.
    """

    outcome: Outcome
    began_unix_s: float | None = None


def produce(
    runner: Runner,
    config: ProducerConfig,
    workload: Workload,
    tell: Callable[[Window], None],
    stopped: Callable[[], bool],
) -> Report:
    """Run one producer in a worker; whatever goes wrong is its outcome.

    Args:
        runner: What to run.
        config: See `Runner.run`.
        workload: This producer's share.
        tell: Takes each window as it ends.
        stopped: Whether the driver wants the run to end; asked at each window.
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
        outcome = _told(runner.run(config, workload, watch))
    except (RunnerError, ConfigError) as error:
        outcome = error
    except Exception as error:  # noqa: BLE001 - any defect must reach the driver as an error, not as silence
        outcome = GeneratorError(f"the runner failed: {type(error).__name__}: {error}")
    return Report(outcome, began)


def whoami() -> str:
    """This process, as host/process id."""
    return f"{socket.gethostname()}/{os.getpid()}"


def _told(measurement: Measurement) -> Measurement:
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    if niceness <= 0:
        return measurement
    warning = (
        f"the load ran with niceness {niceness}, behind whatever else wanted the cores: a Ray cluster gives its "
        "workers 15 unless it is started with RAY_worker_niceness=0"
    )
    return replace(measurement, warnings=(*measurement.warnings, warning))


class Underway:
    """One job on its slot, as the driver sees it.

    Attributes:
        job: What runs.
        attempts: How often it was begun.
    """

    def __init__(self, job: Job, watch: Watch) -> None:
        self.job = job
        self.attempts = 0
        self._watch = watch

    def begin(self, stop: Callable[[], None]) -> None:
        """Begin an attempt.

        Args:
            stop: Asks all producers to end soon; called once at most.
        """
        self.attempts += 1
        self.job.on_attempt(self.attempts)
        self._ask = stop
        self._asked = False
        self._windows: list[deque[Window]] = [deque() for _ in self.job.runners]
        self._series: list[TimePoint] = []
        self._reports: dict[int, Report] = {}

    def take(self, producer: int, message: Window | Report) -> None:
        """Note what a producer told: show its window to the watch, or keep its report."""
        if isinstance(message, Report):
            self._reports[producer] = message
            if not isinstance(message.outcome, Measurement):
                self._stop()
            return
        self._windows[producer].append(message)
        while all(self._windows):
            window = merge_windows([waiting.popleft() for waiting in self._windows])
            self._series.append(TimePoint.of(window))
            if not self._asked:
                self._show(window)

    def _show(self, window: Window) -> None:
        try:
            decision = self._watch(window)
        except BaseException:
            self._stop()
            raise
        if decision is WatchDecision.STOP:
            self._stop()

    def _stop(self) -> None:
        if not self._asked:
            self._asked = True
            self._ask()

    @property
    def over(self) -> bool:
        """Whether every producer has reported."""
        return len(self._reports) == len(self.job.runners)

    @property
    def repeatable(self) -> bool:
        """Whether a worker was lost and another attempt is due."""
        lost = any(isinstance(report.outcome, WorkerLost) for report in self._reports.values())
        return lost and self.attempts < _ATTEMPTS

    def done(self, worker: str) -> Done:
        """The outcome of all producers together."""
        return Done(self.job, self._outcome(), self.attempts, worker)

    def _outcome(self) -> Outcome:
        # In the order in which they came: the first error is the cause, except that a lost worker explains them all.
        errors = [report.outcome for report in self._reports.values() if not isinstance(report.outcome, Measurement)]
        for error in errors:
            if isinstance(error, WorkerLost):
                return WorkerLost(f"a worker must live until its run ends, but it died {self.attempts} times: {error}")
        if errors:
            return errors[0]
        reports = [self._reports[producer] for producer in range(len(self.job.runners))]
        measurements = [report.outcome for report in reports if isinstance(report.outcome, Measurement)]
        merged = merge(measurements, self.job.workload, self._series)
        began = [report.began_unix_s for report in reports if report.began_unix_s is not None]
        apart_s = max(began, default=0.0) - min(began, default=0.0)
        if apart_s <= _TOGETHER_RATIO * self.job.workload.measured_s:
            return merged
        warning = (
            f"the producers must start together, but began {apart_s:.2f} s apart: for that long not all of them sent"
        )
        return replace(merged, warnings=(*merged.warnings, warning))
