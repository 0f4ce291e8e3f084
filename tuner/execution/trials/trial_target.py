"""A cluster that gives each trial of the bench a topic and runners, and that is opened again if a broker was lost."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

from runners.clusters.brokers.killed_broker import LONGEST_OUTAGE_S, kill_leader
from runners.clusters.topics.owned_topics import Topic
from runners.consumer_runs.topic_consumption import fill_bytes
from runners.consumer_runs.with_consumers import TailConsumers
from runners.errors import BrokerLost, RunnerError, TargetError, WorkloadRefused
from runners.load.isolated import Isolated
from runners.measurements.measurement import Measurement
from runners.reporting import Say
from runners.runner import Limits, Runner, Watch, go_on
from runners.workload import Workload
from search_spaces.client import Client
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.open_target import OpenTarget
from tuner.model.measurement_setup import Setup

_SETTLING_S: Final = 1.5
"""Seconds between two counts of a topic's records, to find out whether records are still being written.

If a worker is lost, its load ends within a second, at the end of the window.
"""
_SETTLING_COUNTS: Final = 20
FILLING: Final = ProducerConfig.parse({"linger.ms": 10, "batch.size": 1_000_000})
"""The config that fills a topic before a measurement. Its batches are large, because that is fast."""


@dataclass(frozen=True, slots=True)
class TrialTopic:
    """What a trial gets from a cluster while it runs: a topic, and the runners that measure on this topic.

    Attributes:
        runners: Returns one runner per producer, all on the same topic, for a phase that may send at most the given
            number of bytes of values and keys in all, with a config of the given client.
        stored: Returns the number of records in the topic; None if it can't be read.
        owned: Whether only these runners write to the topic.
        final_stored: Waits until the number of records no longer grows, and returns that number as `stored` does. The
            load of a lost worker may continue for a while.
        filled_bytes: Bytes of values and keys that were written to the topic before the runners measure.
        kill_broker: Kills the broker that leads the topic's first partition.
        consumers: Read the topic while the runners write to it; None if there is no topic.
    """

    runners: Callable[[int, Client], tuple[Runner, ...]]
    stored: Callable[[], int | None]
    owned: bool
    final_stored: Callable[[], int | None] = lambda: None
    filled_bytes: int = 0
    kill_broker: Callable[[], None] = lambda: None
    consumers: TailConsumers | None = None


class TrialTarget(Protocol):
    """A cluster on which `tuner.execution.trials.bench.Bench` can measure trials."""

    def topic_for(
        self, workload: Workload, limits: Limits, trial: int, setup: Setup
    ) -> AbstractContextManager[TrialTopic]:
        """Provide a topic, and runners that measure on this topic, until the context is left.

        Args:
            workload: The load of the trial's first phase.
            limits: How many bytes the trial may send, and how much disk space it must leave free.
            trial: The number of the trial.
            setup: What the trial needs in addition to its load.
        """

    def restart_brokers(self) -> None:
        """Stop the brokers that we started, and start new ones; do nothing if the cluster is not ours.

        Raises:
            EmbeddedBrokerError: The brokers could not be started.
        """

    def recover(self) -> None:
        """Make the cluster usable again after a broker was lost.

        Raises:
            TargetError: The broker did not come back in time.
        """


class ClusterTarget:
    """A Kafka cluster on which trials are measured; it is opened again if its broker was lost.

    Args:
        open_target: Starts the cluster, or connects to it.
        broker_wait_s: How long to wait for a lost broker.
        tell: Called with a short sentence for the user about each step.
        sleep: Waits the given number of seconds; a parameter, so that tests need not wait.
        overlapping: Whether the deletion of a topic may continue while the next trial warms up.
    """

    def __init__(
        self,
        open_target: Callable[[], AbstractContextManager[OpenTarget]],
        broker_wait_s: float,
        tell: Say,
        sleep: Callable[[float], None],
        overlapping: bool = False,
    ) -> None:
        self._open, self._wait_s = open_target, broker_wait_s
        self._tell, self._sleep, self._overlapping = tell, sleep, overlapping
        self._given_up = False
        self._stack = ExitStack()
        self.opened = self._stack.enter_context(open_target())
        self._brokers = _brokers_of(self.opened)

    @contextmanager
    def topic_for(self, workload: Workload, limits: Limits, trial: int, setup: Setup) -> Iterator[TrialTopic]:
        """Provide a topic of the cluster, and one runner per producer, until the context is left."""
        opened, producers = self.opened, setup.producers
        overlapping = self._overlapping or setup.broker_killed_s is not None  # the brokers end with such a trial
        with ExitStack() as stack:
            try:
                topic = stack.enter_context(opened.topic_for_run(overlapping=overlapping, setup=setup)(workload))
            except WorkloadRefused:
                # While a broker is away, the cluster may refuse a topic with as many replicas as before.
                if (there := _brokers_of(opened)) < self._brokers:
                    raise self._too_few(there) from None
                raise
            filled_bytes = 0
            if setup.stored_bytes:
                filled_bytes = fill_bytes(opened.cluster, topic, FILLING, workload, setup.stored_bytes, limits)
            # If several producers share the topic, its end offsets do not tell one producer how many records it stored.
            ours = topic if producers == 1 else replace(topic, owned=False)
            kill_broker = partial(kill_leader, opened.cluster, topic.name)
            opened = opened.in_same_zone() if setup.same_zone else opened
            if setup.broker_killed_s is not None:
                limits = replace(limits, outage_s=LONGEST_OUTAGE_S)

            def runners(max_bytes: int, client: Client) -> tuple[Runner, ...]:
                share_of = replace(limits, max_bytes=max_bytes // producers)
                each: Runner = Isolated(opened.on_topic(ours, limits=share_of, client=client), reuses_process=True)
                return (each,) * producers

            yield TrialTopic(
                runners,
                stored=lambda: self._stored(topic),
                owned=topic.owned,
                final_stored=lambda: self._final_stored(topic),
                filled_bytes=filled_bytes,
                kill_broker=kill_broker,
                consumers=TailConsumers(opened.cluster, ours, limits.outage_s),
            )

    def restart_brokers(self) -> None:
        """Stop the brokers that we started, and measure on new ones from now on."""
        if self.opened.target.bootstrap is None:
            self.opened.topics.abandon()
            with suppress(RunnerError):
                self._stack.close()
            self.opened = self._stack.enter_context(self._open())

    def recover(self) -> None:
        """Wait until the cluster has all its brokers again, and measure on the newly opened cluster from now on.

        If some brokers are still missing after `broker_wait_s`, the study continues with the other brokers.

        Raises:
            TargetError: No broker came back within `broker_wait_s`.
        """
        self._tell("the broker was lost; waiting for it to come back")
        try:
            self._await_brokers()
        except BaseException:  # also Ctrl-C
            self.opened.topics.leave_to_later_run()
            raise

    def _await_brokers(self) -> None:
        waited_s, pause_s = 0.0, 1.0
        while True:
            began_s = time.monotonic()
            stack = ExitStack()
            try:
                opened = stack.enter_context(self._open())
                if (brokers := _brokers_of(opened)) < self._brokers and waited_s < self._wait_s:
                    with suppress(RunnerError):
                        stack.close()
                    raise self._too_few(brokers)
            except TargetError:
                if waited_s >= self._wait_s:
                    self._given_up = True
                    raise
            else:
                short = f"the cluster has {brokers} of its {self._brokers} brokers; going on with these"
                self._tell("the broker is back" if brokers >= self._brokers else short)
                self._brokers = brokers or self._brokers
                lost, self._stack, self.opened = self._stack, stack, opened
                # Our topics can be deleted only now that the broker is back.
                with suppress(RunnerError):  # the next run deletes the topics that are left
                    lost.close()
                return
            waited_s += time.monotonic() - began_s
            pause_s = min(pause_s, max(0.0, self._wait_s - waited_s))
            self._sleep(pause_s)
            waited_s, pause_s = waited_s + pause_s, min(2 * pause_s, 15.0)

    def _too_few(self, brokers: int) -> BrokerLost:
        return BrokerLost(
            f"the cluster must have the {self._brokers} brokers that it had when it was opened, but has {brokers}; "
            "start the others"
        )

    def _stored(self, topic: Topic) -> int | None:
        """Return how many records the topic has stored; None if its end offsets can't be read."""
        try:
            return sum(self.opened.topics.end_offsets(topic))
        except RunnerError:
            return None  # we lack permission to read this topic

    def _final_stored(self, topic: Topic) -> int | None:
        """Wait until the topic no longer grows, and return how many records it has stored."""
        before, stored = None, self._stored(topic)
        for _ in range(_SETTLING_COUNTS):
            if stored == before or not topic.owned:
                break
            self._sleep(_SETTLING_S)
            before, stored = stored, self._stored(topic)
        return stored

    def close(self) -> None:
        """Delete our topics, and stop the cluster if we started it.

        If no broker came back, the topics can't be deleted now. The next run deletes them, so no error is raised here.
        """
        with suppress(RunnerError) if self._given_up else nullcontext():
            self._stack.close()


