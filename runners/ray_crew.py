"""The workers of one slot: made together, and made anew where one was lost; and what runs in them.

A worker runs one producer at a time, told to the driver as a stream of small compressed messages.

So that producers begin at one moment, a worker is asked for its time, which it reads somewhere between our question and
the arrival of its answer. Of several answers the one that was back first is the most exact: it is wrong by half of its
round trip at most. Source: Cristian, "Probabilistic clock synchronization", Distributed Computing 3 (1989).
"""

import pickle
import queue
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from runners.errors import GeneratorError
from runners.measurement import Window
from runners.pool import Report, produce, whoami
from runners.ray_seats import Seats, reason
from runners.reporting import Say
from runners.runner import Runner
from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig

ASKED: Final = 5
"""Questions to each worker; an answer takes some 2 ms."""
_PATIENCE_S: Final = 120.0
_ATTEMPTS: Final = 3
"""A node that has just gone may still be given a worker, before Ray notices."""


@dataclass(frozen=True, slots=True)
class Offset:
    """How far another clock is ahead of ours.

    Attributes:
        ahead_s: Below 0 where it is behind.
        within_s: How wrong that may be.
    """

    ahead_s: float = 0.0
    within_s: float = 0.0


def offset_of(ask: Callable[[], float], now: Callable[[], float], asked: int = ASKED) -> Offset:
    """Ask another clock some times.

    Args:
        ask: Its time, in seconds since 1970.
        now: Ours.
        asked: How often, at least once.
    """

    def answers() -> Iterable[Offset]:
        for _ in range(asked):
            before = now()
            there = ask()
            after = now()
            yield Offset(there - (before + after) / 2, (after - before) / 2)

    return min(answers(), key=lambda offset: offset.within_s)


@dataclass(frozen=True, slots=True)
class Hand:
    """One worker.

    Attributes:
        actor: Ray's handle.
        name: Host/process id, and its zone where it has one.
        clock: How far its host's clock is ahead of ours.
    """

    actor: Any
    name: str
    clock: Offset = Offset()

    @property
    def pid(self) -> int:
        """Its process, on its host."""
        return int(self.name.partition(" ")[0].rpartition("/")[2])


class Crew:
    """Workers for one job at a time.

    Args:
        ray: The module, connected.
        producers: How many workers.
        seats: Reserves places for them on a cluster; None where Ray is our own, with room for all.
        tell: Told when workers sit elsewhere after one was lost.
    """

    def __init__(self, ray: Any, producers: int, seats: Seats | None, tell: Say) -> None:
        self._ray, self._producers, self._seats, self._tell = ray, producers, seats, tell
        self._actor = ray.remote(
            num_cpus=1,
            max_restarts=0,
            max_task_retries=0,
            concurrency_groups={"control": 1},
            scheduling_strategy="SPREAD",
        )(Worker)
        self._group: Any = None
        self._lost: list[int] = list(range(producers))
        self.hands: list[Hand] = []

    def lose(self, number: int) -> str:
        """Note that a worker is gone; gives its name."""
        # Of one that is out of reach nothing may come any more.
        self._ray.kill(self.hands[number].actor, no_restart=True)
        if number not in self._lost:
            self._lost.append(number)
        return self.hands[number].name

    def complete(self) -> None:
        """Make the workers that are lost; on a cluster all of them, on the nodes that are left.

        Raises:
            GeneratorError: Ray gives none; a `RayUnfit` where the cluster has no place for them.
        """
        if not self._lost:
            return
        if self._seats is not None:
            self._sit_anew(self._seats)
        elif not self.hands:
            self.hands = self._named([self._actor.remote() for _ in range(self._producers)])
        else:
            for number in self._lost:
                (self.hands[number],) = self._named([self._actor.remote()])
        self._lost.clear()

    def set_clocks(self, count: int) -> None:
        """Measure how far the clocks of the first `count` workers' hosts are off; our own need no measuring."""
        if self._seats is None:
            return
        for number, hand in enumerate(self.hands[:count]):
            asked = hand.actor.clock.options(concurrency_group="control")
            try:
                clock = offset_of(lambda asked=asked: self._ray.get(asked.remote(), timeout=_PATIENCE_S), time.time)  # type: ignore[misc]
            except self._ray.exceptions.RayError:
                continue  # its run will tell
            self.hands[number] = replace(hand, clock=clock)

    def dismiss(self) -> list[Hand]:
        """Kill all workers, and give their seats back; gives those that there were."""
        dismissed, self.hands = self.hands, []
        for hand in dismissed:
            self._ray.kill(hand.actor, no_restart=True)
        if self._group is not None and self._seats is not None:
            self._seats.release(self._group)
            self._group = None
        self._lost = list(range(self._producers))
        return dismissed

    def _sit_anew(self, seats: Seats) -> None:
        before = self.dismiss()
        for attempt in range(1, _ATTEMPTS + 1):
            self._group = seats.reserve()
            try:
                self.hands = self._named([self._seated(self._group, number) for number in range(self._producers)])
                break
            except GeneratorError:
                self.dismiss()
                if attempt == _ATTEMPTS:
                    raise
        zones = [seats.cluster.zone_of(number) for number in range(self._producers)]
        self.hands = [
            hand if zone is None else replace(hand, name=f"{hand.name} in {zone}")
            for hand, zone in zip(self.hands, zones, strict=True)
        ]
        if before:
            self._tell(f"a Ray worker was lost; now at work: {', '.join(hand.name for hand in self.hands)}")

    def _seated(self, group: Any, number: int) -> Any:
        strategy = self._ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(
            group, placement_group_bundle_index=number
        )
        return self._actor.options(scheduling_strategy=strategy).remote()

    def _named(self, actors: list[Any]) -> list[Hand]:
        try:
            names = self._ray.get([actor.name.remote() for actor in actors], timeout=_PATIENCE_S)
        except self._ray.exceptions.RayError as error:
            for actor in actors:
                self._ray.kill(actor, no_restart=True)
            raise GeneratorError(
                f"Ray must start a worker within {_PATIENCE_S:.0f} s, but did not: {reason(error)}"
            ) from error
        return [Hand(actor, name) for actor, name in zip(actors, names, strict=True)]


class Worker:
    """An actor, once Ray has made one of it; the others are called while `run` runs."""

    def __init__(self) -> None:
        self._stopped_run = 0
        # A spawned load process would import the main module again: Ray's own, and all of Ray with it.
        vars(sys.modules["__main__"]).pop("__file__", None)

    def name(self) -> str:
        """Host/process id."""
        return whoami()

    def clock(self) -> float:
        """This host's time, in seconds since 1970."""
        return time.time()

    def stop(self, run: int) -> None:
        """Let a run end; one that is over already is none of our business."""
        self._stopped_run = run

    def run(self, run: int, runner: Runner, config: ProducerConfig, workload: Workload) -> Iterator[bytes]:
        """Windows as they end, then the report."""
        told: queue.SimpleQueue[Window | Report] = queue.SimpleQueue()

        def work() -> None:
            told.put(produce(runner, config, workload, told.put, lambda: self._stopped_run == run))

        threading.Thread(target=work, name=f"tuner-run-{run}", daemon=True).start()
        message: Window | Report | None = None
        while not isinstance(message, Report):
            message = told.get()
            yield zlib.compress(pickle.dumps(message), 1)


def unpacked(packed: bytes) -> Window | Report:
    """One message of the stream."""
    message: Window | Report = pickle.loads(zlib.decompress(packed))
    return message
