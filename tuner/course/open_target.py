"""A cluster to measure on, for as long as a `with` block lasts; leased to one trial after another; described.

from search_spaces import ProducerConfig
from runners.workload import RecordSizes, Workload
from tuner.course.open_target import open_target
from tuner.model.target import Target

with open_target(Target()) as opened:          # a real broker of our own
    measured = opened.runner().run(ProducerConfig.parse({"linger.ms": 20}), Workload(RecordSizes.fixed(1000)))
print(measured.mb_per_s, measured.latency.percentile_us(0.99))
"""

import platform
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

import psutil

from runners.clusters.cluster import RunningCluster
from runners.clusters.leftovers import sweep_dead_runs
from runners.clusters.memory import in_memory
from runners.clusters.pinned_jars import KAFKA_VERSION
from runners.clusters.topic_admin import TopicAdmin
from runners.clusters.topics import OwnedTopics, Topic
from runners.errors import RunnerError, TargetError, TargetRefused
from runners.librdkafka import capi
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner, Limits
from runners.measurement import Measurement
from runners.reporting import Say, silent
from runners.runner import Runner, Watch, go_on
from runners.workload import Workload
from runners.wrappers import Isolated, Lease, Leased, named_topic, owned_topic
from search_spaces.producer_config import ProducerConfig
from tuner.model.target import Target

_SETTLING_S: Final = 1.5
"""A load whose worker is gone ends when it has a window to show, within a second."""
_SETTLING_LOOKS: Final = 20


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
        TargetError: The cluster does not answer, or refuses us.
        EmbeddedBrokerError: A broker of our own could not be started.
    """
    with ExitStack() as stack:
        cluster = target.cluster()
        stack.callback(cluster.stop)
        running = cluster.start(progress)
        topics = stack.enter_context(OwnedTopics(running))
        if target.bootstrap is not None:
            # Topics that earlier, dead runs of this host left behind.
            with suppress(TargetRefused):  # we may not delete there, so nothing of ours is there either
                if swept := list(sweep_dead_runs(running)):
                    progress(f"deleted {len(swept)} topics that an earlier run left behind")
        yield OpenTarget(target, running, topics, progress)


@dataclass(frozen=True, slots=True)
class TrialLease:
    """What a trial has while it is measured.

    Attributes:
        runners: One per producer, on one topic.
        stored: Records in that topic; None where that can't be known.
        owned: Whether nobody else writes to it.
        settled: As `stored`, once nobody writes any more: a worker that was lost may have left a load behind.
    """

    runners: tuple[Runner, ...]
    stored: Callable[[], int | None]
    owned: bool
    settled: Callable[[], int | None] = lambda: None


class TrialTarget(Protocol):
    """A target as a bench sees it."""

    def lease(self, workload: Workload, limits: Limits, trial: int) -> AbstractContextManager[TrialLease]:
        """Runners on a topic that is theirs until the context is left.

        Args:
            workload: Of the first phase.
            limits: What each phase may take.
            trial: Its number.
        """

    def mend(self) -> None:
        """Make the target usable again after a broker was lost.

        Raises:
            TargetError: It did not come back in time.
        """


class ClusterTarget:
    """A Kafka cluster, reopened when its broker was lost.

    Args:
        open_target: Starts or contacts the cluster.
        producers: Of one trial.
        broker_wait_s: How long a lost broker is waited for.
        tell: Told what is being done.
        sleep: Waits so many seconds; given so that tests need not.
        overlapping: Whether a topic may still be being deleted while the next trial warms up.
    """

    def __init__(
        self,
        open_target: Callable[[], AbstractContextManager[OpenTarget]],
        producers: int,
        broker_wait_s: float,
        tell: Say,
        sleep: Callable[[float], None],
        overlapping: bool = False,
    ) -> None:
        self._open, self._producers, self._wait_s = open_target, producers, broker_wait_s
        self._tell, self._sleep, self._overlapping = tell, sleep, overlapping
        self._stack = ExitStack()
        self.opened = self._stack.enter_context(open_target())

    @contextmanager
    def lease(self, workload: Workload, limits: Limits, trial: int) -> Iterator[TrialLease]:
        """See `TrialTarget.lease`."""
        with self.opened.lease(overlapping=self._overlapping)(workload) as topic:
            # Several producers share the topic: none of them can count what is stored by its own end offsets.
            ours = topic if self._producers == 1 else replace(topic, owned=False)
            share_of = replace(limits, max_bytes=limits.max_bytes and limits.max_bytes // self._producers)
            runners = tuple(
                Isolated(self.opened.on_topic(ours, limits=share_of), kept=True) for _ in range(self._producers)
            )
            yield TrialLease(runners, lambda: self._stored(topic), topic.owned, lambda: self._settled(topic))

    def mend(self) -> None:
        """See `TrialTarget.mend`."""
        self._tell("the broker was lost; waiting for it to come back")
        waited_s, pause_s = 0.0, 1.0
        while True:
            stack = ExitStack()
            try:
                opened = stack.enter_context(self._open())
            except TargetError:
                if waited_s >= self._wait_s:
                    raise
            else:
                self._tell("the broker is back")
                lost, self._stack, self.opened = self._stack, stack, opened
                # Only now is there somebody who can delete our topics.
                with suppress(RunnerError):  # what is left there is found by the next start
                    lost.close()
                return
            self._sleep(pause_s)
            waited_s, pause_s = waited_s + pause_s, min(2 * pause_s, 15.0)

    def _stored(self, topic: Topic) -> int | None:
        try:
            return sum(self.opened.topics.end_offsets(topic))
        except RunnerError:
            return None  # we may not read there

    def _settled(self, topic: Topic) -> int | None:
        before, stored = None, self._stored(topic)
        for _ in range(_SETTLING_LOOKS):
            if stored == before or not topic.owned:
                break
            self._sleep(_SETTLING_S)
            before, stored = stored, self._stored(topic)
        return stored

    def close(self) -> None:
        """Delete our topics and stop what we started."""
        self._stack.close()


@dataclass(frozen=True, slots=True)
class SimulatedTarget:
    """No cluster: runners that compute."""

    runners: tuple[Runner, ...]

    @contextmanager
    def lease(self, workload: Workload, limits: Limits, trial: int) -> Iterator[TrialLease]:
        """See `TrialTarget.lease`."""
        yield TrialLease(tuple(_Drawn(runner, trial) for runner in self.runners), lambda: None, owned=True)

    def mend(self) -> None:
        """Nothing can be lost."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A runner that computes, with noise of its own in each trial: the same again when a study is repeated."""

    runner: Runner
    trial: int

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        return self.runner.run(config, replace(workload, seed=workload.seed + self.trial), watch)


