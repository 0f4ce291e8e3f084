"""A connection for admin requests, which explains in plain words why a request failed.

If the cluster denies a permission, the error names the missing permission, the topic on which the permission is needed,
and the command that grants the permission. Source of the names of permissions: `AclOperation` and `kafka-acls`, Kafka
4.3. The permissions Write and Delete each imply Describe.
"""

import logging
import re
import shlex
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from runners.errors import BrokerLost, RunnerError, TargetRefused, WorkloadRefused

REQUEST_TIMEOUT_S = 20.0
_ANSWER_TIMEOUT_S = REQUEST_TIMEOUT_S + 5.0

_PREFIX = re.compile(r"^[A-Z]+ \[rdkafka#[^]]*\] (\[thrd:[^]]*\]: )?")
# The count of repetitions, as in "(after 1ms in state UP, 1 identical error(s) suppressed)". A caller that searches a
# message for the word "error" must not find it there.
_REPETITIONS = re.compile(r",? \d+ identical error\(s\) suppressed")

_OWNED_PREFIX = "tuner-"
"""The prefix of the name of every topic that we create. Users need permissions only on topics with this prefix."""

READ, WRITE, DELETE, CREATE = "Read", "Write", "Delete", "Create"
DESCRIBE, DESCRIBE_CONFIGS = "Describe", "DescribeConfigs"
_NO_PERMISSION = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
_NO_LOGIN = (KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError._AUTHENTICATION)
_NO_ANSWER = (
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NOT_CONTROLLER,
)


@dataclass(frozen=True, slots=True)
class AdminRequest:
    """A description of a request to the cluster, with the permissions that the request needs.

    Attributes:
        text: The request in words, such as `create topic x`.
        needs: The permissions that the request needs, under their names in `kafka-acls`.
        topic: The topic that the permissions are needed on.
    """

    text: str
    needs: tuple[str, ...] = ()
    topic: str = ""


def message_text(line: str) -> str:
    """Return a line of librdkafka's log without its prefix and without its count of repetitions."""
    return _REPETITIONS.sub("", _PREFIX.sub("", line))


class AdminConnection:
    """An admin client that keeps librdkafka's messages about failures instead of printing them.

    librdkafka reports a failed connection only as "timed out". It gives the cause only to its logger and to its error
    callback, so we keep the messages of both.

    Attributes:
        admin: The admin client.
    """

    def __init__(self, connection: Mapping[str, str]) -> None:
        """Create the client, without waiting for a connection.

        Args:
            connection: Client properties under librdkafka's names.

        Raises:
            KafkaException: A property is not valid.
        """
        self._connection = connection
        # The callbacks are plain functions. The client holds on to its callbacks, and a bound method would hold on to
        # this object, so that neither would ever be freed.
        complaints = self._complaints = deque[str](maxlen=50)

        def on_error(error: KafkaError) -> None:
            complaints.append(error.str())

        def keep(record: logging.LogRecord) -> bool:
            complaints.append(record.getMessage())
            return False  # no other handler gets the message

        logger = logging.Logger("librdkafka")  # it has no parent logger, so that no other handler gets the message
        logger.addFilter(keep)
        properties: dict[str, Any] = {**connection, "error_cb": on_error}
        self.admin = AdminClient(properties, logger=logger)

    def metadata(self, timeout_s: float) -> Any:
        """Return the brokers and topics of the cluster, as confluent-kafka's `ClusterMetadata`.

        The request is always for all topics. A request for one topic by name would create that topic on a broker with
        `auto.create.topics.enable`.

        Args:
            timeout_s: Longest wait in seconds.

        Raises:
            KafkaException: The cluster did not answer. The messages in `complaints` may show the reason.
        """
        return self.admin.list_topics(timeout=timeout_s)

    def listed(self) -> Any:
        """Return the same as `metadata`, for a cluster that has answered before.

        Raises:
            BrokerLost: The cluster did not answer.
        """
        try:
            return self.metadata(REQUEST_TIMEOUT_S)
        except KafkaException as error:
            raise self.refusal(error, AdminRequest("list topics")) from None

    def describe(self, names: Sequence[str]) -> Mapping[str, "Future[Any]"]:
        """Ask for the descriptions of topics, with our permissions on them, and return the answers by name."""
        futures: Mapping[str, Future[Any]] = self.admin.describe_topics(
            TopicCollection(list(names)), include_authorized_operations=True, request_timeout=REQUEST_TIMEOUT_S
        )
        return futures

    def complaints(self) -> list[str]:
        """Return the messages about failures that librdkafka has given so far, without duplicates, oldest first.

        The messages come without the prefix of librdkafka's log lines and without its count of repetitions.
        """
        self.admin.poll(0)
        return list(dict.fromkeys(message_text(line) for line in self._complaints))

    def refusal(self, error: KafkaException, request: AdminRequest) -> RunnerError:
        """Return the error from `runners.errors` that explains a failed request to the user.

        Args:
            error: The error that confluent-kafka raised.
            request: The request that failed.
        """
        kafka_error: KafkaError = error.args[0]
        code, answer, action = kafka_error.code(), kafka_error.str().rstrip("."), request.text
        if code in _NO_PERMISSION:
            named = f" ({' and '.join(request.needs)} on {resource(request.topic)})" if request.needs else ""
            return TargetRefused(
                f"permission to {action} is needed{named}, but the cluster answers: {answer}; {self._grant(request)}"
            )
        if code in _NO_LOGIN:
            return TargetRefused(
                f"a valid login is needed to {action}, but the cluster answers: {answer}; check the user name and the "
                "password"
            )
        if code == KafkaError.POLICY_VIOLATION:
            return TargetRefused(
                f"a policy of the cluster does not allow us to {action}; the cluster answers: {answer}; change the "
                "workload so that it follows the policy, or name an existing topic (`target.topic`, `--topic`)"
            )
        if code == KafkaError.INVALID_REPLICATION_FACTOR:
            brokers = len(self.metadata(REQUEST_TIMEOUT_S).brokers)
            return WorkloadRefused(
                f"replication must be at most the number of brokers, but the cluster has {brokers}, so it can't "
                f"{action}; lower it (`replication`, `--replication`)"
            )
        if code == KafkaError.TOPIC_EXCEPTION:
            return WorkloadRefused(
                f"a topic's name must have at most 249 letters, digits, '.', '_' and '-', but got {request.topic!r}"
            )
        if code in _NO_ANSWER:
            why = "; ".join(self.complaints()[-2:]) or answer
            return BrokerLost(
                f"the cluster did not answer the request to {action}: {why}; check that its brokers are running"
            )
        return WorkloadRefused(f"the cluster can't {action}; it answers: {answer}; change the workload")

    def missing_permissions(self, operations: Sequence[str], topic: str) -> TargetRefused:
        """Return the error that tells the user which permissions are missing and how to grant them.

        The caller raises this error if the cluster lists this user's permissions, and a permission that is needed later
        is not in the list.

        Args:
            operations: The missing permissions, under their names in `kafka-acls`.
            topic: The existing topic on which the permissions are needed.
        """
        return TargetRefused(
            f"permission for {' and '.join(operations)} on {resource(topic)} is needed, but this user lacks it; "
            f"{self._grant(AdminRequest('', tuple(operations), topic))}"
        )

    def _grant(self, request: AdminRequest) -> str:
        if not request.needs:
            return "ask an administrator to grant it"
        advice = f"ask an administrator to grant it: {_grant_command(request.needs, request.topic, self._connection)}"
        if not request.topic.startswith(_OWNED_PREFIX):
            return advice
        advice += "; or name an existing topic that you may write to (`target.topic`, `--topic`)"
        if DELETE in request.needs:
            advice += (
                f"; topic {request.topic} stays on the cluster until then; the next run or `tuner cleanup` after that "
                "deletes it"
            )
        return advice


