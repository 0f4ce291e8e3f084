"""Measures some values of linger.ms at a fixed rate, on a broker that is started on this machine.

All values are measured on the same broker, which `tuner.bench` would start anew for each. Run it with

    python examples/sweep_linger.py
"""

from runners.workload import RecordSizes, Workload
from search_spaces import ProducerConfig
from tuner.execution.open_target import open_target
from tuner.model.target import Target


def main() -> None:
    """Print the latency of each value of linger.ms."""
    workload = Workload(RecordSizes.fixed(1000), warmup_s=2, measured_s=5, rate_records_per_s=10_000)
    with open_target(Target(), progress=print) as opened:
        runner = opened.runner()
        for linger_ms in (0, 1, 5, 20):
            seen = runner.run(ProducerConfig.parse({"linger.ms": linger_ms}), workload)
            p50, p99 = (seen.latency.percentile_us(ratio) / 1e3 for ratio in (0.5, 0.99))
            print(f"linger.ms={linger_ms:<3} p50 {p50:7.2f} ms   p99 {p99:7.2f} ms")


if __name__ == "__main__":
    main()
