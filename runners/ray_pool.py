"""A pool of Ray workers: on this host with a Ray of our own, or on a cluster that runs already.

A Ray of our own can be used by nobody else: its slots are the workers that we make. On a cluster of others, an actor
whose name is made from the target holds the target for this pool, and ends with us, however we end.

Ray itself repeats and restarts nothing. A process can have one pool at a time. Windows travel as a stream of small
compressed messages, so nothing stays in Ray's object store.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import psutil

from runners.errors import GeneratorError, WorkerLost
from runners.measurement import Window
from runners.merging import share
from runners.pool import Done, Job
from runners.producers import Report, StartingAt, Underway
from runners.ray_session import hold, own_ray, running_ray
from runners.ray_worker import Worker, unpacked
from runners.runner import Watch, go_on

_WORKER_PATIENCE_S: Final = 120.0
_LOOK_S: Final = 0.2
_LEAD_S: Final = 1.0
_SETTLE_S: Final = 2.0
"""Ray ends what a dead worker had started within this time; 1.4 to 1.7 s were measured with Ray 2.60."""


def _ignore(_: str) -> None:
    pass


class RayPool:
    """A `Pool` of Ray actors that are made once and used for all jobs."""

    def __init__(
        self,
        home: Path,
        slots: int = 1,
        producers: int = 1,
        address: str | None = None,
        target: str | None = None,
        on_wait: Callable[[str], None] = _ignore,
    ) -> None:
        """Start Ray or connect to it, and start the workers; takes seconds.

        Args:
            home: Folder of ours for the token of a Ray of our own.
            slots: Jobs that may run at once.
            producers: Workers of each slot.
            address: Of a Ray cluster that runs, with this package on its nodes; None starts one here.
            target: On a running cluster: what no other pool may use while this one does; we wait until it is free.
            on_wait: Called once with the holder of the target, where there is one.

        Raises:
            GeneratorError: Ray could not be started or reached, or has no room for the workers.
        """
        self._own = address is None
        self._producers = producers
        self._runs = 0
        self._slots: list[_Slot] = []
        with ExitStack() as stack:
            session = own_ray(home, slots * producers) if address is None else running_ray(address)
            self._ray = stack.enter_context(session)
            if address is not None and target is not None:
                self._guard = hold(self._ray, target, on_wait)
            stack.callback(self._kill_workers)
            self._actor = self._ray.remote(
                num_cpus=1,
                max_restarts=0,
                max_task_retries=0,
                concurrency_groups={"control": 1},
                scheduling_strategy="SPREAD",
            )(Worker)
            self._slots = [_Slot([self._actor.remote() for _ in range(producers)]) for _ in range(slots)]
            for slot in self._slots:
                slot.names = [self._name_of(worker) for worker in slot.workers]
            self._stack = stack.pop_all()

    @property
    def capacity(self) -> int:
        """See `Pool.capacity`."""
        return len(self._slots)

    def submit(self, job: Job, watch: Watch = go_on) -> None:
        """See `Pool.submit`."""
        if len(job.runners) > self._producers:
            raise ValueError(f"a job may have at most {self._producers} producers, but has {len(job.runners)}")
        free = next((slot for slot in self._slots if slot.underway is None), None)
        if free is None:
            raise ValueError(f"at most {self.capacity} jobs may run at once, and all slots are taken")
        free.underway = Underway(job, watch)
        self._begin(free, free.underway)

    def next_done(self, timeout_s: float | None = None) -> Done | None:
        """See `Pool.next_done`."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while streams := [(stream, slot, number) for slot in self._slots for number, stream in slot.streams.items()]:
            left_s = _LOOK_S if deadline is None else min(_LOOK_S, deadline - time.monotonic())
            # A short wait at a time, as signals are not served within one.
            with _signals_unwrapped():
                ready, _ = self._ray.wait([stream for stream, _, _ in streams], timeout=max(0.0, left_s))
            for stream, slot, number in streams:
                if any(stream is each for each in ready) and (done := self._take(slot, number)):
                    return done
            if not ready and left_s < _LOOK_S:
                return None
        return None

    def close(self) -> None:
        """See `Pool.close`."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self, slot: "_Slot", underway: Underway) -> None:
        self._runs += 1
        run = self._runs
        job = underway.job
        count = len(job.runners)
        workers = slot.workers[:count]

        def stop() -> None:
            for worker in workers:
                worker.stop.options(concurrency_group="control").remote(run)

        wait_s = _SETTLE_S if underway.attempts else _LEAD_S if count > 1 else 0.0
        begin_unix_s = time.time() + wait_s
        underway.begin(stop)
        slot.streams = {
            number: worker.run.options(num_returns="streaming").remote(
                run, StartingAt(runner, begin_unix_s), job.config, share(job.workload, count, number)
            )
            for number, (worker, runner) in enumerate(zip(workers, job.runners, strict=True))
        }

    def _take(self, slot: "_Slot", number: int) -> Done | None:
        """Take one message that is there; gives the job if it was the last."""
        message = self._message(slot, number)
        if isinstance(message, Report):
            del slot.streams[number]
        underway = slot.underway
        assert underway is not None
        underway.take(number, message)
        if not underway.over:
            return None
        if underway.repeatable:
            self._begin(slot, underway)
            return None
        slot.underway = None
        return underway.done(", ".join(slot.names[: len(underway.job.runners)]))

    def _message(self, slot: "_Slot", number: int) -> Window | Report:
        errors = self._ray.exceptions
        try:
            with _signals_unwrapped():
                packed: bytes = self._ray.get(next(slot.streams[number]))
        except (errors.RayActorError, errors.WorkerCrashedError) as error:
            name = slot.names[number]
            self._replace(slot, number)
            return Report(WorkerLost(f"the worker {name} must live until its run ends, but {_reason(error)}"))
        except errors.RayError as error:
            return Report(GeneratorError(f"a worker must give a result, but Ray says: {error}"))
        return unpacked(packed)

    def _replace(self, slot: "_Slot", number: int) -> None:
        self._ray.kill(slot.workers[number], no_restart=True)  # of one that is out of reach nothing may come any more
        slot.workers[number] = self._actor.remote()
        slot.names[number] = self._name_of(slot.workers[number])

    def _name_of(self, worker: Any) -> str:
        try:
            name: str = self._ray.get(worker.name.remote(), timeout=_WORKER_PATIENCE_S)
        except self._ray.exceptions.RayError as error:
            raise GeneratorError(
                f"Ray must start a worker within {_WORKER_PATIENCE_S:.0f} s, but did not: {_reason(error)}"
            ) from error
        return name

    def _kill_workers(self) -> None:
        """With what they started; on other hosts Ray does that after the worker's death."""
        for slot in self._slots:
            for worker, name in zip(slot.workers, slot.names, strict=False):
                self._ray.kill(worker, no_restart=True)
                if self._own:
                    _kill_tree(int(name.rpartition("/")[2]))
        self._slots = []


@contextlib.contextmanager
def _signals_unwrapped() -> Iterator[None]:
    """What a signal's handler raised while Ray's own code was running comes out as the cause of a SystemError."""
    try:
        yield
    except SystemError as error:
        if error.__cause__ is None:
            raise
        raise error.__cause__ from None


@dataclass(slots=True)
class _Slot:
    """Workers for one job at a time.

    Attributes:
        workers: Ray's handles.
        names: Host/process id of each.
        streams: What each producer under way tells, by its number.
        underway: The job.
    """

    workers: list[Any]
    names: list[str] = field(default_factory=list)
    streams: dict[int, Any] = field(default_factory=dict)
    underway: Underway | None = None


def _kill_tree(pid: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for each in [*process.children(recursive=True), process]:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()


def _reason(error: Exception) -> str:
    return " ".join((str(error) or type(error).__name__).split())[:300]
