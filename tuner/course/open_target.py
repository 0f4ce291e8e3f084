"""The cluster that a study measures on: open it, and give each trial a topic.

from search_spaces import ProducerConfig
from runners.workload import RecordSizes, Workload
from tuner.course.open_target import open_target
from tuner.model.target import Target

with open_target(Target()) as opened:          # starts a real broker on this machine
    measured = opened.runner().run(ProducerConfig.parse({"linger.ms": 20}), Workload(RecordSizes.fixed(1000)))
print(measured.mb_per_s, measured.latency.percentile_us(0.99))
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Protocol

from runners.clusters.cluster import RunningCluster
from runners.clusters.leftovers import sweep_dead_runs
from runners.clusters.lost_broker import LONGEST_OUTAGE_S, kill_leader
from runners.clusters.temporary import remove_folders_of_dead
from runners.clusters.topic_admin import TopicAdmin
from runners.clusters.topics import OwnedTopics, Topic
from runners.consumers.own_topic import KEPT, fill_bytes
from runners.consumers.with_consumers import TailConsumers, WithConsumers
from runners.errors import BrokerLost, RunnerError, TargetError, TargetRefused, WorkloadRefused
from runners.java_client.compiled import Harness
from runners.java_client.java_runner import JavaRunner
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.limits import DEFAULT_LIMITS, Limits
from runners.measurement import Measurement
from runners.places import target_lock
from runners.reporting import Say, counted, silent
from runners.runner import Runner, Watch, go_on
from runners.workload import Workload
from runners.wrappers import Isolated, Lease, Leased, end_kept, named_topic, owned_topic
from search_spaces.client import Client, ClientKind, librdkafka
from search_spaces.producer_config import ProducerConfig
from tuner.model.setup import ONE_PRODUCER, Setup
from tuner.model.target import Target

_SETTLING_S: Final = 1.5
"""Seconds between two counts of a topic's records, to find out whether records are still being written.

If a worker is lost, its load ends within a second, at the end of the window.
"""
_SETTLING_LOOKS: Final = 20
FILLING: Final = ProducerConfig.parse({"linger.ms": 10, "batch.size": 1_000_000})
"""How a topic is filled before a measurement: in large batches, because that is fast."""


@dataclass(frozen=True, slots=True)
class OpenTarget:
    """A Kafka cluster that is open for measuring (a target), with the topics that we create on it.

    Attributes:
        target: The target as the study file describes it.
        cluster: The running cluster.
        topics: Creates and deletes our topics on the cluster.
        progress: Called with a short sentence for the user about each step.
        client: The client that is measured.
        others: Further clients that are measured, too.
    """

    target: Target
    cluster: RunningCluster
    topics: OwnedTopics
    progress: Say = silent
    client: Client = field(default_factory=librdkafka)
    others: tuple[Client, ...] = ()

    def in_same_zone(self) -> "OpenTarget":
        """Return the target as clients in the brokers' own zone see it: without the link to another zone."""
        return replace(self, cluster=self.cluster.in_same_zone())

    def lease(self, *, overlapping: bool = False, setup: Setup = ONE_PRODUCER) -> Lease:
        """Return the lease: the function that gives each run its topic, and takes the topic back after the run.

        The topic is new and is deleted after the run, unless the study file names a topic of the cluster.

        Args:
            overlapping: Whether the deletion of a topic may continue while the next run warms up.
            setup: What a new topic must be like. If it is filled before the run, it keeps all of its records.
        """
        if self.target.topic is not None:
            return named_topic(self.topics, self.target.topic)
        configs = dict(KEPT) if setup.stored_bytes else {}
        if setup.min_insync_replicas is not None:
            configs["min.insync.replicas"] = str(setup.min_insync_replicas)
        return owned_topic(self.topics, self.target.like, self.progress, overlapping=overlapping, configs=configs)

    def on_topic(
        self, topic: Topic, generator: str = "native", limits: Limits = DEFAULT_LIMITS, client: Client | None = None
    ) -> Runner:
        """Return a runner that measures a client on this topic, in the process that calls it.

        The runner can be pickled.

        Args:
            topic: The topic to write to.
            generator: The load generator.
            limits: Limits that each measurement must respect.
            client: The client, whose configs are measured; None for `self.client`.

        Raises:
            WorkloadRefused: The client has no load generator of this name.
        """
        client = client or self.client
        if client.kind is ClientKind.LIBRDKAFKA:
            return LibrdkafkaRunner(self.cluster, topic, generator, limits)
        if generator != "native":
            raise WorkloadRefused(
                f"the load generator {generator} needs the client librdkafka, but the client is {client.label}; "
                "leave the generator out"
            )
        return JavaRunner(self.cluster, topic, limits)

    def runner(self, generator: str = "native", limits: Limits = DEFAULT_LIMITS) -> Runner:
        """Return a runner that takes a topic for each config, and measures the config in a separate process.

        The process of the Java client is kept for the next config, because a new one has to be warmed up.
        """
        kept = self.client.kind is ClientKind.JAVA

        def measuring(topic: Topic) -> Runner:
            isolated = Isolated(self.on_topic(topic, generator, limits), kept=kept)
            return WithConsumers(isolated, TailConsumers(self.cluster, topic))

        return Leased(self.lease(), measuring)


