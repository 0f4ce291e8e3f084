"""The command with which a user repeats a measured load with Kafka's own `kafka-producer-perf-test`."""

import shlex

from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.translation.to_java import for_java


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
    """Return the command line of Kafka's `kafka-producer-perf-test` (4.2 or later) for a config of either client.

    The command contains no secrets. Credentials belong in the file `command_config`, under the Java client's property
    names.

    Args:
        config: The config to translate.
        topic: The topic to write to. It must exist, or the broker must create topics automatically.
        records: How many records to write, the warm-up included.
        record_bytes: Size of a record's value, in bytes; the tool writes no keys.
        bootstrap_servers: Addresses of brokers, as `host:port`, separated by commas.
        records_per_s: The rate in records per second; -1 for as fast as possible.
        warmup_records: How many of the first records the tool leaves out of its steady-state figures.
        command_config: Path of a properties file with the address of the cluster and the login.

    Raises:
        ValueError: `warmup_records` is not less than `records`; the tool would refuse it.

    Source: `--help` of `org.apache.kafka.tools.ProducerPerformance` in kafka-tools 4.3.1.
    """
    if not 0 <= warmup_records < records:
        raise ValueError(f"the warm-up must be shorter than the test: {warmup_records} of {records} records")
    arguments = ["kafka-producer-perf-test", "--bootstrap-server", bootstrap_servers, "--topic", topic]
    arguments += ["--num-records", str(records), "--record-size", str(record_bytes)]
    arguments += ["--throughput", str(records_per_s)]
    if warmup_records:
        arguments += ["--warmup-records", str(warmup_records)]
    if command_config is not None:
        arguments += ["--command-config", command_config]
    if properties := for_java(config).properties:  # the tool refuses the option without a value
        arguments += ["--command-property", *(f"{name}={value}" for name, value in properties.items())]
    return shlex.join(arguments)
