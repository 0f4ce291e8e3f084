"""A connection to a cluster for questions and orders: why it fails, and what the cluster refuses, in our words.

What is refused is told with the right that is missing, on what, and the command that grants it. Source of the rights'
names: `AclOperation` and `kafka-acls`, Kafka 4.3. Write and Delete each bring Describe with them.
"""

import logging
import shlex
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from runners.errors import BrokerLost, RunnerError, TargetRefused, WorkloadRefused

REQUEST_TIMEOUT_S = 20.0

OWNED_PREFIX = "tuner-"
"""What the names of our topics begin with, and so the prefix that rights are granted on."""

WRITE, DELETE, CREATE = "Write", "Delete", "Create"
DESCRIBE, DESCRIBE_CONFIGS = "Describe", "DescribeConfigs"
_NO_RIGHTS = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
_NO_LOGIN = (KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError._AUTHENTICATION)
_NO_ANSWER = (
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError.REQUEST_TIMED_OUT,
)


@dataclass(frozen=True, slots=True)
class Order:
    """What we ask of a cluster.

    Attributes:
        text: In words: `create topic x`.
        needs: The rights that it takes, as `kafka-acls` calls them.
        topic: What they are needed on.
    """

    text: str
    needs: tuple[str, ...] = ()
    topic: str = ""


class Contact:
    """An admin client of librdkafka that prints nothing.

    librdkafka reports a failed connection as "timed out"; the cause it tells to its logger and its error
    callback only. Both are kept here.

    Attributes:
        admin: The client.
    """

    def __init__(self, connection: Mapping[str, str]) -> None:
        """Make the client; no connection is waited for.

        Args:
            connection: Client properties, librdkafka's names.

        Raises:
            KafkaException: A property is not valid.
        """
        self._connection = connection
        # The client keeps its callbacks: one of our own methods would keep us, and with us the client, alive.
        complaints = self._complaints = deque[str](maxlen=50)

        def on_error(error: KafkaError) -> None:
            complaints.append(error.str())

        def keep(record: logging.LogRecord) -> bool:
            complaints.append(record.getMessage())
            return False  # nobody else is to see it

        logger = logging.Logger("librdkafka")  # in nobody's tree, so that no handler of others sees it
        logger.addFilter(keep)
        properties: dict[str, Any] = {**connection, "error_cb": on_error}
        self.admin = AdminClient(properties, logger=logger)

    def metadata(self, timeout_s: float) -> Any:
        """Brokers and topics of the cluster, as confluent-kafka's `ClusterMetadata`.

        Always of all topics: asking for one by name makes it, where a broker has `auto.create.topics.enable`.

        Args:
            timeout_s: Longest wait in seconds.

        Raises:
            KafkaException: No answer; `complaints` may tell why.
        """
        return self.admin.list_topics(timeout=timeout_s)

    def complaints(self) -> list[str]:
        """What librdkafka said about failures so far, oldest first, each once."""
        self.admin.poll(0)
        return list(dict.fromkeys(self._complaints))

    def refusal(self, error: KafkaException, asked: Order) -> RunnerError:
        """What an answer means to the user.

        Args:
            error: The answer.
            asked: What was asked for.
        """
        kafka_error: KafkaError = error.args[0]
        code, said, order = kafka_error.code(), kafka_error.str().rstrip("."), asked.text
        if code in _NO_RIGHTS:
            right = f" ({' and '.join(asked.needs)} on {resource(asked.topic)})" if asked.needs else ""
            return TargetRefused(
                f"The right to {order} is needed{right}, but the cluster says: {said}. {self._grant(asked)}"
            )
        if code in _NO_LOGIN:
            return TargetRefused(
                f"The login must be valid to {order}, but the cluster says: {said}. Check user and password."
            )
        if code == KafkaError.POLICY_VIOLATION:
            return TargetRefused(
                f"A policy of the cluster must let us {order}, but it says: {said}. Change the workload to suit the "
                "policy, or name a topic of yours (`target.topic`)."
            )
        if code == KafkaError.INVALID_REPLICATION_FACTOR:
            brokers = len(self.metadata(REQUEST_TIMEOUT_S).brokers)
            return WorkloadRefused(
                f"Replication must be at most the number of brokers, but the cluster has {brokers}, so that it "
                f"can't {order}. Lower `replication`."
            )
        if code in _NO_ANSWER:
            why = "; ".join(self.complaints()[-2:]) or said
            return BrokerLost(f"The cluster must answer when told to {order}, but: {why}. Check that its brokers run.")
        return WorkloadRefused(f"The cluster must be able to {order}, but it says: {said}. Change the workload.")

    def missing_rights(self, operations: Sequence[str], topic: str) -> TargetRefused:
        """For rights that the cluster itself says we don't have, before anything needed them.

        Args:
            operations: As `kafka-acls` calls them.
            topic: A topic that is there.
        """
        return TargetRefused(
            f"The right {' and '.join(operations)} on {resource(topic)} is needed, but the cluster does not "
            f"give it to us. {self._grant(Order('', tuple(operations), topic))}"
        )

    def _grant(self, asked: Order) -> str:
        if not asked.needs:
            return "Have it granted."
        advice = f"Have it granted: {grant_command(asked.needs, asked.topic, self._connection)}"
        if not asked.topic.startswith(OWNED_PREFIX):
            return f"{advice}."
        advice += "; or name a topic of yours that you may write to (`target.topic`, `--topic`)."
        if DELETE in asked.needs:
            advice += f" Topic {asked.topic} stays until it can be deleted: by the next run, or `tuner cleanup`."
        return advice


def operation_name(name: str) -> str:
    """`DESCRIBE_CONFIGS` as `kafka-acls` has it: `DescribeConfigs`."""
    return "".join(word.capitalize() for word in name.split("_"))


def resource(topic: str) -> str:
    """What rights are granted on, in words."""
    return f"topics that start with {OWNED_PREFIX}" if topic.startswith(OWNED_PREFIX) else f"topic {topic}"


def grant_command(operations: Iterable[str], topic: str, connection: Mapping[str, str]) -> str:
    """The command line by which an administrator grants rights.

    Args:
        operations: Of `kafka-acls`: `Create`, `Write`.
        topic: A topic; for one of ours, the rights are granted on all of them.
        connection: Whose; the client properties of whoever lacks them.
    """
    words = ["kafka-acls", "--bootstrap-server", connection["bootstrap.servers"]]
    words += ["--command-config", "admin.properties", "--add", "--allow-principal", _principal(connection)]
    for operation in operations:
        words += ["--operation", operation]
    owned = topic.startswith(OWNED_PREFIX)
    words += ["--topic", OWNED_PREFIX if owned else topic]
    return shlex.join([*words, "--resource-pattern-type", "prefixed"] if owned else words)


def _principal(connection: Mapping[str, str]) -> str:
    if user := connection.get("sasl.username"):
        return f"User:{user}"
    if connection.get("security.protocol", "").lower() == "ssl":
        return "User:SUBJECT-OF-YOUR-CERTIFICATE"  # or what the broker's ssl.principal.mapping.rules make of it
    return "User:NAME"
