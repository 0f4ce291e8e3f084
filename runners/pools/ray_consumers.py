"""Consumers that run in another Ray worker than their producer, often on another host."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import override

from runners.consumer_runs.end_to_end_latency import ClockOffset, clock_id, offset_of
from runners.consumer_runs.topic_consumption import TopicConsumption
from runners.consumer_runs.with_consumers import ConsumerHost
from runners.consumers.consumption import Consumption, ReadWindow
from runners.consumers.reading_load import ReadWatch
from runners.errors import ConsumersLost, GeneratorError, RunnerError
from runners.pools.ray_reservations import reason
from runners.pools.ray_worker_group import unpacked
from runners.runner import WatchDecision

_CLOCK_READINGS: Final = 50
"""Number of readings of the other host's clock, which take about 0.1 s together.

The error of the clock offset is part of each end-to-end latency. So we read the clock more often than for the common
start of several producers.
"""
_PATIENCE_S: Final = 60.0
"""The longest time without a message. Consumers may take this long to start. Later they send a message each second."""


@dataclass(frozen=True, slots=True)
class RayConsumerHost(ConsumerHost):
    """A Ray worker that runs the consumers, as the worker of the first producer sees it.

    Attributes:
        actor: Ray's handle of the worker that runs the consumers.
        name: Name of that worker.
        run: Number of the run, by which it can be stopped.
        patience_s: A worker that sends no message for this many seconds counts as lost.
    """

    actor: Any
    name: str
    run: int
    patience_s: float = _PATIENCE_S

    @override
    def consume(self, load: TopicConsumption, watch: ReadWatch, started: Callable[[], None]) -> Consumption:
        for message in self._messages(load):
            match message:
                case ReadWindow():
                    if watch(message) is WatchDecision.STOP:
                        self.actor.stop.options(concurrency_group="control").remote(self.run)
                case Consumption():
                    return message
                case RunnerError():
                    message.args = (f"consumers on {self.name}: {message}",)
                    raise message
                case BaseException():
                    raise GeneratorError(
                        f"the consumers on {self.name} failed: {type(message).__name__}: {message}"
                    ) from message
                case _:
                    started()
        raise ConsumersLost(f"the worker {self.name} did not report what the consumers measured")

    @override
    def clock_offset(self) -> ClockOffset | None:
        if self._answer_to(self.actor.clock_id) == clock_id():
            return None
        return offset_of(lambda: float(self._answer_to(self.actor.monotonic)), time.monotonic, _CLOCK_READINGS)

    def _messages(self, load: TopicConsumption) -> Iterator[Any]:
        import ray

        stream = self.actor.consume.options(num_returns="streaming").remote(self.run, load)
        while True:
            ready, _ = ray.wait([stream], timeout=self.patience_s)
            if not ready:
                raise self._lost(f"it sent no message for {self.patience_s:.0f} s")
            try:
                message = unpacked(self._got(next(stream)))
            except StopIteration:
                return
            yield message

    def _answer_to(self, method: Any) -> Any:
        """Call a method of the worker that can be called while the consumers run."""
        return self._got(method.options(concurrency_group="control").remote())

    def _got(self, reference: Any) -> Any:
        import ray

        errors = ray.exceptions
        try:
            return ray.get(reference, timeout=self.patience_s)
        except (errors.RayActorError, errors.WorkerCrashedError, errors.GetTimeoutError) as error:
            raise self._lost(f"Ray says: {reason(error)}") from error
        except errors.RayError as error:
            raise GeneratorError(f"the worker {self.name} could not run the consumers: {error}") from error

    def _lost(self, why: str) -> ConsumersLost:
        return ConsumersLost(f"the worker {self.name} lost the consumers before the producer ended: {why}")
