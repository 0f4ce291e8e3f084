"""Topics of ours are ready after creation and free their disk space after deletion. Other topics are never touched."""

from pathlib import Path

import pytest
from confluent_kafka import Producer
from hypothesis import given
from hypothesis import strategies as st

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.leftovers import Leftover, find_leftovers, remove_leftovers, sweep_dead_runs
from runners.clusters.topics.owned_topics import RECORD_KIND, OwnedTopics, Topic, new_run_id, owned_configs, run_of
from runners.clusters.topics.topic_admin import TopicAdmin
from runners.errors import BrokerLost, WorkloadRefused
from runners.host_processes.clean_up import CleanUpList, clean_up_lists
from tests.conftest import TopicMaker
from tests.helpers.waiting import eventually
from tests.runners.clusters.owner import running_owner

NOT_OURS = [
    "tuner-orders",
    "tuner-",
    "tuner-20260131T235959-0a1b2c3d",
    "tuner-20260131T235959-0a1b2c3d-",
    "tuner-20260131T235959-0A1B2C3D-0",
    "tuner-20260131T235959-0a1b2c3d-0-copy",
    "my-tuner-20260131T235959-0a1b2c3d-0",
    "tuner-20260131T235959-0a1b2c3d-0\n",
    "tuner-20260131-235959-0a1b2c3d-0",
    "tuner-2026013aT235959-0a1b2c3d-0",
    "tuner-2026013\N{ARABIC-INDIC DIGIT ONE}T235959-0a1b2c3d-0",
    "__consumer_offsets",
]


def test_a_run_id_is_recognised_in_its_topics() -> None:
    run_id = new_run_id()
    assert run_of(f"tuner-{run_id}-0") == run_id
    assert run_of(f"tuner-{run_id}-123456") == run_id
    assert new_run_id() != run_id


@pytest.mark.parametrize("name", NOT_OURS)
def test_other_names_are_not_ours(name: str) -> None:
    assert run_of(name) is None


@given(st.text(max_size=40), st.text(max_size=10))
def test_a_name_of_ours_with_text_around_it_is_not_ours(before: str, after: str) -> None:
    name = f"tuner-20260131T235959-0a1b2c3d-7{after}"
    assert run_of(before + name) is None or (before == "" and (after == "" or after.isdecimal()))


@given(st.integers(1, 24))
def test_the_disk_limit_does_not_depend_on_the_partitions(partitions: int) -> None:
    configs = owned_configs(partitions)
    most = partitions * (int(configs["retention.bytes"]) + int(configs["segment.bytes"]))
    assert most <= 1.5 * 2**30
    assert int(configs["retention.bytes"]) >= int(configs["segment.bytes"])


def partition_folders(broker: RunningCluster, topic: Topic) -> list[Path]:
    folder = broker.local_brokers[0].log_dir
    assert folder is not None
    return list(folder.glob(f"{topic.name}-*"))


def write(broker: RunningCluster, topic: Topic, records_sent: int, record_bytes: int = 1000) -> None:
    producer = Producer({**broker.connection, "acks": "all", "log_level": 0, "linger.ms": 5})
    for number in range(records_sent):
        producer.produce(topic.name, bytes(record_bytes), partition=number % topic.partitions)
        producer.poll(0)
    assert producer.flush(30) == 0


@pytest.mark.broker
def test_a_new_topic_can_be_written_to_and_its_records_counted(broker: RunningCluster) -> None:
    with OwnedTopics(broker) as topics:
        topic = topics.create(3, 1, {"max.message.bytes": "2000000"})
        assert (topic.partitions, topic.replication, topic.owned) == (3, 1, True)
        assert topic.max_message_bytes == 2_000_000
        assert owned_configs(3).items() <= topic.configs.items()
        assert topics.end_offsets(topic) == (0, 0, 0)
        write(broker, topic, 10)
        assert topics.end_offsets(topic) == (4, 3, 3)


@pytest.mark.broker
def test_deleting_waits_until_the_space_is_free(broker: RunningCluster) -> None:
    topics = OwnedTopics(broker)
    topic = topics.create(2)
    write(broker, topic, 1000)
    assert len(partition_folders(broker, topic)) == 2
    assert topics.delete(topic) == ()
    assert partition_folders(broker, topic) == []
    assert topics.delete(topic) == (), "a second deletion is allowed"


@pytest.mark.broker
def test_if_the_log_folder_is_unknown_deletion_waits_for_metadata(broker: RunningCluster) -> None:
    remote = RunningCluster("existing", broker.connection)
    topics = OwnedTopics(remote)
    topic = topics.create()
    assert topics.delete(topic) == ()
    assert topic.name not in TopicAdmin(broker.connection).names()


@pytest.mark.broker
def test_topics_on_a_lost_cluster_are_left_to_the_next_run(broker: RunningCluster) -> None:
    topics = OwnedTopics(RunningCluster("existing", broker.connection))
    topic = topics.create()
    topics.leave_to_later_run()
    topics.begin_delete(topic)
    assert topics.await_deleted() == (), "no request is sent"
    with pytest.raises(BrokerLost, match="1 topic may be left"):
        topics.close()
    assert topic.name in TopicAdmin(broker.connection).names()
    (record,) = [each for each in clean_up_lists(RECORD_KIND) if each.run_id == topics.run_id]
    TopicAdmin(broker.connection).begin_delete([topic.name])()
    record.remove()


