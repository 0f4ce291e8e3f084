"""The command line of Kafka's performance tool is one that a shell and the tool accept."""

import shlex

import pytest

from runners.kafka_tools.perf_test_command import perf_test_command
from search_spaces.client import java
from search_spaces.configs.producer_config import ProducerConfig


def test_the_perf_test_command_can_be_split_by_a_shell() -> None:
    command = perf_test_command(
        ProducerConfig.parse({"acks": 1}),
        topic="tuner-x",
        records=1000,
        record_bytes=100,
        bootstrap_servers="b:9092",
        records_per_s=500,
        warmup_records=100,
        command_config="my client.properties",
    )
    words = shlex.split(command)
    assert words[0] == "kafka-producer-perf-test"
    for option, value in (
        ("--bootstrap-server", "b:9092"),
        ("--topic", "tuner-x"),
        ("--num-records", "1000"),
        ("--record-size", "100"),
        ("--throughput", "500"),
        ("--warmup-records", "100"),
        ("--command-config", "my client.properties"),
    ):
        assert words[words.index(option) + 1] == value
    assert "acks=1" in words[words.index("--command-property") :]


def test_a_config_without_properties_gives_no_option_without_a_value() -> None:
    config = ProducerConfig.parse({}, java())
    command = perf_test_command(config, topic="t", records=10, record_bytes=1, bootstrap_servers="b:9092")
    assert command.endswith("--throughput -1")


def test_a_warm_up_as_long_as_the_test_is_refused() -> None:
    with pytest.raises(ValueError, match="100 of 100"):
        perf_test_command(
            ProducerConfig.parse({}),
            topic="t",
            records=100,
            record_bytes=1,
            bootstrap_servers="b:9092",
            warmup_records=100,
        )
