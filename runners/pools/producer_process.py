"""What one producer of a job does in its process: it prepares its run, waits for the common start, and measures."""

import contextlib
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from typing_extensions import override

from runners.consumer_runs.with_consumers import THIS_HOST, ConsumerHost, WithConsumers
from runners.errors import GeneratorError, RunnerError
from runners.measurements.measurement import Measurement, Window
from runners.pools.pool import Job, Outcome
from runners.runner import Runner, Watch, WatchDecision, go_on, prepare
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import ConfigError


@dataclass(frozen=True, slots=True)
class StartingAt(Runner):
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

    @override
    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
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