@pytest.mark.broker
def test_retention_limits_the_disk_space(broker: RunningCluster, new_topic: TopicMaker) -> None:
    mib = 1024 * 1024
    topic = new_topic(1, {"segment.bytes": str(mib), "retention.bytes": str(2 * mib)})
    write(broker, topic, 20 * 1024, 1024)
    (folder,) = partition_folders(broker, topic)

    def log_bytes() -> int:
        try:
            return sum(file.stat().st_size for file in folder.glob("*.log"))
        except FileNotFoundError:  # a file was deleted after it was listed
            return 20 * mib

    # The limit, and the segment that is being written.
    eventually(lambda: log_bytes() <= 3 * mib + 4096)


@pytest.mark.broker
def test_a_topic_like_another_copies_what_affects_producers(broker: RunningCluster) -> None:
    with OwnedTopics(broker) as topics:
        copied = {"min.insync.replicas": "1", "compression.type": "lz4", "max.message.bytes": "3000000"}
        model = topics.create(4, 1, {**copied, "retention.ms": "1234567"})
        twin = topics.create(like=model.name)
        assert (twin.partitions, twin.replication, twin.max_message_bytes) == (4, 1, 3_000_000)
        assert copied.items() <= twin.configs.items()
        assert twin.configs["retention.ms"] == owned_configs(4)["retention.ms"], "retention is not copied"


@pytest.mark.broker
def test_an_impossible_topic_is_refused_with_the_reason(broker: RunningCluster) -> None:
    with OwnedTopics(broker) as topics:
        with pytest.raises(WorkloadRefused, match=r"replication must be at most.*has 1.*`--replication`"):
            topics.create(1, 3)
        with pytest.raises(WorkloadRefused, match=r"Unknown topic config name: retention\.bites"):
            topics.create(1, 1, {"retention.bites": "1"})
        with pytest.raises(WorkloadRefused, match="has no topic 'nope'"):
            topics.create(like="nope")
        with pytest.raises(WorkloadRefused, match=r"a topic's name must have at most 249 letters.*but got 'a b'"):
            topics.describe("a b")
        assert not CleanUpList(RECORD_KIND, topics.run_id, None, {}).path.exists()  # type: ignore[arg-type]


@pytest.mark.broker
def test_a_user_s_topic_is_described_and_never_deleted(broker: RunningCluster, new_topic: TopicMaker) -> None:
    theirs = new_topic(2)
    topics = OwnedTopics(broker)
    described = topics.describe(theirs.name)
    assert (described.partitions, described.owned) == (2, False)
    with pytest.raises(ValueError, match="only topics of run"):
        topics.delete(described)
    with pytest.raises(ValueError, match="only topics of run"):
        topics.delete(theirs)
    assert theirs.name in TopicAdmin(broker.connection).names()


@pytest.mark.broker
def test_a_request_for_a_topic_does_not_create_it(broker: RunningCluster) -> None:
    admin = TopicAdmin(broker.connection)
    assert admin.shape("typo") is None
    assert "typo" not in admin.names()


@pytest.mark.broker
def test_the_topics_are_deleted_after_an_error_too(broker: RunningCluster) -> None:
    topics = OwnedTopics(broker)

    def run() -> None:
        with topics:
            topics.create()
            assert (topics.run_id, "live") in [(left.run_id, left.state) for left in find_leftovers(broker)]
            raise RuntimeError("of the run")

    with pytest.raises(RuntimeError, match="of the run"):
        run()
    assert topics.run_id not in [left.run_id for left in find_leftovers(broker)]
    assert topics.run_id not in [record.run_id for record in clean_up_lists(RECORD_KIND)]


@pytest.mark.broker
def test_topics_of_a_killed_run_and_no_others_are_deleted_later(broker: RunningCluster, new_topic: TopicMaker) -> None:
    admin = TopicAdmin(broker.connection)
    foreign = f"tuner-{new_run_id()}-0"  # as from another host: it has no record here
    for name in ("tuner-orders", foreign):
        admin.create(name, 1, 1, {})
    live = new_topic()
    try:
        with running_owner("topic", broker.bootstrap) as (owner, told):
            states = {left.topic: left.state for left in find_leftovers(broker)}
            assert states == {told["topic"]: "live", live.name: "live", foreign: "unknown"}
            assert sweep_dead_runs(broker) == []
            owner.kill()
            owner.wait()
        assert sweep_dead_runs(broker) == [told["topic"]]
        assert told["run_id"] not in [record.run_id for record in clean_up_lists(RECORD_KIND)]
        eventually(lambda: told["topic"] not in admin.names())
        assert {"tuner-orders", foreign, live.name} <= set(admin.names())

        unknown = [left for left in find_leftovers(broker) if left.state == "unknown"]
        assert remove_leftovers(broker, unknown) == [foreign]
        eventually(lambda: foreign not in admin.names())
        assert "tuner-orders" in admin.names()
    finally:
        admin.delete(["tuner-orders"])


@pytest.mark.broker
def test_a_foreign_topic_is_never_deleted(broker: RunningCluster) -> None:
    admin = TopicAdmin(broker.connection)
    admin.create("tuner-invoices", 1, 1, {})
    try:
        ours = Leftover(f"tuner-{new_run_id()}-0", "x", "dead")
        with pytest.raises(ValueError, match="tuner-invoices"):
            remove_leftovers(broker, [ours, Leftover("tuner-invoices", "x", "dead")])
        assert "tuner-invoices" in admin.names()
    finally:
        admin.delete(["tuner-invoices"])


@pytest.mark.broker
def test_a_run_id_of_another_form_is_refused(broker: RunningCluster) -> None:
    with pytest.raises(ValueError, match="8 hex digits"):
        OwnedTopics(broker, "mine")
