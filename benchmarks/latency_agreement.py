"""Compares the latency that we measure with the client's own statistics. Both must agree within 3 %.

The limit of 3 % comes from the VU thesis (De Vos Meaker, 2020).

python -m benchmarks.latency_agreement [--client librdkafka] [--runs 3] [--seconds 20]
"""

import sys

from benchmarks.evidence import add_client, benchmark_parser, positive_number, run_benchmark, whole_number
from runners.measurements.measurement import LATENCY_AGREEMENT_RATIO
from runners.workload import RecordSizes, Workload
from search_spaces.client import Client, ClientKind
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.open_target import open_target
from tuner.model.target import Target
from tuner.present.console import say

# Rates that the broker can keep up with. If the client's queue filled and emptied, our mean and the client's mean would
# cover different records.
LOADS = ((10, 100_000.0), (100_000, 500.0), (10, None), (100_000, None))
# In the averages of the Java client each request has the same weight, however many batches it has. With one partition,
# a request has one batch, so the client's mean is the mean over the records.
PARTITIONS = {ClientKind.LIBRDKAFKA: 3, ClientKind.JAVA: 1}
CONFIGS = {
    ClientKind.LIBRDKAFKA: {"queue.buffering.max.kbytes": "32768"},
    ClientKind.JAVA: {"buffer.memory": "33554432"},
}


def main() -> None:
    """Measure, and print a table. The exit code is 1 if a latency differs from the client's by more than 3 %."""
    parser = benchmark_parser(__doc__)
    add_client(parser)
    parser.add_argument("--runs", type=whole_number, default=3)
    parser.add_argument("--seconds", type=positive_number, default=20.0)
    asked = parser.parse_args()
    client: Client = asked.client
    config = ProducerConfig.parse(CONFIGS[client.kind], client=client)
    missed = False
    with open_target(Target(), say, client) as opened:
        runner = opened.runner()
        print("| record | load | seen | client's own | queue | batch | socket | round trip | difference | drain |")
        print("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        for size, rate in LOADS:
            workload = Workload(
                RecordSizes.fixed(size),
                partitions=PARTITIONS[client.kind],
                warmup_s=4.0,
                measured_s=asked.seconds,
                rate_records_per_s=rate,
            )
            for _ in range(asked.runs):
                check = runner.run(config, workload).latency_check
                assert check is not None
                parts = (check.seen_us, check.client_us, check.queue_us, check.batch_us, check.outbuf_us, check.rtt_us)
                times = " | ".join(map(_ms, parts))
                load = "saturate" if rate is None else f"{rate:,.0f}/s"
                waited = _ms(check.drain_us)
                print(f"| {size:,} B | {load} | {times} | {check.difference_ratio:+.2%} | {waited} |", flush=True)
                missed |= abs(check.difference_ratio) > LATENCY_AGREEMENT_RATIO
    print(f"\nGoal (within {LATENCY_AGREEMENT_RATIO:.0%}): {'missed' if missed else 'met'}")
    sys.exit(1 if missed else 0)


def _ms(time_us: float | None) -> str:
    """Return a time in milliseconds; an empty cell if it is unknown."""
    return "" if time_us is None else f"{time_us / 1e3:.3f} ms"


if __name__ == "__main__":
    run_benchmark(main)
