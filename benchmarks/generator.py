"""Compares our load generator with Kafka's Java tool and a plain Python loop, on one broker with the same settings.

    python -m benchmarks.generator [--rounds 7] [--seconds 4] [--sizes 10,100,1000,10000,100000]

The benchmark takes about 20 minutes. All three generators send distinct records. In each round they run one after
another, in an order that changes from round to round, and each run gets a new topic.
"""

import json
import random
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.evidence import benchmark_parser, run_benchmark
from benchmarks.python_loop import python_loop_throughput
from objectives.ratios import ratio_of
from objectives.verdict import Evidence, judge
from runners.java_tool import java_throughput
from runners.librdkafka.librdkafka_runner import Limits
from runners.workload import RecordSizes, Workload
from runners.wrappers import owned_topic
from search_spaces.producer_config import ProducerConfig
from tuner.course.open_target import OpenTarget, open_target
from tuner.model.target import Target

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


def contenders(opened: OpenTarget, config: ProducerConfig) -> dict[str, Callable[[Workload, float], float]]:
    """Return a function for each load generator, which measures its records/s.

    The functions take a workload, and the records/s that the same generator reached in its last run.
    """

    def native(workload: Workload, _: float) -> float:
        seen = opened.runner(limits=Limits(max_bytes=MAX_BYTES)).run(config, workload)
        verdict = judge(Evidence.of(seen))
        print(f"    native: limited by {verdict.bound}, counts agree: {seen.counts.agree}", file=sys.stderr)
        return seen.records_per_s

    def python(workload: Workload, _: float) -> float:
        with owned_topic(opened.topics)(workload) as topic:
            return python_loop_throughput({**opened.cluster.connection, **config.values}, topic.name, workload)

    def java(workload: Workload, expected: float) -> float:
        with owned_topic(opened.topics)(workload) as topic:
            return java_throughput(opened.cluster, topic, config, workload, expected).records_per_s

    return {"native": native, "python": python, "java": java}


def main() -> None:
    """Measure all record sizes and print a table of the results."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--warmup", type=float, default=3.0)
    parser.add_argument("--sizes", default="10,100,1000,10000,100000")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    config = ProducerConfig.parse(CONFIG)
    order = random.Random(asked.seed)
    found: dict[int, dict[str, list[float]]] = {}
    with open_target(Target(), lambda said: print(said, file=sys.stderr)) as opened:
        measure = contenders(opened, config)
        for size in (int(text) for text in asked.sizes.split(",")):
            workload = Workload(RecordSizes.fixed(size), warmup_s=asked.warmup, measured_s=asked.seconds)
            found[size] = _rounds(measure, workload, asked.rounds, order)
    _print(found)
    if asked.json:
        asked.json.write_text(json.dumps({str(size): rates for size, rates in found.items()}, indent=2) + "\n")


def _rounds(
    measure: dict[str, Callable[[Workload, float], float]], workload: Workload, rounds: int, order: random.Random
) -> dict[str, list[float]]:
    names = list(measure)
    rates: dict[str, list[float]] = {name: [] for name in names}
    last = dict.fromkeys(names, min(1e6, 100e6 / workload.record_sizes.mean_bytes))
    # Round 0 only warms up the broker and shows how many records the Java tool must send. Its results are not used.
    for number in range(rounds + 1):
        order.shuffle(names)
        for name in names:
            last[name] = measure[name](workload, last[name])
            if number:
                rates[name].append(last[name])
        said = ", ".join(f"{name} {last[name]:,.0f}" for name in measure)
        print(f"  {workload.record_sizes} B, round {number} of {rounds}: {said}", file=sys.stderr)
    return rates


def _print(found: dict[int, dict[str, list[float]]]) -> None:
    print(
        "| record | native | Python loop | Java tool | native/Java (95 %) | native/Python (95 %) | native/best (95 %) |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for size, rates in found.items():
        middle = {name: statistics.median(values) for name, values in rates.items()}
        best = max(("python", "java"), key=lambda name: middle[name])
        print(
            f"| {size:,} B | {middle['native']:,.0f} | {middle['python']:,.0f} | {middle['java']:,.0f} | "
            f"{ratio_of(rates['native'], rates['java'])} | {ratio_of(rates['native'], rates['python'])} | "
            f"{ratio_of(rates['native'], rates[best])} |"
        )
    print(
        f"\nrecords/s, medians of {len(next(iter(found.values()))['native'])} rounds; goals: "
        + ", ".join(f"{goal} at {size} B" for size, goal in GOALS.items())
    )


if __name__ == "__main__":
    run_benchmark(main)
