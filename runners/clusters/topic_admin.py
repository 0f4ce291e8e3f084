"""Asks for topics and orders them, and says in our words what the cluster refuses."""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import ConfigResource, NewTopic, OffsetSpec  # type: ignore[attr-defined]

from runners.clusters.contact import (
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    REQUEST_TIMEOUT_S,
    Contact,
    Order,
    operation_name,
)
from runners.errors import BrokerLost, TargetRefused

_ANSWER_TIMEOUT_S = REQUEST_TIMEOUT_S + 5.0
_SETTLE_TIMEOUT_S = 30.0
_POLL_S = 0.01

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


@dataclass(frozen=True, slots=True)
class TopicShape:
    """Partitions and copies of a topic.

    Attributes:
        partitions: How many.
        replication: Copies of the first partition.
        whole: Whether every partition has a leader and all its copies in sync.
    """

    partitions: int
    replication: int
    whole: bool


class TopicAdmin:
    """Topic requests over one connection; every failure is one of ours."""

    def __init__(self, connection: Mapping[str, str]) -> None:
        """Make the client.

        Args:
            connection: Client properties, librdkafka's names, already proven by `Cluster.start`.
        """
        self._contact = Contact(connection)
        self._admin = self._contact.admin

    def cluster(self) -> tuple[str, int]:
        """Id of the cluster and number of its brokers.

        Raises:
            BrokerLost: No answer.
        """
        found = self._metadata()
        return str(found.cluster_id), len(found.brokers)

    def names(self) -> list[str]:
        """Names of all topics that we may see.

        Raises:
            BrokerLost: No answer.
        """
        return sorted(self._metadata().topics)

    def create(self, name: str, partitions: int, replication: int, configs: Mapping[str, str]) -> None:
        """Create a topic and wait until all its copies serve.

        Args:
            name: Its name.
            partitions: How many.
            replication: Copies of each.
            configs: Topic configs.

        Raises:
            TargetRefused: We may not, or a policy of the cluster forbids it.
            WorkloadRefused: The cluster can't have such a topic.
            BrokerLost: No answer, or the topic did not get its leaders.
        """
        self.order(name, partitions, replication, configs)
        self.settle(name, partitions)

    def order(self, name: str, partitions: int, replication: int, configs: Mapping[str, str]) -> None:
        """Have a topic created, as `create` does, and do not wait until it serves."""
        new = NewTopic(name, num_partitions=partitions, replication_factor=replication, config=dict(configs))
        what = f"topic {name} with {partitions} partitions and replication {replication}"
        futures = self._admin.create_topics(
            [new], operation_timeout=REQUEST_TIMEOUT_S, request_timeout=REQUEST_TIMEOUT_S
        )
        self._result(futures[name], Order(f"create {what}", (CREATE,), name))

    def settle(self, name: str, partitions: int, needs: Sequence[str] = ()) -> None:
        """Wait until all copies of a topic that was ordered serve; arguments as `shape` has them.

        Raises:
            TargetRefused: We may not see it.
            BrokerLost: No answer, or the topic did not get its leaders.
        """
        deadline = time.monotonic() + _SETTLE_TIMEOUT_S
        while not ((shape := self.shape(name, needs)) and shape.partitions == partitions and shape.whole):
            if time.monotonic() > deadline:
                raise BrokerLost(
                    f"Every copy of a new topic must be in sync within {_SETTLE_TIMEOUT_S:.0f} s, but those of "
                    f"{name} are not. Check that all brokers of the cluster run."
                )
            time.sleep(_POLL_S)
        # A leader is named before its broker has taken the partition up; it answers for it from then on.
        with contextlib.suppress(TargetRefused):
            self.end_offsets(name, partitions)

    def shape(self, name: str, needs: Sequence[str] = ()) -> TopicShape | None:
        """Partitions and copies of a topic; None if there is no such topic.

        Args:
            name: Its name.
            needs: Rights on it without which going on is of no use, as `kafka-acls` calls them.

        Raises:
            TargetRefused: We may not see it, or the cluster says that we don't have those rights.
            BrokerLost: No answer.
        """
        futures = self._admin.describe_topics(
            TopicCollection([name]), include_authorized_operations=True, request_timeout=REQUEST_TIMEOUT_S
        )
        order = Order(f"describe topic {name}", tuple(needs) or (DESCRIBE,), name)
        description = self._result(futures[name], order, but=(KafkaError.UNKNOWN_TOPIC_OR_PART,))
        if description is None:
            return None
        # Who may see it at all may describe it: where nothing is listed, the cluster does not tell.
        allowed = {operation_name(operation.name) for operation in description.authorized_operations or ()}
        if allowed and (missing := [each for each in needs if each not in allowed]):
            raise self._contact.missing_rights(missing, name)
        partitions = description.partitions
        whole = all(p.leader is not None and p.leader.id >= 0 and len(p.isr) == len(p.replicas) for p in partitions)
        return TopicShape(len(partitions), len(partitions[0].replicas) if partitions else 0, whole)

    def configs(self, name: str, *, needed: bool = False) -> dict[str, str]:
        """The configs in force for a topic; empty where we may not read them.

        Args:
            name: Its name.
            needed: Whether it is an error that we may not.

        Raises:
            TargetRefused: They are needed, and we may not read them.
            BrokerLost: No answer.
        """
        resource = ConfigResource(ConfigResource.Type.TOPIC, name)
        order = Order(f"read the configs of topic {name}", (DESCRIBE_CONFIGS,), name)

        def ask(but: Sequence[int]) -> Any:
            futures = self._admin.describe_configs([resource], request_timeout=REQUEST_TIMEOUT_S)
            return self._result(futures[resource], order, but=but)

        try:
            entries = _patiently(ask)
        except TargetRefused:
            if needed:
                raise
            return {}
        return {key: entry.value for key, entry in entries.items() if entry.value is not None}

    def delete(self, names: Sequence[str]) -> None:
        """Delete topics; those that are gone already are no error.

        Raises:
            TargetRefused: We may not.
            BrokerLost: No answer.
        """
        self.begin_delete(names)()

    def begin_delete(self, names: Sequence[str]) -> Callable[[], None]:
        """Order topics to be deleted.

        Returns:
            Waits for the answer, and raises what `delete` raises.
        """
        futures = (
            self._admin.delete_topics(
                list(names), operation_timeout=REQUEST_TIMEOUT_S, request_timeout=REQUEST_TIMEOUT_S
            )
            if names
            else {}
        )

        def answered() -> None:
            for name, future in futures.items():
                self._result(
                    future, Order(f"delete topic {name}", (DELETE,), name), but=(KafkaError.UNKNOWN_TOPIC_OR_PART,)
                )

        return answered

    def end_offsets(self, name: str, partitions: int) -> tuple[int, ...]:
        """The offset that the next record of each partition will get; retention does not change it.

        Args:
            name: Its name.
            partitions: How many it has.

        Raises:
            TargetRefused: We may not read it.
            BrokerLost: No answer.
        """
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = {TopicPartition(name, partition): latest for partition in range(partitions)}
        order = Order(f"read the end offsets of topic {name}", (DESCRIBE,), name)

        def ask(but: Sequence[int]) -> dict[int, int] | None:
            futures = self._admin.list_offsets(asked, request_timeout=REQUEST_TIMEOUT_S)
            answers = {place.partition: self._result(future, order, but=but) for place, future in futures.items()}
            if None in answers.values():
                return None
            return {partition: int(answer.offset) for partition, answer in answers.items()}

        ends = _patiently(ask)
        return tuple(ends[partition] for partition in range(partitions))

    def _metadata(self) -> Any:
        try:
            return self._contact.metadata(REQUEST_TIMEOUT_S)
        except KafkaException as error:
            raise self._contact.refusal(error, Order("list topics")) from None

    def _result(self, future: "Future[Any]", order: Order, *, but: Sequence[int] = ()) -> Any:
        """What came of an order; None for an error that is none."""
        try:
            return future.result(timeout=_ANSWER_TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() in but:
                return None
            raise self._contact.refusal(error, order) from None
        except TimeoutError:
            raise self._contact.refusal(KafkaException(KafkaError(KafkaError._TIMED_OUT)), order) from None


def _patiently(ask: Callable[[Sequence[int]], Any]) -> Any:
    """Ask again while not all brokers have heard of a topic or of its leaders; the last time, that is an error."""
    deadline = time.monotonic() + _SETTLE_TIMEOUT_S
    while time.monotonic() < deadline:
        if (answer := ask(_LEADER_MOVES)) is not None:
            return answer
        time.sleep(_POLL_S)
    return ask(())
