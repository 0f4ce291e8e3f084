"""Compares our load of consumers with other consumers that read the same topic, on one broker.

    python -m benchmarks.consumer_generator [--peers java,c] [--rounds 7] [--megabytes 1500] [--sizes 100,1000,10000]
        [--client java]

The peers are Kafka's own `ConsumerPerformance` (`java`) and librdkafka's own tool in C (`c`), once
`scripts/get-rdkafka-performance` has built it. For each record size, a topic is filled once. In each round all of them
read it from the beginning to its end, one after another, in an order that changes from round to round. The time of ours
and of the C tool is that from the first record to the last, and that of the Java tool is the one without joining a
group.
"""

import json
import random
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks import consumer_performance, rdkafka_performance
from benchmarks.evidence import benchmark_parser, positive_number, run_benchmark, whole_number
from objectives.ratios import ratio_of
from objectives.read_verdict import ReadEvidence, judge_reading
from runners.clock import NS_PER_S, US_PER_S
from runners.clusters.topics import Topic
from runners.consumer_runs.own_topic import KEPT, fill
from runners.consumer_runs.topic_consumption import TopicConsumption
from runners.consumers.consumption import Consumption
from runners.consumers.reading import Reading
from runners.limits import DEFAULT_LIMITS
from runners.workload import RecordSizes, Workload
from search_spaces.client import Client, ClientKind, client_of
from search_spaces.producer_config import ProducerConfig
from tuner.course.open_target import OpenTarget, open_target
from tuner.model.target import Target

PRODUCER: Final = {"linger.ms": "10", "batch.size": "1000000"}
# A queue so large that a client never pauses fetching. With the defaults, each pause takes a second.
CONSUMER: Final = {"queued.min.messages": "10000000", "queued.max.messages.kbytes": "2000000"}
# What `ConsumerPerformance` sets, too.
JAVA_CONSUMER: Final = {"check.crcs": "false", "receive.buffer.bytes": str(2 << 20)}
PARTITIONS: Final = 3
PEERS: Final = {"java": "ConsumerPerformance", "c": "C tool"}
_LONGEST_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Run:
    """What a consumer reached when it read a topic once.

    Attributes:
        records_per_s: Records per second.
        cpu_us: CPU time of its process per record, in microseconds; None if unknown.
    """

    records_per_s: float
    cpu_us: float | None = None


Measure = Callable[[Topic, int], Run]
"""A function that reads all records of a topic. It also takes their number."""


