"""On a real broker, each limit of consumers is provoked, and the verdict names it.

Only the verdict is asserted, because the speed depends on the machine.
"""

import multiprocessing
from dataclasses import replace
from typing import Final

import pytest

from objectives.bottlenecks import Bottleneck, Verdict
from objectives.consumer_verdict import ReadEvidence, judge_reading
from runners.clusters.brokers.embedded import EmbeddedCluster
from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import OwnedTopics, Topic
from runners.consumer_runs.topic_consumption import KEPT, TopicConsumption, fill, read_while_writing
from runners.consumers.consumption import Consumption
from runners.consumers.reading import Reading, Start
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.load.isolated import Isolated
from runners.runner import DEFAULT_LIMITS
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.conftest import TopicMaker
from tests.helpers import slow_network
from tests.helpers.kafka_tools import set_quota

pytestmark = [pytest.mark.broker, pytest.mark.alone, pytest.mark.long]

CONFIG: Final = ProducerConfig.parse({"linger.ms": 10, "batch.size": 1_000_000})
LARGE_QUEUE: Final = {"queued.min.messages": "10000000", "queued.max.messages.kbytes": "2000000"}


def verdict(seen: Consumption) -> Verdict:
    given = judge_reading(ReadEvidence.of(seen))
    print(given, ReadEvidence.of(seen))  # noqa: T201 - pytest shows it if the verdict is wrong
    return given


def filled(broker: RunningCluster, topic: Topic, megabytes: float, record_bytes: int, **config: str) -> Topic:
    workload = Workload(RecordSizes.fixed(record_bytes), compressibility_ratio=0.9 if config else 0.0)
    properties = ProducerConfig.parse({**dict(CONFIG.pairs), **config}) if config else CONFIG
    fill(broker, topic, properties, workload, int(megabytes * 1e6 / record_bytes), DEFAULT_LIMITS)
    return topic


def test_a_client_that_pauses_with_a_full_queue_is_limited_by_its_buffer(
    broker: RunningCluster, new_topic: TopicMaker
) -> None:
    """The queue holds a few milliseconds of records, and after each of them the client pauses for a second."""
    topic = filled(broker, new_topic(1, KEPT), 100, 100)
    small = {"queued.min.messages": "1000", "fetch.queue.backoff.ms": "1000"}
    seen = TopicConsumption(broker, topic.name, Reading(warmup_s=0.0, measured_s=3.0, properties=small)).run()
    assert verdict(seen).bound is Bottleneck.CLIENT_BUFFER


def test_the_verdict_names_the_client_s_own_thread(broker: RunningCluster, new_topic: TopicMaker) -> None:
    """Records that compress to a tenth of their size cost the broker little, and the client must unpack them."""
    topic = filled(broker, new_topic(1, KEPT), 1_500, 100, **{"compression.type": "gzip"})
    reading = Reading(warmup_s=0.2, measured_s=60.0, properties=LARGE_QUEUE)
    assert verdict(TopicConsumption(broker, topic.name, reading).run()).bound is Bottleneck.CLIENT_THREAD


def test_the_verdict_names_the_producers(broker: RunningCluster, new_topic: TopicMaker) -> None:
    """Reads at the tail what a producer writes at a thousandth of the rate that a consumer can read."""
    topic = new_topic(1)
    workload = Workload(RecordSizes.fixed(1_000), rate_records_per_s=1_000)
    runner = Isolated(LibrdkafkaRunner(broker, topic))
    reading = Reading(Start.TAIL, warmup_s=0.5, measured_s=3.0)
    seen, _ = read_while_writing(TopicConsumption(broker, topic.name, reading), runner, CONFIG, workload)
    assert verdict(seen).bound is Bottleneck.OFFERED_RATE


def test_the_verdict_names_a_quota(broker: RunningCluster, new_topic: TopicMaker) -> None:
    """Kafka's own tool sets a quota for one client id, to a hundredth of the rate that the broker can give."""
    topic = filled(broker, new_topic(1, KEPT), 100, 1_000)
    set_quota(broker.bootstrap, "slow-reader", "consumer_byte_rate", 5_000_000)
    held_back = replace(broker, connection={**broker.connection, "client.id": "slow-reader"})
    try:
        seen = TopicConsumption(held_back, topic.name, Reading(warmup_s=0.5, measured_s=4.0)).run()
        assert verdict(seen).bound is Bottleneck.QUOTA
    finally:
        set_quota(broker.bootstrap, "slow-reader", "consumer_byte_rate", None)


def _read_on_a_slow_network(answer: "multiprocessing.Queue[Consumption | BaseException]") -> None:
    """Move into a slow network, start a broker there, fill a topic and read it."""
    try:
        slow_network.enter(80)
        cluster = EmbeddedCluster()
        try:
            running = cluster.start()
            with OwnedTopics(running) as topics:
                topic = filled(running, topics.create(1, 1, KEPT), 60, 1_000)
                answer.put(TopicConsumption(running, topic.name, Reading(warmup_s=1.0, measured_s=3.0)).run())
        finally:
            cluster.stop()
    except BaseException as error:  # noqa: BLE001 - raised again in the test's process
        answer.put(error)


def test_the_verdict_names_the_network() -> None:
    """The network passes 10 MB/s, a hundredth of what client and broker could do."""
    if reason := slow_network.why_not():
        pytest.skip(reason)
    context = multiprocessing.get_context("spawn")
    answer: multiprocessing.Queue[Consumption | BaseException] = context.Queue()
    process = context.Process(target=_read_on_a_slow_network, args=(answer,))
    process.start()
    seen = answer.get(timeout=120)
    process.join(30)
    if isinstance(seen, BaseException):
        raise seen
    assert verdict(seen).bound is Bottleneck.NETWORK
