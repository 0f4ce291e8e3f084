"""Measurements on a real broker: counts agree, failures are reported, and nothing is left behind."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pytest
from confluent_kafka import Consumer, TopicPartition

from runners.clock import NS_PER_S
from runners.clusters.brokers.embedded import EmbeddedCluster
from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import OwnedTopics, Topic
from runners.clusters.topics.topic_admin import TopicAdmin
from runners.clusters.topics.topic_for_run import WithTopic, owned_topic
from runners.errors import BrokerLost, ByteBudgetExceeded, WorkloadRefused
from runners.java_client.java_runner import JavaRunner
from runners.java_client.kept_jvm import end_kept_jvms
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.load.isolated import Isolated
from runners.load.pacing import Bursts, Schedule
from runners.measurements.measurement import Measurement, Window
from runners.runner import DEFAULT_LIMITS, Limits, Runner, Watch, WatchDecision, go_on
from runners.workload import RecordSizes, Workload
from search_spaces.client import Client, java, librdkafka
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import RuleBroken
from search_spaces.properties.catalogue import Value
from tests.conftest import TopicMaker
from tests.helpers.runner_contract import Left, check_nothing_left

pytestmark = pytest.mark.broker

READ_TIMEOUT_S = 30.0
LEAST_SHARE = 0.6
"""The least share of the due records that a paced load hands over. A busy host may be late at the end of a load."""
# With batches that hold the records of 50 ms, linger.ms decides when a batch is sent.
ROOMY: Mapping[str, Mapping[str, Value]] = {"librdkafka": {}, "java": {"batch_size": 1_000_000}}


@dataclass(frozen=True, slots=True)
class ClientCase:
    """A client, and the runner that measures with it.

    Attributes:
        client: The client.
        on: Makes the runner for a topic.
        tiny_queue: Properties with which the queue holds at most 20 records of 100 B.
        too_large: How the client calls the broker's answer to a record that is too large.
    """

    client: Client
    on: Callable[[RunningCluster, Topic, Limits], Runner]
    tiny_queue: Mapping[str, Value]
    too_large: str

    def config(self, **properties: Value) -> ProducerConfig:
        """Return a config of this client."""
        given = {name.replace("_", "."): value for name, value in properties.items()}
        return ProducerConfig.parse(given, client=self.client)


CLIENTS = {
    "librdkafka": ClientCase(
        librdkafka(),
        lambda cluster, topic, limits: LibrdkafkaRunner(cluster, topic, limits=limits),
        {"queue_buffering_max_messages": 20, "batch_num_messages": 20},
        "MSG_SIZE_TOO_LARGE",
    ),
    "java": ClientCase(
        java(),
        lambda cluster, topic, limits: JavaRunner(cluster, topic, limits, warms_up=False),
        {"buffer_memory": 2_000, "batch_size": 1_000},
        "RecordTooLargeException",
    ),
}


@pytest.fixture(params=["librdkafka", pytest.param("java", marks=pytest.mark.campaign)])
def tested(request: pytest.FixtureRequest) -> Iterator[ClientCase]:
    """Each client in turn, with no process of it that waits for a run."""
    yield CLIENTS[request.param]
    end_kept_jvms()


def short(sizes: str = "100", rate: float | None = None, **more: float) -> Workload:
    fields: dict[str, float] = {"warmup_s": 0.5, "measured_s": 1.5, **more}
    return Workload(RecordSizes.parse(sizes), rate_records_per_s=rate, **fields)  # type: ignore[arg-type]


def measure(
    tested: ClientCase,
    cluster: RunningCluster,
    topic: Topic,
    workload: Workload,
    watch: Watch = go_on,
    /,
    **properties: Value,
) -> Measurement:
    before = Left.now()
    runner = tested.on(cluster, topic, Limits(max_bytes=5 * 10**9))
    seen = runner.run(tested.config(**properties), workload, watch)
    end_kept_jvms()
    check_nothing_left(before)
    return seen


@pytest.mark.parametrize(
    "durability",
    [{"acks": 1}, pytest.param({"acks": "all"}, marks=pytest.mark.long), {"enable_idempotence": True}],
)
def test_three_counts_agree_exactly(
    tested: ClientCase, broker: RunningCluster, new_topic: TopicMaker, durability: dict[str, Value]
) -> None:
    topic = new_topic(3)
    seen = measure(tested, broker, topic, short(), **durability)
    assert seen.counts.differences() == ()
    assert seen.counts.stored == seen.counts.transmitted == seen.counts.acknowledged == seen.counts.handed_over
    assert sum(TopicAdmin(broker.connection).end_offsets(topic.name, 3)) == seen.counts.acknowledged > seen.records > 0
    assert seen.origin.cluster == "embedded"
    assert seen.resources.broker_cpu_cores is not None
    assert seen.resources.broker_cpu_cores > 0
    (used,) = seen.resources.brokers
    assert used.cpu_cores == pytest.approx(seen.resources.broker_cpu_cores)
    assert used.received_mb_per_s is not None
    assert used.received_mb_per_s == pytest.approx(seen.mb_per_s * (seen.wire_bytes_per_value_byte or 0), rel=0.3)


def test_without_acknowledgements_a_real_latency_is_marked_as_local(
    tested: ClientCase, broker: RunningCluster, new_topic: TopicMaker
) -> None:
    seen = measure(tested, broker, new_topic(), short(rate=2_000, measured_s=0.5), acks=0)
    assert seen.latency_is_local
    assert seen.counts.transmitted == seen.counts.acknowledged == seen.counts.handed_over


def test_records_of_bursts_are_sent_no_earlier_than_they_are_due(
    tested: ClientCase, broker: RunningCluster, new_topic: TopicMaker
) -> None:
    load = short("100", rate=2_000, warmup_s=1.5, measured_s=2.0, peak_ratio=2.0)
    schedule = Schedule(2_000, 0, Bursts.of(load))
    acknowledged, due = [0], [0]

    def watch(window: Window) -> WatchDecision:
        acknowledged.append(acknowledged[-1] + window.records)
        due.append(schedule.due(round(window.at_s * NS_PER_S)))
        return WatchDecision.GO_ON

    seen = measure(tested, broker, new_topic(), load, watch, linger_ms=5)
    # Before the first burst, 1.5 times as many records would be due at a constant rate.
    assert [sent > may for sent, may in zip(acknowledged, due, strict=True)] == [False] * len(due)
    assert seen.counts.differences() == ()
    assert LEAST_SHARE * schedule.due(round(3.5 * NS_PER_S)) < seen.counts.handed_over


def test_linger_ms_shows_in_the_queue_time_and_each_paced_record_has_a_latency(
    tested: ClientCase, broker: RunningCluster, new_topic: TopicMaker
) -> None:
    # All records of this load fit into one batch, so that even after a stall linger.ms decides when a batch is sent.
    load = short("100", rate=200, measured_s=2.0)
    seen = measure(tested, broker, new_topic(), load, acks=1, linger_ms=50, **ROOMY[tested.client.kind])
    assert seen.counts.differences() == ()
    assert seen.counts.handed_over > LEAST_SHARE * 200 * 2.5
    assert seen.sample_ratio == 1.0
    assert seen.latency.count == seen.send_delay.count > 0
    assert seen.latency_check is not None
    # The first record of a batch waits for all of linger.ms, and the last one may not wait at all. A record that the
    # load handed over late, because of a stall, has waited outside of the queue.
    assert seen.latency_check.queue_us + seen.send_delay.mean_us >= 50_000 / 2 * 0.9


def read_all(cluster: RunningCluster, topic: Topic, records: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield key and value of `records` records."""
    consumer = Consumer({**cluster.connection, "group.id": "reader", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic.name, number, 0) for number in range(topic.partitions)])
        while records > 0:
            read = consumer.consume(min(records, 10_000), READ_TIMEOUT_S)
            assert read, "a record is missing"
            records -= len(read)
            yield from ((message.key() or b"", message.value() or b"") for message in read)
    finally:
        consumer.close()


