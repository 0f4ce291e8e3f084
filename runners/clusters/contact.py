"""A connection to a cluster for questions and orders, which remembers why it fails."""

import logging
from collections import deque
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient


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
        # The client keeps its callbacks: one of our own methods would keep us, and with us the client, alive.
        complaints = self._complaints = deque[str](maxlen=50)

        def on_error(error: KafkaError) -> None:
            complaints.append(error.str())

        logger = logging.Logger("librdkafka")  # in nobody's tree, so that no handler of others sees it
        logger.addHandler(_Keep(complaints))
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


class _Keep(logging.Handler):
    def __init__(self, into: deque[str]) -> None:
        super().__init__()
        self._into = into

    def emit(self, record: logging.LogRecord) -> None:
        self._into.append(record.getMessage())
