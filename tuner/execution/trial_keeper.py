"""Stores the trials of a study or an experiment, stops the run after serious errors, and stores how the run ended."""

import datetime
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Final

from runners.errors import SafetyStop, TargetRefused, WorkloadRefused, signals_unwrapped
from runners.host_processes.processes import ProcessIdentity
from tuner.execution.mirroring import Mirror
from tuner.model.errors import EXPECTED, ResultsUnwritable, TooManyFailures
from tuner.model.progress import Progress, StudyState, state_after
from tuner.model.trial import State, Trial, TrialKind
from tuner.storage.protocols import ResultsStore

_REPEATED_AFTER_S: Final = 0.5
"""How long after a progress report the same report may be stored again, with a new time."""


@dataclass(slots=True)
class TrialKeeper:
    """Stores the trials of a study or an experiment and its progress, and counts failures in a row.

    Attributes:
        store: The results store.
        mirror: Copies the results to another place; None for no copy.
        most_failures: The number of failed trials in a row after which the run stops.
        rule: The first sentence of the error message then, with `{}` for the number of failures.
        stored: How many trials are stored.
    """

    store: ResultsStore
    mirror: Mirror | None
    most_failures: int
    rule: str
    stored: int
    _failures: int = 0
    _started_at: str = field(default_factory=lambda: utc_now().isoformat(timespec="seconds"))
    _process: ProcessIdentity = field(default_factory=ProcessIdentity.of)
    _last_report: Progress | None = None
    _last_report_at: float = -inf

    def keep(self, trial: Trial, attachments: Mapping[str, Any]) -> None:
        """Store a trial, and tell the mirror that there is a new one."""
        self.store.append(trial, attachments)
        self.stored += 1
        if self.mirror is not None:
            self.mirror.poke()

    def check(self, trial: Trial, error: BaseException | None) -> None:
        """Raise an error if the run must stop after this trial.

        Args:
            trial: The trial, which is stored already.
            error: Why the trial, or a phase of it, failed; None if it did not fail.

        Raises:
            SafetyStop: We stopped to protect the cluster.
            TargetRefused: The cluster refuses the tuner.
            WorkloadRefused: The load can't be measured. In the search, this does not stop the run.
            TooManyFailures: Too many trials in a row have failed.
        """
        match error:
            case SafetyStop() | TargetRefused():
                raise error
            case WorkloadRefused() if trial.kind is not TrialKind.SEARCH:
                raise error
        self._failures = self._failures + 1 if trial.state is State.FAILED else 0
        if self._failures >= self.most_failures:
            raise TooManyFailures(
                f"{self.rule.format(self._failures)} (safety.max_failures_in_a_row). Fix the cause and run the same "
                f"command again. The last error: {trial.error}"
            )

    def tell(self, progress: Progress) -> None:
        """Store the progress for `tuner status` and the service.

        This method fills in the process, the times, and how far the mirror is behind.

        A study reports after each window. A simulated study has hundreds of windows a second, so a report is left out
        if it differs from the last one only in the estimated end, and the last one is less than half a second old.
        """
        now = time.monotonic()
        if now < self._last_report_at + _REPEATED_AFTER_S and self._repeats_last_report(progress):
            return
        self._last_report, self._last_report_at = progress, now
        self.store.set_progress(
            replace(
                progress,
                behind_mlflow=0 if self.mirror is None else self.mirror.behind(self.stored),
                pid=self._process.pid,
                process_started=str(self._process.started),
                started_at=self._started_at,
                updated_at=utc_now().isoformat(timespec="seconds"),
            )
        )

    def _repeats_last_report(self, progress: Progress) -> bool:
        last = self._last_report
        return last is not None and progress == replace(last, ends_at=progress.ends_at)

    @contextmanager
    def telling_end(self) -> Iterator[None]:
        """Run the block, which measures, and then store how it ended: regularly, or by which kind of error.

        Ctrl-C and the deadline are errors, too. `tuner status` shows how the block ended.
        """
        try:
            with signals_unwrapped():
                yield
                self.tell(Progress(StudyState.FINISHED))
        except BaseException as error:
            with suppress(ResultsUnwritable):  # on a full disk, the first error says so already
                message = str(error) if isinstance(error, EXPECTED) else ""
                self.tell(Progress(state_after(type(error)), message=message))
            raise


def utc_now() -> datetime.datetime:
    """Return the current time in UTC."""
    return datetime.datetime.now(datetime.UTC)
