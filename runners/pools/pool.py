"""The interface of pools, which run benchmark jobs.

A job has one runner for each of its producers. The load is divided among the producers, and their windows and
measurements are merged.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from runners.consumer_runs.with_consumers import TailConsumers
from runners.errors import RunnerError
from runners.measurements.measurement import Measurement
from runners.pools.placement import ANYWHERE, Placement
from runners.runner import Runner, Watch, go_on
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import ConfigError

Outcome = Measurement | RunnerError | ConfigError
CONSUMERS_START_S: Final = 3.0
"""How long the consumers beside the first producer may take to start. If they take longer, it begins late."""


@dataclass(frozen=True, slots=True)
class Job:
    """One benchmark for a pool: a config, a workload and the runners that measure the config.

    Attributes:
        key: Identifies the job for the caller.
        runners: One runner per producer, all picklable. They run at the same time, from a common start.
        config: The config to measure.
        workload: The whole workload; `runners.pools.producers.share_of_producer` divides it among the producers.
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
