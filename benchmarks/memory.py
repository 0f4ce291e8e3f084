"""Measures how much the load generator's memory grows from minute 1 to minute 5 of a load.

The load has 200,000 records of 100 B per second.

python -m benchmarks.memory [--minutes 5]
"""

import multiprocessing
import sys

import psutil

from benchmarks.evidence import benchmark_parser, positive_number, run_benchmark
from runners.measurements.measurement import Window
from runners.runner import WatchDecision
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.open_target import open_target
from tuner.model.target import Target
from tuner.present.console import say

MAX_GROWTH_BYTES = 5_000_000


def main() -> None:
    """Measure and print the growth; the exit code is 1 if the goal is missed."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--minutes", type=positive_number, default=5.0)
    asked = parser.parse_args()
    workload = Workload(
        RecordSizes.fixed(100), warmup_s=0.0, measured_s=asked.minutes * 60, rate_records_per_s=200_000.0
    )
    resident: list[tuple[float, int]] = []

    def watch(window: Window) -> WatchDecision:
        for child in multiprocessing.active_children():
            resident.append((window.at_s, psutil.Process(child.pid).memory_info().rss))
        if window.number % 60 == 59 and resident:
            print(f"- minute {window.at_s / 60:.0f}: {resident[-1][1] / 1e6:.2f} MB resident", flush=True)
        return WatchDecision.GO_ON

    with open_target(Target(), say) as opened:
        seen = opened.runner().run(ProducerConfig.parse({}), workload, watch)
    from_minute = min(1.0, asked.minutes / 2)
    first = next(size for at_s, size in resident if at_s >= 60 * from_minute)
    growth = resident[-1][1] - first
    print(f"- {seen.counts.acknowledged:,} records acknowledged, counts agree: {seen.counts.agree}")
    print(f"- growth from minute {from_minute:g} to minute {asked.minutes:g}: {growth / 1e6:+.2f} MB", end=" ")
    print(f"(goal: less than {MAX_GROWTH_BYTES / 1e6:.0f} MB: {'met' if growth < MAX_GROWTH_BYTES else 'missed'})")
    sys.exit(0 if growth < MAX_GROWTH_BYTES else 1)


if __name__ == "__main__":
    run_benchmark(main)