def test_the_topic_holds_the_mix_of_sizes_and_the_keys(
    tested: ClientCase, broker: RunningCluster, new_topic: TopicMaker
) -> None:
    topic, workload = new_topic(3), short("100:3,1000:1", rate=2_000, key_bytes=8, measured_s=1.0)
    seen = measure(tested, broker, topic, workload, acks=1)
    keys, values = zip(*read_all(broker, topic, seen.counts.acknowledged), strict=True)
    assert len(values) == seen.counts.acknowledged
    assert len(set(values)) == len(values), "all values are distinct"
    assert {len(value) for value in values} == {100, 1_000}
    small = np.array([len(value) == 100 for value in values])
    assert abs(small.mean() - 0.75) < 5 * np.sqrt(0.75 * 0.25 / len(values))
    assert {len(key) for key in keys} == {8}
    assert seen.activity is not None
    assert seen.activity.partitions_used == 3, "keys spread over all partitions"


def test_compression_saves_bytes_on_the_wire(tested: ClientCase, broker: RunningCluster, new_topic: TopicMaker) -> None:
    compressible = short("1000", compressibility_ratio=0.8, measured_s=1.0)
    seen = measure(tested, broker, new_topic(), compressible, acks=1, compression_type="lz4")
    assert seen.origin.payload_zlib_ratio == pytest.approx(0.2, abs=0.02)
    assert seen.wire_bytes_per_value_byte is not None
    assert 0.15 < seen.wire_bytes_per_value_byte < 0.4
    assert seen.counts.agree


