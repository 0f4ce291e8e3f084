"""`tuner inspect` reads the batches of real producers, and reports their settings without showing any record."""

import json
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import Topic
from runners.java_client.compiled import INSPECTOR
from runners.reporting import counted
from tests.conftest import TopicMaker
from tests.helpers.clients import left_by_java, with_word
from tests.helpers.command import arguments, tuner
from tests.helpers.stored_studies import write_study
from tests.helpers.waiting import eventually
from tuner.model.facts import CLIENT_VERSION
from tuner.results.study_results import SIMULATED

pytestmark = pytest.mark.broker
SECRET = "hunter2"
ROUNDS = 40


def value(number: int, size: int = 300) -> bytes:
    return json.dumps({"number": number, "secret": SECRET, "state": "accepted"}).ljust(size).encode()


def write(broker: RunningCluster, topic: Topic, each: int, rounds: int = ROUNDS, **config: object) -> None:
    """Write batches of as many records as `each` says: a batch ends when all its records have been acknowledged."""
    producer = Producer({**broker.connection, "linger.ms": 0 if each == 1 else 20, **config})
    if "transactional.id" in config:
        producer.init_transactions(30)
    for number in range(rounds):
        if "transactional.id" in config:
            producer.begin_transaction()
        for record in range(each):
            producer.produce(topic.name, value(number * each + record), partition=number % 2)
        assert producer.flush(30) == 0
        if "transactional.id" in config:
            producer.commit_transaction(30)


def test_inspect_prints_figures_and_sentences_without_any_content(
    broker: RunningCluster, new_topic: TopicMaker
) -> None:
    topic = new_topic(partitions=2)
    write(broker, topic, each=1)
    words = ("inspect", topic.name, "--bootstrap", broker.bootstrap)
    ran = tuner(*words)
    assert ran.code == 0, ran.err
    assert f"{ROUNDS} of the newest batches of 2 of 2 partitions, {ROUNDS} records" in ran.out
    assert "1.00 records a batch: the producers do not wait for a second record" in ran.out
    assert "Batches are not compressed: " in ran.out
    assert "enable.idempotence is off" in ran.out
    assert "message.timestamp.type=CreateTime" in ran.out

    told = tuner(*words, "--json")
    found = told.json
    assert (found["kind"], found["topic"], found["ending"]["ending"]) == ("inspection", topic.name, "each record")
    traffic = found["traffic"]
    assert (traffic["records"], traffic["batches"], traffic["codecs"]) == (ROUNDS, ROUNDS, {"none": ROUNDS})
    assert traffic["recent_records"] == traffic["stored_records"] == ROUNDS
    assert traffic["largest_partition_ratio"] == 0.5
    assert set(traffic["coded_bytes"]) == {"gzip", "snappy", "lz4", "zstd"}
    assert found["received_bytes"] < 2 * traffic["bytes"] + 10_000
    for said in (ran.out, ran.err, told.out, told.err):
        assert SECRET not in said
        assert "accepted" not in said


