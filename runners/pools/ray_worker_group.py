"""A group of Ray workers that run one job at a time, and the code that runs in a worker.

The workers of a group are started together. If a worker is lost, it is replaced before the next job or attempt. A
worker runs one producer at a time, or the consumers of a job. It streams its windows and its result as small compressed
messages. A producer's messages go to the driver, which is the process that runs the study. Those of the consumers go to
the worker of the first producer (`runners.pools.ray_consumers`).

All producers of a job begin at one moment, so the driver measures how far each worker's clock is ahead of its own.
"""

import contextlib
import pickle
import queue
import sys
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from runners.consumer_runs.end_to_end_latency import SAME_CLOCK, ClockOffset, clock_id, offset_of
from runners.consumer_runs.topic_consumption import TopicConsumption
from runners.consumers.consumption import Consumption, ReadWindow
from runners.errors import GeneratorError, signals_unwrapped
from runners.measurements.measurement import Window
from runners.pools.producer_process import WorkerReport, host_and_pid, prepare_producer, priority_warnings, produce
from runners.pools.ray_reservations import CoreReservations, reason
from runners.reporting import Say
from runners.runner import Runner, WatchDecision
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig

_PATIENCE_S: Final = 120.0
_CHECK_S: Final = 0.2
_PREPARED_S: Final = 240.0
"""How many seconds to wait at most until workers are prepared. A worker that takes longer starts its run late."""
_ATTEMPTS: Final = 3
"""Attempts to start all workers. Until Ray notices that a node has left, it may try to start a worker on that node."""


@dataclass(frozen=True, slots=True)
class StartedWorker:
    """A Ray worker that has started, as the process that runs the study sees it.

    Attributes:
        actor: Ray's handle of the worker.
        name: Name of the worker: host/process id, and its zone if it has one.
        clock: How far the clock of its host is ahead of ours.
    """

    actor: Any
    name: str
    clock: ClockOffset = SAME_CLOCK

    @property
    def pid(self) -> int:
        """Id of the worker's process on its host."""
        return int(self.name.partition(" ")[0].rpartition("/")[2])


class RayWorkerGroup:
    """Ray workers that together run one job at a time: one for each producer, and possibly one for the consumers.

    Args:
        ray: The module `ray`, connected.
        reservations: Reserves cores for the workers on an existing Ray cluster; None if we started Ray ourselves, with
            room for all workers.
        tell: Called with a sentence when a worker was lost and all workers were started again.
    """

    def __init__(self, ray: Any, reservations: CoreReservations | None, tell: Say) -> None:
        self._ray, self._reservations, self._tell = ray, reservations, tell
        self._actor = ray.remote(
            num_cpus=1,
            max_restarts=0,
            max_task_retries=0,
            concurrency_groups={"control": 1},
            scheduling_strategy="SPREAD",
        )(Worker)
        self._reserved: Any = None
        self._lost: list[int] = []
        self._zones: list[str | None] = []
        self.workers: list[StartedWorker] = []

    def lose(self, number: int) -> str:
        """Mark the worker with this number as lost, kill it in case it still runs, and return its name."""
        # A worker that is only out of reach could still send messages later.
        self._ray.kill(self.workers[number].actor, no_restart=True)
        if number not in self._lost:
            self._lost.append(number)
        return self.workers[number].name

    def ensure_started(self, zones: Sequence[str | None]) -> None:
        """Start the workers, or replace those that were lost.

        On an existing Ray cluster, the loss of one worker makes us start all workers again, on the remaining nodes.

        Args:
            zones: The zone of each worker; None for any node. Workers in other zones are replaced.

        Raises:
            GeneratorError: Ray did not start the workers. It is a `RayUnfit` if the cluster has no room for them.
        """
        moves = list(zones) != self._zones
        if self.workers and not self._lost and not moves:
            return
        if self._reservations is not None:
            if moves:
                self.dismiss()
            self._zones = list(zones)
            self._start_all(self._reservations)
        elif not self.workers:
            self._zones = list(zones)
            self.workers = self._with_names([self._actor.remote() for _ in zones])
        else:
            for number in self._lost:
                (self.workers[number],) = self._with_names([self._actor.remote()])
        self._lost.clear()

    def prepare(self, runners: Sequence[Runner], config: ProducerConfig, workloads: Sequence[Workload]) -> None:
        """Prepare the runs of the first workers, all at the same time, and wait until they are prepared.

        If a worker is lost meanwhile, its run will report that.

        Args:
            runners: The runner of each producer.
            config: The config to measure.
            workloads: The share of each producer.
        """
        waiting = [
            worker.actor.prepare.remote(runner, config, workload)
            for worker, runner, workload in zip(self.workers, runners, workloads, strict=False)
        ]
        deadline = time.monotonic() + _PREPARED_S
        # Each wait is short, because signals are not handled during a wait.
        while waiting and time.monotonic() < deadline:
            with signals_unwrapped():
                ready, waiting = self._ray.wait(waiting, timeout=_CHECK_S)
            for each in ready:
                with contextlib.suppress(self._ray.exceptions.RayError):
                    self._ray.get(each)

    def set_clocks(self, count: int) -> None:
        """Measure how far the clocks of the first `count` workers are ahead of ours.

        If we started Ray ourselves, nothing is measured, because then all workers use this host's clock.
        """
        if self._reservations is None:
            return
        for number, worker in enumerate(self.workers[:count]):
            method = worker.actor.clock.options(concurrency_group="control")
            try:
                clock = offset_of(lambda method=method: self._ray.get(method.remote(), timeout=_PATIENCE_S), time.time)  # type: ignore[misc]
            except self._ray.exceptions.RayError:
                continue  # the run on this worker will fail and report the error
            self.workers[number] = replace(worker, clock=clock)

    def dismiss(self) -> list[StartedWorker]:
        """Kill all workers, release the cores that were reserved for them, and return the killed workers."""
        dismissed, self.workers = self.workers, []
        for worker in dismissed:
            self._ray.kill(worker.actor, no_restart=True)
        if self._reserved is not None and self._reservations is not None:
            self._reservations.release(self._reserved)
            self._reserved = None
        self._lost.clear()
        return dismissed

    def _start_all(self, reservations: CoreReservations) -> None:
        before = self.dismiss()
        for attempt in range(1, _ATTEMPTS + 1):
            self._reserved = reservations.reserve(self._zones)
            try:
                self.workers = self._with_names(
                    [self._start_reserved(self._reserved, number) for number in range(len(self._zones))]
                )
                break
            except GeneratorError:
                self.dismiss()
                if attempt == _ATTEMPTS:
                    raise
        self.workers = [
            worker if zone is None else replace(worker, name=f"{worker.name} in {zone}")
            for worker, zone in zip(self.workers, self._zones, strict=True)
        ]
        if before:
            self._tell(
                f"a Ray worker was lost; the new workers are: {', '.join(worker.name for worker in self.workers)}"
            )

    def _start_reserved(self, group: Any, number: int) -> Any:
        strategy = self._ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(
            group, placement_group_bundle_index=number
        )
        return self._actor.options(scheduling_strategy=strategy).remote()

    def _with_names(self, actors: list[Any]) -> list[StartedWorker]:
        try:
            names = self._ray.get([actor.name.remote() for actor in actors], timeout=_PATIENCE_S)
        except self._ray.exceptions.RayError as error:
            for actor in actors:
                self._ray.kill(actor, no_restart=True)
            raise GeneratorError(
                f"Ray did not start all workers within {_PATIENCE_S:.0f} s: {reason(error)}"
            ) from error
        return [StartedWorker(actor, name) for actor, name in zip(actors, names, strict=True)]


