"""A cluster to measure on, for as long as a `with` block lasts: the entry to the Python API.

from search_spaces import ProducerConfig
from runners.workload import RecordSizes, Workload
from tuner.course.open_target import open_session
from tuner.model.target import Target

with open_session(Target()) as session:          # a real broker of our own
    measured = session.runner().run(ProducerConfig.parse({"linger.ms": 20}), Workload(RecordSizes.fixed(1000)))
print(measured.mb_per_s, measured.latency.percentile_us(0.99))
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from runners.clusters.cluster import RunningCluster
from runners.clusters.leftovers import sweep_dead_runs
from runners.clusters.topics import OwnedTopics, Topic
from runners.errors import TargetRefused
from runners.isolated import Isolated
from runners.leased import Lease, Leased, named_topic, owned_topic
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner, Limits
from runners.reporting import Say, silent
from runners.runner import Runner
from tuner.model.target import Target


@dataclass(frozen=True, slots=True)
class Session:
    """An open target.

    Attributes:
        target: What was asked for.
        cluster: What runs.
        topics: Creates and deletes our topics there.
        swept: Topics of earlier, dead runs of this host that were deleted on opening.
        progress: Told in short sentences what is being done.
    """

    target: Target
    cluster: RunningCluster
    topics: OwnedTopics
    swept: tuple[str, ...] = ()
    progress: Say = silent

    def lease(self, *, overlapping: bool = False) -> Lease:
        """Gives topics to measure on: ours, which are deleted when given back, or the one that the target names.

        Args:
            overlapping: Whether a deletion may go on while the next run warms up.
        """
        if self.target.topic is not None:
            return named_topic(self.topics, self.target.topic)
        return owned_topic(self.topics, self.target.like, self.progress, overlapping=overlapping)

    def on_topic(self, topic: Topic, generator: str = "native", limits: Limits = Limits()) -> Runner:  # noqa: B008 - a frozen value
        """A runner that measures on that topic, in the process that calls it; can be sent to another."""
        return LibrdkafkaRunner(self.cluster, topic, generator, limits)

    def runner(self, generator: str = "native", limits: Limits = Limits()) -> Runner:  # noqa: B008 - a frozen value
        """A runner that measures each config on a topic of its own, in a process of its own."""
        return Leased(self.lease(), lambda topic: Isolated(self.on_topic(topic, generator, limits)))


@contextmanager
def open_session(target: Target, progress: Say = silent) -> Iterator[Session]:
    """Start or contact the cluster; on leaving, delete our topics and stop what we started.

    Args:
        target: Which cluster.
        progress: Told in short sentences what is being done.

    Raises:
        TargetError: The cluster does not answer, or not to us.
        EmbeddedBrokerError: A broker of our own could not be started.
    """
    with ExitStack() as stack:
        cluster = target.cluster()
        stack.callback(cluster.stop)
        running = cluster.start(progress)
        session = Session(target, running, stack.enter_context(OwnedTopics(running)), progress=progress)
        if target.bootstrap is not None:
            session = replace(session, swept=_sweep(running))
        yield session


def _sweep(running: RunningCluster) -> tuple[str, ...]:
    try:
        return tuple(sweep_dead_runs(running))
    except TargetRefused:
        return ()  # we may not delete there, so nothing of ours is there either