def cluster_facts(opened: OpenTarget) -> dict[str, str]:
    """The target: kind, id, brokers; where its log lies, if that is this host."""
    facts = {"kind": opened.cluster.kind}
    try:
        cluster_id, brokers = TopicAdmin(opened.cluster.connection).cluster()
    except RunnerError:
        return facts
    # A broker of our own is formatted anew for each run: its id would make equals look different.
    own = opened.cluster.kind != "existing"
    facts |= {"brokers": str(brokers), **({} if own else {"cluster_id": cluster_id})}
    if logs := [broker.log_dir for broker in opened.cluster.local_brokers if broker.log_dir is not None]:
        facts["log"] = "in memory" if all(map(in_memory, logs)) else "on disk"
    return facts


def all_facts(opened: OpenTarget | None) -> dict[str, Any]:
    """With what a study was measured, by the names that its record uses; None is a simulation.

    What must be equal for two studies to be compared.
    """
    if opened is None:
        return {"client_version": "simulated", "broker_version": "simulated", "host": {}, "cluster": {}}
    # Of a broker that is not ours the version is unknown: the protocol does not tell it.
    ours = {"embedded": KAFKA_VERSION, "container": opened.target.container}
    return {
        "client_version": f"librdkafka {capi.version()}",
        "broker_version": ours.get(opened.cluster.kind) or "unknown",
        # Not its name, which tells nothing of its speed.
        "host": {
            "processor": _processor(),
            "cores": str(psutil.cpu_count() or 1),
            "memory_gb": f"{psutil.virtual_memory().total / 1e9:.0f}",
            "system": f"{platform.system()} {platform.release()}",
            "python": platform.python_version(),
        },
        "cluster": cluster_facts(opened),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
