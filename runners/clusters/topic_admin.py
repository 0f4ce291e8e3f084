"""Asks for topics and orders them, and says in our words what the cluster refuses."""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import ConfigResource, NewTopic, OffsetSpec  # type: ignore[attr-defined]

from runners.clusters.contact import Contact
from runners.errors import BrokerLost, RunnerError, TargetRefused, WorkloadRefused

_REQUEST_TIMEOUT_S = 20.0
_ANSWER_TIMEOUT_S = _REQUEST_TIMEOUT_S + 5.0
_SETTLE_TIMEOUT_S = 30.0
_POLL_S = 0.05

_NO_RIGHTS = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.SASL_AUTHENTICATION_FAILED,
)
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
_NO_ANSWER = (
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError.REQUEST_TIMED_OUT,
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
        new = NewTopic(name, num_partitions=partitions, replication_factor=replication, config=dict(configs))
        what = f"topic {name} with {partitions} partitions and replication {replication}"
        futures = self._admin.create_topics(
            [new], operation_timeout=_REQUEST_TIMEOUT_S, request_timeout=_REQUEST_TIMEOUT_S
        )
        self._result(futures[name], f"create {what}")
        deadline = time.monotonic() + _SETTLE_TIMEOUT_S
        while not ((shape := self.shape(name)) and shape.partitions == partitions and shape.whole):
            if time.monotonic() > deadline:
                raise BrokerLost(
                    f"Every copy of a new topic must be in sync within {_SETTLE_TIMEOUT_S:.0f} s, but those of "
                    f"{name} are not. Check that all brokers of the cluster run."
                )
            time.sleep(_POLL_S)
        # A leader is named before its broker has taken the partition up; it answers for it from then on.
        with contextlib.suppress(TargetRefused):
            self.end_offsets(name, partitions)

    def shape(self, name: str) -> TopicShape | None:
        """Partitions and copies of a topic; None if there is no such topic.

        Raises:
            TargetRefused: We may not see it.
            BrokerLost: No answer.
        """
        futures = self._admin.describe_topics(TopicCollection([name]), request_timeout=_REQUEST_TIMEOUT_S)
        description = self._result(futures[name], f"describe topic {name}", but=(KafkaError.UNKNOWN_TOPIC_OR_PART,))
        if description is None:
            return None
        partitions = description.partitions
        whole = all(p.leader is not None and p.leader.id >= 0 and len(p.isr) == len(p.replicas) for p in partitions)
        return TopicShape(len(partitions), len(partitions[0].replicas) if partitions else 0, whole)

    def configs(self, name: str) -> dict[str, str]:
        """The configs in force for a topic; empty where we may not read them.

        Raises:
            BrokerLost: No answer.
        """
        resource = ConfigResource(ConfigResource.Type.TOPIC, name)
        order = f"read the configs of topic {name}"

        def ask(but: Sequence[int]) -> Any:
            futures = self._admin.describe_configs([resource], request_timeout=_REQUEST_TIMEOUT_S)
            return self._result(futures[resource], order, but=but)

        try:
            entries = _patiently(ask)
        except TargetRefused:
            return {}
        return {key: entry.value for key, entry in entries.items() if entry.value is not None}

    def delete(self, names: Sequence[str]) -> None:
        """Delete topics; those that are gone already are no error.

        Raises:
            TargetRefused: We may not.
            BrokerLost: No answer.
        """
        if not names:
            return
        futures = self._admin.delete_topics(
            list(names), operation_timeout=_REQUEST_TIMEOUT_S, request_timeout=_REQUEST_TIMEOUT_S
        )
        for name, future in futures.items():
            self._result(future, f"delete topic {name}", but=(KafkaError.UNKNOWN_TOPIC_OR_PART,))

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
        order = f"read the end offsets of topic {name}"

        def ask(but: Sequence[int]) -> dict[int, int] | None:
            futures = self._admin.list_offsets(asked, request_timeout=_REQUEST_TIMEOUT_S)
            answers = {place.partition: self._result(future, order, but=but) for place, future in futures.items()}
            if None in answers.values():
                return None
            return {partition: int(answer.offset) for partition, answer in answers.items()}

        ends = _patiently(ask)
        return tuple(ends[partition] for partition in range(partitions))

    def _metadata(self) -> Any:
        try:
            return self._contact.metadata(_REQUEST_TIMEOUT_S)
        except KafkaException as error:
            raise self._explain(error, "list topics") from None

    def _result(self, future: "Future[Any]", order: str, *, but: Sequence[int] = ()) -> Any:
        """What came of an order; None for an error that is none."""
        try:
            return future.result(timeout=_ANSWER_TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() in but:
                return None
            raise self._explain(error, order) from None
        except TimeoutError:
            raise self._explain(KafkaException(KafkaError(KafkaError._TIMED_OUT)), order) from None

    def _explain(self, error: KafkaException, order: str) -> RunnerError:
        kafka_error: KafkaError = error.args[0]
        code, said = kafka_error.code(), kafka_error.str().rstrip(".")
        if code in _NO_RIGHTS:
            return TargetRefused(
                f"The right to {order} is needed, but the cluster says: {said}. Have the ACL granted for topics "
                "that start with `tuner-`, or name a topic of yours (`target.topic`)."
            )
        if code == KafkaError.POLICY_VIOLATION:
            return TargetRefused(
                f"A policy of the cluster must let us {order}, but it says: {said}. Change the workload to suit the "
                "policy, or name a topic of yours (`target.topic`)."
            )
        if code == KafkaError.INVALID_REPLICATION_FACTOR:
            brokers = self.cluster()[1]
            return WorkloadRefused(
                f"Replication must be at most the number of brokers, but the cluster has {brokers}, so that it can't "
                f"{order}. Lower `replication`."
            )
        if code in _NO_ANSWER:
            why = "; ".join(self._contact.complaints()[-2:]) or said
            return BrokerLost(f"The cluster must answer when told to {order}, but: {why}. Check that its brokers run.")
        return WorkloadRefused(f"The cluster must be able to {order}, but it says: {said}. Change the workload.")


def _patiently(ask: Callable[[Sequence[int]], Any]) -> Any:
    """Ask again while not all brokers have heard of a topic or of its leaders; the last time, that is an error."""
    deadline = time.monotonic() + _SETTLE_TIMEOUT_S
    while time.monotonic() < deadline:
        if (answer := ask(_LEADER_MOVES)) is not None:
            return answer
        time.sleep(_POLL_S)
    return ask(())
