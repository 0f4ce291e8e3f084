"""The topics that a run creates, and nobody else's."""

import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from runners.clusters.cluster import RunningCluster
from runners.clusters.contact import DELETE, DESCRIBE, DESCRIBE_CONFIGS, WRITE
from runners.clusters.processes import ProcessIdentity, Record
from runners.clusters.topic_admin import TopicAdmin
from runners.errors import RunnerError, TargetRefused, WorkloadRefused

RECORD_KIND = "topics"

_MIB = 1024 * 1024
_OWNED = re.compile(r"tuner-(?P<run_id>[0-9]{8}T[0-9]{6}-[0-9a-f]{8})-[0-9]{1,6}")
_HOUR_MS = 3_600_000
_SPACE_TIMEOUT_S = 30.0
_POLL_S = 0.05

DEFAULT_MAX_MESSAGE_BYTES = 1_048_588
"""Of a record batch, with its overhead. Source: topic config `max.message.bytes`, Kafka 4.3."""

_OWNED_NEEDS = (WRITE, DELETE)
_COPIED_NEEDS = (DESCRIBE, DESCRIBE_CONFIGS)
_COPIED = ("min.insync.replicas", "compression.type", "max.message.bytes")


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic to write to.

    Attributes:
        name: Its name.
        partitions: How many.
        replication: Copies of each.
        max_message_bytes: Largest record batch that it takes, in bytes.
        owned: Whether we created it, and may delete it.
        configs: The configs in force; empty where we may not read them.
    """

    name: str
    partitions: int
    replication: int
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    owned: bool = False
    configs: Mapping[str, str] = field(default_factory=dict)


def new_run_id() -> str:
    """`20260131T235959-0a1b2c3d`: the time in UTC, and chance."""
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"


def run_of(topic_name: str) -> str | None:
    """The run id in the name of an owned topic; None for every other name.

    This is the only judge of what may be deleted.
    """
    match = _OWNED.fullmatch(topic_name)
    return match["run_id"] if match else None


def owned_configs(partitions: int) -> dict[str, str]:
    """Configs of an owned topic, which bound its disk to some 1.2 GB and a second's writing, however many partitions.

    They do so on our own brokers, which look every second. Others look every 5 minutes
    (`log.retention.check.interval.ms`): there the byte budget has to bound it.

    Measured on 2 cores, 3 partitions, 2.5 GB at 140 MB/s: at most 1.3 GB on disk; no slower than segments of 1 GiB.

    Args:
        partitions: How many it will have.
    """
    # Only whole segments are deleted, so that each partition keeps one beyond its bound. But each roll makes four files
    # and has the old segment synced: at 300 MB/s, 32 MiB is rolled 9 times a second.
    segment = min(max(384 * _MIB // partitions, 32 * _MIB), 128 * _MIB)
    return {
        "cleanup.policy": "delete",  # a cluster may compact by default: our records have equal keys, or none
        "segment.bytes": str(segment),
        "retention.bytes": str(max(768 * _MIB // partitions, segment)),
        "retention.ms": str(_HOUR_MS),  # what a killed run leaves on somebody's cluster shrinks to nothing
        "file.delete.delay.ms": "0",
    }


class OwnedTopics:
    """Creates topics for one run on one cluster, and deletes them with their space.

    A record in the state folder, written before the first topic, lets a later run on this host delete what
    this one could not. Use it as a context manager: what is left at its end is deleted.
    """

    def __init__(self, cluster: RunningCluster, run_id: str | None = None) -> None:
        """Connect; nothing is created.

        Args:
            cluster: As `Cluster.start` gave it.
            run_id: As `new_run_id` gives; a new one by default.

        Raises:
            BrokerLost: The cluster does not answer.
            ValueError: Not a run id.
        """
        self.run_id = run_id or new_run_id()
        if run_of(f"tuner-{self.run_id}-0") is None:
            raise ValueError(f"A run id is a UTC time and 8 hex digits, but got {self.run_id!r}.")
        self._cluster = cluster
        self._admin = TopicAdmin(cluster.connection)
        cluster_id, _ = self._admin.cluster()
        facts = {"bootstrap": cluster.bootstrap, "cluster_id": cluster_id, "cluster_kind": cluster.kind}
        self._record = Record(RECORD_KIND, self.run_id, ProcessIdentity.of(), facts)
        self._live: list[Topic] = []
        self._leaving: dict[str, Callable[[], None]] = {}
        self._count = 0

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
            partitions: How many.
            replication: Copies of each.
            configs: Topic configs that win over `owned_configs` and over what is copied.
            like: A topic to copy partitions, replication, `min.insync.replicas`, `compression.type` and
                `max.message.bytes` from; `partitions` and `replication` are not read then.

        Raises:
            TargetRefused: We may not create topics there, write to them or delete them, or not read `like`.
            WorkloadRefused: The cluster can't have such a topic, or `like` does not exist.
            BrokerLost: No answer.
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
            self._admin.order(name, partitions, replication, wanted)
        except TargetRefused:
            self._forget(name)
            raise
        except WorkloadRefused:
            if self._admin.shape(name) is None:
                self._forget(name)
            raise
        # From here on it is there: whatever else is refused, it is deleted, or its record stays.
        self._admin.settle(name, partitions, _OWNED_NEEDS)
        topic = self._described(name, _OWNED_NEEDS, owned=True)
        self._live[-1] = topic
        return topic

    def describe(self, name: str) -> Topic:
        """A topic of the user's to write to; it will never be deleted.

        Raises:
            WorkloadRefused: There is no such topic.
            TargetRefused: We may not see it, or not write to it.
            BrokerLost: No answer.
        """
        return self._described(name, (WRITE,))

    def delete(self, topic: Topic) -> tuple[str, ...]:
        """Delete an owned topic and wait until its space is free.

        Args:
            topic: As `create` gave it.

        Returns:
            Warnings: empty, or that the space was not free in time.

        Raises:
            ValueError: It is not an owned topic of this run.
            TargetRefused: We may not.
            BrokerLost: No answer.
        """
        self.begin_delete(topic)
        return self.await_deleted()

    def begin_delete(self, topic: Topic) -> None:
        """Order an owned topic to be deleted; `await_deleted` waits for it.

        Raises:
            ValueError: It is not an owned topic of this run.
        """
        if not topic.owned or run_of(topic.name) != self.run_id:
            raise ValueError(f"Only topics of run {self.run_id} may be deleted, but got {topic.name!r}.")
        self._leaving[topic.name] = self._admin.begin_delete([topic.name])

    def await_deleted(self) -> tuple[str, ...]:
        """Wait until the topics ordered to be deleted are gone and their space is free.

        Returns:
            Warnings: empty, or whose space was not free in time.

        Raises:
            TargetRefused: We may not.
            BrokerLost: No answer.
        """
        warnings: list[str] = []
        # A deletion that is not answered is ordered again by `close`, as its topic is still ours.
        leaving, self._leaving = self._leaving, {}
        for name, answered in leaving.items():
            answered()
            self._forget(name)
            warnings += self._await_space(name)
        return tuple(warnings)

    def end_offsets(self, topic: Topic) -> tuple[int, ...]:
        """The offset that the next record of each partition will get; of a new topic, how many records it got.

        Raises:
            TargetRefused: We may not read it.
            BrokerLost: No answer.
        """
        return self._admin.end_offsets(topic.name, topic.partitions)

    def close(self) -> tuple[str, ...]:
        """Delete what is left of this run.

        Returns:
            Warnings of the deletions.

        Raises:
            TargetRefused: We may not.
            BrokerLost: No answer; the record stays for a later run.
        """
        for topic in list(self._live):
            if topic.name not in self._leaving:
                self.begin_delete(topic)
        return self.await_deleted()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except RunnerError:
            if error is None:  # else that error tells more than ours
                raise

    def _described(self, name: str, needs: Sequence[str], *, owned: bool = False) -> Topic:
        shape = self._admin.shape(name, needs)
        if shape is None:
            raise WorkloadRefused(
                f"A topic that is named must exist, but {self._cluster.bootstrap} has no topic {name!r}. "
                "Check the name, or create it."
            )
        configs = self._admin.configs(name, needed=DESCRIBE_CONFIGS in needs)
        limit = int(configs.get("max.message.bytes", DEFAULT_MAX_MESSAGE_BYTES))
        return Topic(name, shape.partitions, shape.replication, limit, owned, configs)

    def _forget(self, name: str) -> None:
        self._live = [topic for topic in self._live if topic.name != name]
        if not self._live:
            self._record.remove()

    def _await_space(self, name: str) -> tuple[str, ...]:
        log_dirs = [broker.log_dir for broker in self._cluster.local_brokers if broker.log_dir]
        deadline = time.monotonic() + _SPACE_TIMEOUT_S
        while True:
            # `name-0`, and `name-0.<id>-delete` while Kafka deletes it.
            left = [str(partition) for log_dir in log_dirs for partition in log_dir.glob(f"{name}-*")]
            if not left and (log_dirs or name not in self._admin.names()):
                return ()
            if time.monotonic() > deadline:
                where = f"{left[0]} and {len(left) - 1} more lie on disk" if left else "it is listed"
                return (f"the space of topic {name} was not free {_SPACE_TIMEOUT_S:.0f} s after deletion: {where}",)
            time.sleep(_POLL_S)
