"""A pool of Ray workers, which uses a Ray that we start on this host or an existing Ray cluster.

Nobody else uses a Ray that we start. On an existing Ray cluster, other studies may want to measure the same Kafka
cluster, the target. A Ray actor, whose name is derived from the target, then reserves the target for this pool. The
actor ends with this process, however the process ends. The workers of a job run in the zones that were requested, each
on its own node if there are enough nodes. All workers of a job begin at the same moment of our clock. If a node leaves,
the job that used the node is repeated once on the remaining nodes.

Ray itself is configured to repeat no job and to restart no worker. A process can have only one pool at a time. Results
arrive as a stream of small compressed messages, so nothing stays in Ray's object store.
"""

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import psutil
from typing_extensions import override

from runners.consumer_runs.with_consumers import THIS_HOST, ConsumerHost
from runners.errors import ConsumersLost, GeneratorError, WorkerLost, signals_unwrapped
from runners.host_processes.child import PATIENCE_S
from runners.measurements.measurement import Window
from runners.pools.placement import ANYWHERE, Placement
from runners.pools.pool import FinishedJob, Job, Pool
from runners.pools.producer_process import WorkerReport, runner_of
from runners.pools.producers import share_of_producer
from runners.pools.ray_cluster import RayCluster
from runners.pools.ray_consumers import RayConsumerHost
from runners.pools.ray_reservations import CoreReservations, reason
from runners.pools.ray_session import hold, own_ray, running_ray
from runners.pools.ray_worker_group import RayWorkerGroup, unpacked
from runners.pools.running_job import RunningJob
from runners.reporting import Say, silent
from runners.runner import Watch, go_on

_CHECK_S: Final = 0.2
_PATIENCE_S: Final = PATIENCE_S + 60.0
"""Longest time in seconds without a message of a worker. The worker itself notices sooner that its load process hangs.
"""
_LEAD_S: Final = 1.0
_SETTLE_S: Final = 2.0
"""Within this time Ray ends the processes that a dead worker had started; 1.4 to 1.7 s were measured with Ray 2.60."""