def contenders(opened: OpenTarget, client: Client, peers: Sequence[str], c_tool: Path) -> dict[str, Measure]:
    """Return a function for our load of a client and for each of these peers, which reads a topic with it."""
    properties = CONSUMER if client.kind is ClientKind.LIBRDKAFKA else JAVA_CONSUMER

    def ours(topic: Topic, records: int) -> Run:
        reading = Reading(warmup_s=0.0, measured_s=_LONGEST_S, properties=properties, keep_arrivals=True)
        seen = TopicConsumption(opened.cluster, topic.name, reading, sole_writer=True, client=client).run()
        if seen.counts.taken != records or not seen.counts.agree:
            sys.exit(f"all {records:,} records must be read once, but: {seen.counts.differences() or seen.counts}")
        verdict = judge_reading(ReadEvidence.of(seen))
        print(f"    ours: limited by {verdict.bound}; {verdict.because}", file=sys.stderr)
        cores = seen.resources.process_cpu_cores
        return Run(records / _span_s(seen), cores and cores * seen.duration_s / records * US_PER_S)

    def java(topic: Topic, records: int) -> Run:
        return Run(consumer_performance.throughput(opened.cluster, topic.name, records))

    def c(topic: Topic, records: int) -> Run:
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
    parser = benchmark_parser(__doc__)
    parser.add_argument("--rounds", type=whole_number, default=7)
    parser.add_argument("--megabytes", type=positive_number, default=1_500.0, help="values in each topic, in MB")
    parser.add_argument("--sizes", default="100,1000,10000")
    parser.add_argument("--peers", default="java,c", help="any of java and c, with a comma between them")
    parser.add_argument("--client", type=client_of, default="librdkafka", help="the client of our load")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    peers = asked.peers.split(",")
    if unknown := sorted(set(peers) - set(PEERS)):
        parser.error(f"--peers must be any of {', '.join(PEERS)}, but got {', '.join(unknown)}")
    c_tool = rdkafka_performance.program() if "c" in peers else Path()
    order = random.Random(asked.seed)
    found: dict[int, dict[str, list[Run]]] = {}
    with open_target(Target(), lambda said: print(said, file=sys.stderr)) as opened:
        measure = contenders(opened, asked.client, peers, c_tool)
        for size in (int(text) for text in asked.sizes.split(",")):
            records = max(1, int(asked.megabytes * 1e6 / size))
            topic = opened.topics.create(PARTITIONS, 1, KEPT)
            workload = Workload(RecordSizes.fixed(size))
            fill(opened.cluster, topic, ProducerConfig.parse(PRODUCER), workload, records, DEFAULT_LIMITS)
            found[size] = _rounds(measure, topic, records, asked.rounds, order)
            opened.topics.delete(topic)
    missed = _print(found, peers, asked.megabytes)
    if asked.json:
        rates = {str(size): {name: _rates(each) for name, each in runs.items()} for size, runs in found.items()}
        asked.json.write_text(json.dumps(rates, indent=2) + "\n")
    sys.exit(1 if missed else 0)


def _rounds(
    measure: Mapping[str, Measure], topic: Topic, records: int, rounds: int, order: random.Random
) -> dict[str, list[Run]]:
    names = list(measure)
    runs: dict[str, list[Run]] = {name: [] for name in names}
    # Round 0 only warms up the broker. Its results are not used.
    for number in range(rounds + 1):
        order.shuffle(names)
        last = {name: measure[name](topic, records) for name in names}
        if number:
            for name, run in last.items():
                runs[name].append(run)
        said = ", ".join(f"{name} {last[name].records_per_s:,.0f}" for name in measure)
        print(f"  {records:,} records, round {number} of {rounds}: {said}", file=sys.stderr)
    return runs


def _rates(runs: Sequence[Run]) -> list[float]:
    return [run.records_per_s for run in runs]


def _print(found: Mapping[int, Mapping[str, Sequence[Run]]], peers: Sequence[str], megabytes: float) -> bool:
    """Print the table, and return whether a goal is missed."""
    heads = ["record", "ours", *(PEERS[peer] for peer in peers), *(f"ours/{PEERS[peer]} (95 %)" for peer in peers)]
    heads += ["CPU per record: ours", "C tool"] if "c" in peers else []
    print(f"| {' | '.join(heads)} |\n|{' ---: |' * len(heads)}")
    missed = False
    for size, runs in found.items():
        ratios = [ratio_of(_rates(runs["ours"]), _rates(runs[peer])) for peer in peers]
        missed |= any(ratio.high < 1.0 for ratio in ratios)
        cells = [f"{size:,} B", *(f"{statistics.median(_rates(each)):,.0f}" for each in runs.values())]
        cells += [str(ratio) for ratio in ratios]
        cells += [_cpu(runs["ours"]), _cpu(runs["c"])] if "c" in peers else []
        print(f"| {' | '.join(cells)} |")
    rounds = len(next(iter(found.values()))["ours"])
    print(
        f"\nrecords/s, medians of {rounds} rounds over {megabytes:,.0f} MB of values in {PARTITIONS} partitions. ",
        end="",
    )
    print(f"Goal (no interval wholly below 1.0): {'missed' if missed else 'met'}")
    return missed


def _cpu(runs: Sequence[Run]) -> str:
    return f"{statistics.median(run.cpu_us or 0.0 for run in runs):.3f} us"


if __name__ == "__main__":
    run_benchmark(main)
