"""The host on which the consumers of a measurement run: the producer's host or another host."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from typing_extensions import override

from runners.consumer_runs.clock_offset import ClockOffset
from runners.consumer_runs.topic_consumption import TopicConsumption
from runners.consumers.consumption import Consumption
from runners.consumers.reading_load import ReadWatch


class ConsumerHost(Protocol):
    """A host that runs the consumers of a load. Its methods are called on the host of the producer."""

    def consume(self, load: TopicConsumption, watch: ReadWatch, started: Callable[[], None]) -> Consumption:
        """Run the consumers until `watch` stops them, and return what they measured.

        Args:
            load: The consumers and their topic.
            watch: Called with each window, and can stop the load.
            started: Called when all consumers have begun to read.

        Raises:
            RunnerError: The consumers gave no result.
        """

    def clock_offset(self) -> ClockOffset | None:
        """Return how far the monotonic clock of that host is ahead of ours; None if it is the same clock.

        Raises:
            RunnerError: The host does not answer.
        """


@dataclass(frozen=True, slots=True)
class ThisHost(ConsumerHost):
    """The host of the producer, for consumers that run beside it."""

    @override
    def consume(self, load: TopicConsumption, watch: ReadWatch, started: Callable[[], None]) -> Consumption:
        return load.run(watch, lambda _: started())

    @override
    def clock_offset(self) -> None:
        return None


THIS_HOST: Final = ThisHost()
