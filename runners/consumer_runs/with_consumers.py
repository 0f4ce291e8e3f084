"""Runs consumers, on this host or another, while another runner measures the producer that writes to their topic."""

import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from typing_extensions import override

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import Topic
from runners.consumer_runs.end_to_end_latency import ClockOffset, end_to_end_of
from runners.consumer_runs.topic_consumption import TopicConsumption
from runners.consumers.consumption import Consumption, ReadWindow
from runners.consumers.reading import Reading, Start
from runners.consumers.reading_load import ReadWatch
from runners.errors import GeneratorError, RunnerError, WorkloadRefused
from runners.measurements.measurement import Measurement, Window, sent_bytes_of
from runners.runner import DEFAULT_LIMITS, Runner, Watch, WatchDecision, go_on
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig


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


_LONGEST_S: Final = 86_000.0
"""After how long the consumers end at the latest; they are usually stopped after the producer."""
_START_PATIENCE_S: Final = 60.0
_LAST_RECORDS_PATIENCE_S: Final = 15.0
"""How long the consumers may take to read what is left when the producer has ended."""
_NO_MORE_S: Final = 2.0
"""If no record arrives for this long, all were read: consumers report each second what they took."""


@dataclass(frozen=True, slots=True)
class TailConsumers:
    """The consumers that read a topic at its tail while producers write to it.

    Attributes:
        cluster: The cluster of the topic.
        topic: The topic.
        outage_s: How many seconds may pass without an answer while brokers are down.
    """

    cluster: RunningCluster
    topic: Topic
    outage_s: float = DEFAULT_LIMITS.outage_s

    def load(self, config: ProducerConfig, workload: Workload) -> TopicConsumption:
        """Return the load of the consumers that read beside a producer, with the same client as the producer."""
        reading = Reading(
            start=Start.TAIL,
            consumers=workload.consumers,
            warmup_s=workload.warmup_s,
            measured_s=_LONGEST_S,
            keep_arrivals=True,
            outage_s=self.outage_s,
        )
        return TopicConsumption(self.cluster, self.topic.name, reading, self.topic.owned, config.client)


@dataclass(frozen=True, slots=True)
class WithConsumers(Runner):
    """A runner that runs another runner while consumers read the records of its producer.

    A workload without consumers is measured by the other runner alone.

    Attributes:
        runner: Measures the producer.
        consumers: The consumers, which read what the producer writes.
        host: The host on which the consumers run.
    """

    runner: Runner
    consumers: TailConsumers
    host: ConsumerHost = THIS_HOST

    @override
    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        if not workload.consumers:
            return self.runner.run(config, workload, watch)
        if config.acks == 0:
            raise WorkloadRefused(
                "end-to-end latency needs the offsets of the records, which a broker does not return with acks=0; use "
                "acks=1 or acks=all, or leave the consumers out"
            )
        measured: Measurement | None = None
        began = False
        try:
            before = self.host.clock_offset()
            consuming = _Consuming(self.consumers.load(config, workload), self.host)
            consuming.start()
            with closing(consuming):
                began = True
                measured = self.runner.run(config, workload, consuming.stopping_with_consumers(watch))
                # If others write to the topic, the number of records that the consumers took does not show whether they
                # took all of ours.
                consumption = consuming.finish(measured.counts.acknowledged if self.consumers.topic.owned else None)
            after = self.host.clock_offset()
        except RunnerError as error:
            # An error of the runner already states how many bytes were sent. An error of the consumers does not.
            if not began or measured is not None:
                error.sent_bytes = 0 if measured is None else sent_bytes_of(measured)
            raise
        assert measured.deliveries is not None, "the load generators return the offsets of their records"
        offsets = None if before is None or after is None else (before, after)
        end_to_end = end_to_end_of(measured.deliveries, consumption, offsets)
        warnings = (*measured.warnings, *(f"consumers: {warning}" for warning in end_to_end.warnings))
        return replace(measured, deliveries=None, end_to_end=end_to_end, warnings=warnings)


@dataclass(slots=True)
class _Consuming:
    """Consumers that read in a thread until they are stopped."""

    load: TopicConsumption
    host: ConsumerHost
    _thread: threading.Thread = field(init=False)
    _started: threading.Event = field(default_factory=threading.Event)
    _over: threading.Event = field(default_factory=threading.Event)
    _progress: threading.Event = field(default_factory=threading.Event)
    _taken: int = 0
    _outcome: list[Consumption | BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run, name="tuner-consumers", daemon=True)

    def start(self) -> None:
        """Start the consumers, and wait until they read."""
        self._thread.start()
        if not self._started.wait(_START_PATIENCE_S):
            self.close()
            raise GeneratorError(
                f"the consumers did not begin to read within {_START_PATIENCE_S:.0f} s; check whether this host or the "
                "brokers are overloaded"
            )
        self._raise_error()

    def stopping_with_consumers(self, watch: Watch) -> Watch:
        """Return a function that also stops the producer's load if the consumers have ended before it."""

        def watching(window: Window) -> WatchDecision:
            decision = watch(window)
            return decision if self._thread.is_alive() else WatchDecision.STOP

        return watching

    def finish(self, records: int | None) -> Consumption:
        """Wait until the consumers have taken all records. Then stop them, and return what they took.

        If records are missing after a while, the consumers are stopped all the same, and the counts show it.

        Args:
            records: How many records there are; None waits until no more arrive.
        """
        now_s = began_s = grew_s = time.monotonic()
        taken = self._taken
        while self._thread.is_alive() and now_s < began_s + _LAST_RECORDS_PATIENCE_S:
            if self._taken != taken:
                taken, grew_s = self._taken, now_s
            all_taken = now_s > grew_s + _NO_MORE_S if records is None else taken >= records
            if all_taken:
                break
            self._progress.wait(0.1)
            self._progress.clear()
            now_s = time.monotonic()
        self.close()
        self._raise_error()
        (consumption,) = self._outcome
        assert isinstance(consumption, Consumption)
        return consumption

    def close(self) -> None:
        """Stop the consumers, and wait until their processes have ended."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._outcome.append(self.host.consume(self.load, self._watch, self._started.set))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits for the consumers
            self._outcome.append(error)
        finally:
            self._started.set()

    def _watch(self, window: ReadWindow) -> WatchDecision:
        self._taken += window.records
        self._progress.set()
        return WatchDecision.STOP if self._over.is_set() else WatchDecision.GO_ON

    def _raise_error(self) -> None:
        if self._outcome and isinstance(self._outcome[0], BaseException):
            raise self._outcome[0]
