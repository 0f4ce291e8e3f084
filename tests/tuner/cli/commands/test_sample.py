"""`tuner sample` reads a topic of a real broker, and its study file is one that `tuner plan` takes."""

import json
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import Topic
from tests.conftest import TopicMaker
from tests.helpers.command import tuner

pytestmark = pytest.mark.broker
RECORDS = 600


@pytest.fixture
def filled(broker: RunningCluster, new_topic: TopicMaker) -> Topic:
    """A topic with 600 records of 200 and 1,000 B and four keys, written over a minute."""
    topic = new_topic(partitions=3)
    producer, began_ms = Producer({**broker.connection}), int(time.time() * 1e3) - 60_000
    for number in range(RECORDS):
        value = json.dumps({"number": number, "secret": "hunter2"}).ljust(200 if number % 3 else 1_000).encode()
        key = f"key-{number % 4 or 1}".encode()
        producer.produce(topic.name, value, key, timestamp=began_ms + 100 * number)
    assert producer.flush(30) == 0
    return topic


def test_statistics_and_a_study_file_contain_nothing_of_the_records_content(
    broker: RunningCluster, filled: Topic, tmp_path: Path
) -> None:
    file = tmp_path / "orders.yaml"
    words = ("sample", filled.name, "--bootstrap", broker.bootstrap)
    ran = tuner(*words, "--output", str(file))
    assert ran.code == 0, ran.err
    assert "600 of the newest records of 3 partitions" in ran.out
    assert "p50 200" in ran.out
    assert "largest 1,000" in ran.out
    assert "3 different keys; the most frequent one is that of 50.0 % of the records" in ran.out
    assert "in the busiest second" in ran.out
    text = file.read_text()
    assert "hunter2" not in ran.out + ran.err + text
    assert "200:67,1000:33" in text
    assert "#paced: {rate_records_per_s: 10}" in text
    assert "different_keys: 3" in text
    assert "most_frequent_key_ratio: 0.0" in text, "of three keys, one with half of the records is nothing unusual"
    planned = tuner("plan", str(file), "--json")
    assert planned.code == 0, planned.err

    again = tuner(*words, "--output", str(file))
    assert again.code == 2
    assert "add --force" in again.complaint

    printed = tuner(*words, "-o", "-")
    assert printed.code == 0, printed.err
    assert printed.out == text
    assert "600 of the newest records of 3 partitions" in printed.err
    assert "both write to standard output" in tuner(*words, "-o", "-", "--json").complaint

    found = tuner(*words, "--records", "30", "--json").json
    assert (found["kind"], found["topic"], found["records"]) == ("sample", filled.name, 30)
    assert sum(found["sizes"].values()) == 30


def test_a_topic_of_aborted_transactions_is_refused(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = new_topic()
    producer = Producer({**broker.connection, "transactional.id": f"{topic.name}-writer"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic.name, b"value")
    assert producer.flush(30) == 0
    producer.abort_transaction()
    ran = tuner("sample", topic.name, "--bootstrap", broker.bootstrap)
    assert ran.code == 2
    assert ran.out == ""
    assert "have none: their transactions were aborted or are not finished" in ran.complaint


def test_a_missing_or_empty_topic_gives_an_error(broker: RunningCluster, new_topic: TopicMaker) -> None:
    missing = tuner("sample", "no-such-topic", "--bootstrap", broker.bootstrap)
    assert missing.code == 2
    assert "has no topic 'no-such-topic'" in missing.complaint
    empty = tuner("sample", new_topic().name, "--bootstrap", broker.bootstrap)
    assert empty.code == 2
    assert "is empty" in empty.complaint
    assert tuner("sample", "orders").code == 2
