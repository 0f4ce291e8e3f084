"""Compares our load generator on Kafka's Java client with Kafka's own `ProducerPerformance`, on one broker.

    python -m benchmarks.java_generator [--rounds 7] [--seconds 4] [--sizes 10,100,1000,10000,100000]

Both use the same Java runtime, the same flags of the JVM, the same heap, the same release of the client, the same
config and distinct records. In each round they run one after another, in an order that changes from round to round, and
each run gets a new topic. Our Java process is kept between the rounds; the tool starts a new one each time, and its
first seconds do not count.
"""

import json
import random
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.evidence import benchmark_parser, positive_number, run_benchmark, whole_number
from objectives.ratios import ratio_of
from objectives.verdict import Evidence, judge
from runners.clusters.pinned_jars import KAFKA_VERSION
from runners.java_client.heap import default_heap_bytes
from runners.kafka_tools.producer_performance import java_throughput
from runners.limits import Limits
from runners.workload import RecordSizes, Workload
from runners.wrappers import owned_topic
from search_spaces.client import java
from search_spaces.producer_config import ProducerConfig
from tuner.course.open_target import OpenTarget, open_target
from tuner.model.target import Target

# Idempotence would be on by default; the tool of the broker's release sends with it too.
CONFIG: Final = {"acks": "1", "linger.ms": "10", "batch.size": "1000000", "buffer.memory": "67108864"}
MAX_BYTES: Final = 30 * 10**9

Measure = Callable[[Workload, float], float]
"""Runs a workload and returns records/s. It also takes the records/s that the same load generator reached last."""


def contenders(opened: OpenTarget, config: ProducerConfig) -> dict[str, Measure]:
    """Return a function for each load generator, which runs a workload with it."""
    heap_bytes = default_heap_bytes()

    def ours(workload: Workload, _: float) -> float:
        seen = opened.runner(limits=Limits(max_bytes=MAX_BYTES)).run(config, workload)
        said = f"    ours: limited by {judge(Evidence.of(seen)).bound}, counts agree: {seen.counts.agree}"
        print("; ".join((said, *seen.warnings)), file=sys.stderr)
        return seen.records_per_s

    def tool(workload: Workload, expected: float) -> float:
        with owned_topic(opened.topics)(workload) as topic:
            return java_throughput(
                opened.cluster, topic, config, workload, expected, heap_bytes=heap_bytes
            ).records_per_s

    return {"ours": ours, "tool": tool}


def main() -> None:
    """Measure all record sizes and print a table of the results. The exit code is 1 if a ratio is surely below 1."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--rounds", type=whole_number, default=7)
    parser.add_argument("--seconds", type=positive_number, default=4.0)
    parser.add_argument("--warmup", type=positive_number, default=3.0)
    parser.add_argument("--sizes", default="10,100,1000,10000,100000")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    config = ProducerConfig.parse(CONFIG, client=java(KAFKA_VERSION))
    order = random.Random(asked.seed)
    found: dict[int, dict[str, list[float]]] = {}
    with open_target(Target(), lambda said: print(said, file=sys.stderr), config.client) as opened:
        measure = contenders(opened, config)
        for size in (int(text) for text in asked.sizes.split(",")):
            workload = Workload(RecordSizes.fixed(size), warmup_s=asked.warmup, measured_s=asked.seconds)
            found[size] = _rounds(measure, workload, asked.rounds, order)
    missed = _print(found)
    if asked.json:
        asked.json.write_text(json.dumps({str(size): rates for size, rates in found.items()}, indent=2) + "\n")
    sys.exit(1 if missed else 0)


def _rounds(
    measure: Mapping[str, Measure], workload: Workload, rounds: int, order: random.Random
) -> dict[str, list[float]]:
    names = list(measure)
    rates: dict[str, list[float]] = {name: [] for name in names}
    last = dict.fromkeys(names, min(1e6, 100e6 / workload.record_sizes.mean_bytes))
    # Round 0 only warms up the broker and shows how many records the tool must send. Its results are not used.
    for number in range(rounds + 1):
        order.shuffle(names)
        for name in names:
            last[name] = measure[name](workload, last[name])
            if number:
                rates[name].append(last[name])
        said = ", ".join(f"{name} {last[name]:,.0f}" for name in measure)
        print(f"  {workload.record_sizes} B, round {number} of {rounds}: {said}", file=sys.stderr)
    return rates


def _print(found: Mapping[int, Mapping[str, Sequence[float]]]) -> bool:
    """Print the table, and return whether a goal is missed."""
    print("| record | ours | ProducerPerformance | ours/tool (95 %) |\n| ---: | ---: | ---: | ---: |")
    missed = False
    for size, rates in found.items():
        ratio = ratio_of(rates["ours"], rates["tool"])
        missed |= ratio.high < 1.0
        medians = " | ".join(f"{statistics.median(rates[name]):,.0f}" for name in ("ours", "tool"))
        print(f"| {size:,} B | {medians} | {ratio} |")
    rounds = len(next(iter(found.values()))["ours"])
    print(
        f"\nrecords/s, medians of {rounds} rounds; {', '.join(f'{name}={CONFIG[name]}' for name in CONFIG)}. ", end=""
    )
    print(f"Goal (no interval wholly below 1.0): {'missed' if missed else 'met'}")
    return missed


if __name__ == "__main__":
    run_benchmark(main)
