"""Kafka's own benchmark tool: its output is read, its errors are reported, and it gets records like ours."""

from pathlib import Path

import pytest

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import Topic
from runners.clusters.topics.topic_admin import TopicAdmin
from runners.errors import ByteBudgetExceeded, DeliveryFailed, GeneratorError
from runners.kafka_tools.performance_tools import (
    PerformanceSummary,
    _summaries,
    java_throughput,
    producer_performance,
    write_lines,
)
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.conftest import TopicMaker
from tests.helpers.kafka_tools import run_tool, set_producer_quota

# The output of Kafka 4.3.1.
PRINTED = """\
Warmup first 100000 records. Steady state results will print after the complete test summary.
2674 records sent, 2624.1 records/sec (2.50 MB/sec), 208.5 ms avg latency, 867.0 ms max latency.
In steady state.
1 records sent, 0.9 records/sec (0.00 MB/sec), 1075.0 ms avg latency, 1075.0 ms max latency.
300000 records sent, 32226.877216 records/sec (30.73 MB/sec), 674.25 ms avg latency, 1303.00 ms max latency, \
649 ms 50th, 1201 ms 95th, 1284 ms 99th, 1298 ms 99.9th.
200000 steady state records sent, 33990.482665 records/sec (32.42 MB/sec), 637.16 ms avg latency, \
1191.00 ms max latency, 643 ms 50th, 1086 ms 95th, 1157 ms 99th, 1186 ms 99.9th.
"""
NOTHING_SENT = (
    "0 records sent, 0.000000 records/sec (0.00 MB/sec), NaN ms avg latency, 0.00 ms max latency, "
    "0 ms 50th, 0 ms 95th, 0 ms 99th, 0 ms 99.9th.\n"
)


def test_both_summaries_are_read_and_progress_lines_are_not() -> None:
    summaries = _summaries(PRINTED)
    assert summaries == {
        "whole": PerformanceSummary(300_000, 32226.877216),
        "steady": PerformanceSummary(200_000, 33990.482665),
    }


def test_a_run_that_sent_nothing_is_read_too() -> None:
    assert _summaries(NOTHING_SENT) == {"whole": PerformanceSummary(0, 0.0)}


@pytest.mark.campaign
@pytest.mark.broker
def test_the_tool_runs_with_a_warm_up(broker: RunningCluster, new_topic: TopicMaker, tmp_path: Path) -> None:
    topic = new_topic(3)
    report = producer_performance(
        broker.bootstrap,
        topic.name,
        records=20_000,
        payload_file=write_lines(tmp_path / "lines.txt", 100, seed=1),
        warmup_records=5_000,
        properties={"linger.ms": "1", "acks": "1"},
        timeout_s=60.0,
    )
    assert report.whole.records == 20_000
    assert report.steady is not None
    assert report.steady.records == 15_000
    assert report.warnings == report.complaints == ()
    assert sum(TopicAdmin(broker.connection).end_offsets(topic.name, 3)) == 20_000


@pytest.mark.long
@pytest.mark.broker
def test_the_report_contains_errors_of_failed_records(broker: RunningCluster, tmp_path: Path) -> None:
    payloads = tmp_path / "payloads.txt"
    payloads.write_text("one\ntwo\n")
    report = producer_performance(
        broker.bootstrap,
        "not-there",
        records=1,
        payload_file=payloads,
        records_per_s=1000,
        properties={"max.block.ms": "500"},
        timeout_s=60.0,
    )
    assert report.whole.records == 0
    assert report.steady is None
    assert any("not-there" in complaint for complaint in report.complaints)
    assert report.warnings == ("1 records failed", f"it printed: {report.complaints[0]}")


@pytest.mark.long
@pytest.mark.broker
def test_a_run_that_delivers_nothing_is_an_error_with_what_the_tool_printed(
    broker: RunningCluster, new_topic: TopicMaker
) -> None:
    topic = new_topic(configs={"max.message.bytes": "10000"})
    workload = Workload(RecordSizes.fixed(20_000), warmup_s=1, measured_s=1)
    with pytest.raises(
        DeliveryFailed, match=r"delivered no record after the warm-up \(20 records failed; it printed: .*RecordTooLarge"
    ):
        java_throughput(broker, topic, ProducerConfig.parse({}), workload, 10)


def test_a_run_that_would_send_too_many_bytes_is_refused_before_it_sends_any() -> None:
    nowhere, topic = RunningCluster("existing", {"bootstrap.servers": "127.0.0.1:1"}), Topic("t", 1, 1)
    workload = Workload(RecordSizes.fixed(1_000_000), warmup_s=3, measured_s=5)
    with pytest.raises(ByteBudgetExceeded, match="needs 800,000 records of 1,000,000 bytes for 8 s; allow more"):
        java_throughput(nowhere, topic, ProducerConfig.parse({}), workload, 100_000, max_bytes=50 * 10**9)


@pytest.mark.broker
def test_a_wrong_property_makes_the_tool_fail(broker: RunningCluster, tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "lines.txt", 10, seed=1)
    with pytest.raises(GeneratorError, match=r"ended without a summary.*\n?.*acks"):
        producer_performance(
            broker.bootstrap, "t", records=1, payload_file=lines, properties={"acks": "some"}, timeout_s=60.0
        )


@pytest.mark.long
@pytest.mark.broker
def test_a_quota_is_set_and_lifted(broker: RunningCluster) -> None:
    arguments = ["--bootstrap-server", broker.bootstrap, "--describe", "--entity-type", "clients"]
    arguments += ["--entity-name", "slow-one"]

    def quotas() -> str:
        return run_tool("kafka.admin.ConfigCommand", arguments).stdout

    set_producer_quota(broker.bootstrap, "slow-one", 1_000_000)
    assert "'slow-one' are producer_byte_rate=1000000.0" in quotas()
    set_producer_quota(broker.bootstrap, "slow-one", None)
    assert "producer_byte_rate" not in quotas()


def test_a_tool_that_does_not_end_is_killed(tmp_path: Path) -> None:
    with pytest.raises(GeneratorError, match="is still running after 0 s"):
        producer_performance("127.0.0.1:1", "t", records=1, payload_file=tmp_path / "none.txt", timeout_s=0.01)


@pytest.mark.parametrize("size", [10, 1_000, 100_000])
def test_lines_of_letters_are_distinct_and_of_one_size(tmp_path: Path, size: int) -> None:
    lines = write_lines(tmp_path / "lines.txt", size, seed=1).read_bytes().splitlines()
    assert {len(line) for line in lines} == {size}
    assert len(set(lines)) == len(lines) >= 200
    assert set(lines[0]) <= set(range(ord("A"), ord("Z") + 1))


def test_the_seed_decides_the_lines(tmp_path: Path) -> None:
    one, same, other = (write_lines(tmp_path / f"{n}", 10_000, seed).read_bytes() for n, seed in enumerate((1, 1, 2)))
    assert one == same != other
