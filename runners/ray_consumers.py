"""Consumers that run in another Ray worker than their producer, often on another host."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import override

from runners.clock_offset import Offset, offset_of
from runners.consumers.consumer_host import ConsumerHost
from runners.consumers.consumption import Consumption, ReadWindow
from runners.consumers.on_topic import TopicConsumption
from runners.consumers.reader import ReadWatch
from runners.errors import ConsumersLost
from runners.ray_crew import unpacked
from runners.ray_seats import reason
from runners.runner import WatchDecision

_ASKED: Final = 50
"""How many times the other clock is asked, which takes about 0.1 s.

The error is part of each end-to-end latency, so it is worth more questions than the common start of several producers.
"""
_PATIENCE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class RayConsumerHost(ConsumerHost):
    """A Ray worker that runs the consumers, as the worker of the first producer sees it.

    Attributes:
        actor: Ray's handle of the worker that runs the consumers.
        name: Name of that worker.
        run: Number of the run, by which it can be stopped.
    """

    actor: Any
    name: str
    run: int

    @override
    def consume(self, load: TopicConsumption, watch: ReadWatch, started: Callable[[], None]) -> Consumption:
        import ray

        try:
            for each in self.actor.consume.options(num_returns="streaming").remote(self.run, load):
                match unpacked(ray.get(each)):
                    case ReadWindow() as window:
                        if watch(window) is WatchDecision.STOP:
                            self.actor.stop.options(concurrency_group="control").remote(self.run)
                    case Consumption() as consumption:
                        return consumption
                    case BaseException() as error:
                        raise error
                    case _:
                        started()
        except ray.exceptions.RayError as error:
            raise self._lost(error) from error
        raise ConsumersLost(f"the worker {self.name} must report what the consumers measured, but reported nothing")

    @override
    def offset(self) -> Offset:
        import ray

        asked = self.actor.monotonic.options(concurrency_group="control")
        try:
            return offset_of(lambda: float(ray.get(asked.remote(), timeout=_PATIENCE_S)), time.monotonic, _ASKED)
        except ray.exceptions.RayError as error:
            raise self._lost(error) from error

    def _lost(self, error: Exception) -> ConsumersLost:
        return ConsumersLost(
            f"the worker {self.name} must run the consumers until the producer ends, but Ray says: {reason(error)}"
        )
