"""A Kafka cluster that is open for measuring: start it or connect to it, and give each run a topic.

from search_spaces import ProducerConfig
from runners.workload import RecordSizes, Workload
from tuner.execution.open_target import open_target
from tuner.model.target import Target

with open_target(Target()) as opened:          # starts a real broker on this machine
    measured = opened.runner().run(ProducerConfig.parse({"linger.ms": 20}), Workload(RecordSizes.fixed(1000)))
print(measured.mb_per_s, measured.latency.percentile_us(0.99))
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.leftovers import sweep_dead_runs
from runners.clusters.topics.owned_topics import OwnedTopics, Topic
from runners.clusters.topics.topic_admin import TopicAdmin
from runners.clusters.topics.topic_for_run import TopicFor, WithTopic, named_topic, owned_topic
from runners.consumer_runs.topic_consumption import KEPT
from runners.consumer_runs.with_consumers import TailConsumers, WithConsumers
from runners.errors import TargetRefused, WorkloadRefused
from runners.host_processes.clean_up import remove_folders_of_dead
from runners.host_processes.locks import target_lock
from runners.java_client.compiled import CompiledProgram
from runners.java_client.java_runner import JavaRunner
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.load.isolated import Isolated, end_reused_processes
from runners.reporting import Say, counted, silent
from runners.runner import DEFAULT_LIMITS, Limits, Runner
from search_spaces.client import Client, ClientKind, librdkafka
from tuner.model.measurement_setup import ONE_PRODUCER, Setup
from tuner.model.target import Target


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

    def topic_for_run(self, *, overlapping: bool = False, setup: Setup = ONE_PRODUCER) -> TopicFor:
        """Return the function that gives each run its topic, and takes the topic back after the run.

        The topic is new and is deleted after the run, unless the study file names a topic of the cluster.

        Args:
            overlapping: Whether the deletion of a topic may continue while the next run warms up.
            setup: What the run needs. A topic that is filled before the run keeps all of its records.
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
            client: The client whose configs are measured; None for `self.client`.

        Raises:
            WorkloadRefused: The client has no load generator of this name.
        """
        client = client or self.client
        match client.kind:
            case ClientKind.LIBRDKAFKA:
                return LibrdkafkaRunner(self.cluster, topic, generator, limits)
            case ClientKind.JAVA:
                if generator != "native":
                    raise WorkloadRefused(
                        f"the load generator {generator} needs the client librdkafka, but the client is "
                        f"{client.label}; leave the generator out"
                    )
                return JavaRunner(self.cluster, topic, limits)

    def runner(self, generator: str = "native", limits: Limits = DEFAULT_LIMITS) -> Runner:
        """Return a runner that takes a topic for each config, and measures the config in a separate process.

        The process of the Java client is kept for the next config, because a new one has to be warmed up.
        """
        reuses_process = self.client.kind is ClientKind.JAVA

        def measuring(topic: Topic) -> Runner:
            isolated = Isolated(self.on_topic(topic, generator, limits), reuses_process=reuses_process)
            return WithConsumers(isolated, TailConsumers(self.cluster, topic))

        return WithTopic(self.topic_for_run(), measuring)


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
        TargetError: The cluster does not answer, or refuses the tuner.
        EmbeddedBrokerError: The broker could not be started on this machine, or the Java client could not be fetched.
    """
    client = client or librdkafka()
    with ExitStack() as stack:
        for used_client in (client, *others):
            if used_client.kind is ClientKind.JAVA:
                # Here, because the load must not wait for a download.
                CompiledProgram.prepare(used_client.version, progress)
                stack.callback(remove_folders_of_dead)  # a load process that had to be killed leaves its folder behind
                stack.callback(end_reused_processes)
        cluster = target.cluster()
        stack.callback(cluster.stop)
        running = cluster.start(progress)
        topics = stack.enter_context(OwnedTopics(running))
        # Delete the topics of earlier runs on this host that were killed, and the files that list the topics. A broker
        # that we have just started has no such topics, but the files that list the topics of its predecessors remain.
        with suppress(TargetRefused):  # without permission to delete topics, no earlier run has created any
            if swept := list(sweep_dead_runs(running)):
                progress(f"deleted {counted(len(swept), 'topic')} that an earlier run left behind")
        yield OpenTarget(target, running, topics, progress, client, tuple(others))


def lock_key(target: Target) -> str:
    """Return the name of a target's lock: the id of the cluster, or the same name for all brokers started on this host.

    Two loads whose locks have the same name must not run at the same time. The cluster's address can't be the name,
    because a cluster can have several addresses.

    Raises:
        TargetError: The cluster does not answer, or refuses the tuner.
    """
    if target.bootstrap is None:
        return "brokers on this host"
    return TopicAdmin(target.cluster().start(silent).connection).cluster_id_and_brokers()[0]


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
        name: The name of the load, which other processes show while they wait for the cluster.
        tell: Called with a sentence for the user if another load uses the cluster.
        progress: Called with a short sentence for the user about each step.
        client: The client that is measured; None for librdkafka.
    """
    lock = target_lock(lock_key(target), name, partial(tell_waiting, tell))
    with lock, open_target(target, progress, client) as opened:
        yield opened
