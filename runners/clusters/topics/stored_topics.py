"""Reads the partitions of the user's topics: which brokers lead them, and which offsets can be read."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from runners.clusters.admin_connection import (
    DESCRIBE,
    READ,
    REQUEST_TIMEOUT_S,
    AdminConnection,
    AdminRequest,
    answer_to,
    unlisted_permissions,
)
from runners.clusters.topics.topic_admin import ask_until_ready
from runners.errors import WorkloadRefused


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """A broker, and where clients reach it.

    Attributes:
        id: The broker id.
        host: The host that it advertises.
        port: The port that it advertises.
    """

    id: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class StoredPartition:
    """A partition of a topic, and the offsets that can be read.

    Attributes:
        number: Number of the partition, from 0.
        leader: The broker that leads it.
        begin: The first offset.
        end: The offset after the last record.
        recent: Number of offsets since `since_ms`; None if the caller gave no `since_ms`.
    """

    number: int
    leader: BrokerAddress
    begin: int
    end: int
    recent: int | None = None

    @property
    def records(self) -> int:
        """Number of offsets; there are fewer records if the topic is compacted or has transactions."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class StoredTopic:
    """A topic, and the offsets of its partitions that can be read.

    Attributes:
        name: Name of the topic.
        partitions: Its partitions, in ascending order of their numbers.
        unknown: The numbers of the partitions that have no leader, or whose leader did not return the offsets.
        replication: Number of replicas of each partition.
    """

    name: str
    partitions: tuple[StoredPartition, ...]
    unknown: tuple[int, ...] = ()
    replication: int = 1

    @property
    def records(self) -> int:
        """Number of offsets; there are fewer records if the topic is compacted or has transactions."""
        return sum(each.records for each in self.partitions)

    @property
    def recent(self) -> int:
        """Number of offsets since `since_ms`, which the caller gave."""
        return sum(each.recent or 0 for each in self.partitions)


class StoredTopics:
    """Reads which offsets the topics of a cluster have. This needs the Describe permission, and changes nothing."""

    def __init__(self, connection: Mapping[str, str]) -> None:
        """Create the admin client that sends the requests.

        Args:
            connection: Client properties under librdkafka's names, which `Cluster.start` has already tried.
        """
        self._admin_connection = AdminConnection(connection)

    def one(self, name: str, since_ms: int | None = None) -> StoredTopic:
        """Return the partitions and offsets of a topic that we want to read.

        If a partition has no leader, this waits until it has one, because the topic may be new or may have just lost a
        broker.

        Args:
            name: Name of the topic.
            since_ms: The time from which records count as recent, in milliseconds since 1970; None if it does not
                matter.

        Raises:
            WorkloadRefused: The topic does not exist.
            TargetRefused: We have no permission to describe or to read it.
            BrokerLost: The cluster did not answer, or a partition has no leader.
        """

        def ask(not_yet: Sequence[int]) -> StoredTopic | None:
            described = self._described([name])[name]
            if isinstance(described, KafkaException):
                if described.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise WorkloadRefused(
                        f"a topic that is read must exist, but the cluster has no topic {name!r}; check the name"
                    )
                raise self._admin_connection.refusal(described, AdminRequest(f"describe topic {name}", (READ,), name))
            if missing := unlisted_permissions(described, [READ]):
                raise self._admin_connection.missing_permissions(missing, name)
            try:
                return self._stored([described], since_ms, strictly=True)[0]
            except KafkaException as error:
                if error.args[0].code() in not_yet:
                    return None
                request = AdminRequest(f"read the offsets of topic {name}", (DESCRIBE,), name)
                raise self._admin_connection.refusal(error, request) from None

        return ask_until_ready(ask)

    def readable(self, since_ms: int) -> tuple[list[StoredTopic], list[str]]:
        """Return the partitions and offsets of all topics that we may read, without the cluster's internal topics.

        Args:
            since_ms: The time from which records count as recent, in milliseconds since 1970.

        Returns:
            The topics, and the names of the topics that we may see but not read.

        Raises:
            BrokerLost: The cluster did not answer.
        """
        names = sorted(self._admin_connection.listed().topics)
        topics = self._described(names) if names else {}
        # A topic whose description fails has just been deleted, or we may not see it after all.
        described = [each for each in topics.values() if not isinstance(each, KafkaException) and not each.is_internal]
        refused = [each.name for each in described if unlisted_permissions(each, [READ])]
        return self._stored([each for each in described if each.name not in refused], since_ms), refused

    def _described(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the description of each topic, or the error that describing it gave."""
        return {name: _outcome(future) for name, future in self._admin_connection.describe(names).items()}

    def _stored(self, described: Sequence[Any], since_ms: int | None, *, strictly: bool = False) -> list[StoredTopic]:
        """Return the partitions and offsets of the described topics.

        Args:
            described: The descriptions of the topics.
            since_ms: The time from which records count as recent; None if it does not matter.
            strictly: Whether to raise an error if the offsets of a partition are not known, instead of leaving the
                partition out.

        Raises:
            KafkaException: `strictly` is set, and the offsets of a partition are not known.
        """
        leaders = {(topic.name, each.id): each.leader for topic in described for each in topic.partitions}
        with_leader = [partition for partition, leader in leaders.items() if leader is not None and leader.id >= 0]
        specs = {"begin": OffsetSpec.earliest(), "end": OffsetSpec.latest()}  # type: ignore[no-untyped-call]
        if since_ms is not None:
            specs["since"] = OffsetSpec.for_timestamp(since_ms)
        futures = {kind: self._offsets(with_leader, spec) for kind, spec in specs.items()}
        offsets: dict[tuple[str, int], dict[str, int]] = {}
        for partition in leaders:
            answers = {kind: _outcome(each[partition]) for kind, each in futures.items() if partition in each}
            failed = [each for each in answers.values() if isinstance(each, KafkaException)]
            if strictly and (failed or not answers):
                raise failed[0] if failed else KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
            if answers and not failed:
                offsets[partition] = {kind: int(answer.offset) for kind, answer in answers.items()}
        topics = []
        for topic in described:
            numbers = sorted(each.id for each in topic.partitions)
            readable = [number for number in numbers if (topic.name, number) in offsets]
            partitions = [
                _partition(number, leaders[topic.name, number], offsets[topic.name, number]) for number in readable
            ]
            replication = max((len(each.replicas) for each in topic.partitions), default=1)
            topics.append(StoredTopic(topic.name, tuple(partitions), tuple(set(numbers) - set(readable)), replication))
        return topics

    def _offsets(self, asked: Iterable[tuple[str, int]], spec: Any) -> dict[tuple[str, int], "Future[Any]"]:
        requested = {TopicPartition(*place): spec for place in asked}
        if not requested:
            return {}
        futures = self._admin_connection.admin.list_offsets(requested, request_timeout=REQUEST_TIMEOUT_S)
        return {(key.topic, key.partition): future for key, future in futures.items()}


def _partition(number: int, leader: Any, offsets: Mapping[str, int]) -> StoredPartition:
    begin, end, since = offsets["begin"], offsets["end"], offsets.get("since")
    # A time after the newest record has no offset, for which the answer is -1.
    recent = None if since is None else max(0, end - max(begin, since)) if since >= 0 else 0
    return StoredPartition(number, BrokerAddress(leader.id, leader.host, leader.port), begin, end, recent)


def _outcome(future: "Future[Any]") -> Any:
    """Return the result of a request, or the `KafkaException` with which it failed."""
    try:
        return answer_to(future)
    except KafkaException as error:
        return error
