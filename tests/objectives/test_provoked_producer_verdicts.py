"""On a real broker, each limit of a trial is provoked, and the verdict names it.

Only the verdict is asserted, because the speed depends on the machine. Each test leaves a wide margin to everything
else that could limit the trial. Queues are small, so that they fill and drain soon.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from objectives.bottlenecks import Bottleneck, Verdict
from objectives.producer_verdict import Evidence, judge
from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import OwnedTopics, Topic
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.load.isolated import Isolated
from runners.workload import RecordSizes, Workload
from runners.zones.link import Link
from runners.zones.zoned_cluster import ZonedCluster
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.properties.catalogue import Value
from tests.conftest import TopicMaker
from tests.helpers import slow_network
from tests.helpers.kafka_tools import set_producer_quota
from tests.helpers.slow_network import OnSlowNetwork

pytestmark = [pytest.mark.broker, pytest.mark.campaign, pytest.mark.alone]

SATURATE = Workload(RecordSizes.fixed(1_000), partitions=1, warmup_s=1.0, measured_s=2.0)
SMALL_QUEUE: dict[str, Value] = {"acks": 1, "queue.buffering.max.messages": 5_000, "batch.num.messages": 1_000}


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Run `count` processes that only count, until the context is left."""
    counting = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in counting:
            process.kill()
            process.wait()


def verdict(
    broker: RunningCluster,
    topic: Topic,
    properties: dict[str, Value],
    workload: Workload = SATURATE,
    generator: str = "native",
) -> Verdict:
    runner = Isolated(LibrdkafkaRunner(broker, topic, generator))
    seen = Evidence.of(runner.run(ProducerConfig.parse(properties), workload))
    given = judge(seen)
    print(given, seen)  # noqa: T201 - pytest shows it if the verdict is wrong
    return given


def test_the_verdict_names_our_generator(broker: RunningCluster, new_topic: TopicMaker) -> None:
    """Sends 10 B records with Python calls into a queue that is too large to fill in these seconds."""
    properties: dict[str, Value] = {"acks": 1, "queue.buffering.max.messages": 10_000_000}
    given = verdict(broker, new_topic(), properties, replace(SATURATE, record_sizes=RecordSizes.fixed(10)), "python")
    assert given.bound is Bottleneck.GENERATOR
    assert given.says_nothing_of_config


def test_the_verdict_names_the_client_s_own_thread(broker: RunningCluster, new_topic: TopicMaker) -> None:
    """Uses an expensive compression level: the client's thread makes a few MB/s, the broker could take a hundred."""
    costly = {**SMALL_QUEUE, "compression.type": "zstd", "compression.level": 12}
    assert verdict(broker, new_topic(), costly).bound is Bottleneck.CLIENT_THREAD


def test_the_verdict_names_the_client_s_buffer(broker: RunningCluster, new_topic: TopicMaker) -> None:
    """The queue holds less than a batch, so every batch waits until linger.ms has passed and is sent as one request."""
    tight: dict[str, Value] = {
        "acks": 1,
        "linger.ms": 300,
        "queue.buffering.max.kbytes": 64,
        "batch.size": 65_536,
        "message.max.bytes": 65_536,
    }
    given = verdict(broker, new_topic(), tight, replace(SATURATE, record_sizes=RecordSizes.fixed(10_000)))
    assert given.bound is Bottleneck.CLIENT_BUFFER


@pytest.mark.long
def test_the_verdict_names_the_offered_rate(broker: RunningCluster, new_topic: TopicMaker) -> None:
    """Offers a thousandth of the rate that the broker can take."""
    paced = replace(SATURATE, rate_records_per_s=200.0, measured_s=4.0)
    assert verdict(broker, new_topic(), {"acks": 1, "linger.ms": 0}, paced).bound is Bottleneck.OFFERED_RATE


@pytest.mark.long
def test_the_verdict_names_a_quota(broker: RunningCluster, new_topic: TopicMaker) -> None:
    """Kafka's own tool sets a quota for one client id, to a hundredth of the rate that the broker can take."""
    set_producer_quota(broker.bootstrap, "held-back", 1_000_000)
    held_back = replace(broker, connection={**broker.connection, "client.id": "held-back"})
    # One request holds the whole queue. The broker answers each request a second late, and the run waits for the last.
    one_request = {**SMALL_QUEUE, "queue.buffering.max.messages": 500, "batch.num.messages": 500}
    try:
        assert verdict(held_back, new_topic(), one_request).bound is Bottleneck.QUOTA
    finally:
        set_producer_quota(broker.bootstrap, "held-back", None)


def test_the_verdict_names_other_processes_on_this_host(broker: RunningCluster, new_topic: TopicMaker) -> None:
    """Runs four busy processes per core at the same priority, so that client and broker get little CPU."""
    topic = new_topic()
    with busy_processes(4 * (os.cpu_count() or 1)):
        given = verdict(broker, topic, SMALL_QUEUE)
    assert given.bound is Bottleneck.OTHER_PROCESSES
    assert given.says_nothing_of_config


def test_the_verdict_names_the_broker(broker: RunningCluster, new_topic: TopicMaker) -> None:
    """The broker has to compress plain batches in one partition, where it handles one request at a time."""
    topic = new_topic(configs={"compression.type": "gzip", "compression.gzip.level": "9"})
    assert verdict(broker, topic, SMALL_QUEUE).bound is Bottleneck.BROKER


def test_the_verdict_names_the_network() -> None:
    """The network passes 2.5 MB/s, a fiftieth of what client and broker could do."""
    if reason := slow_network.why_not():
        pytest.skip(reason)
    measured = Isolated(OnSlowNetwork(mbit_per_s=20)).run(ProducerConfig.parse(SMALL_QUEUE), SATURATE)
    given = judge(Evidence.of(measured))
    print(given, Evidence.of(measured))  # noqa: T201 - pytest shows it if the verdict is wrong
    assert given.bound is Bottleneck.NETWORK


def test_the_verdict_names_the_bandwidth_of_a_link() -> None:
    """The link passes 5 MB/s. Its process reads no faster from the client, like a broker that is too slow."""
    cluster = ZonedCluster(Link.symmetric(mb_per_s=5.0))
    try:
        running = cluster.start()
        with OwnedTopics(running) as topics:
            given = verdict(running, topics.create(1, 1), SMALL_QUEUE)
    finally:
        cluster.stop()
    assert given.bound is Bottleneck.NETWORK
    assert "the link to the brokers" in given.because
