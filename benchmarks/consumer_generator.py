"""Compares our load of consumers with other consumers that read the same topic, on one broker.

    python -m benchmarks.consumer_generator [--peers java,c] [--rounds 7] [--megabytes 1500] [--sizes 100,1000,10000]
        [--client java]

The peers are Kafka's own `ConsumerPerformance` (`java`) and librdkafka's own tool in C (`c`), once
`scripts/get-rdkafka-performance` has built it. For each record size, a topic is filled once. In each round, our
consumers and the peers read the topic from its beginning to its end, one after another, in an order that changes from
round to round. The time of our consumers and of the C tool runs from the first record to the last. The time of the Java
tool does not include joining the consumer group.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.evidence import add_client, positive_number, run_benchmark
from benchmarks.peers import consumer_performance, rdkafka_performance
from benchmarks.peers.turns import Measure, Run, Turns, add_peers, goal_said, turns_parser
from objectives.consumer_verdict import ReadEvidence, judge_reading
from runners.clock import NS_PER_S, US_PER_S
from runners.clusters.topics.owned_topics import Topic
from runners.consumer_runs.topic_consumption import KEPT, TopicConsumption, fill
from runners.consumers.consumption import Consumption
from runners.consumers.reading import Reading
from runners.runner import DEFAULT_LIMITS
from runners.workload import RecordSizes, Workload
from search_spaces.client import Client, ClientKind
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.open_target import OpenTarget, open_target
from tuner.model.target import Target
from tuner.present.console import say

PRODUCER: Final = {"linger.ms": "10", "batch.size": "1000000"}
# A queue so large that a client never pauses fetching. With the defaults, each pause takes a second.
CONSUMER: Final = {"queued.min.messages": "10000000", "queued.max.messages.kbytes": "2000000"}
# What `ConsumerPerformance` sets, too.
JAVA_CONSUMER: Final = {"check.crcs": "false", "receive.buffer.bytes": str(2 << 20)}
PARTITIONS: Final = 3
PEERS: Final = {"java": "ConsumerPerformance", "c": "C tool"}
_LONGEST_S: Final = 120.0


def contenders(
    opened: OpenTarget, client: Client, peers: Sequence[str], c_tool: Path, topic: Topic, records: int
) -> dict[str, Measure]:
    """Return functions that read the topic: one with our consumers, and one for each of these peers."""
    properties = CONSUMER if client.kind is ClientKind.LIBRDKAFKA else JAVA_CONSUMER

    def ours(_: float) -> Run:
        reading = Reading(warmup_s=0.0, measured_s=_LONGEST_S, properties=properties, keep_arrivals=True)
        seen = TopicConsumption(opened.cluster, topic.name, reading, sole_writer=True, client=client).run()
        if seen.counts.taken != records or not seen.counts.agree:
            sys.exit(f"all {records:,} records must be read once, but: {seen.counts.differences() or seen.counts}")
        verdict = judge_reading(ReadEvidence.of(seen))
        print(f"    ours: limited by {verdict.bound}; {verdict.because}", file=sys.stderr)
        cores = seen.resources.process_cpu_cores
        return Run(records / _span_s(seen), cores and cores * seen.duration_s / records * US_PER_S)

    def java(_: float) -> Run:
        return Run(consumer_performance.throughput(opened.cluster, topic.name, records))

    def c(_: float) -> Run:
        properties = {**opened.cluster.connection, **CONSUMER}
        read, seconds, cpu_us = rdkafka_performance.consumed(c_tool, properties, topic.name, PARTITIONS, records)
        return Run(read / seconds, cpu_us)

    known = {"java": java, "c": c}
    return {"ours": ours, **{peer: known[peer] for peer in peers}}


def _span_s(seen: Consumption) -> float:
    """Return the seconds from the first record taken to the last."""
    if seen.arrivals is None:
        raise ValueError("the load must keep its arrivals")
    return float(seen.arrivals.at_ns.max() - seen.arrivals.at_ns.min()) / NS_PER_S


def main() -> None:
    """Measure all record sizes and print a table. The exit code is 1 if a ratio is surely below 1."""
    parser = turns_parser(__doc__, sizes="100,1000,10000")
    add_peers(parser, PEERS, default="java,c")
    parser.add_argument("--megabytes", type=positive_number, default=1_500.0, help="values in each topic, in MB")
    add_client(parser)
    asked = parser.parse_args()
    c_tool = rdkafka_performance.program() if "c" in asked.peers else Path()
    turns = Turns(asked.rounds)
    with open_target(Target(), say) as opened:
        for size in asked.sizes:
            records = max(1, int(asked.megabytes * 1e6 / size))
            topic = opened.topics.create(PARTITIONS, 1, KEPT)
            workload = Workload(RecordSizes.fixed(size))
            fill(opened.cluster, topic, ProducerConfig.parse(PRODUCER), workload, records, DEFAULT_LIMITS)
            measure = contenders(opened, asked.client, asked.peers, c_tool, topic, records)
            turns.take(size, measure, f"{records:,} records")
            opened.topics.delete(topic)
    sys.exit(1 if report(turns, asked.peers, asked.megabytes) else 0)


def report(turns: Turns, peers: Sequence[str], megabytes: float) -> bool:
    """Print the table, and return whether a goal is missed."""
    heads = {"ours": "ours", **{peer: PEERS[peer] for peer in peers}}
    missed = turns.print_table(heads, {peer: f"ours/{PEERS[peer]}" for peer in peers})
    read = f"{megabytes:,.0f} MB of values in {PARTITIONS} partitions"
    print(f"\nrecords/s, medians of {turns.rounds} rounds over {read}. {goal_said(missed)}")
    return missed


if __name__ == "__main__":
    run_benchmark(main)
