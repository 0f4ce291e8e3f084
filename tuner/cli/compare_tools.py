"""`tuner compare-tools`: our load generator against Kafka's own tool, in turn, on the same cluster."""

import json
import statistics
from typing import Annotated

import typer
from rich.table import Table

from objectives.ratios import Ratio, ratio_of
from runners.java_tool import java_throughput
from runners.leased import owned_topic
from runners.reporting import silent
from runners.workload import RecordSizes, Workload
from search_spaces.producer_config import ProducerConfig
from tuner.cli import options
from tuner.cli.console import OUT, say
from tuner.course.open_target import Session, open_session
from tuner.model.measurement_record import SCHEMA_VERSION

_FIRST_GUESS_RECORDS_PER_S = 100_000.0


def compare_tools(
    record_bytes: Annotated[int, typer.Option(min=1, help="Record size.")] = 1000,
    pairs: Annotated[list[str] | None, typer.Option("-X", metavar="KEY=VALUE", help="A producer property.")] = None,
    rounds: Annotated[int, typer.Option(min=2, help="How often each is measured.")] = 5,
    seconds: Annotated[float, typer.Option(help="Seconds per measurement.")] = 5.0,
    warmup: Annotated[float, typer.Option(help="Seconds of load before that.")] = 3.0,
    partitions: Annotated[int, typer.Option(help="Partitions of our topics.")] = 3,
    replication: Annotated[int, typer.Option(help="Replicas of each.")] = 1,
    bootstrap: options.Bootstrap = None,
    brokers: options.Brokers = 1,
    as_json: options.Json = False,
) -> None:
    """Measure the same workload with our generator and with Kafka's ProducerPerformance, in turn.

    Both get the same settings (translated for the Java client), a pool of distinct records, and a new topic each time.

    \b
    Example:
        tuner compare-tools --record-bytes 100 -X acks=1 -X linger.ms=10
    """
    config = ProducerConfig.parse(options.config_values(None, pairs or []))
    workload = Workload(
        RecordSizes.fixed(record_bytes),
        partitions=partitions,
        replication=replication,
        warmup_s=warmup,
        measured_s=seconds,
    )
    tell = silent if as_json else say
    ours: list[float] = []
    theirs: list[float] = []
    with open_session(options.target_of(bootstrap, None, brokers=brokers), tell) as session:
        runner = session.runner()
        expected = _FIRST_GUESS_RECORDS_PER_S
        for number in range(rounds + 1):
            # The first round settles how many records the Java tool must send, and warms the broker.
            native = runner.run(config, workload).records_per_s
            java = _java(session, config, workload, expected)
            expected = java
            if number:
                ours.append(native)
                theirs.append(java)
                tell(f"round {number} of {rounds}: tuner {native:,.0f}, Kafka's tool {java:,.0f} records/s")
    ratio = ratio_of(ours, theirs)
    if as_json:
        typer.echo(json.dumps(_record(ours, theirs, ratio), indent=2))
    else:
        _print(ours, theirs, ratio)


def _java(session: Session, config: ProducerConfig, workload: Workload, expected: float) -> float:
    with owned_topic(session.topics)(workload) as topic:
        return java_throughput(session.cluster, topic, config, workload, expected).records_per_s


def _print(ours: list[float], theirs: list[float], ratio: Ratio) -> None:
    table = Table()
    table.add_column("generator")
    for heading in ("median records/s", "lowest", "highest"):
        table.add_column(heading, justify="right")
    for name, rates in (("tuner", ours), ("kafka-producer-perf-test", theirs)):
        table.add_row(name, *(f"{rate:,.0f}" for rate in (statistics.median(rates), min(rates), max(rates))))
    OUT.print(table)
    OUT.print(f"tuner is {ratio} times as fast: 95 % interval over {ratio.rounds} rounds in turn", markup=False)


def _record(ours: list[float], theirs: list[float], ratio: Ratio) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "tool_comparison",
        "tuner_records_per_s": ours,
        "kafka_tool_records_per_s": theirs,
        "ratio": {"value": ratio.value, "low": ratio.low, "high": ratio.high, "level": 0.95, "rounds": ratio.rounds},
    }