def test_a_full_queue_is_back_pressure_and_its_time_is_counted(
    tested: ClientCase, broker: RunningCluster, new_topic: TopicMaker
) -> None:
    seen = measure(tested, broker, new_topic(3), short(measured_s=1.0), acks=1, **tested.tiny_queue)
    assert seen.counts.failed == {}
    assert seen.counts.agree
    assert seen.activity is not None
    assert seen.activity.queue_full_ratio > 0.1
    assert seen.activity.queued_records <= 20


def test_records_too_large_for_the_topic_are_refused(
    tested: ClientCase, broker: RunningCluster, new_topic: TopicMaker
) -> None:
    topic = new_topic(configs={"max.message.bytes": "10000"})
    assert topic.max_message_bytes == 10_000
    with pytest.raises(RuleBroken, match="record-within-topic"):
        measure(tested, broker, topic, short("20000"), acks=1)
    # We can't know the size of a batch after its compression, so the broker has to refuse it.
    with pytest.raises(WorkloadRefused, match=rf"max\.message\.bytes.*{tested.too_large}; measure smaller"):
        measure(tested, broker, topic, short("20000"), acks=1, compression_type="lz4")


def test_the_byte_budget_ends_the_run_and_its_topic_is_deleted(tested: ClientCase, broker: RunningCluster) -> None:
    used: list[str] = []

    def on_topic(topic: Topic) -> Isolated:
        used.append(topic.name)
        return Isolated(tested.on(broker, topic, Limits(max_bytes=1_000_000)))

    with OwnedTopics(broker) as topics:
        with pytest.raises(ByteBudgetExceeded, match="at most 1,000,000 bytes"):
            WithTopic(owned_topic(topics), on_topic).run(tested.config(acks=1), short())
        assert not set(used) & set(TopicAdmin(broker.connection).names())
    assert len(used) == 1


@pytest.mark.long
def test_three_brokers_acknowledge_together(tested: ClientCase) -> None:
    cluster = EmbeddedCluster(3)
    try:
        running = cluster.start()
        with OwnedTopics(running) as topics:
            topic = topics.create(6, 3, {"min.insync.replicas": "2"})
            seen = measure(tested, running, topic, short(measured_s=1.0), acks="all", enable_idempotence=True)
            # Here leaders acknowledge faster than the others can copy, and nothing is lost.
            fast = measure(tested, running, topics.create(6, 3), short("100000", measured_s=2.0), acks=1)
        assert seen.counts.agree
        assert seen.counts.stored == seen.counts.acknowledged > 0
        assert fast.counts.stored == fast.counts.acknowledged > 0
        assert seen.activity is not None
        assert seen.activity.in_flight_requests > 0
    finally:
        cluster.stop()


@pytest.mark.campaign
@pytest.mark.parametrize("signal_number", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.long)])
def test_a_broker_that_is_killed_or_stopped_ends_the_run(tested: ClientCase, signal_number: signal.Signals) -> None:
    cluster = EmbeddedCluster()
    running = cluster.start()
    try:
        # Only the run's client is kept. Another client would search for the dead broker with ever new threads.
        runner = tested.on(running, OwnedTopics(running).create(), DEFAULT_LIMITS)

        def watch(window: Window) -> WatchDecision:
            if window.number == 1:
                os.kill(running.local_brokers[0].pid, signal_number)
            return WatchDecision.GO_ON

        before = Left.now()
        # A client of a stopped broker reports nothing within the few seconds that we wait.
        with pytest.raises(
            BrokerLost,
            match=r"no deliveries came for \d s while [\d,]+ records waited; "
            ".*(refused|down|[Dd]isconnected|could not be established|no error)",
        ):
            runner.run(tested.config(acks=1), short("1000", measured_s=60.0), watch)
        check_nothing_left(before)
    finally:
        with suppress(ProcessLookupError):
            os.kill(running.local_brokers[0].pid, signal.SIGCONT)
        cluster.stop()
