"""Loads of consumers on a real broker: what was produced is stored and consumed, exactly and in order."""

import gc
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from typing import Final

import psutil
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from runners.clusters.brokers.embedded import EmbeddedCluster
from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import OwnedTopics, Topic
from runners.clusters.topics.topic_admin import TopicAdmin
from runners.consumer_runs.topic_consumption import KEPT, TopicConsumption, fill, read_while_writing
from runners.consumers.consumption import Consumption, ReadWindow
from runners.consumers.reading import Reading, Start
from runners.errors import BrokerLost, ByteBudgetExceeded, WorkloadRefused
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.load.isolated import Isolated
from runners.runner import DEFAULT_LIMITS, Limits, WatchDecision
from runners.workload import RecordSizes, Workload
from search_spaces.client import client_of
from search_spaces.configs.producer_config import ProducerConfig
from tests.conftest import TopicMaker
from tests.helpers.clients import with_word
from tests.helpers.runner_contract import Left, check_nothing_left
from tests.helpers.waiting import eventually

pytestmark = pytest.mark.broker

CONFIG: Final = ProducerConfig.parse({"linger.ms": 5})
SMALL_BATCHES: Final = ProducerConfig.parse({"batch.num.messages": 10})
"""However slow the machine is, its batches are small. A broker sends at least one whole batch."""
SMALL: Final = Workload(RecordSizes.parse("50:1,150:1"), key_bytes=4)
WHOLE: Final = Reading(warmup_s=0.0, measured_s=60.0)


def filled(
    cluster: RunningCluster,
    topic: Topic,
    records: int,
    workload: Workload = SMALL,
    config: ProducerConfig = CONFIG,
) -> Topic:
    fill(cluster, topic, config, workload, records, DEFAULT_LIMITS)
    return topic


@pytest.mark.parametrize(
    ("client", "consumers", "partitions"),
    [
        *(("librdkafka", consumers, partitions) for consumers, partitions in ((1, 1), (1, 3), (3, 3), (2, 5))),
        pytest.param("java", 2, 3, marks=pytest.mark.campaign),
    ],
)
def test_the_counts_of_produced_stored_and_consumed_records_agree(
    broker: RunningCluster, new_topic: TopicMaker, client: str, consumers: int, partitions: int
) -> None:
    topic = filled(broker, new_topic(partitions, KEPT), 100_000)
    before = Left.now()
    reading = Reading(consumers=consumers, warmup_s=0.0, measured_s=60.0, keep_arrivals=True)
    seen = TopicConsumption(broker, topic.name, reading, sole_writer=True, client=client_of(client)).run()
    check_nothing_left(before)
    assert seen.counts.differences() == ()
    assert seen.counts.taken == seen.counts.received == seen.counts.stored == 100_000
    assert sum(TopicAdmin(broker.connection).end_offsets(topic.name, partitions)) == 100_000
    assert seen.ended_s is not None
    assert not seen.in_warm_up
    assert seen.records == 100_000
    assert seen.value_bytes / seen.records == pytest.approx(100, rel=0.05)
    assert seen.origin.partitions == partitions
    assert seen.origin.cluster == "embedded"
    assert seen.resources.broker_cpu_cores is not None
    assert seen.arrivals is not None
    assert seen.arrivals.records == 100_000


def test_the_java_client_counts_records_that_fill_its_last_poll(broker: RunningCluster, new_topic: TopicMaker) -> None:
    """By default, a poll returns at most 500 records."""
    topic = filled(broker, new_topic(1, KEPT), 1_000)
    reading = Reading(warmup_s=0.0, measured_s=60.0)
    counts = TopicConsumption(broker, topic.name, reading, sole_writer=True, client=client_of("java")).run().counts
    assert (counts.taken, counts.received) == (1_000, 1_000)


