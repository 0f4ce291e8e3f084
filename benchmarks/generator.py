"""Compares our load generator with other load generators, on one broker with the same settings.

    python -m benchmarks.generator [--peers python,java] [--rounds 7] [--seconds 4] [--sizes 10,100,1000,10000,100000]

The benchmark takes about 20 minutes. The peers are a plain Python loop, Kafka's Java tool, and `c`: librdkafka's own
tool in C, once `scripts/get-rdkafka-performance` has built it. In each round all generators run one after another, in
an order that changes from round to round, and each run gets a new topic. All but the C tool send distinct records.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.evidence import run_benchmark
from benchmarks.peers import rdkafka_performance
from benchmarks.peers.python_loop import python_loop_throughput
from benchmarks.peers.turns import Measure, Run, Turns, add_peers, add_phases, turns_parser
from objectives.producer_verdict import Evidence, judge
from runners.clock import US_PER_S
from runners.clusters.topics.topic_for_run import owned_topic
from runners.kafka_tools.performance_tools import java_throughput
from runners.runner import Limits
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.open_target import OpenTarget, open_target
from tuner.model.target import Target
from tuner.present.console import say

CONFIG = {
    "acks": "1",
    "linger.ms": "10",
    "batch.size": "1000000",
    "batch.num.messages": "100000",
    "queue.buffering.max.messages": "2000000",
    "queue.buffering.max.kbytes": "262144",
}
GOALS = {10: "1.3 x Java and 3 x Python", 100: "1.5 x Java and 2 x Python"}
MAX_BYTES = 30 * 10**9
C_GOALS = {10: "1.2 x the C tool"}
PEERS: Final = {"python": "Python loop", "java": "Java tool", "c": "C tool"}


def contenders(
    opened: OpenTarget, config: ProducerConfig, peers: Sequence[str], c_tool: Path, workload: Workload
) -> dict[str, Measure]:
    """Return functions that run the workload: one with our load generator, and one for each of these peers."""

    def native(_: float) -> Run:
        seen = opened.runner(limits=Limits(max_bytes=MAX_BYTES)).run(config, workload)
        verdict = judge(Evidence.of(seen))
        print(f"    native: limited by {verdict.bound}, counts agree: {seen.counts.agree}", file=sys.stderr)
        cores = seen.resources.process_cpu_cores
        return Run(seen.records_per_s, cores and cores / seen.records_per_s * US_PER_S)

    def python(_: float) -> Run:
        with owned_topic(opened.topics)(workload) as topic:
            return Run(python_loop_throughput(properties, topic.name, workload))

    def java(expected: float) -> Run:
        with owned_topic(opened.topics)(workload) as topic:
            return Run(java_throughput(opened.cluster, topic, config, workload, expected).measured.records_per_s)

    def c(_: float) -> Run:
        with owned_topic(opened.topics)(workload) as topic:
            return Run(*rdkafka_performance.throughput(c_tool, properties, topic.name, workload))

    properties = {**opened.cluster.connection, **config.values}
    known = {"python": python, "java": java, "c": c}
    return {"native": native, **{peer: known[peer] for peer in peers}}


def main() -> None:
    """Measure all record sizes and print a table of the results."""
    parser = turns_parser(__doc__, sizes="10,100,1000,10000,100000")
    add_phases(parser)
    add_peers(parser, PEERS, default="python,java")
    asked = parser.parse_args()
    c_tool = rdkafka_performance.program() if "c" in asked.peers else Path()
    config = ProducerConfig.parse(CONFIG)
    turns = Turns(asked.rounds)
    with open_target(Target(), say) as opened:
        for size in asked.sizes:
            workload = Workload(RecordSizes.fixed(size), warmup_s=asked.warmup, measured_s=asked.seconds)
            measure = contenders(opened, config, asked.peers, c_tool, workload)
            turns.take(size, measure, f"{workload.record_sizes} B")
    report(turns, asked.peers)


def report(turns: Turns, peers: Sequence[str]) -> None:
    """Print the table, and below it the goals."""
    ratios = {peer: f"native/{PEERS[peer].split()[0]}" for peer in peers}
    if len(peers) > 1:
        ratios["best"] = "native/best"
    turns.print_table({"native": "native", **{peer: PEERS[peer] for peer in peers}}, ratios)
    goals = [f"{goal} at {size} B" for size, goal in (C_GOALS if peers == ["c"] else GOALS).items()]
    print(f"\nrecords/s, medians of {turns.rounds} rounds; goals: {', '.join(goals)}")


if __name__ == "__main__":
    run_benchmark(main)