@pytest.mark.long
def test_other_settings_are_estimated(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = new_topic(partitions=2)
    write(broker, topic, each=1)
    words = ("inspect", topic.name, "--bootstrap", broker.bootstrap, "--advise")
    ran = tuner(*words)
    assert ran.code == 0, ran.err
    assert "these numbers are estimated by a model, and were not measured" in ran.out
    assert (
        f"Measure it: tuner run --bootstrap {broker.bootstrap} --client java --like {topic.name} --record-bytes"
        in ran.out
    )
    told = tuner(*words, "--json").json["advice"]
    assert told["today"]["settings"]["compression.type"] == "none"
    assert told["others"][-1]["batch_records"]["value"] > 2 * told["today"]["batch_records"]["value"]
    assert told["others"][0]["mb_per_s"] < told["today"]["mb_per_s"]
    refused = tuner("inspect", "--all", "--bootstrap", broker.bootstrap, "--advise")
    assert (refused.code, "--advise is for one topic" in refused.complaint) == (2, True)


def test_an_estimate_by_a_simulated_study_says_so(broker: RunningCluster, new_topic: TopicMaker, studies: Path) -> None:
    write_study(studies / "invented", facts={CLIENT_VERSION: "simulated"})
    topic = new_topic(partitions=2)
    write(broker, topic, each=1)
    words = ("inspect", topic.name, "--bootstrap", broker.bootstrap, "--advise", "--json")
    ran = tuner(*words, "--calibrated-by", "invented")
    assert ran.code == 0, ran.err
    assert (ran.json["advice"]["calibrated_by"], ran.json["advice"]["simulated"]) == ("invented", True)
    assert f"warning: {SIMULATED}" in ran.err
    without = tuner(*words)
    assert not without.json["advice"]["simulated"]
    assert "simulated" not in without.err


def test_partitions_with_too_large_batches_are_named(broker: RunningCluster, new_topic: TopicMaker) -> None:
    """The connection is closed at each of them, and made again for the next one.

    Each batch has one record, because a flush may split a batch of several: then the last one would be small.
    """
    topic, partitions = new_topic(partitions=3), 3
    producer = Producer({**broker.connection, "batch.size": 400_000})
    for partition in range(partitions):
        for record in range(12):
            producer.produce(topic.name, value(record, 300_000), partition=partition)
            assert producer.flush(30) == 0
    ran = tuner("inspect", topic.name, "--bootstrap", broker.bootstrap, "--max-bytes", "1MB")
    assert ran.code == 2, ran.err
    assert "a batch is larger than 180 kB, or the broker closed the connection" in ran.complaint
    assert ran.complaint.endswith("; a batch may have at most 18 % of --max-bytes, so raise --max-bytes")


@pytest.mark.long
def test_the_estimated_rate_is_that_of_all_partitions(broker: RunningCluster, new_topic: TopicMaker) -> None:
    """Each partition gets 100 records/s, in batches that are so large that not all partitions are read."""
    topic, partitions = new_topic(partitions=12), 12
    producer = Producer({**broker.connection, "linger.ms": 500})
    began_ms = int(time.time() * 1e3) - 60_000
    for batch in range(20):
        for partition in range(partitions):
            for record in range(20):
                at_ms = began_ms + 200 * batch + record
                producer.produce(topic.name, value(record, 5_000), partition=partition, timestamp=at_ms)
            assert producer.flush(30) == 0
    words = ("inspect", topic.name, "--bootstrap", broker.bootstrap, "--advise", "--max-bytes", "1MB", "--json")
    ran = tuner(*words)
    assert ran.code == 0, ran.err
    found = ran.json
    assert 0 < found["traffic"]["partitions_read"] < partitions
    assert found["advice"]["producers"] == 1
    assert found["advice"]["rate_records_per_s"] == pytest.approx(100 * partitions, rel=0.1)


def test_what_was_read_is_shown_even_if_no_advice_follows(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = new_topic(partitions=1, configs={"retention.ms": "-1"})
    producer = Producer({**broker.connection})
    two_days_ago_ms = int(time.time() * 1e3) - 2 * 86_400_000
    for number in range(5):
        producer.produce(topic.name, value(number), timestamp=two_days_ago_ms + 1_000 * number)
        assert producer.flush(30) == 0
    words = ("inspect", topic.name, "--bootstrap", broker.bootstrap, "--advise")
    ran, told = tuner(*words), tuner(*words, "--json")
    assert (ran.code, told.code) == (2, 2)
    assert f"{topic.name}: 5 of the newest batches" in ran.out
    assert told.json["traffic"]["batches"] == 5
    assert "advice" not in told.json
    for each in (ran, told):
        assert "got no record in the last 24 hours" in each.complaint


@pytest.mark.campaign
def test_codecs_and_idempotence_are_read_from_the_headers(broker: RunningCluster, new_topic: TopicMaker) -> None:
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        topic = new_topic(partitions=2)
        write(broker, topic, 20, 10, **{"compression.type": codec, "enable.idempotence": True})
        found = tuner("inspect", topic.name, "--bootstrap", broker.bootstrap, "--json").json
        traffic = found["traffic"]
        assert traffic["codecs"] == {codec: traffic["batches"]}
        assert (traffic["idempotent_ratio"], traffic["producers"]) == (1.0, 1)
        assert traffic["compressed_ratio"] < 0.3
        # The producer has compressed with the same codec as we have.
        assert traffic["coded_bytes"][codec] == pytest.approx(traffic["bytes"], rel=0.15)


@pytest.mark.campaign
def test_transactions_and_the_time_of_the_broker_are_reported(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = new_topic(partitions=2, configs={"message.timestamp.type": "LogAppendTime"})
    write(broker, topic, 5, 10, **{"transactional.id": f"inspected-{time.time_ns()}"})
    ran = tuner("inspect", topic.name, "--bootstrap", broker.bootstrap, "--json")
    found = ran.json
    traffic = found["traffic"]
    assert (traffic["transactional_ratio"], traffic["idempotent_ratio"]) == (1.0, 1.0)
    assert traffic["set_aside"] == {"control": 10}
    assert traffic["records"] == traffic["stored_records"] == traffic["recent_records"] == 50
    assert traffic["append_lag_ms"]["mean"] >= traffic["wait_ms"]["mean"] >= 0
    assert any("belong to transactions" in sentence for sentence in found["says"])
    assert any("10 that end transactions were left out" in sentence for sentence in found["says"])


@pytest.mark.long
def test_a_batch_that_grows_without_bounds_is_left_out(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = new_topic(partitions=2)
    write(broker, topic, 1)
    large = Producer({**broker.connection, "compression.type": "zstd", "message.max.bytes": 100_000_000})
    large.produce(topic.name, bytes(40 << 20), partition=0)
    assert large.flush(30) == 0
    found = tuner("inspect", topic.name, "--bootstrap", broker.bootstrap, "--json").json
    assert found["traffic"]["set_aside"] == {"too large": 1}
    assert found["traffic"]["batches"] == ROUNDS


@pytest.mark.campaign
def test_a_killed_inspection_leaves_no_java_process_and_no_file(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = new_topic(partitions=2)
    write(broker, topic, 1)
    assert tuner("inspect", topic.name, "--bootstrap", broker.bootstrap).code == 0
    # Killed at any moment, while its Java process starts or works.
    command = arguments("inspect", topic.name, "--bootstrap", broker.bootstrap)
    started: list[psutil.Process] = []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        started += eventually(lambda: readers_of(process.pid))
        process.kill()
    eventually(lambda: not any(each.is_running() for each in started))
    assert tuner(*command[-4:]).code == 0
    assert left_by_java() == []


def readers_of(owner: int) -> list[psutil.Process]:
    """Return the Java processes that read batches for a process."""
    return with_word(INSPECTOR.main_class, psutil.Process(owner).children())


@pytest.mark.campaign
def test_topics_are_ranked_by_what_there_is_to_gain(broker: RunningCluster, new_topic: TopicMaker) -> None:
    small, large, empty = new_topic(partitions=2), new_topic(partitions=2), new_topic()
    write(broker, small, 1)
    write(broker, large, ROUNDS, 2, **{"compression.type": "zstd"})
    words = ("inspect", "--all", "--bootstrap", broker.bootstrap)
    found = tuner(*words, "--json").json
    assert found["kind"] == "inspections"
    places = [each["topic"] for each in found["topics"]]
    assert places.index(small.name) < places.index(large.name)
    gains = [each["gain_ratio"] for each in found["topics"]]
    assert gains == sorted(gains, reverse=True)
    assert sum(gains) <= 1
    assert found["unread"][empty.name] == "no record in the last 24 hours"
    assert found["received_bytes"] <= 20_000_000
    ran = tuner(*words, "--top", "1")
    assert ran.code == 0, ran.err
    assert "not compressed" in ran.out
    assert "Ranked by what would be saved" in ran.out
    assert f"and {counted(len(places) - 1, 'more topic')} (" in ran.out


def test_wrong_topics_and_options_are_clear_errors(broker: RunningCluster, new_topic: TopicMaker) -> None:
    at = ("--bootstrap", broker.bootstrap)
    missing = tuner("inspect", "no-such-topic", *at)
    assert missing.code == 2
    assert "has no topic 'no-such-topic'" in missing.complaint
    empty = tuner("inspect", new_topic().name, *at)
    assert empty.code == 2
    assert "is empty" in empty.complaint
    for words in (("inspect", *at), ("inspect", "orders", "--all", *at)):
        ended = tuner(*words)
        assert ended.code == 2
        assert "name one topic to inspect" in ended.complaint
    little = tuner("inspect", "orders", "--max-bytes", "10kB", *at)
    assert little.code == 2
    assert "--max-bytes must be at least 1,000,000 bytes, but got 10kB" in little.complaint
    ranked_one = tuner("inspect", "orders", "--top", "5", *at)
    assert ranked_one.code == 2
    assert "--top is for --all" in ranked_one.complaint
    assert tuner("inspect", "orders").code == 2


def test_json_has_as_many_topics_as_asked_for(broker: RunningCluster, new_topic: TopicMaker) -> None:
    for _ in range(2):
        write(broker, new_topic(partitions=2), each=1, rounds=5)
    ran = tuner("inspect", "--all", "--bootstrap", broker.bootstrap, "--json", "--top", "1")
    assert ran.code == 0, ran.err
    assert len(ran.json["topics"]) == 1
