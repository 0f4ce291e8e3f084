"""Compares our load generator on Kafka's Java client with Kafka's own `ProducerPerformance`, on one broker.

    python -m benchmarks.java_generator [--rounds 7] [--seconds 4] [--sizes 10,100,1000,10000,100000]

Both use the same Java runtime, the same flags of the JVM, the same heap, the same release of the client, the same
config and distinct records. In each round they run one after another, in an order that changes from round to round, and
each run gets a new topic. Our Java process is kept between the rounds; the tool starts a new one each time, and its
first seconds do not count.
"""

import sys
from typing import Final

from benchmarks.evidence import run_benchmark
from benchmarks.peers.turns import Measure, Run, Turns, add_phases, goal_said, turns_parser
from objectives.producer_verdict import Evidence, judge
from runners.clusters.topics.topic_for_run import owned_topic
from runners.java_client.heap import default_heap_bytes
from runners.java_runtime.pinned_jars import KAFKA_VERSION
from runners.kafka_tools.performance_tools import java_throughput
from runners.runner import Limits
from runners.workload import RecordSizes, Workload
from search_spaces.client import java
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.open_target import OpenTarget, open_target
from tuner.model.target import Target
from tuner.present.console import say

# Both load generators would be idempotent by default.
CONFIG: Final = {"acks": "1", "linger.ms": "10", "batch.size": "1000000", "buffer.memory": "67108864"}
MAX_BYTES: Final = 30 * 10**9


def contenders(opened: OpenTarget, config: ProducerConfig, workload: Workload) -> dict[str, Measure]:
    """Return functions that run the workload, one for each load generator."""
    heap_bytes = default_heap_bytes()

    def ours(_: float) -> Run:
        seen = opened.runner(limits=Limits(max_bytes=MAX_BYTES)).run(config, workload)
        said = f"    ours: limited by {judge(Evidence.of(seen)).bound}, counts agree: {seen.counts.agree}"
        print("; ".join((said, *seen.warnings)), file=sys.stderr)
        return Run(seen.records_per_s)

    def tool(expected: float) -> Run:
        with owned_topic(opened.topics)(workload) as topic:
            report = java_throughput(opened.cluster, topic, config, workload, expected, heap_bytes=heap_bytes)
            return Run(report.measured.records_per_s)

    return {"ours": ours, "tool": tool}


def main() -> None:
    """Measure all record sizes and print a table of the results. The exit code is 1 if a ratio is surely below 1."""
    parser = turns_parser(__doc__, sizes="10,100,1000,10000,100000")
    add_phases(parser)
    asked = parser.parse_args()
    config = ProducerConfig.parse(CONFIG, client=java(KAFKA_VERSION))
    turns = Turns(asked.rounds)
    with open_target(Target(), say, config.client) as opened:
        for size in asked.sizes:
            workload = Workload(RecordSizes.fixed(size), warmup_s=asked.warmup, measured_s=asked.seconds)
            turns.take(size, contenders(opened, config, workload), f"{workload.record_sizes} B")
    sys.exit(1 if report(turns) else 0)


def report(turns: Turns) -> bool:
    """Print the table, and return whether a goal is missed."""
    missed = turns.print_table({"ours": "ours", "tool": "ProducerPerformance"}, {"tool": "ours/tool"})
    properties = ", ".join(f"{name}={value}" for name, value in CONFIG.items())
    print(f"\nrecords/s, medians of {turns.rounds} rounds; {properties}. {goal_said(missed)}")
    return missed


if __name__ == "__main__":
    run_benchmark(main)
