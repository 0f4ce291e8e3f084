"""Creates the topics that records are sent to in one run, and deletes them again. It never deletes any other topic."""

import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from runners.clusters.admin_connection import DELETE, DESCRIBE, DESCRIBE_CONFIGS, WRITE
from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.topic_admin import TopicAdmin
from runners.errors import BrokerLost, RunnerError, TargetRefused, WorkloadRefused
from runners.host_processes.clean_up import CleanUpList
from runners.host_processes.processes import ProcessIdentity, has_ended, runs
from runners.reporting import counted
from search_spaces.client_facts.sizes import DEFAULT_MAX_MESSAGE_BYTES

RECORD_KIND = "topics"

_MIB = 1024 * 1024
_OWNED = re.compile(r"tuner-(?P<run_id>[0-9]{8}T[0-9]{6}-[0-9a-f]{8})-[0-9]{1,6}")
_HOUR_MS = 3_600_000
_SPACE_TIMEOUT_S = 30.0
_POLL_S = 0.05


_OWNED_NEEDS = (WRITE, DELETE)
_COPIED_NEEDS = (DESCRIBE, DESCRIBE_CONFIGS)
_COPIED = ("min.insync.replicas", "compression.type", "max.message.bytes")


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that records are sent to.

    Attributes:
        name: Name of the topic.
        partitions: The number of partitions.
        replication: The number of replicas of each partition.
        max_message_bytes: Largest record batch that it takes, in bytes.
        owned: Whether we created the topic. Only then may we delete it.
        configs: The configs that apply to the topic. Empty if we may not read them.
    """

    name: str
    partitions: int
    replication: int
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    owned: bool = False
    configs: Mapping[str, str] = field(default_factory=dict)


def new_run_id() -> str:
    """Return a new run id such as `20260131T235959-0a1b2c3d`: the time in UTC, and random digits."""
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"


def run_of(topic_name: str) -> str | None:
    """Return the run id in the name of a topic that we created, or None for every other name.

    Topics for which this function returns None are never deleted.
    """
    match = _OWNED.fullmatch(topic_name)
    return match["run_id"] if match else None


def owned_configs(partitions: int) -> dict[str, str]:
    """Return the configs for a topic that we create. They limit the disk space that the topic takes.

    The limit is some 1.2 GB plus one second of writing, for any number of partitions. It holds on brokers that
    we start, because they check retention every second. Other brokers check every 5 minutes
    (`log.retention.check.interval.ms`). On those brokers, the disk is protected only by the limit on the bytes that a
    run sends.

    Measured on 2 cores with 3 partitions and 2.5 GB sent at 140 MB/s: the topic took at most 1.3 GB on disk, and
    writing was no slower than with segments of 1 GiB.

    Args:
        partitions: The number of partitions that the topic will have.
    """
    # Kafka deletes only whole segments, so that each partition may exceed its limit by one segment: segments should be
    # small. But each new segment creates four files and syncs the old segment to disk. With segments of 32 MiB, this
    # happens 9 times a second at 300 MB/s.
    segment = min(max(384 * _MIB // partitions, 32 * _MIB), 128 * _MIB)
    return {
        "cleanup.policy": "delete",  # the cluster's default may be compaction, but our records have equal keys or none
        "segment.bytes": str(segment),
        "retention.bytes": str(max(768 * _MIB // partitions, segment)),
        "retention.ms": str(_HOUR_MS),  # the topic of a killed run becomes empty after an hour
        "file.delete.delay.ms": "0",
    }


class OwnedTopics:
    """Creates topics for one run on one cluster, later deletes them, and waits until their disk space is free.

    Before the first topic is created, a file about this run is written to the state folder. If this run can't delete
    its topics, a later run on this host finds that file and deletes them. Use the object as a context manager: at the
    end, it deletes all topics that are left.
    """

    def __init__(self, cluster: RunningCluster, run_id: str | None = None) -> None:
        """Connect to the cluster, without creating anything.

        Args:
            cluster: A cluster from `Cluster.start`.
            run_id: An id from `new_run_id`. None: make a new one.

        Raises:
            BrokerLost: The cluster did not answer.
            ValueError: `run_id` does not have the form of a run id.
        """
        self.run_id = run_id or new_run_id()
        if run_of(f"tuner-{self.run_id}-0") is None:
            raise ValueError(f"a run id must be a UTC time and 8 hex digits, but got {self.run_id!r}")
        self._cluster = cluster
        self._admin = TopicAdmin(cluster.connection)
        cluster_id, _ = self._admin.cluster_id_and_brokers()
        facts = {"bootstrap": cluster.bootstrap, "cluster_id": cluster_id, "cluster_kind": cluster.kind}
        self._record = CleanUpList(RECORD_KIND, self.run_id, ProcessIdentity.of(), facts)
        self._live: list[Topic] = []
        self._deletions: dict[str, Callable[[], None]] = {}
        self._count = 0
        self._left_behind = 0

    def brokers(self) -> int:
        """Return how many brokers the cluster has now.

        Raises:
            BrokerLost: The cluster did not answer.
        """
        return self._admin.cluster_id_and_brokers()[1]

    def create(
        self,
        partitions: int = 1,
        replication: int = 1,
        configs: Mapping[str, str] | None = None,
        *,
        like: str | None = None,
    ) -> Topic:
        """Create a topic and wait until it can be written to.

        Args:
            partitions: The number of partitions.
            replication: The number of replicas of each partition.
            configs: Topic configs that override `owned_configs` and the configs copied from `like`.
            like: A topic from which to copy partitions, replication, `min.insync.replicas`, `compression.type` and
                `max.message.bytes`. `partitions` and `replication` are ignored then.

        Raises:
            TargetRefused: We have no permission to create topics, write to them or delete them, or to read `like`.
            WorkloadRefused: The cluster can't create such a topic, or `like` does not exist.
            BrokerLost: The cluster did not answer.
        """
        copied: dict[str, str] = {}
        if like is not None:
            model = self._described(like, _COPIED_NEEDS)
            partitions, replication = model.partitions, model.replication
            copied = {name: model.configs[name] for name in _COPIED if name in model.configs}
        wanted = {**owned_configs(partitions), **copied, **(configs or {})}
        name = f"tuner-{self.run_id}-{self._count}"
        self._count += 1
        self._record.save()
        self._live.append(Topic(name, partitions, replication, owned=True))
        try:
            self._admin.begin_create(name, partitions, replication, wanted)
        except TargetRefused:
            self._forget(name)
            raise
        except WorkloadRefused:
            if self._admin.shape(name) is None:
                self._forget(name)
            raise
        # The topic exists from here on. If a later request is refused, `close` deletes the topic, or its record stays.
        self._admin.await_created(name, partitions, _OWNED_NEEDS)
        topic = self._described(name, _OWNED_NEEDS, owned=True)
        self._live[-1] = topic
        return topic

    def describe(self, name: str) -> Topic:
        """Return the description of an existing topic of the user, after checking that we may write to it.

        We never delete a topic of the user.

        Raises:
            WorkloadRefused: The topic does not exist.
            TargetRefused: We have no permission to see the topic or to write to it.
            BrokerLost: The cluster did not answer.
        """
        return self._described(name, (WRITE,))

    def delete(self, topic: Topic) -> tuple[str, ...]:
        """Delete a topic that this run created, and wait until its disk space is free.

        Args:
            topic: A topic from `create`.

        Returns:
            One warning if the disk space was not free in time; otherwise nothing.

        Raises:
            ValueError: This run did not create the topic.
            TargetRefused: We have no permission to delete it.
            BrokerLost: The cluster did not answer.
        """
        self.begin_delete(topic)
        return self.await_deleted()

    def begin_delete(self, topic: Topic) -> None:
        """Send the request to delete a topic that this run created. `await_deleted` waits for the answer.

        Raises:
            ValueError: This run did not create the topic.
        """
        if not topic.owned or run_of(topic.name) != self.run_id:
            raise ValueError(f"only topics of run {self.run_id} may be deleted, but got {topic.name!r}")
        if self._left_behind:
            return
        if self._brokers_have_ended():
            self.abandon()
            return
        self._deletions[topic.name] = self._admin.begin_delete([topic.name])

    def await_deleted(self) -> tuple[str, ...]:
        """Wait until the topics given to `begin_delete` are gone and their disk space is free.

        Returns:
            A warning for each topic whose space was not free in time.

        Raises:
            TargetRefused: We have no permission to delete a topic.
            BrokerLost: The cluster did not answer.
        """
        if self._brokers_have_ended():
            self.abandon()
        warnings: list[str] = []
        # If the cluster does not answer, the topic stays in `_live`, and `close` sends the request again.
        deletions, self._deletions = self._deletions, {}
        for name, await_answer in deletions.items():
            await_answer()
            self._forget(name)
            warnings += self._await_space(name)
        return tuple(warnings)

    def end_offsets(self, topic: Topic) -> tuple[int, ...]:
        """Return the offset that the next record of each partition will get.

        For a new topic this is the number of records that each partition has received.

        Raises:
            TargetRefused: We have no permission to read the offsets.
            BrokerLost: The cluster did not answer.
        """
        return self._admin.end_offsets(topic.name, topic.partitions)

    def abandon(self) -> None:
        """Forget all topics of this run without deleting them, because the brokers that hold them end or have ended.

        Deleting them would take long: if a broker is lost, the answer to a deletion takes until the request's timeout.
        """
        self._deletions.clear()
        self._live.clear()
        self._record.remove()

    def leave_to_later_run(self) -> None:
        """Leave the topics of this run to a later run, because the cluster is lost: each request would take long."""
        if self._brokers_have_ended():
            self.abandon()
        self._left_behind = len(self._live)
        self._deletions.clear()
        self._live.clear()

    def close(self) -> tuple[str, ...]:
        """Delete all topics that this run created and that still exist.

        Returns:
            A warning for each topic whose space was not free in time.

        Raises:
            TargetRefused: We have no permission to delete a topic.
            BrokerLost: The cluster did not answer. A later run on this host will delete the topics.
        """
        if self._left_behind:
            raise BrokerLost(
                f"{counted(self._left_behind, 'topic')} may be left, because the cluster does not answer; the next run "
                "on this host deletes what is left there"
            )
        for topic in list(self._live):
            if topic.name not in self._deletions:
                self.begin_delete(topic)
        return self.await_deleted()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self._live and not self._admin.answers():
            self.leave_to_later_run()
        try:
            self.close()
        except RunnerError as left:
            if isinstance(error, RunnerError) and self._left_behind:
                raise type(error)(f"{error}; {left}") from None
            if error is None or self._left_behind:  # otherwise the user should see the first error
                raise

    def _described(self, name: str, needs: Sequence[str], *, owned: bool = False) -> Topic:
        shape = self._admin.shape(name, needs)
        if shape is None:
            raise WorkloadRefused(
                f"a topic that you name must exist, but the cluster {self._cluster.bootstrap} has no topic {name!r}; "
                "check the name, or create the topic"
            )
        configs = self._admin.configs(name, needed=DESCRIBE_CONFIGS in needs)
        limit = int(configs.get("max.message.bytes", DEFAULT_MAX_MESSAGE_BYTES))
        return Topic(name, shape.partitions, shape.replication, limit, owned, configs)

    def _brokers_have_ended(self) -> bool:
        """Return whether we started the brokers and all of them have ended, for example because memory ran out."""
        brokers = self._cluster.local_brokers
        return self._cluster.kind == "embedded" and bool(brokers) and all(has_ended(each.pid) for each in brokers)

    def _forget(self, name: str) -> None:
        self._live = [topic for topic in self._live if topic.name != name]
        if not self._live:
            self._record.remove()

    def _await_space(self, name: str) -> tuple[str, ...]:
        """Wait until the files of a deleted topic are gone from the disk.

        If we don't know the brokers' folders, wait until the cluster no longer lists the topic.
        """
        alive = [broker for broker in self._cluster.local_brokers if runs(broker.pid)]
        log_dirs = [broker.log_dir for broker in alive if broker.log_dir]
        deadline = time.monotonic() + _SPACE_TIMEOUT_S
        while True:
            # The folder of a partition is `name-0`, and `name-0.<id>-delete` while Kafka deletes it.
            left = [str(partition) for log_dir in log_dirs for partition in log_dir.glob(f"{name}-*")]
            if not left and (log_dirs or name not in self._admin.names()):
                return ()
            if time.monotonic() > deadline:
                where = f"{left[0]} and {len(left) - 1} more folders are left" if left else "the cluster still lists it"
                return (
                    f"the disk space of topic {name} was not free {_SPACE_TIMEOUT_S:.0f} s after its deletion: {where}",
                )
            time.sleep(_POLL_S)
