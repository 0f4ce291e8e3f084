"""Measures the pacing of 20,000 records of 1 kB per second: send delay, rate, and how much one config's p99 varies.

The send delay is the time from when a record is due until it is sent.

python -m benchmarks.paced [--client librdkafka] [--runs 5] [--seconds 10]
"""

import statistics
import sys

from benchmarks.evidence import add_client, benchmark_parser, positive_number, run_benchmark, whole_number
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.open_target import open_target
from tuner.model.target import Target
from tuner.present.console import say

RATE = 20_000.0
MAX_DELAY_P99_MS = 2.0
MAX_RATE_ERROR_RATIO = 0.005


def main() -> None:
    """Measure and print the table; the exit code is 1 if a goal is missed."""
    parser = benchmark_parser(__doc__)
    add_client(parser)
    parser.add_argument("--runs", type=whole_number, default=5)
    parser.add_argument("--seconds", type=positive_number, default=10.0)
    asked = parser.parse_args()
    workload = Workload(RecordSizes.fixed(1000), warmup_s=3.0, measured_s=asked.seconds, rate_records_per_s=RATE)
    config = ProducerConfig.parse({}, client=asked.client)
    with open_target(Target(), say, config.client) as opened:
        runner = opened.runner()
        runner.run(config, workload)  # a burn-in run, because a broker that has just started is slow
        runs = [runner.run(config, workload) for _ in range(asked.runs)]
    print("| run | records/s | off by | send delay p50 | p99 | max | latency p50 | p99 | p99.9 |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    missed = False
    for number, run in enumerate(runs):
        off = run.records_per_s / RATE - 1
        delay, latency = run.send_delay, run.latency
        cells = [delay.percentile_us(0.5), delay.percentile_us(0.99), delay.percentile_us(1.0)]
        cells += [latency.percentile_us(ratio) for ratio in (0.5, 0.99, 0.999)]
        times = " | ".join(f"{value / 1e3:.2f} ms" for value in cells)
        print(f"| {number + 1} | {run.records_per_s:,.0f} | {off:+.2%} | {times} |")
        missed |= abs(off) > MAX_RATE_ERROR_RATIO or delay.percentile_us(0.99) / 1e3 > MAX_DELAY_P99_MS
    p99 = [run.latency.percentile_us(0.99) / 1e3 for run in runs]
    spread = (max(p99) - min(p99)) / statistics.median(p99)
    print(
        f"\n- latency p99 over {len(runs)} runs: {min(p99):.2f} to {max(p99):.2f} ms, spread {spread:.0%} of the median"
    )
    print(f"- goals (send delay p99 < {MAX_DELAY_P99_MS} ms, rate within {MAX_RATE_ERROR_RATIO:.1%}): ", end="")
    print("missed" if missed else "met")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    run_benchmark(main)
