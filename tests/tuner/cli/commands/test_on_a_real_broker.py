"""The commands that need a broker, run as a user runs them, on a real broker."""

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.leftovers import find_leftovers
from runners.clusters.topics.owned_topics import OwnedTopics
from tests.conftest import TopicMaker
from tests.helpers.command import arguments, tuner
from tests.helpers.waiting import eventually

pytestmark = pytest.mark.broker

QUICK = ("--seconds", "1", "--warmup", "1")


def test_bench_measures_and_cleans_up(broker: RunningCluster) -> None:
    ended = tuner("bench", "--bootstrap", broker.bootstrap, *QUICK, "-X", "linger.ms=20", "--rate", "5000", "--json")
    assert ended.code == 0, ended.err
    record = ended.json
    assert record["schema_version"] == 1
    assert record["config"]["values"] == {"linger.ms": "20"}
    assert record["counts"]["agree"] is True
    assert record["counts"]["stored"] == record["counts"]["acknowledged"] == record["counts"]["transmitted"]
    assert record["workload"]["load"] == "paced"
    assert record["workload"]["rate_records_per_s"] == 5_000
    # After a stall of this host, records that are late are sent at once.
    assert record["counts"]["handed_over"] > 0.6 * 5_000 * 2.0
    assert record["send_delay"]["count"] > 0
    assert record["origin"]["topic"] not in {left.topic for left in find_leftovers(broker)}


def test_bench_sends_keys_and_bursts_like_those_of_a_topic(broker: RunningCluster) -> None:
    load = ("--rate", "500", "--peak", "2", "--key-bytes", "8", "--different-keys", "50", "--most-frequent-key", "0.2")
    ended = tuner("bench", "--bootstrap", broker.bootstrap, *QUICK, *load, "--json")
    assert ended.code == 0, ended.err
    asked = {"rate_records_per_s": 500, "peak_ratio": 2.0, "key_bytes": 8, "different_keys": 50}
    assert ended.json["workload"].items() >= {**asked, "most_frequent_key_ratio": 0.2}.items()
    assert ended.json["counts"]["agree"] is True
    assert ended.json["counts"]["handed_over"] > 0.6 * 500 * 2.0


def test_bursts_need_a_rate() -> None:
    ended = tuner("bench", "--peak", "3")
    assert ended.code == 2
    assert "--peak needs --rate" in ended.complaint


@pytest.mark.long
def test_bench_measures_brokers_in_another_zone() -> None:
    words = ("--zone-delay", "5ms", "--zone-bandwidth", "20MB", "-X", "linger.ms=0", "--rate", "200")
    ended = tuner("bench", *QUICK, *words, "--json")
    assert ended.code == 0, ended.err
    record = ended.json
    assert record["counts"]["agree"] is True
    assert record["origin"]["cluster"] == "embedded (5 ms and 20 MB/s each way)"
    assert record["latency"]["percentiles"]["0.5"] >= 10_000


@pytest.mark.campaign
def test_bench_prints_what_people_read(broker: RunningCluster, tmp_path: Path) -> None:
    picture = tmp_path / "latency.png"
    ended = tuner("bench", "--bootstrap", broker.bootstrap, *QUICK, "--plot", "--png", str(picture), "--repeat", "2")
    assert ended.code == 0, ended.err
    for word in (
        "throughput",
        "p99.9",
        "bound by",
        "latency check",
        "as many in the topic",
        "2 runs of the same config",
    ):
        assert word in " ".join(ended.out.split())
    assert "kafka-producer-perf-test --bootstrap-server" in ended.out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "window" not in ended.out
    assert "measured" in ended.err


def test_a_named_topic_is_written_to_and_kept(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = new_topic(2)
    ended = tuner("bench", "--bootstrap", broker.bootstrap, "--topic", topic.name, *QUICK, "--rate", "500", "--json")
    assert ended.code == 0, ended.err
    with OwnedTopics(broker) as topics:
        assert sum(topics.end_offsets(topic)) == ended.json["counts"]["acknowledged"]
    load = ended.json["workload"]
    assert (load["partitions"], load["replication"]) == (topic.partitions, topic.replication) == (2, 1)
    assert "even share" not in ended.err


def test_the_byte_budget_stops_the_run(broker: RunningCluster) -> None:
    ended = tuner("bench", "--bootstrap", broker.bootstrap, *QUICK, "--max-bytes", "5MB")
    assert ended.code == 4
    assert "5,000,000 bytes" in ended.err
    assert not [left for left in find_leftovers(broker) if left.state != "live"]


def test_a_record_that_is_too_large_for_the_topic_is_refused(broker: RunningCluster, new_topic: TopicMaker) -> None:
    topic = new_topic(configs={"max.message.bytes": "10000"})
    words = ("--topic", topic.name, "--record-bytes", "20000", *QUICK)
    ended = tuner("bench", "--bootstrap", broker.bootstrap, *words)
    assert ended.code == 2
    assert "max.message.bytes" in ended.err


@pytest.mark.campaign
def test_interrupted_runs_end_with_130_and_leave_nothing(broker: RunningCluster) -> None:
    words = arguments("bench", "--bootstrap", broker.bootstrap, "--seconds", "60", "--warmup", "0")
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as running:
        assert running.stderr is not None
        while "measured" not in running.stderr.readline():
            assert running.poll() is None
        children = psutil.Process(running.pid).children(recursive=True)
        running.send_signal(signal.SIGINT)
        said = running.stderr.read()
    assert running.returncode == 130
    assert "interrupted" in said
    # Helper processes of Python's multiprocessing end shortly after the program, when their pipe is closed.
    assert not psutil.wait_procs(children, timeout=30)[1]
    assert not [left for left in find_leftovers(broker) if left.state == "dead"]


def test_a_closed_ssh_session_ends_a_run_and_leaves_nothing(broker: RunningCluster) -> None:
    """The terminal is gone as well, so nothing can be written to it while the run cleans up."""
    ours, theirs = os.openpty()
    words = arguments("bench", "--bootstrap", broker.bootstrap, "--seconds", "60", "--warmup", "0", "--rate", "100")
    before = {left.topic for left in find_leftovers(broker)}
    # If the tests run below nohup, they and all that they start ignore the end of a session.
    ignoring = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    started = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs)
    signal.signal(signal.SIGHUP, ignoring)
    with started as running:
        os.close(theirs)
        os.set_blocking(ours, False)

        def sends() -> bool:
            with suppress(BlockingIOError):
                os.read(ours, 65536)
            assert running.poll() is None
            return not before.issuperset(left.topic for left in find_leftovers(broker))

        eventually(sends)
        running.send_signal(signal.SIGHUP)
        os.close(ours)
    assert running.returncode == 130
    assert before.issuperset(left.topic for left in find_leftovers(broker))