@contextmanager
def open_target(
    target: Target, progress: Say = silent, client: Client | None = None, others: Sequence[Client] = ()
) -> Iterator[OpenTarget]:
    """Start the cluster, or connect to it, and delete topics that earlier runs left there.

    At the end of the `with` block, our topics are deleted and the cluster that we started is stopped.

    Args:
        target: Which cluster to open.
        progress: Called with a short sentence for the user about each step.
        client: The client that is measured; None for librdkafka.
        others: Further clients that are measured, too.

    Raises:
        TargetError: The cluster does not answer, or refuses us.
        EmbeddedBrokerError: The broker could not be started on this machine, or the Java client could not be fetched.
    """
    client = client or librdkafka()
    with ExitStack() as stack:
        for each in (client, *others):
            if each.kind is ClientKind.JAVA:
                Harness.prepare(each.version, progress)  # before the load, which must not wait for a download
                stack.callback(remove_folders_of_dead)  # a load process that had to be killed leaves one
                stack.callback(end_kept)
        cluster = target.cluster()
        stack.callback(cluster.stop)
        running = cluster.start(progress)
        topics = stack.enter_context(OwnedTopics(running))
        # Delete the topics of earlier runs on this host that were killed, and the files that list the topics. A broker
        # that we have just started has no such topics, but the files that list the topics of its predecessors remain.
        with suppress(TargetRefused):  # without the right to delete topics, no earlier run has created any
            if swept := list(sweep_dead_runs(running)):
                progress(f"deleted {counted(len(swept), 'topic')} that an earlier run left behind")
        yield OpenTarget(target, running, topics, progress, client, tuple(others))


def _brokers_of(opened: OpenTarget) -> int:
    """Return the number of brokers that a user's cluster has now.

    The result is 0 if the cluster does not answer. It is also 0 for brokers that we start: they come and go together.
    """
    if opened.target.bootstrap is None:
        return 0
    try:
        return opened.topics.brokers()
    except BrokerLost:
        return 0


def lock_key(target: Target) -> str:
    """Return the name of the lock on a target: the id of its cluster, or this host if we start the brokers.

    Two loads whose locks have the same name must not run at the same time. An address would not do as the name, because
    many addresses may lead to one cluster.

    Raises:
        TargetError: The cluster does not answer, or refuses us.
    """
    if target.bootstrap is None:
        return "brokers on this host"
    return TopicAdmin(target.cluster().start(silent).connection).cluster()[0]


def tell_waiting(tell: Say, holder: str) -> None:
    """Tell the user that another process uses the target, and that we wait for it."""
    tell(f"the target is in use by {holder}; waiting until it is free, as two loads would disturb each other")


@contextmanager
def open_alone(
    target: Target, name: str, tell: Say, progress: Say = silent, client: Client | None = None
) -> Iterator[OpenTarget]:
    """Open the cluster as `open_target` does, as soon as no other load on this host uses the cluster.

    Args:
        target: Which cluster to open.
        name: What is run; other processes that wait for the cluster show this name.
        tell: Called with a sentence for the user if another load uses the cluster.
        progress: Called with a short sentence for the user about each step.
        client: The client that is measured; None for librdkafka.
    """
    lock = target_lock(lock_key(target), name, partial(tell_waiting, tell))
    with lock, open_target(target, progress, client) as opened:
        yield opened


@dataclass(frozen=True, slots=True)
class TrialLease:
    """What a trial gets from a cluster while it runs: a topic, and the runners that measure on this topic.

    Attributes:
        runners: Returns one runner per producer, all on the same topic, for a phase that may send at most the given
            number of bytes of values and keys in all, with a config of the given client.
        stored: Returns the number of records in the topic; None if it can't be read.
        owned: Whether only these runners write to the topic.
        settled: Waits until the number of records no longer grows, and returns that number as `stored` does. The
            load of a lost worker may go on for a while.
        filled_bytes: Bytes of values and keys that were written to the topic before the runners get it.
        kill_broker: Kills the broker that leads the topic's first partition.
        consumers: Read the topic while the runners write to it; None if there is no topic.
    """

    runners: Callable[[int, Client], tuple[Runner, ...]]
    stored: Callable[[], int | None]
    owned: bool
    settled: Callable[[], int | None] = lambda: None
    filled_bytes: int = 0
    kill_broker: Callable[[], None] = lambda: None
    consumers: TailConsumers | None = None


