"""The seam to where benchmarks run: jobs go in, outcomes come back, windows are shown in between."""

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from runners.errors import RunnerError
from runners.measurement import Measurement
from runners.runner import Runner, Watch, go_on
from runners.workload import Workload
from search_spaces.errors import ConfigError
from search_spaces.producer_config import ProducerConfig

Outcome = Measurement | RunnerError | ConfigError


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

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
