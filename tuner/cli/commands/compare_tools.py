"""`tuner compare-tools` compares our load generator with Kafka's tool."""

import statistics
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from objectives.bottlenecks import Bottleneck
from objectives.producer_verdict import Evidence, judge
from objectives.ratios import Ratio, ratio_of
from runners.clusters.topics.topic_for_run import owned_topic
from runners.kafka_tools.performance_tools import PerformanceReport, java_throughput
from runners.measurements.measurement import Measurement
from runners.reporting import Say, silent
from runners.runner import Limits
from runners.workload import MAX_RECORD_BYTES, RecordSizes, Workload
from search_spaces.client import librdkafka
from search_spaces.configs.producer_config import ProducerConfig
from tuner.cli.options import common_options, target_options, workload_options
from tuner.cli.output import print_result
from tuner.execution.open_target import OpenTarget, open_alone
from tuner.model.document import document
from tuner.present.console import OUT, say, warn_of_each
from tuner.present.tables import csv_of


def compare_tools(
    record_bytes: Annotated[int, typer.Option(min=1, max=MAX_RECORD_BYTES, help="Bytes of a record's value.")] = 1000,
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
    partitions: Annotated[int, workload_options.partitions()] = 3,
    replication: Annotated[int, workload_options.replication()] = 1,
    max_bytes: Annotated[str, workload_options.max_bytes()] = "50GB",
    bootstrap: target_options.Bootstrap = None,
    brokers: target_options.Brokers = None,
    as_json: common_options.Json = False,
    as_csv: common_options.Csv = False,
) -> None:
    """Measure the same workload with the tuner's load generator and with Kafka's ProducerPerformance, in turn.

    Both tools get the same settings. They are translated for ProducerPerformance, which uses Kafka's Java client. Both
    send many different records, and get a new topic for each measurement.

    \b
    Example:
        tuner compare-tools --record-bytes 100 -X acks=1 -X linger.ms=10
    """
    config = common_options.producer_config(None, pairs or [], librdkafka())
    with workload_options.named_by_option():
        workload = Workload(
            RecordSizes.fixed(record_bytes),
            partitions=partitions,
            replication=replication,
            warmup_s=warmup,
            measured_s=seconds,
        )
    limits = workload_options.limits_of(max_bytes, record_bytes)
    tell = silent if as_json or as_csv else say
    with open_alone(
        target_options.target_of(bootstrap, None, brokers=brokers), "tuner compare-tools", say, tell
    ) as opened:
        ours, theirs, warnings = measured_in_turn(*_tools(opened, config, workload, limits), rounds, tell)
    ratio = ratio_of(ours, theirs)
    rows = [
        {"round": number, "tuner_records_per_s": of_ours, "kafka_tool_records_per_s": of_theirs}
        for number, (of_ours, of_theirs) in enumerate(zip(ours, theirs, strict=True), 1)
    ]
    print_result(
        _json(ours, theirs, ratio, warnings),
        lambda: _print_ratio(ours, theirs, ratio),
        lambda: csv_of(rows),
        as_json=as_json,
        as_csv=as_csv,
    )
    warn_of_each(warnings)


Ours = Callable[[], Measurement]
"""Measures the workload with our load generator."""
Theirs = Callable[[float], PerformanceReport]
"""Measures the workload with Kafka's tool, given roughly the records per second that it will reach."""


def _tools(opened: OpenTarget, config: ProducerConfig, workload: Workload, limits: Limits) -> tuple[Ours, Theirs]:
    """Return a function for each of the two tools that measures the workload on a new topic."""
    runner = opened.runner(limits=limits)

    def theirs(expected: float) -> PerformanceReport:
        with owned_topic(opened.topics)(workload) as topic:
            return java_throughput(opened.cluster, topic, config, workload, expected, max_bytes=limits.max_bytes)

    return lambda: runner.run(config, workload), theirs


def measured_in_turn(
    measure_ours: Ours, measure_theirs: Theirs, rounds: int, tell: Say
) -> tuple[list[float], list[float], list[str]]:
    """Measure with both tools in turn.

    Args:
        measure_ours: Measures the workload with our load generator.
        measure_theirs: Measures the workload with Kafka's tool.
        rounds: Number of rounds that count.
        tell: Called with a sentence about each of them.

    Returns:
        The records per second in each round, of our load generator and of Kafka's tool. Then warnings: what makes the
        comparison less reliable, as sentences.
    """
    ours: list[float] = []
    theirs: list[float] = []
    warnings: list[str] = []
    expected: float | None = None
    for number in range(rounds + 1):
        # Round 0 is not counted: it warms the broker up, and shows how many records the Java tool must send. There, our
        # own rate is the best guess.
        seen = measure_ours()
        report = measure_theirs(expected or seen.records_per_s)
        native, expected = seen.records_per_s, report.measured.records_per_s
        if number:
            ours.append(native)
            theirs.append(expected)
            tell(f"round {number} of {rounds}: tuner {native:,.0f}, Kafka's tool {expected:,.0f} records/s")
            warnings += [f"round {number}, tuner: {sentence}" for sentence in _weaknesses(seen)]
            warnings += [f"round {number}, Kafka's tool: {sentence}" for sentence in report.warnings]
    return ours, theirs, warnings


def _weaknesses(measurement: Measurement) -> list[str]:
    """Return what makes a throughput of our load generator less reliable."""
    found = [*measurement.warnings, *measurement.counts.differences()]
    verdict = judge(Evidence.of(measurement))
    if verdict.other_limit and verdict.bound is not Bottleneck.GENERATOR:
        found.append(verdict.other_limit)
    return found


def _json(ours: list[float], theirs: list[float], ratio: Ratio, warnings: Sequence[str]) -> dict[str, Any]:
    interval = {"value": ratio.value, "low": ratio.low, "high": ratio.high, "level": 0.95, "rounds": ratio.rounds}
    return document(
        "tool_comparison",
        tuner_records_per_s=ours,
        kafka_tool_records_per_s=theirs,
        ratio=interval,
        warnings=list(warnings),
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