class TrialTarget(Protocol):
    """A cluster on which `tuner.course.bench.Bench` can measure trials (a protocol)."""

    def lease(self, workload: Workload, limits: Limits, trial: int, setup: Setup) -> AbstractContextManager[TrialLease]:
        """Provide a topic, and runners that measure on this topic, until the context is left.

        Args:
            workload: The load of the trial's first phase.
            limits: How many bytes the trial may send, and how much disk space it must leave free.
            trial: The number of the trial.
            setup: What the trial needs beside its load.
        """

    def start_anew(self) -> None:
        """Stop the brokers that we started, and start new ones; do nothing if the cluster is not ours.

        Raises:
            EmbeddedBrokerError: The brokers could not be started.
        """

    def mend(self) -> None:
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
        self._stack = ExitStack()
        self.opened = self._stack.enter_context(open_target())
        self._brokers = _brokers_of(self.opened)

    @contextmanager
    def lease(self, workload: Workload, limits: Limits, trial: int, setup: Setup) -> Iterator[TrialLease]:
        """Provide a topic of the cluster, and one runner per producer, until the context is left."""
        opened, producers = self.opened, setup.producers
        overlapping = self._overlapping or setup.broker_killed_s is not None  # the brokers end with such a trial
        with ExitStack() as stack:
            try:
                topic = stack.enter_context(opened.lease(overlapping=overlapping, setup=setup)(workload))
            except WorkloadRefused:
                # While a broker is away, a cluster may refuse as many replicas as it had a moment ago.
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
                each: Runner = Isolated(opened.on_topic(ours, limits=share_of, client=client), kept=True)
                return (each,) * producers

            yield TrialLease(
                runners,
                lambda: self._stored(topic),
                topic.owned,
                lambda: self._settled(topic),
                filled_bytes,
                kill_broker,
                TailConsumers(opened.cluster, ours, limits.outage_s),
            )

    def start_anew(self) -> None:
        """Stop the brokers that we started, and measure on new ones from now on."""
        if self.opened.target.bootstrap is None:
            self.opened.topics.abandon()
            with suppress(RunnerError):
                self._stack.close()
            self.opened = self._stack.enter_context(self._open())

    def mend(self) -> None:
        """Wait until the cluster has all its brokers again, and measure on the newly opened cluster from now on.

        If brokers are still missing after `broker_wait_s`, the others are the cluster from now on.

        Raises:
            TargetError: No broker came back within `broker_wait_s`.
        """
        self._tell("the broker was lost; waiting for it to come back")
        waited_s, pause_s = 0.0, 1.0
        while True:
            stack = ExitStack()
            try:
                opened = stack.enter_context(self._open())
                if (there := _brokers_of(opened)) < self._brokers and waited_s < self._wait_s:
                    with suppress(RunnerError):
                        stack.close()
                    raise self._too_few(there)
            except TargetError:
                if waited_s >= self._wait_s:
                    raise
            else:
                short = f"the cluster has {there} of its {self._brokers} brokers; going on with these"
                self._tell("the broker is back" if there >= self._brokers else short)
                self._brokers = there or self._brokers
                lost, self._stack, self.opened = self._stack, stack, opened
                # Our topics can be deleted only now that the broker is back.
                with suppress(RunnerError):  # the next run deletes the topics that are left
                    lost.close()
                return
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
            return None  # we lack the right to read this topic

    def _settled(self, topic: Topic) -> int | None:
        """Wait until the topic no longer grows, and return how many records it has stored."""
        before, stored = None, self._stored(topic)
        for _ in range(_SETTLING_LOOKS):
            if stored == before or not topic.owned:
                break
            self._sleep(_SETTLING_S)
            before, stored = stored, self._stored(topic)
        return stored

    def close(self) -> None:
        """Delete our topics, and stop the cluster if we started it."""
        self._stack.close()


@dataclass(frozen=True, slots=True)
class SimulatedTarget:
    """A target that stands in for a cluster: its runner computes measurements from a model instead of sending records.

    Attributes:
        runner: The runner of each producer.
    """

    runner: Runner

    @contextmanager
    def lease(self, workload: Workload, limits: Limits, trial: int, setup: Setup) -> Iterator[TrialLease]:
        """Provide the runners; there is no topic."""
        seeded = (_SeededByTrial(self.runner, trial),) * setup.producers
        yield TrialLease(lambda *_: seeded, lambda: None, owned=True)

    def start_anew(self) -> None:
        """Do nothing, as there is no broker."""

    def mend(self) -> None:
        """Do nothing, as there is no broker that could be lost."""


@dataclass(frozen=True, slots=True)
class _SeededByTrial:
    """A runner whose simulated noise depends on the trial's number, so that repeating a study repeats its noise."""

    runner: Runner
    trial: int

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Measure the config, with the trial's number added to the workload's seed."""
        return self.runner.run(config, replace(workload, seed=workload.seed + self.trial), watch)
