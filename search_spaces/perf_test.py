"""The command line of Kafka's own producer benchmark for a config that was measured here."""

import shlex

from search_spaces.java import translate_to_java
from search_spaces.producer_config import ProducerConfig


def perf_test_command(
    config: ProducerConfig,
    *,
    topic: str,
    records: int,
    record_bytes: int,
    bootstrap_servers: str,
    records_per_s: int = -1,
    warmup_records: int = 0,
    command_config: str | None = None,
) -> str:
    """Return the command line of Kafka's `kafka-producer-perf-test` (4.2 or later) for the translated config.

    The command holds no secrets: credentials belong in the file `command_config`, in the Java client's own
    names.

    Args:
        config: the config to translate.
        topic: the topic to write to; it must exist, or the broker must create topics.
        records: records to write, the warm-up included.
        record_bytes: size of each value, in bytes; keys are not written.
        bootstrap_servers: addresses of brokers, `host:port` with commas between.
        records_per_s: the rate to hold, in records a second; -1 for as fast as it goes.
        warmup_records: how many of the first records stay out of the steady-state line.
        command_config: a properties file with how to reach the cluster and as whom.

    Raises:
        ValueError: `warmup_records` is not less than `records`, which the tool refuses.

    Source: `--help` of `org.apache.kafka.tools.ProducerPerformance` in kafka-tools 4.3.1.
    """
    if not 0 <= warmup_records < records:
        raise ValueError(f"the warm-up is part of the records: {warmup_records} of {records}")
    arguments = ["kafka-producer-perf-test", "--bootstrap-server", bootstrap_servers, "--topic", topic]
    arguments += ["--num-records", str(records), "--record-size", str(record_bytes)]
    arguments += ["--throughput", str(records_per_s)]
    if warmup_records:
        arguments += ["--warmup-records", str(warmup_records)]
    if command_config is not None:
        arguments += ["--command-config", command_config]
    properties = translate_to_java(config).properties
    arguments += ["--command-property", *(f"{name}={value}" for name, value in properties.items())]
    return shlex.join(arguments)