class RayPool(Pool):
    """A `Pool` of Ray actors that are started once and used for all jobs."""

    def __init__(
        self,
        home: Path,
        slots: int = 1,
        cluster: RayCluster | None = None,
        target: str | None = None,
        jobs: Sequence[tuple[Placement, int]] = (),
        job_modules: Sequence[str] = (),
        on_wait: Say = silent,
        tell: Say = silent,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        """Start Ray or connect to it, and start the workers. This takes seconds.

        Args:
            home: The tuner's folder, which holds Ray's access token if we start Ray ourselves.
            slots: Number of jobs that may run at the same time.
            cluster: An existing Ray cluster; None starts Ray on this host.
            target: Name of the Kafka cluster that is measured. Only one pool on an existing Ray cluster may use the
                Kafka cluster at a time, so we wait until no other pool uses it.
            jobs: Where the jobs will run, and with how many producers; by default, with one on any node. On an existing
                Ray cluster, the workers of the first are started now. A Ray that we start has no zones.
            job_modules: On an existing Ray cluster, the modules that each node must be able to import for the jobs.
            on_wait: Called once if another pool uses `target`, with that pool's process as host/process id.
            tell: Called with a short sentence that says what went wrong and what was done about it.
            patience_s: A worker that sends no message for this many seconds of its job is killed and counts as lost.
                The config's `linger.ms` is added.

        Raises:
            GeneratorError: Ray could not be started or reached, or it has no room for the workers.
            RayUnfit: The cluster lacks something that was requested, or has other versions than this host.
        """
        self._own = cluster is None
        self._producers = max((count for _, count in jobs), default=1)
        self._patience_s = patience_s
        self._runs = 0
        self._slots: list[_Slot] = []
        with contextlib.ExitStack() as stack:
            session = own_ray(home, slots * self._producers) if cluster is None else running_ray(cluster, tell)
            self._ray = stack.enter_context(session)
            stack.callback(self._kill_workers)
            reservations = None
            if cluster is not None:
                reservations = CoreReservations(self._ray, cluster, tell, job_modules)
                for placement, count in jobs:  # unsuitable nodes are reported before we take a target that others use
                    reservations.nodes(placement.zones_of_workers(count))
                if target is not None:
                    self._guard = hold(self._ray, target, on_wait)
            first, count = jobs[0] if jobs and not self._own else (ANYWHERE, self._producers)
            for _ in range(slots):
                slot = _Slot(RayWorkerGroup(self._ray, reservations, tell))
                self._slots.append(slot)
                slot.group.ensure_started(first.zones_of_workers(count))
            self._stack = stack.pop_all()

    @override
    @property
    def capacity(self) -> int:
        return len(self._slots)

    @override
    def submit(self, job: Job, watch: Watch = go_on) -> None:
        if len(job.runners) > self._producers:
            raise ValueError(f"a job may have at most {self._producers} producers, but has {len(job.runners)}")
        free = next((slot for slot in self._slots if slot.running is None), None)
        if free is None:
            raise ValueError(f"at most {self.capacity} jobs may run at the same time, and {self.capacity} are running")
        free.running = RunningJob(job, watch)
        self._begin(free, free.running)

    @override
    def next_done(self) -> FinishedJob | None:
        while streams := [(stream, slot, number) for slot in self._slots for number, stream in slot.streams.items()]:
            began = time.monotonic()
            # Each wait is short, because signals are not handled during a wait.
            with signals_unwrapped():
                ready, _ = self._ray.wait([stream for stream, _, _ in streams], timeout=_CHECK_S)
            # If this process itself stood still, the workers were not silent for all that time.
            waited_s = min(time.monotonic() - began, _CHECK_S)
            for stream, slot, number in streams:
                message = None
                if any(stream is each for each in ready):
                    slot.silent_s[number], message = 0.0, self._message(slot, number)
                else:
                    slot.silent_s[number] += waited_s
                    message = self._report_if_hung(slot, number)
                if message is not None and (done := self._take(slot, number, message)):
                    return done
        return None

    @override
    def close(self) -> None:
        self._stack.close()

    def _begin(self, slot: "_Slot", running: RunningJob) -> None:
        """Begin an attempt of a job, after its workers have started and are prepared.

        That takes seconds if workers must be started or there are several producers. The windows of other jobs wait
        meanwhile, and so do their watches. Their loads continue.
        """
        self._runs += 1
        run = self._runs
        count = len(running.job.runners)
        placement = running.job.placement
        # Ray on this host has room for the largest job, whose workers are kept.
        slot.group.ensure_started(placement.zones_of_workers(self._producers if self._own else count))
        host: ConsumerHost = THIS_HOST
        if placement.consumer_zone is not None:
            consumers = slot.group.workers[count]
            host = RayConsumerHost(consumers.actor, consumers.name, run)

        def stop() -> None:
            for worker in slot.group.workers[:count]:
                worker.actor.stop.options(concurrency_group="control").remote(run)

        running.begin(stop)
        job = running.job
        if running.attempts > 1:
            time.sleep(_SETTLE_S)  # until then, lost producers may send records that the new consumers must not read
        shares = [share_of_producer(job.workload, count, number) for number in range(count)]
        if count > 1:
            slot.group.prepare(job.runners, job.config, shares)
            slot.group.set_clocks(count)
        wait_s = job.wait_s(_LEAD_S)
        begin_unix_s = time.time() + wait_s
        slot.silent_s = dict.fromkeys(range(count), 0.0)
        slot.streams = {
            number: worker.actor.run.options(num_returns="streaming").remote(
                run,
                runner_of(job, number, begin_unix_s + worker.clock.ahead_s, wait_s, host),
                job.config,
                shares[number],
            )
            for number, worker in enumerate(slot.group.workers[:count])
        }

    def _report_if_hung(self, slot: "_Slot", number: int) -> WorkerReport | None:
        """Kill a producer's worker that has been silent for too long, and return the report in its place."""
        assert slot.running is not None
        patience_s = self._patience_s + slot.running.job.config.linger_ms / 1e3
        if slot.silent_s[number] <= patience_s:
            return None
        if self._own:
            _kill_tree(slot.group.workers[number].pid)  # Ray asks a worker to end, and a stopped worker does not answer
        name = slot.group.lose(number)
        return WorkerReport(WorkerLost(f"the worker {name} sent nothing for {patience_s:.0f} s and was killed"))

    def _take(self, slot: "_Slot", number: int, message: Window | WorkerReport) -> FinishedJob | None:
        """Handle one message of a producer; return the job if this message finished the job, or else None."""
        if isinstance(message, WorkerReport):
            del slot.streams[number]
            if isinstance(message.outcome, ConsumersLost):
                slot.group.lose(len(slot.group.workers) - 1)
        running = slot.running
        assert running is not None
        running.take(number, message)
        if not running.over:
            return None
        if running.repeatable:
            self._begin(slot, running)
            return None
        slot.running = None
        return running.done(", ".join(self._workers_of(slot, running.job)))

    def _workers_of(self, slot: "_Slot", job: Job) -> Iterator[str]:
        """Yield the names of the workers that ran a job."""
        for worker in slot.group.workers[: len(job.runners)]:
            yield worker.name
        if job.placement.consumer_zone is not None:
            yield f"consumers {slot.group.workers[len(job.runners)].name}"

    def _message(self, slot: "_Slot", number: int) -> Window | WorkerReport:
        errors = self._ray.exceptions
        try:
            with signals_unwrapped():
                packed = self._ray.get(next(slot.streams[number]))
        except (errors.RayActorError, errors.WorkerCrashedError) as error:
            name = slot.group.lose(number)
            return WorkerReport(
                WorkerLost(f"the worker {name} ended before its job was done; Ray says: {reason(error)}")
            )
        except errors.RayError as error:
            return WorkerReport(GeneratorError(f"a worker returned no result; Ray says: {error}"))
        message: Window | WorkerReport = unpacked(packed)
        if not isinstance(message, WorkerReport) or message.began_unix_s is None:
            return message
        return replace(message, began_unix_s=message.began_unix_s - slot.group.workers[number].clock.ahead_s)

    def _kill_workers(self) -> None:
        """Kill the workers and the processes that they started.

        On other hosts, Ray kills those processes itself after the worker's death.
        """
        for slot in self._slots:
            for worker in slot.group.dismiss():
                if self._own:
                    _kill_tree(worker.pid)
        self._slots = []


@dataclass(slots=True)
class _Slot:
    """The workers for one job at a time, and the job that they run.

    Attributes:
        group: The Ray workers of this slot.
        streams: Streams of messages from the running producers, by the producer's number.
        silent_s: For how many seconds each producer has sent no message, by the producer's number.
        running: The running job; None if the workers are free.
    """

    group: RayWorkerGroup
    streams: dict[int, Any] = field(default_factory=dict)
    silent_s: dict[int, float] = field(default_factory=dict)
    running: RunningJob | None = None


def _kill_tree(pid: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for each in [*process.children(recursive=True), process]:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