@pytest.mark.campaign
def test_fetches_are_measured_and_a_property_changes_them(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = filled(broker, new_topic(1, KEPT), 300_000, config=SMALL_BATCHES)

    def with_properties(**properties: str) -> Consumption:
        given = {name.replace("_", "."): value for name, value in properties.items()}
        return TopicConsumption(broker, topic.name, Reading(warmup_s=0.0, measured_s=60.0, properties=given)).run()

    small, large = with_properties(fetch_message_max_bytes="20000"), with_properties()
    assert small.counts.taken == large.counts.taken == 300_000
    assert small.activity is not None
    assert 10 < small.activity.fetch_records < 1_000
    assert 1_000 < small.activity.fetch_bytes < 100_000
    # A load that ends within a tenth of a second may have no two reports to compare.
    assert large.activity is None or large.activity.fetch_records > 2 * small.activity.fetch_records


def test_a_load_that_is_over_first_says_what_it_did_not_reach(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = filled(broker, new_topic(2, KEPT), 200_000, config=SMALL_BATCHES)
    slow = {"fetch.message.max.bytes": "1000", "fetch.max.bytes": "2000", "message.max.bytes": "2000"}
    seen = TopicConsumption(broker, topic.name, Reading(warmup_s=0.1, measured_s=0.2, properties=slow)).run()
    counts = seen.counts
    assert counts.differences() == ()
    assert seen.ended_s is None
    assert counts.unread > 0
    assert counts.taken + counts.unread == counts.stored == 200_000


def test_a_topic_that_ends_in_the_warm_up_says_so(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = filled(broker, new_topic(1, KEPT), 10)
    seen = TopicConsumption(broker, topic.name, Reading(warmup_s=60.0)).run()
    assert seen.in_warm_up
    assert seen.counts.taken == seen.records == 10
    assert any("within the warm-up" in warning for warning in seen.warnings)


@pytest.mark.parametrize("client", ["librdkafka", pytest.param("java", marks=pytest.mark.long)])
def test_transactions_and_deleted_records_leave_gaps_that_are_no_loss(
    broker: RunningCluster, new_topic: TopicMaker, client: str
) -> None:
    topic = new_topic(1, KEPT)
    producer = Producer({**broker.connection, "transactional.id": topic.name})
    producer.init_transactions(30)
    for end in (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        for _ in range(10):
            producer.produce(topic.name, b"value")
        producer.flush(30)
        end(30)
    # Ten records and a marker, three times, and the first five are deleted.
    admin = AdminClient(dict(broker.connection))
    admin.delete_records([TopicPartition(topic.name, 0, 5)])[TopicPartition(topic.name, 0)].result(30)
    committed = replace(WHOLE, properties={"isolation.level": "read_committed"})  # the Java client's default differs
    seen = TopicConsumption(broker, topic.name, committed, client=client_of(client)).run()
    assert seen.counts.differences() == ()
    assert (seen.counts.taken, seen.counts.skipped, seen.counts.stored) == (15, 13, 28)
    assert seen.ended_s is not None
    as_ours = TopicConsumption(broker, topic.name, committed, sole_writer=True, client=client_of(client)).run()
    assert "LOSS: 13 offsets" in as_ours.counts.differences()[0]


def test_records_that_retention_deletes_before_they_are_read_are_no_loss(
    broker: RunningCluster, new_topic: TopicMaker
) -> None:
    topic, admin = filled(broker, new_topic(1, KEPT), 1_000), AdminClient(dict(broker.connection))

    def delete_some(_: int) -> None:
        """Write 100 records and delete 60 of them, after the load has looked where the topic ends."""
        fill(broker, topic, CONFIG, SMALL, 100, DEFAULT_LIMITS)
        admin.delete_records([TopicPartition(topic.name, 0, 1_060)])[TopicPartition(topic.name, 0)].result(30)

    read = 0

    def watch(window: ReadWindow) -> WatchDecision:
        nonlocal read
        read += window.records
        return WatchDecision.STOP if read == 40 else WatchDecision.GO_ON

    late = Reading(Start.TAIL, warmup_s=0.0, measured_s=120.0)
    consumption = TopicConsumption(broker, topic.name, late, sole_writer=True)
    ranges = consumption.offset_ranges()
    delete_some(0)
    seen = consumption.run(watch, ranges=ranges)
    assert (seen.counts.taken, seen.counts.skipped, seen.counts.deleted) == (40, 60, 60)
    (said,) = seen.counts.differences()
    assert "60 records were deleted before a consumer read them" in said
    assert "LOSS" not in said


def test_no_group_and_no_offset_is_left_on_the_cluster(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = filled(broker, new_topic(1, KEPT), 1_000)
    admin = AdminClient(dict(broker.connection))

    def groups() -> set[str]:
        return {each.group_id for each in admin.list_consumer_groups().result(30).valid}

    before = groups()
    TopicConsumption(broker, topic.name, WHOLE).run()
    assert groups() == before


@pytest.mark.parametrize("client", ["librdkafka", pytest.param("java", marks=pytest.mark.campaign)])
def test_at_the_tail_exactly_what_is_written_after_the_start_is_read(
    broker: RunningCluster, new_topic: TopicMaker, client: str
) -> None:
    topic = filled(broker, new_topic(3, KEPT), 1_000)
    read = 0

    def watch(window: ReadWindow) -> WatchDecision:
        nonlocal read
        read += window.records
        return WatchDecision.STOP if read == 50_000 else WatchDecision.GO_ON

    reading = Reading(Start.TAIL, consumers=3, warmup_s=0.0, measured_s=120.0)
    seen = TopicConsumption(broker, topic.name, reading, sole_writer=True, client=client_of(client)).run(
        watch, lambda _: fill(broker, topic, CONFIG, SMALL, 50_000, DEFAULT_LIMITS)
    )
    assert seen.counts.differences() == ()
    assert (seen.counts.taken, seen.counts.stored) == (50_000, None)


def test_a_producer_writes_while_consumers_read(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = new_topic(3)
    runner = Isolated(LibrdkafkaRunner(broker, topic))
    workload = Workload(RecordSizes.fixed(100), rate_records_per_s=20_000)
    reading = Reading(Start.TAIL, consumers=2, warmup_s=0.5, measured_s=2.0)
    before = Left.now()
    consumption = TopicConsumption(broker, topic.name, reading, sole_writer=True)
    seen, written = read_while_writing(consumption, runner, CONFIG, workload)
    check_nothing_left(before)
    assert seen.counts.differences() == ()
    assert written.counts.differences() == ()
    assert 0 < seen.counts.taken <= written.counts.acknowledged
    assert seen.activity is not None


def test_a_producer_that_fails_ends_the_consumers(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = new_topic(1)
    runner = Isolated(LibrdkafkaRunner(broker, topic, limits=Limits(max_bytes=1_000_000)))
    before = Left.now()
    consumption = TopicConsumption(broker, topic.name, Reading(Start.TAIL, measured_s=60.0))
    with pytest.raises(ByteBudgetExceeded):
        read_while_writing(consumption, runner, CONFIG, SMALL)
    check_nothing_left(before)


def test_topics_that_can_not_be_read_are_refused(broker: RunningCluster, new_topic: TopicMaker) -> None:
    with pytest.raises(WorkloadRefused, match="has no topic 'no-such-topic'"):
        TopicConsumption(broker, "no-such-topic", WHOLE).run()
    empty = new_topic(2)
    with pytest.raises(WorkloadRefused, match="is empty"):
        TopicConsumption(broker, empty.name, WHOLE).run()
    with pytest.raises(WorkloadRefused, match="has 2 partitions for 3 consumers"):
        TopicConsumption(broker, empty.name, Reading(Start.TAIL, consumers=3)).run()
    assert "no-such-topic" not in TopicAdmin(broker.connection).names()


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("client", "signal_number"),
    [
        ("librdkafka", signal.SIGKILL),
        pytest.param("java", signal.SIGKILL, marks=pytest.mark.long),
        pytest.param("librdkafka", signal.SIGSTOP, marks=pytest.mark.long),
    ],
)
def test_a_broker_that_is_killed_or_stopped_ends_the_load(client: str, signal_number: signal.Signals) -> None:
    cluster = EmbeddedCluster()
    running = cluster.start()
    try:
        topic = OwnedTopics(running).create(2)
        gc.collect()  # ends the client that has created the topic: it starts more threads when it loses its broker

        def watch(_: ReadWindow) -> WatchDecision:
            with suppress(ProcessLookupError):
                os.kill(running.local_brokers[0].pid, signal_number)
            return WatchDecision.GO_ON

        before = Left.now()
        reading = Reading(Start.TAIL, consumers=2, warmup_s=0.5, measured_s=120.0)
        with pytest.raises(BrokerLost, match=r"no answer of a broker came for \d+ s"):
            TopicConsumption(running, topic.name, reading, client=client_of(client)).run(watch)
        check_nothing_left(before)
    finally:
        with suppress(ProcessLookupError):
            os.kill(running.local_brokers[0].pid, signal.SIGCONT)
        cluster.stop()


def test_a_load_whose_owner_is_killed_leaves_no_process(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = new_topic(2)
    words = ["consume", topic.name, "--bootstrap", broker.bootstrap, "--start", "tail", "--consumers", "2"]
    command = [sys.executable, "-c", "from tuner.cli import main; main()", *words, "--seconds", "600"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as owner:
        assert owner.stderr is not None
        assert any("records/s" in line for line in owner.stderr), "it has begun to read"
        consumers = with_word("spawn_main", psutil.Process(owner.pid).children(recursive=True))
        assert len(consumers) == 2
        owner.kill()
    eventually(lambda: not any(each.is_running() and each.status() != "zombie" for each in consumers))
