"""`tuner consume` reads a topic of a real broker, or one of its own, and refuses what can't be read."""

import pytest

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.topic_admin import TopicAdmin
from runners.consumer_runs.topic_consumption import KEPT, fill
from runners.runner import DEFAULT_LIMITS
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.conftest import TopicMaker
from tests.helpers.command import tuner

pytestmark = pytest.mark.broker
TOPIC = ("orders", "--bootstrap", "127.0.0.1:1")


def test_a_topic_of_a_cluster_is_read_once_and_left_as_it_was(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = new_topic(3, KEPT)
    fill(broker, topic, ProducerConfig.parse({}), Workload(RecordSizes.fixed(100)), 50_000, DEFAULT_LIMITS)
    words = ("consume", topic.name, "--bootstrap", broker.bootstrap, "--consumers", "3", "--warmup", "0")
    ran = tuner(*words)
    assert ran.code == 0, ran.err
    assert "records/s" in ran.err, "a line for each window"
    assert "3 consumers of librdkafka" in ran.out
    assert "everything was read after" in ran.out
    assert "bound by" in ran.out
    assert "50,000 taken = as many received" in ran.out
    assert "as many in the topic" in ran.out

    found = tuner(*words, "-X", "fetch.min.bytes=1000", "--json").json
    assert (found["kind"], found["origin"]["topic"]) == ("consumption", topic.name)
    assert found["reading"]["properties"] == {"fetch.min.bytes": "1000"}
    assert found["counts"]["taken"] == found["counts"]["stored"] == 50_000
    assert found["counts"]["agree"] is True
    assert found["records"] == sum(window["records"] for window in found["series"])
    assert found["verdict"]["bound"]
    assert sum(TopicAdmin(broker.connection).end_offsets(topic.name, 3)) == 50_000


@pytest.mark.campaign
def test_without_a_cluster_a_topic_is_filled_and_read() -> None:
    ran = tuner("consume", "--fill", "5MB", "--record-bytes", "500", "--consumers", "2", "--warmup", "0")
    assert ran.code == 0, ran.err
    assert "writing 10,000 records (0.01 GB of values)" in ran.complaint
    assert "10,000 taken" in ran.out
    assert "local cluster" in ran.out


@pytest.mark.campaign
def test_without_a_cluster_a_producer_writes_while_the_tail_is_read() -> None:
    words = ("--start", "tail", "--rate", "5000", "--seconds", "2", "--warmup", "0.5", "--producer", "linger.ms=5")
    found = tuner("consume", *words, "--json").json
    assert found["reading"]["start"] == "tail"
    assert found["counts"]["agree"] is True
    assert 0 < found["counts"]["taken"] <= found["written"]["acknowledged"]
    assert found["written"]["stored"] == found["written"]["acknowledged"]


def test_a_missing_topic_an_empty_one_and_too_few_partitions_are_refused(
    broker: RunningCluster, new_topic: TopicMaker
) -> None:
    at = ("--bootstrap", broker.bootstrap)
    missing = tuner("consume", "no-such-topic", *at)
    assert missing.code == 2
    assert "has no topic 'no-such-topic'" in missing.complaint
    topic = new_topic(2)
    empty = tuner("consume", topic.name, *at)
    assert empty.code == 2
    assert "is empty" in empty.complaint
    crowded = tuner("consume", topic.name, *at, "--consumers", "3", "--start", "tail")
    assert crowded.code == 2
    assert "has 2 partitions for 3 consumers" in crowded.complaint


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("orders",), "both TOPIC and --bootstrap"),
        (("--bootstrap", "127.0.0.1:1"), "both TOPIC and --bootstrap"),
        (("-X", "group.id=mine"), "no group is left on the cluster"),
        (("-X", "linger.ms=5"), "but linger.ms is a producer property"),
        (("-X", "queue.buffering.max.ms=5"), "but queue.buffering.max.ms is a producer property"),
        (("--client", "java", "-X", "linger.ms=5"), "no property linger.ms"),
        (("--client", "java", "-X", "fetch.min.bytes=-1"), "fetch.min.bytes"),
        (("--client", "scala"), "scala"),
        (("-X", "fetch.min.bytes=200000000"), "fetch.min.bytes"),
        (("--consumers", "0"), "--consumers must be a whole number from 1 to 64, but got 0"),
        (("--consumers", "50"), "--consumers"),
        (("--rate", "100"), "--start tail"),
        (("--start", "tail", "--fill", "1GB"), "--fill needs --start beginning"),
        (("--max-bytes", "nonsense"), "--max-bytes needs --start tail"),
        ((*TOPIC, "--fill", "banana", "--producer", "linger.ms=20"), "have no effect: --fill, --producer"),
        ((*TOPIC, "--record-bytes", "1000"), "have no effect: --record-bytes"),
        ((*TOPIC, "--start", "tail", "--rate", "5", "--seed", "0"), "have no effect: --rate, --seed"),
        (("--fill", "many"), "many"),
        (("--record-bytes", "0"), "record size"),
    ],
)
def test_wrong_options_are_refused_before_anything_starts(words: tuple[str, ...], said: str) -> None:
    ran = tuner("consume", *words)
    assert ran.code == 2
    assert said in ran.complaint
    assert "broker" not in ran.out
