"""A cluster to measure on, for as long as a `with` block lasts: the entry to the Python API.

from search_spaces import ProducerConfig
from runners.workload import RecordSizes, Workload
from tuner.course.open_target import open_target
from tuner.model.target import Target

with open_target(Target()) as opened:          # a real broker of our own
    measured = opened.runner().run(ProducerConfig.parse({"linger.ms": 20}), Workload(RecordSizes.fixed(1000)))
print(measured.mb_per_s, measured.latency.percentile_us(0.99))
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from runners.clusters.cluster import RunningCluster
from runners.clusters.leftovers import sweep_dead_runs
from runners.clusters.topics import OwnedTopics, Topic
from runners.errors import TargetRefused
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner, Limits
from runners.reporting import Say, silent
from runners.runner import Runner
from runners.wrappers import Isolated, Lease, Leased, named_topic, owned_topic
from tuner.model.target import Target


@dataclass(frozen=True, slots=True)
class OpenTarget:
    """An open target.

    Attributes:
        target: What was asked for.
        cluster: What runs.
        topics: Creates and deletes our topics there.
        progress: Told in short sentences what is being done.
    """

    target: Target
    cluster: RunningCluster
    topics: OwnedTopics
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
def open_target(target: Target, progress: Say = silent) -> Iterator[OpenTarget]:
    """Start or contact the cluster, without what earlier runs left there; on leaving, leave nothing of ours either.

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
        topics = stack.enter_context(OwnedTopics(running))
        if target.bootstrap is not None:
            _sweep(running, progress)
        yield OpenTarget(target, running, topics, progress)


def _sweep(running: RunningCluster, progress: Say) -> None:
    """Delete topics that earlier, dead runs of this host left behind."""
    with suppress(TargetRefused):  # we may not delete there, so nothing of ours is there either
        if swept := list(sweep_dead_runs(running)):
            progress(f"deleted {len(swept)} topics that an earlier run left behind")