class Worker:
    """The Ray actor that runs one producer at a time, or the consumers of a job.

    Its other methods can be called while `run` or `consume` is running.
    """

    def __init__(self) -> None:
        self._stopped_run = 0
        # Otherwise a spawned load process would import the main module again, which is Ray's and imports all of Ray.
        vars(sys.modules["__main__"]).pop("__file__", None)

    def name(self) -> str:
        """Return the name of this worker, as host/process id."""
        return host_and_pid()

    def clock(self) -> float:
        """Return this host's time, in seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Return the time of this host's monotonic clock, in seconds."""
        return time.monotonic()

    def clock_id(self) -> str:
        """Return the id of this host's monotonic clock."""
        return clock_id()

    def stop(self, run: int) -> None:
        """Ask the run with this number to end. Nothing happens if that run is already over."""
        self._stopped_run = run

    def prepare(self, runner: Runner, config: ProducerConfig, workload: Workload) -> None:
        """Start what the run of one producer of a job needs, such as a Java process."""
        prepare_producer(runner, config, workload)

    def run(self, run: int, runner: Runner, config: ProducerConfig, workload: Workload) -> Iterator[bytes]:
        """Run one producer of a job. The number `run` identifies this run in a later call of `stop`.

        Yields:
            Each window when it ends, and at last the producer's report.
            Windows and report are pickled and compressed; `unpacked` decodes them.
        """
        messages: queue.SimpleQueue[Window | WorkerReport] = queue.SimpleQueue()

        def work() -> None:
            messages.put(produce(runner, config, workload, messages.put, lambda: self._stopped_run == run))

        threading.Thread(target=work, name=f"tuner-run-{run}", daemon=True).start()
        message: Window | WorkerReport | None = None
        while not isinstance(message, WorkerReport):
            message = messages.get()
            yield packed(message)

    def consume(self, run: int, load: TopicConsumption) -> Iterator[bytes]:
        """Run the consumers of a job. The number `run` identifies this run in a later call of `stop`.

        Yields:
            None when all consumers have begun to read, then each window when it ends, and last the result or the error
            that prevented it. `unpacked` decodes them.
        """
        messages: queue.SimpleQueue[ReadWindow | Consumption | BaseException | None] = queue.SimpleQueue()

        def watch(window: ReadWindow) -> WatchDecision:
            messages.put(window)
            return WatchDecision.STOP if self._stopped_run == run else WatchDecision.GO_ON

        def work() -> None:
            try:
                seen = load.run(watch, lambda _: messages.put(None))
                messages.put(replace(seen, warnings=(*seen.warnings, *priority_warnings())))
            except BaseException as error:  # noqa: BLE001 - raised again in the worker that waits for the consumers
                messages.put(error)

        threading.Thread(target=work, name=f"tuner-consumers-{run}", daemon=True).start()
        message: ReadWindow | Consumption | BaseException | None = None
        while not isinstance(message, Consumption | BaseException):
            message = messages.get()
            yield packed(message)


def packed(message: object) -> bytes:
    """Encode one message of a worker."""
    return zlib.compress(pickle.dumps(message), 1)


def unpacked(message: bytes) -> Any:
    """Decode one message that a worker has sent."""
    return pickle.loads(zlib.decompress(message))
