"""Compares our load generator with other load generators, on one broker with the same settings.

    python -m benchmarks.generator [--peers python,java] [--rounds 7] [--seconds 4] [--sizes 10,100,1000,10000,100000]

The benchmark takes about 20 minutes. The peers are a plain Python loop, Kafka's Java tool, and `c`: librdkafka's own
tool in C, once `scripts/get-rdkafka-performance` has built it. In each round all generators run one after another, in
an order that changes from round to round, and each run gets a new topic. All but the C tool send distinct records.
"""

import json
import random
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks import rdkafka_performance
from benchmarks.evidence import benchmark_parser, positive_number, run_benchmark, whole_number
from benchmarks.python_loop import python_loop_throughput
from objectives.ratios import ratio_of
from objectives.verdict import Evidence, judge
from runners.clock import US_PER_S
from runners.kafka_tools.producer_performance import java_throughput
from runners.limits import Limits
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
C_GOALS = {10: "1.2 x the C tool"}
PEERS: Final = {"python": "Python loop", "java": "Java tool", "c": "C tool"}


@dataclass(frozen=True, slots=True)
class Run:
    """What a load generator reached in one run.

    Attributes:
        records_per_s: Acknowledged records per second.
        cpu_us: CPU time of the process that sends the load, per record, in microseconds; None if unknown.
    """

    records_per_s: float
    cpu_us: float | None = None


Measure = Callable[[Workload, float], Run]
"""A function that runs a workload. It also takes the records/s that the same load generator reached in its last run."""


def contenders(opened: OpenTarget, config: ProducerConfig, peers: Sequence[str], c_tool: Path) -> dict[str, Measure]:
    """Return a function for our load generator and for each of these peers, which runs a workload with it."""

    def native(workload: Workload, _: float) -> Run:
        seen = opened.runner(limits=Limits(max_bytes=MAX_BYTES)).run(config, workload)
        verdict = judge(Evidence.of(seen))
        print(f"    native: limited by {verdict.bound}, counts agree: {seen.counts.agree}", file=sys.stderr)
        cores = seen.resources.process_cpu_cores
        return Run(seen.records_per_s, cores and cores / seen.records_per_s * US_PER_S)

    def python(workload: Workload, _: float) -> Run:
        with owned_topic(opened.topics)(workload) as topic:
            return Run(python_loop_throughput(properties, topic.name, workload))

    def java(workload: Workload, expected: float) -> Run:
        with owned_topic(opened.topics)(workload) as topic:
            return Run(java_throughput(opened.cluster, topic, config, workload, expected).records_per_s)

    def c(workload: Workload, _: float) -> Run:
        with owned_topic(opened.topics)(workload) as topic:
            return Run(*rdkafka_performance.throughput(c_tool, properties, topic.name, workload))

    properties = {**opened.cluster.connection, **config.values}
    known = {"python": python, "java": java, "c": c}
    return {"native": native, **{peer: known[peer] for peer in peers}}


def main() -> None:
    """Measure all record sizes and print a table of the results."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--rounds", type=whole_number, default=7)
    parser.add_argument("--seconds", type=positive_number, default=4.0)
    parser.add_argument("--warmup", type=positive_number, default=3.0)
    parser.add_argument("--sizes", default="10,100,1000,10000,100000")
    parser.add_argument("--peers", default="python,java", help="any of python, java and c, with commas between them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    peers = asked.peers.split(",")
    if unknown := sorted(set(peers) - set(PEERS)):
        parser.error(f"--peers must be any of {', '.join(PEERS)}, but got {', '.join(unknown)}")
    c_tool = rdkafka_performance.program() if "c" in peers else Path()
    config = ProducerConfig.parse(CONFIG)
    order = random.Random(asked.seed)
    found: dict[int, dict[str, list[Run]]] = {}
    with open_target(Target(), lambda said: print(said, file=sys.stderr)) as opened:
        measure = contenders(opened, config, peers, c_tool)
        for size in (int(text) for text in asked.sizes.split(",")):
            workload = Workload(RecordSizes.fixed(size), warmup_s=asked.warmup, measured_s=asked.seconds)
            found[size] = _rounds(measure, workload, asked.rounds, order)
    _print(found, peers)
    if asked.json:
        rates = {str(size): {name: _rates(each) for name, each in runs.items()} for size, runs in found.items()}
        asked.json.write_text(json.dumps(rates, indent=2) + "\n")


def _rounds(
    measure: Mapping[str, Measure], workload: Workload, rounds: int, order: random.Random
) -> dict[str, list[Run]]:
    names = list(measure)
    runs: dict[str, list[Run]] = {name: [] for name in names}
    last = dict.fromkeys(names, Run(min(1e6, 100e6 / workload.record_sizes.mean_bytes)))
    # Round 0 only warms up the broker and shows how many records the Java tool must send. Its results are not used.
    for number in range(rounds + 1):
        order.shuffle(names)
        for name in names:
            last[name] = measure[name](workload, last[name].records_per_s)
            if number:
                runs[name].append(last[name])
        said = ", ".join(f"{name} {last[name].records_per_s:,.0f}" for name in measure)
        print(f"  {workload.record_sizes} B, round {number} of {rounds}: {said}", file=sys.stderr)
    return runs


def _rates(runs: Sequence[Run]) -> list[float]:
    return [run.records_per_s for run in runs]


def _print(found: Mapping[int, Mapping[str, Sequence[Run]]], peers: Sequence[str]) -> None:
    compared = [*peers, *(["best"] if len(peers) > 1 else [])]
    heads = ["record", "native", *(PEERS[peer] for peer in peers)]
    heads += [f"native/{PEERS.get(peer, peer).split()[0]} (95 %)" for peer in compared]
    heads += ["CPU per record: native", "C tool"] if "c" in peers else []
    print(f"| {' | '.join(heads)} |\n|{' ---: |' * len(heads)}")
    for size, runs in found.items():
        rates = {name: _rates(each) for name, each in runs.items()}
        rates["best"] = max((rates[peer] for peer in peers), key=statistics.median)
        cells = [f"{size:,} B", *(f"{statistics.median(rates[name]):,.0f}" for name in runs)]
        cells += [str(ratio_of(rates["native"], rates[peer])) for peer in compared]
        cells += [_cpu(runs["native"]), _cpu(runs["c"])] if "c" in peers else []
        print(f"| {' | '.join(cells)} |")
    goals = [f"{goal} at {size} B" for size, goal in (C_GOALS if peers == ["c"] else GOALS).items()]
    rounds = len(next(iter(found.values()))["native"])
    print(f"\nrecords/s, medians of {rounds} rounds; goals: {', '.join(goals)}")


def _cpu(runs: Sequence[Run]) -> str:
    return f"{statistics.median(run.cpu_us or 0.0 for run in runs):.3f} us"


if __name__ == "__main__":
    run_benchmark(main)
