"""A running job: it collects what the job's producers send, repeats an attempt that failed, and merges the result.

If a job has several producers, they first start the processes that they need (`prepare_producer`), because a Java
process takes seconds to start. When all producers have done so, the driver, which is the process that runs the study,
sets one moment at which all of them start (`StartingAt`). At that moment each producer opens its client and then starts
its load. So the loads begin a little apart, usually still in the warm-up. If they began further apart than 5 % of the
measured phase, the merged measurement has a warning. If they began more than half of the measured phase and more than a
second apart, the job is repeated once; if that happens again, the outcome is an error.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from runners.errors import GeneratorError, LoadPaused, WorkerLost
from runners.measurements.measurement import Measurement, TimePoint, Window, sent_bytes_of
from runners.measurements.resources import sum_if_all_known
from runners.pools.pool import FinishedJob, Job, Outcome
from runners.pools.producer_process import WorkerReport
from runners.pools.producers import merge, merge_windows
from runners.runner import Watch, WatchDecision
from search_spaces.errors import ConfigError

_TOGETHER_RATIO: Final = 0.05
"""If producers began further apart than this share of the measured time, the measurement has a warning."""
_MOST_APART_RATIO, _MOST_APART_S = 0.5, 1.0
"""If they began further apart than both this share of the measured time and this many seconds, there is none."""


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
        sent_bytes = sum_if_all_known(_sent_bytes(report.outcome) for report in self._reports.values())
        return FinishedJob(self.job, self._outcome(), self.attempts, worker, sent_bytes)

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
