"""Compares our end-to-end latency with Kafka's own tool `EndToEndLatency`, on one broker and in turn.

    python -m benchmarks.end_to_end [--rounds 5] [--records 10000]

The tool sends a record, waits until it is acknowledged and a consumer has it, and only then sends the next record. Our
load generator sends at a fixed rate, whether or not earlier records have arrived. Both have records of 100 B, acks=1,
linger.ms=0 and one partition. The tool prints percentiles in whole milliseconds, so its mean is compared.

Then, in one run of each, the broker is stopped for a second (SIGSTOP). The tool sends nothing in this second, so the
second is in the latency of one record. In our measurement it is in the latencies of all records that were due in this
second.
"""

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Final

from benchmarks.evidence import benchmark_parser, run_benchmark, whole_number
from objectives.ratios import ratio_of
from runners.clusters.topics.owned_topics import Topic
from runners.consumer_runs.with_consumers import TailConsumers, WithConsumers
from runners.errors import GeneratorError
from runners.kafka_tools.performance_tools import run_performance_tool, tool_failed
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.load.isolated import Isolated
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.open_target import OpenTarget, open_target
from tuner.model.target import Target
from tuner.present.console import say

TOOL: Final = "org.apache.kafka.tools.EndToEndLatency"
RECORD_BYTES: Final = 100
RATE: Final = 500.0
PAUSE_S: Final = 1.0
GOAL_RATIO: Final = 0.05
_CONFIG: Final = ProducerConfig.parse({"acks": 1, "linger.ms": 0, "enable.idempotence": "false"})
_WARMUP_S: Final = 3.0
_PAUSED_RECORDS: Final = 20_000
_PAUSED_S: Final = 10.0
_PAUSE_AFTER_S: Final = 7.0
_TIMEOUT_S: Final = 180.0
_MEAN: Final = re.compile(r"Avg latency: (?P<ms>[\d.]+) ms")
_PERCENTILES: Final = re.compile(r"50th = (?P<p50>\d+), 99th = (?P<p99>\d+), 99.9th = (?P<p999>\d+)")


@dataclass(frozen=True, slots=True)
class Latencies:
    """End-to-end latencies of one run, in milliseconds."""

    mean_ms: float
    p50_ms: float
    p99_ms: float
    p999_ms: float


def main() -> None:
    """Measure in turn, and print a table. The exit code is 1 if the means differ by more than the goal allows."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--rounds", type=whole_number, default=5)
    parser.add_argument("--records", type=whole_number, default=10_000)
    asked = parser.parse_args()
    with open_target(Target(), say) as opened:
        kinds: dict[str, Callable[[Topic], Latencies]] = {
            "ours": partial(ours, opened, asked.records / RATE),
            "EndToEndLatency": partial(the_tool, opened, asked.records),
        }
        found: dict[str, list[Latencies]] = {name: [] for name in kinds}
        for number in range(asked.rounds + 1):  # round 0 warms the broker up
            for name, measure in kinds.items():
                seen = _on_new_topic(opened, measure)
                print(f"  round {number}: {name} {seen.mean_ms:.3f} ms", file=sys.stderr)
                if number:
                    found[name].append(seen)
        stalled = {
            "ours": _on_new_topic(opened, partial(_while_stopped, opened, partial(ours, opened, _PAUSED_S))),
            "EndToEndLatency": _on_new_topic(
                opened, partial(_while_stopped, opened, partial(the_tool, opened, _PAUSED_RECORDS))
            ),
        }
    print("| | mean, ms | p50, ms | p99, ms | p99.9, ms |\n| --- | ---: | ---: | ---: | ---: |")
    for name, runs in found.items():
        print(f"| {name} | {_cells([median(each) for each in zip(*map(_values, runs), strict=True)])} |")
    for name, run in stalled.items():
        print(f"| {name}, broker stopped for {PAUSE_S:.0f} s | {_cells(_values(run))} |")
    ratio = ratio_of([run.mean_ms for run in found["ours"]], [run.mean_ms for run in found["EndToEndLatency"]])
    met = 1 - GOAL_RATIO <= ratio.value <= 1 + GOAL_RATIO
    print(
        f"\nMedians of {asked.rounds} rounds, and one run each with the stop. The mean of ours is {ratio} times the "
        f"tool's (goal: within {GOAL_RATIO:.0%}, {'met' if met else '**missed**'})."
    )
    sys.exit(0 if met else 1)


def ours(opened: OpenTarget, seconds: float, topic: Topic) -> Latencies:
    """Measure with our producer and consumer at a fixed rate."""
    load = Workload(
        RecordSizes.fixed(RECORD_BYTES),
        partitions=1,
        warmup_s=_WARMUP_S,
        measured_s=seconds,
        rate_records_per_s=RATE,
        consumers=1,
    )
    runner = WithConsumers(Isolated(LibrdkafkaRunner(opened.cluster, topic)), TailConsumers(opened.cluster, topic))
    found = runner.run(_CONFIG, load).end_to_end
    if found is None:
        raise GeneratorError("consumers beside the load must give latencies, but gave none")
    p50, p99, p999 = (found.latency.percentile_us(ratio) / 1e3 for ratio in (0.5, 0.99, 0.999))
    return Latencies(found.latency.mean_us / 1e3, p50, p99, p999)


def the_tool(opened: OpenTarget, records: int, topic: Topic) -> Latencies:
    """Measure with Kafka's tool."""
    arguments = ["--bootstrap-server", opened.cluster.bootstrap, "--topic", topic.name]
    arguments += ["--num-records", str(records), "--producer-acks", "1", "--record-size", str(RECORD_BYTES)]
    ran = run_performance_tool(TOOL, arguments, {}, None, _TIMEOUT_S)
    mean, percentiles = _MEAN.search(ran.stdout), _PERCENTILES.search(ran.stdout)
    if ran.returncode != 0 or mean is None or percentiles is None:
        raise tool_failed(TOOL, ran)
    p50, p99, p999 = (float(percentiles[name]) for name in ("p50", "p99", "p999"))
    return Latencies(float(mean["ms"]), p50, p99, p999)


def _on_new_topic(opened: OpenTarget, measure: Callable[[Topic], Latencies]) -> Latencies:
    topic = opened.topics.create(1, 1)
    try:
        return measure(topic)
    finally:
        opened.topics.delete(topic)


def _while_stopped(opened: OpenTarget, measure: Callable[[Topic], Latencies], topic: Topic) -> Latencies:
    """Measure while the broker is stopped for a second."""
    (broker,) = opened.cluster.local_brokers
    stop = threading.Timer(_PAUSE_AFTER_S, os.kill, (broker.pid, signal.SIGSTOP))
    go_on = threading.Timer(_PAUSE_AFTER_S + PAUSE_S, os.kill, (broker.pid, signal.SIGCONT))
    stop.start()
    go_on.start()
    try:
        return measure(topic)
    finally:
        stop.cancel()
        go_on.join()


def _values(run: Latencies) -> tuple[float, ...]:
    return (run.mean_ms, run.p50_ms, run.p99_ms, run.p999_ms)


def _cells(values: Sequence[float]) -> str:
    return " | ".join(f"{value:.3g}" for value in values)


if __name__ == "__main__":
    run_benchmark(main)
