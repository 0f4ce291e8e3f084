"""A pool of Ray workers: on this host with a Ray of our own, or on a cluster that runs already.

A Ray of our own can be used by nobody else: its slots are the workers that we make. On a cluster of others, an actor
whose name is made from the target holds the target for this pool, and ends with us, however we end; the workers of a
slot sit on nodes of their own where there are enough, in the zones asked for, and begin at one moment of our clock.
Where a node leaves, its job is repeated once on those that are left.

Ray itself repeats and restarts nothing. A process can have one pool at a time. Windows travel as a stream of small
compressed messages, so nothing stays in Ray's object store.
"""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import psutil

from runners.errors import GeneratorError, WorkerLost
from runners.measurement import Window
from runners.merging import share
from runners.pool import Done, Job, Report, StartingAt, Underway
from runners.ray_cluster import RayCluster
from runners.ray_crew import Crew, unpacked
from runners.ray_seats import Seats, reason
from runners.ray_session import hold, own_ray, running_ray
from runners.reporting import Say, silent
from runners.runner import Watch, go_on

_LOOK_S: Final = 0.2
_LEAD_S: Final = 1.0
_SETTLE_S: Final = 2.0
"""Ray ends what a dead worker had started within this time; 1.4 to 1.7 s were measured with Ray 2.60."""


class RayPool:
    """A `Pool` of Ray actors that are made once and used for all jobs."""

    def __init__(
        self,
        home: Path,
        slots: int = 1,
        producers: int = 1,
        cluster: RayCluster | None = None,
        target: str | None = None,
        on_wait: Say = silent,
        tell: Say = silent,
    ) -> None:
        """Start Ray or connect to it, and start the workers; takes seconds.

        Args:
            home: Folder of ours for the token of a Ray of our own.
            slots: Jobs that may run at once.
            producers: Workers of each slot.
            cluster: A Ray cluster that runs; None starts Ray here.
            target: On a running cluster: what no other pool may use while this one does; we wait until it is free.
            on_wait: Called once with the holder of the target, where there is one.
            tell: Told in short sentences what is not as it should be, and what was done about it.

        Raises:
            GeneratorError: Ray could not be started or reached, or has no room for the workers.
            RayUnfit: The running cluster has not what was asked for, or not what we measure with.
        """
        self._own = cluster is None
        self._producers = producers
        self._runs = 0
        self._slots: list[_Slot] = []
        with contextlib.ExitStack() as stack:
            session = own_ray(home, slots * producers) if cluster is None else running_ray(cluster, tell)
            self._ray = stack.enter_context(session)
            stack.callback(self._kill_workers)
            seats = None
            if cluster is not None:
                seats = Seats(self._ray, cluster, producers, tell)
                seats.nodes()  # what can't be measured with is said before anything is taken from others
                if target is not None:
                    self._guard = hold(self._ray, target, on_wait)
            for _ in range(slots):
                slot = _Slot(Crew(self._ray, producers, seats, tell))
                self._slots.append(slot)
                slot.crew.complete()
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

    def next_done(self) -> Done | None:
        """See `Pool.next_done`."""
        while streams := [(stream, slot, number) for slot in self._slots for number, stream in slot.streams.items()]:
            # A short wait at a time, as signals are not served within one.
            with _signals_unwrapped():
                ready, _ = self._ray.wait([stream for stream, _, _ in streams], timeout=_LOOK_S)
            for stream, slot, number in streams:
                if any(stream is each for each in ready) and (done := self._take(slot, number)):
                    return done
        return None

    def close(self) -> None:
        """See `Pool.close`."""
        self._stack.close()

    def _begin(self, slot: "_Slot", underway: Underway) -> None:
        self._runs += 1
        run = self._runs
        job = underway.job
        count = len(job.runners)
        slot.crew.complete()
        if count > 1:
            slot.crew.set_clocks(count)
        hands = slot.crew.hands[:count]

        def stop() -> None:
            for hand in hands:
                hand.actor.stop.options(concurrency_group="control").remote(run)

        underway.begin(stop)
        wait_s = _SETTLE_S if underway.attempts > 1 else _LEAD_S if count > 1 else 0.0
        begin_unix_s = time.time() + wait_s
        slot.streams = {
            number: hand.actor.run.options(num_returns="streaming").remote(
                run,
                StartingAt(runner, begin_unix_s + hand.clock.ahead_s),
                job.config,
                share(job.workload, count, number),
            )
            for number, (hand, runner) in enumerate(zip(hands, job.runners, strict=True))
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
        return underway.done(", ".join(hand.name for hand in slot.crew.hands[: len(underway.job.runners)]))

    def _message(self, slot: "_Slot", number: int) -> Window | Report:
        errors = self._ray.exceptions
        try:
            with _signals_unwrapped():
                packed: bytes = self._ray.get(next(slot.streams[number]))
        except (errors.RayActorError, errors.WorkerCrashedError) as error:
            name = slot.crew.lose(number)
            return Report(WorkerLost(f"the worker {name} must live until its run ends, but {reason(error)}"))
        except errors.RayError as error:
            return Report(GeneratorError(f"a worker must give a result, but Ray says: {error}"))
        message = unpacked(packed)
        if not isinstance(message, Report) or message.began_unix_s is None:
            return message
        return replace(message, began_unix_s=message.began_unix_s - slot.crew.hands[number].clock.ahead_s)

    def _kill_workers(self) -> None:
        """With what they started; on other hosts Ray does that after the worker's death."""
        for slot in self._slots:
            for hand in slot.crew.dismiss():
                if self._own:
                    _kill_tree(hand.pid)
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
        crew: The workers.
        streams: What each producer under way tells, by its number.
        underway: The job.
    """

    crew: Crew
    streams: dict[int, Any] = field(default_factory=dict)
    underway: Underway | None = None


def _kill_tree(pid: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for each in [*process.children(recursive=True), process]:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