def test_nohup_keeps_a_run_from_ending_with_its_session(broker: RunningCluster) -> None:
    words = arguments("bench", "--bootstrap", broker.bootstrap, "--seconds", "2", "--warmup", "0", "--rate", "100")
    with subprocess.Popen(["nohup", *words], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as running:
        assert running.stderr is not None
        while "measured" not in running.stderr.readline():
            assert running.poll() is None
        running.send_signal(signal.SIGHUP)
        said = running.stderr.read()
    assert running.returncode == 0, said


@pytest.mark.campaign
def test_what_a_killed_run_left_is_listed_and_removed(broker: RunningCluster) -> None:
    words = arguments("bench", "--bootstrap", broker.bootstrap, "--seconds", "60", "--warmup", "0", "--rate", "100")
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as running:
        assert running.stderr is not None
        while "measured" not in running.stderr.readline():
            assert running.poll() is None
        children = psutil.Process(running.pid).children(recursive=True)
        os.kill(running.pid, signal.SIGKILL)
    eventually(lambda: not any(child.is_running() for child in children))
    listed = tuner("cleanup", "--bootstrap", broker.bootstrap, "--json").json
    dead = [left["topic"] for left in listed["leftovers"] if left["state"] == "dead"]
    assert len(dead) == 1
    removed = tuner("cleanup", "--bootstrap", broker.bootstrap, "--remove", "--yes", "--json")
    assert removed.json["removed"] == dead
    assert not [left for left in find_leftovers(broker) if left.topic in dead]


def test_doctor_finds_host_cluster_and_permissions(broker: RunningCluster) -> None:
    ended = tuner("doctor", "--bootstrap", broker.bootstrap, "--no-load-test", "--json")
    assert ended.code == 0, ended.out + ended.err
    findings = {finding["name"]: finding["state"] for finding in ended.json["findings"]}
    assert findings["cluster"] == findings["permissions"] == findings["java"] == "ok"


def test_doctor_fails_where_nobody_listens() -> None:
    ended = tuner("doctor", "--bootstrap", "127.0.0.1:9", "--no-load-test")
    assert ended.code == 3
    assert "127.0.0.1:9" in ended.out


@pytest.mark.campaign
def test_the_broker_stays_until_it_is_stopped() -> None:
    assert tuner("broker", "status").code == 3
    started = tuner("broker", "start", "--json")
    try:
        assert started.code == 0, started.err
        assert tuner("broker", "status", "--json").json["bootstrap"] == started.json["bootstrap"]
        again = tuner("broker", "start")
        assert again.code == 1
        assert started.json["bootstrap"] in again.err
    finally:
        stopped = tuner("broker", "stop")
    assert stopped.code == 0
    assert not any(psutil.pid_exists(pid) for pid in started.json["pids"])
    assert json.loads(tuner("broker", "status", "--json").out)["running"] is False


@pytest.mark.long
def test_tools_are_compared_in_turn(broker: RunningCluster) -> None:
    words = ("--rounds", "2", "--seconds", "0.5", "--warmup", "0.5", "--record-bytes", "1000")
    ended = tuner("compare-tools", "--bootstrap", broker.bootstrap, *words, "--json")
    assert ended.code == 0, ended.err
    record = ended.json
    assert len(record["tuner_records_per_s"]) == len(record["kafka_tool_records_per_s"]) == 2
    assert record["ratio"]["low"] <= record["ratio"]["value"] <= record["ratio"]["high"]
    assert all(f"warning: {warning}" in " ".join(ended.err.split()) for warning in record["warnings"])


def test_the_byte_budget_stops_a_comparison_of_tools(broker: RunningCluster) -> None:
    words = ("--rounds", "2", "--seconds", "1", "--warmup", "1", "--max-bytes", "5MB")
    ended = tuner("compare-tools", "--bootstrap", broker.bootstrap, *words)
    assert ended.code == 4
    assert "a run may send at most 5,000,000 bytes" in ended.complaint
