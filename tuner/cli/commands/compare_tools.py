"""`tuner compare-tools` compares our load generator with Kafka's tool."""

import statistics
from typing import Annotated, Any, Final

import typer
from rich.table import Column, Table

from objectives.ratios import Ratio, ratio_of
from runners.kafka_tools.producer_performance import java_throughput
from runners.reporting import Say, silent
from runners.topic_for_run import owned_topic
from runners.workload import RecordSizes, Workload
from search_spaces.client import librdkafka
from search_spaces.configs.producer_config import ProducerConfig
from tuner.cli.options import common_options as options
from tuner.cli.options import workload_options
from tuner.cli.printing import check_one_form, print_csv, print_json
from tuner.course.open_target import OpenTarget, open_alone
from tuner.model.document import document
from tuner.present.console import OUT, say
from tuner.present.csv_text import csv_of

_FIRST_GUESS_RECORDS_PER_S: Final = 100_000.0


def compare_tools(
    record_bytes: Annotated[int, typer.Option(min=1, help="Bytes of a record's value.")] = 1000,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "-X", metavar="KEY=VALUE", help="One producer property, such as acks=1. The option may be repeated."
        ),
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=2, help="Number of rounds. One round measures each of the two tools once.")
    ] = 5,
    seconds: Annotated[float, typer.Option(help="Seconds of load that are measured, per tool and round.")] = 5.0,
    warmup: Annotated[float, typer.Option(help="Seconds of load before each measurement.")] = 3.0,
    partitions: Annotated[int, typer.Option(help="Partitions of the topics that are created.")] = 3,
    replication: Annotated[int, typer.Option(help="Replicas of each partition of the created topics.")] = 1,
    bootstrap: options.Bootstrap = None,
    brokers: options.Brokers = None,
    as_json: options.Json = False,
    as_csv: options.Csv = False,
) -> None:
    """Measure the same workload with the tuner's load generator and with Kafka's ProducerPerformance, in turn.

    Both tools get the same settings, which are translated for Kafka's Java client. Both send many different records,
    and get a new topic for each measurement.

    \b
    Example:
        tuner compare-tools --record-bytes 100 -X acks=1 -X linger.ms=10
    """
    check_one_form(json=as_json, csv=as_csv)
    config = ProducerConfig.parse(options.config_values(None, pairs or [], librdkafka()))
    with workload_options.named_by_option():
        workload = Workload(
            RecordSizes.fixed(record_bytes),
            partitions=partitions,
            replication=replication,
            warmup_s=warmup,
            measured_s=seconds,
        )
    tell = silent if as_json or as_csv else say
    with open_alone(options.target_of(bootstrap, None, brokers=brokers), "tuner compare-tools", say, tell) as opened:
        ours, theirs = _measured_in_turn(opened, config, workload, rounds, tell)
    ratio = ratio_of(ours, theirs)
    if as_csv:
        rows = enumerate(zip(ours, theirs, strict=True), 1)
        columns = ("round", "tuner_records_per_s", "kafka_tool_records_per_s")
        print_csv(csv_of(dict(zip(columns, (number, *rates), strict=True)) for number, rates in rows))
    elif as_json:
        print_json(_json(ours, theirs, ratio))
    else:
        _print_ratio(ours, theirs, ratio)


def _measured_in_turn(
    opened: OpenTarget, config: ProducerConfig, workload: Workload, rounds: int, tell: Say
) -> tuple[list[float], list[float]]:
    """Return the records per second of our load generator, and those of Kafka's tool, in each round."""
    ours: list[float] = []
    theirs: list[float] = []
    runner = opened.runner()
    expected = _FIRST_GUESS_RECORDS_PER_S
    for number in range(rounds + 1):
        # Round 0 is not counted: it warms the broker up, and shows how many records the Java tool must send.
        native = runner.run(config, workload).records_per_s
        with owned_topic(opened.topics)(workload) as topic:
            expected = java_throughput(opened.cluster, topic, config, workload, expected).records_per_s
        if number:
            ours.append(native)
            theirs.append(expected)
            tell(f"round {number} of {rounds}: tuner {native:,.0f}, Kafka's tool {expected:,.0f} records/s")
    return ours, theirs


def _json(ours: list[float], theirs: list[float], ratio: Ratio) -> dict[str, Any]:
    interval = {"value": ratio.value, "low": ratio.low, "high": ratio.high, "level": 0.95, "rounds": ratio.rounds}
    return document(
        "tool_comparison",
        tuner_records_per_s=ours,
        kafka_tool_records_per_s=theirs,
        ratio=interval,
    )


def _print_ratio(ours: list[float], theirs: list[float], ratio: Ratio) -> None:
    numbers = (Column(heading, justify="right") for heading in ("median records/s", "lowest", "highest"))
    table = Table("generator", *numbers)
    for name, rates in (("tuner", ours), ("kafka-producer-perf-test", theirs)):
        table.add_row(name, *(f"{rate:,.0f}" for rate in (statistics.median(rates), min(rates), max(rates))))
    OUT.print(table)
    OUT.show(
        f"the tuner sends {ratio} times as many records per second as Kafka's tool (95 % confidence interval, from "
        f"{ratio.rounds} rounds in which both were measured alternately)"
    )