def answer_to(future: "Future[Any]") -> Any:
    """Wait for the answer to a request, and return it.

    Raises:
        KafkaException: The request failed, or the cluster did not answer within `_ANSWER_TIMEOUT_S`.
    """
    try:
        return future.result(timeout=_ANSWER_TIMEOUT_S)
    except TimeoutError:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from None


def unlisted_permissions(described: Any, needs: Iterable[str]) -> list[str]:
    """Return the permissions in `needs`, named as in `kafka-acls`, that the description of a topic does not list."""
    # A user who gets a description has at least permission to describe the topic. So if no permissions are listed, the
    # cluster does not report permissions at all. Then only a request that needs a permission shows whether we have it.
    allowed = {operation_name(operation.name) for operation in described.authorized_operations or ()}
    return [each for each in needs if allowed and each not in allowed]


def operation_name(name: str) -> str:
    """Return the name of an operation as `kafka-acls` writes it: `DescribeConfigs` for `DESCRIBE_CONFIGS`."""
    return "".join(word.capitalize() for word in name.split("_"))


def resource(topic: str) -> str:
    """Return a phrase for a message that names the topics on which a permission is granted.

    The phrase names the given topic, or all topics that we create if the given topic is one of them.
    """
    return f"topics that start with {_OWNED_PREFIX}" if topic.startswith(_OWNED_PREFIX) else f"topic {topic}"


def _grant_command(operations: Iterable[str], topic: str, connection: Mapping[str, str]) -> str:
    """Return the command line with which an administrator grants permissions.

    Args:
        operations: The permissions, under their names in `kafka-acls`: `Create`, `Write`.
        topic: The topic that the permissions are needed on. If we created this topic, the command grants the
            permissions on all topics that we create.
        connection: The client properties of the user who lacks the permissions.
    """
    words = ["kafka-acls", "--bootstrap-server", connection["bootstrap.servers"]]
    words += ["--command-config", "admin.properties", "--add", "--allow-principal", _principal(connection)]
    for operation in operations:
        words += ["--operation", operation]
    owned = topic.startswith(_OWNED_PREFIX)
    words += ["--topic", _OWNED_PREFIX if owned else topic]
    return shlex.join([*words, "--resource-pattern-type", "prefixed"] if owned else words)


def _principal(connection: Mapping[str, str]) -> str:
    if user := connection.get("sasl.username"):
        return f"User:{user}"
    if connection.get("security.protocol", "").lower() == "ssl":
        return "User:SUBJECT-OF-YOUR-CERTIFICATE"  # or the name that the broker's ssl.principal.mapping.rules map it to
    return "User:NAME"
