"""Measures how a new Java process changes a trial of the Java client, with and without the warm-up.

    python -m benchmarks.cold_java [--rounds 7] [--sizes 100,1000,10000]

A trial is a paced phase and then a saturating phase, as in a study, with the client's defaults. In each round, a new
process runs two trials without a warm-up, and another new process runs two trials after a warm-up, in random order. All
trials are compared with the second trial after a warm-up.
"""

import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from benchmarks.evidence import benchmark_parser, run_benchmark, whole_number, whole_numbers
from objectives.ratios import ratio_of
from runners.java_client.java_runner import JavaRunner
from runners.java_client.kept_jvm import end_kept_jvms
from runners.workload import RecordSizes, Workload
from search_spaces.client import java
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.open_target import OpenTarget, open_target
from tuner.model.spec import RATE_RATIO
from tuner.model.target import Target
from tuner.present.console import say

KEPT: Final = ("warmed up", 1)
TRIALS: Final = {
    ("not warmed up", 0): "new, not warmed up",
    ("not warmed up", 1): "its second trial",
    ("warmed up", 0): "new, warmed up",
    KEPT: "its second trial (1)",
}
"""The trials of a round: how the process began and the trial's number in it, with the trial's name in the table."""

Trial = Callable[[bool, float], tuple[float, float]]
"""Runs a trial with or without a warm-up, at a rate, and returns its records/s and its p99 in ms."""


def main() -> None:
    """Measure all record sizes and print a table."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--rounds", type=whole_number, default=7)
    parser.add_argument("--sizes", type=whole_numbers, default="100,1000,10000")
    asked = parser.parse_args()
    order = random.Random(0)
    config = ProducerConfig.parse({}, client=java())
    print("| record | Java process | records/s | ratio to (1) (95 %) | p99 | ratio to (1) (95 %) |")
    print("| ---: | --- | ---: | --- | ---: | --- |")
    with open_target(Target(), say, config.client) as opened:
        for size in asked.sizes:
            _print_size(size, _rounds(_trial(opened, config, RecordSizes.fixed(size)), asked.rounds, order))
    end_kept_jvms()


def _trial(opened: OpenTarget, config: ProducerConfig, sizes: RecordSizes) -> Trial:
    saturate = Workload(sizes, compressibility_ratio=0.5, warmup_s=1.0, measured_s=2.0)
    paced = replace(saturate, warmup_s=0.7, measured_s=1.8)

    def measure(warms_up: bool, rate: float) -> tuple[float, float]:
        with opened.topic_for_run()(saturate) as topic:
            runner = JavaRunner(opened.cluster, topic, warms_up=warms_up)
            slow = runner.run(config, replace(paced, rate_records_per_s=rate)).latency.percentile_us(0.99) / 1e3
            return runner.run(config, saturate).records_per_s, slow

    return measure


def _rounds(trial: Trial, rounds: int, order: random.Random) -> Mapping[tuple[str, int], list[tuple[float, float]]]:
    """Return the values of each trial of all rounds, by its key in `TRIALS`."""
    rate = 1_000.0
    for _ in range(3):  # burn-in trials, because a broker that has just started is slow
        rate = RATE_RATIO * trial(True, rate)[0]
    found = defaultdict(list)
    for number in range(rounds):
        for warms_up in order.sample((True, False), 2):
            end_kept_jvms()
            for index in range(2):
                key = ("warmed up" if warms_up else "not warmed up", index)
                found[key].append(trial(warms_up, rate))
        print(f"  round {number + 1} of {rounds}", file=sys.stderr)
    return found


def _print_size(size: int, found: Mapping[tuple[str, int], Sequence[tuple[float, float]]]) -> None:
    for key, name in TRIALS.items():
        cells = []
        for here, kept in zip(zip(*found[key], strict=True), zip(*found[KEPT], strict=True), strict=True):
            cells += [f"{statistics.median(here):,.4g}", "" if key == KEPT else str(ratio_of(here, kept))]
        print(f"| {size:,} B | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    run_benchmark(main)
