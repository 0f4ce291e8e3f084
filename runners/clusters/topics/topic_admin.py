"""Admin requests about topics, with errors that explain what the cluster refused."""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import ConfigResource, NewTopic, OffsetSpec  # type: ignore[attr-defined]

from runners.clusters.admin_connection import (
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    REQUEST_TIMEOUT_S,
    AdminConnection,
    AdminRequest,
    answer_to,
    unlisted_permissions,
)
from runners.errors import BrokerLost, TargetRefused
from runners.reporting import counted

T = TypeVar("T")
_SETTLE_TIMEOUT_S = 30.0
_POLL_S = 0.01
_SIGN_OF_LIFE_S = 3.0

_LEADER_MOVES = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)
_NO_LEADERS = (*_LEADER_MOVES, KafkaError._NOENT)
"""The same codes and `_NOENT` ("No leaders found"), which librdkafka returns for a topic that was just created."""


@dataclass(frozen=True, slots=True)
class TopicShape:
    """The partitions and the replication of a topic.

    Attributes:
        partitions: The number of partitions.
        replication: The number of replicas of the first partition.
        in_sync: Whether every partition has a leader and all its replicas are in sync.
    """

    partitions: int
    replication: int
    in_sync: bool


class TopicAdmin:
    """Sends admin requests about topics over one connection.

    If a request fails, the error is one of `runners.errors`.
    """

    def __init__(self, connection: Mapping[str, str]) -> None:
        """Create the admin client that sends the requests.

        Args:
            connection: Client properties under librdkafka's names, which `Cluster.start` has already tried.
        """
        self._admin_connection = AdminConnection(connection)
        self._admin = self._admin_connection.admin

    def connect(self) -> None:
        """Wait until this client has a connection to a broker.

        A new client of librdkafka 2.16 often asks for the leaders of partitions before it has a connection, and then
        asks again only after 1 to 3 s. So `end_offsets` is slow if it is the first request of a client.

        Raises:
            BrokerLost: The cluster did not answer.
        """
        self._admin_connection.listed()

    def cluster_id_and_brokers(self) -> tuple[str, int]:
        """Return the cluster's id and the number of its brokers.

        Raises:
            BrokerLost: The cluster did not answer.
        """
        found = self._admin_connection.listed()
        return str(found.cluster_id), len(found.brokers)

    def answers(self) -> bool:
        """Return whether the cluster answers within `_SIGN_OF_LIFE_S`."""
        deadline = time.monotonic() + _SIGN_OF_LIFE_S
        while (left_s := deadline - time.monotonic()) > 0:
            try:
                self._admin_connection.metadata(left_s)
            except KafkaException:  # if a connection was lost just now, this error comes without a wait
                time.sleep(_POLL_S)
            else:
                return True
        return False

    def names(self) -> list[str]:
        """Return the names of all topics on the cluster that this user has permission to see.

        Raises:
            BrokerLost: The cluster did not answer.
        """
        return sorted(self._admin_connection.listed().topics)

    def create(self, name: str, partitions: int, replication: int, configs: Mapping[str, str]) -> None:
        """Create a topic and wait until all its replicas are in sync.

        Args:
            name: Name of the topic.
            partitions: The number of partitions.
            replication: The number of replicas of each partition.
            configs: Topic configs.

        Raises:
            TargetRefused: We have no permission to create it, or a policy of the cluster forbids it.
            WorkloadRefused: The cluster can't create such a topic.
            BrokerLost: The cluster did not answer, or the replicas were not in sync in time.
        """
        self.begin_create(name, partitions, replication, configs)
        self.await_created(name, partitions)

    def begin_create(self, name: str, partitions: int, replication: int, configs: Mapping[str, str]) -> None:
        """Create a topic without waiting for its replicas; `await_created` waits until they are in sync."""
        new = NewTopic(name, num_partitions=partitions, replication_factor=replication, config=dict(configs))
        what = f"topic {name} with {counted(partitions, 'partition')} and replication {replication}"
        futures = self._admin.create_topics(
            [new], operation_timeout=REQUEST_TIMEOUT_S, request_timeout=REQUEST_TIMEOUT_S
        )
        self._result(futures[name], AdminRequest(f"create {what}", (CREATE,), name))

    def await_created(self, name: str, partitions: int, needs: Sequence[str] = ()) -> None:
        """Wait until all replicas of a topic that `begin_create` has created are in sync.

        Args:
            name: Name of the topic.
            partitions: The number of partitions.
            needs: The permissions on the topic that the caller needs, under their names in `kafka-acls`.

        Raises:
            TargetRefused: We may not see the topic, or we lack one of the permissions in `needs`.
            BrokerLost: The cluster did not answer, or the replicas were not in sync in time.
        """
        deadline = time.monotonic() + _SETTLE_TIMEOUT_S
        while not ((shape := self.shape(name, needs)) and shape.partitions == partitions and shape.in_sync):
            if time.monotonic() > deadline:
                raise BrokerLost(
                    f"the replicas of the new topic {name} are not in sync after {_SETTLE_TIMEOUT_S:.0f} s; "
                    "check that all brokers of the cluster are running"
                )
            time.sleep(_POLL_S)
        # The metadata names a leader before that broker serves the partition. Once the broker answers this request,
        # the topic can be written to.
        with contextlib.suppress(TargetRefused):
            self.end_offsets(name, partitions, _NO_LEADERS)

    def shape(self, name: str, needs: Sequence[str] = ()) -> TopicShape | None:
        """Return the partitions and the replication of a topic, or None if the topic does not exist.

        Args:
            name: Name of the topic.
            needs: The permissions on the topic that the caller needs, under their names in `kafka-acls`.

        Raises:
            TargetRefused: We may not see the topic, or the cluster says that we lack one of the permissions in `needs`.
            BrokerLost: The cluster did not answer.
        """
        future = self._admin_connection.describe([name])[name]
        request = AdminRequest(f"describe topic {name}", tuple(needs) or (DESCRIBE,), name)
        description = self._result(future, request, tolerated=(KafkaError.UNKNOWN_TOPIC_OR_PART,))
        if description is None:
            return None
        if missing := unlisted_permissions(description, needs):
            raise self._admin_connection.missing_permissions(missing, name)
        partitions = description.partitions
        in_sync = all(p.leader is not None and p.leader.id >= 0 and len(p.isr) == len(p.replicas) for p in partitions)
        return TopicShape(len(partitions), len(partitions[0].replicas) if partitions else 0, in_sync)

    def configs(self, name: str, *, needed: bool = False) -> dict[str, str]:
        """Return the configs that apply to a topic, or an empty mapping if this user has no permission to read them.

        Args:
            name: Name of the topic.
            needed: Whether to raise an error, instead of returning an empty mapping, if this user has no permission to
                read the configs.

        Raises:
            TargetRefused: `needed` is set, and we may not read the configs.
            BrokerLost: The cluster did not answer.
        """
        resource = ConfigResource(ConfigResource.Type.TOPIC, name)
        request = AdminRequest(f"read the configs of topic {name}", (DESCRIBE_CONFIGS,), name)

        def ask(tolerated: Sequence[int]) -> Any:
            futures = self._admin.describe_configs([resource], request_timeout=REQUEST_TIMEOUT_S)
            return self._result(futures[resource], request, tolerated=tolerated)

        try:
            entries = ask_until_ready(ask)
        except TargetRefused:
            if needed:
                raise
            return {}
        return {key: entry.value for key, entry in entries.items() if entry.value is not None}

    def delete(self, names: Sequence[str]) -> None:
        """Delete topics, and ignore those that don't exist any more.

        Raises:
            TargetRefused: We have no permission to delete a topic.
            BrokerLost: The cluster did not answer.
        """
        self.begin_delete(names)()

    def begin_delete(self, names: Sequence[str]) -> Callable[[], None]:
        """Send the request to delete topics, without waiting for the answer.

        Returns:
            A function that waits for the answer, and raises what `delete` raises.
        """
        futures = (
            self._admin.delete_topics(
                list(names), operation_timeout=REQUEST_TIMEOUT_S, request_timeout=REQUEST_TIMEOUT_S
            )
            if names
            else {}
        )

        def await_answer() -> None:
            for name, future in futures.items():
                self._result(
                    future,
                    AdminRequest(f"delete topic {name}", (DELETE,), name),
                    tolerated=(KafkaError.UNKNOWN_TOPIC_OR_PART,),
                )

        return await_answer

    def end_offsets(self, name: str, partitions: int, not_yet: Sequence[int] = _LEADER_MOVES) -> tuple[int, ...]:
        """Return the end offset of each partition, which is the offset that the next record will get.

        Retention does not change end offsets.

        Args:
            name: Name of the topic.
            partitions: The number of its partitions.
            not_yet: The error codes that mean "not yet"; see `ask_until_ready`.

        Raises:
            TargetRefused: We have no permission to read the offsets.
            BrokerLost: The cluster did not answer.
        """
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        spec_of = {TopicPartition(name, partition): latest for partition in range(partitions)}
        request = AdminRequest(f"read the end offsets of topic {name}", (DESCRIBE,), name)

        def ask(tolerated: Sequence[int]) -> dict[int, int] | None:
            futures = self._admin.list_offsets(spec_of, request_timeout=REQUEST_TIMEOUT_S)
            answers = {
                key.partition: self._result(future, request, tolerated=tolerated) for key, future in futures.items()
            }
            if None in answers.values():
                return None
            return {partition: int(answer.offset) for partition, answer in answers.items()}

        offsets = ask_until_ready(ask, not_yet)
        return tuple(offsets[partition] for partition in range(partitions))

    def _result(self, future: "Future[Any]", request: AdminRequest, *, tolerated: Sequence[int] = ()) -> Any:
        """Return the result of a request, or None if it failed with one of the tolerated error codes."""
        try:
            return answer_to(future)
        except KafkaException as error:
            if error.args[0].code() in tolerated:
                return None
            raise self._admin_connection.refusal(error, request) from None


def ask_until_ready(ask: Callable[[Sequence[int]], T | None], not_yet: Sequence[int] = _LEADER_MOVES) -> T:
    """Repeat a request about a topic until all brokers know the topic and the leaders of its partitions.

    Args:
        ask: Sends the request. It returns None if the request fails with one of the error codes in its argument, which
            mean "not yet". In the last call, after the time limit, the argument is empty, so that these codes are
            errors, too.
        not_yet: The error codes that mean "not yet".
    """
    deadline = time.monotonic() + _SETTLE_TIMEOUT_S
    while time.monotonic() < deadline:
        if (answer := ask(not_yet)) is not None:
            return answer
        time.sleep(_POLL_S)
    last = ask(())
    assert last is not None, "every error code counts in the last call"
    return last
