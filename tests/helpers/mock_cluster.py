"""librdkafka's in-process mock cluster. A real client speaks the real protocol with it, without a broker."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Producer

from runners.clusters.cluster import RunningCluster

BROKERS = 3
PARTITIONS = 4
"""Partitions of every topic, which exists from its first use on. Source: rd_kafka_mock_cluster_new, librdkafka 2.16."""
_PATIENCE_S = 30


@contextmanager
def running_mock_cluster() -> Iterator[RunningCluster]:
    """Run a mock cluster that other clients, also in other processes, can use while the client that holds it lives."""
    logger = logging.Logger("mock cluster")
    logger.addHandler(logging.NullHandler())
    holder = Producer({"test.mock.num.brokers": BROKERS}, logger=logger)
    brokers = holder.list_topics(timeout=_PATIENCE_S).brokers.values()
    addresses = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    yield RunningCluster("existing", {"bootstrap.servers": addresses})
