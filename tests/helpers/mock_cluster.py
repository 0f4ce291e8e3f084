"""librdkafka's in-process mock cluster. A real client speaks the real protocol with it, without a broker."""

import json
import logging
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import Producer

from runners.clusters.cluster import RunningCluster
from tests.helpers.waiting import eventually

BROKERS = 3
PARTITIONS = 4
"""Partitions of every topic, which exists from its first use on. Source: rd_kafka_mock_cluster_new, librdkafka 2.16."""
_PATIENCE_S = 30


@contextmanager
def running_mock_cluster() -> Iterator[RunningCluster]:
    """Run a mock cluster that other clients, also in other processes, can use while the client that holds it lives."""
    logger = logging.Logger("mock cluster")
    logger.addHandler(logging.NullHandler())
    # The cluster's thread inherits what is blocked here. If it had to handle a signal, it would end with the cluster.
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        holder = Producer({"test.mock.num.brokers": BROKERS}, logger=logger)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
    brokers = holder.list_topics(timeout=_PATIENCE_S).brokers.values()
    addresses = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    yield RunningCluster("existing", {"bootstrap.servers": addresses})


def largest_batch_bytes(
    cluster: RunningCluster,
    topic: str,
    config: Mapping[str, str | int],
    values: Iterable[bytes],
    key: bytes | None = None,
) -> int:
    """Send values to one partition, and return the size of the largest batch, from the client's own statistics."""
    largest = 0

    def read(statistics: str) -> None:
        nonlocal largest
        for each in json.loads(statistics)["topics"].values():
            largest = max(largest, each["batchsize"]["max"])

    own = {"bootstrap.servers": cluster.bootstrap, "log_level": 0, "statistics.interval.ms": 50, "stats_cb": read}
    producer = Producer({**config, **own})
    producer.list_topics(topic, timeout=_PATIENCE_S)
    for value in values:
        producer.produce(topic, value, key=key, partition=0, timestamp=1_700_000_000_000)
    producer.flush(_PATIENCE_S)
    return int(eventually(lambda: (producer.poll(0.05), largest)[1]))