def _brokers_of(opened: OpenTarget) -> int:
    """Return the number of brokers that a user's cluster has now.

    The result is 0 if the cluster does not answer. It is also 0 for brokers that we start, because they start and stop
    together.
    """
    if opened.target.bootstrap is None:
        return 0
    try:
        return opened.topics.brokers()
    except BrokerLost:
        return 0


@dataclass(frozen=True, slots=True)
class SimulatedTarget:
    """A target that stands in for a cluster: its runner computes measurements from a model instead of sending records.

    Attributes:
        runner: The runner of each producer.
    """

    runner: Runner

    @contextmanager
    def topic_for(self, workload: Workload, limits: Limits, trial: int, setup: Setup) -> Iterator[TrialTopic]:
        """Provide the runners; there is no topic."""
        seeded = (_SeededByTrial(self.runner, trial),) * setup.producers
        yield TrialTopic(lambda *_: seeded, stored=lambda: None, owned=True)

    def restart_brokers(self) -> None:
        """Do nothing, as there is no broker."""

    def recover(self) -> None:
        """Do nothing, as there is no broker that could be lost."""


@dataclass(frozen=True, slots=True)
class _SeededByTrial:
    """A runner whose simulated noise depends on the trial's number, so that repeating a study repeats its noise."""

    runner: Runner
    trial: int

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Measure the config, with the trial's number added to the workload's seed."""
        return self.runner.run(config, replace(workload, seed=workload.seed + self.trial), watch)
