"""librdkafka's in-process mock cluster: a real client speaks the real protocol to it, with no broker to start."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Producer

from runners.clusters.cluster import RunningCluster

BROKERS = 3
PARTITIONS = 4
"""Of every topic, which is made when it is first asked for. Source: rd_kafka_mock_cluster_new, librdkafka 2.16."""
_PATIENCE_S = 30


@contextmanager
def running_mock_cluster() -> Iterator[RunningCluster]:
    """A mock cluster that other clients, also of other processes, can use while its holder lives."""
    logger = logging.Logger("mock cluster")
    logger.addHandler(logging.NullHandler())
    holder = Producer({"test.mock.num.brokers": BROKERS}, logger=logger)
    brokers = holder.list_topics(timeout=_PATIENCE_S).brokers.values()
    addresses = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    yield RunningCluster("existing", {"bootstrap.servers": addresses})
