"""Measures a few configs at several rates with a consumer beside, for a table on which predicted latencies are tested.

    python -m benchmarks.measured_rates FILE.csv [--first]

Each config is measured on an embedded broker, first under a saturating load, and then at 5 to 80 % of the throughput
that it had there. A consumer reads all records meanwhile. It takes about 4 minutes and writes 25 GB to the broker,
which deletes them after each measurement.

The configs of `--first` were used to derive the model's formula for the wait after pauses. The others were not used for
any formula.
"""

import argparse
import csv
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.measured_grid import burn_in, facts, load_of
from objectives.row_metrics import row_metrics_of
from runners.consumer_runs.with_consumers import TailConsumers, WithConsumers
from runners.load.isolated import Isolated, end_reused_processes
from runners.workload import Workload
from search_spaces.client import Client, librdkafka
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.open_target import OpenTarget, open_target
from tuner.model.target import Target

FIRST: Final = (
    (1000, "", "", ""),
    (1000, "0", "16384", ""),
    (1000, "20", "131072", "lz4"),
    (1000, "2", "1000000", "zstd"),
    (100, "", "", ""),
    (100, "1", "65536", "lz4"),
)
"""Record size, linger.ms, batch.size and compression.type; an empty value leaves the client's default."""
UNSEEN: Final = (
    (1000, "5", "131072", ""),
    (1000, "0.5", "262144", "lz4"),
    (1000, "50", "1000000", "snappy"),
    (100, "5", "262144", "zstd"),
    (10000, "", "", ""),
    (10000, "2", "1000000", "lz4"),
)
"""Further configs, in the same form."""
NAMES: Final = ("linger.ms", "batch.size", "compression.type")
RATE_RATIOS: Final = (0.05, 0.2, 0.4, 0.6, 0.8)
METRICS: Final = (
    "mb_per_s",
    "held_rate_ratio",
    "latency_mean_ms",
    "latency_p50_ms",
    "latency_p90_ms",
    "latency_p95_ms",
    "latency_p99_ms",
    "latency_p999_ms",
    "end_to_end_mean_ms",
    "end_to_end_p50_ms",
    "end_to_end_p99_ms",
    "consumer_cpu_ms_per_mb",
    "wire_bytes_per_value_byte",
    "batch_records",
)
_WARMUP_S, _MEASURED_S = 1.0, 3.0


def main() -> None:
    """Measure the configs, and write a row for each load."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("file", type=Path)
    parser.add_argument("--first", action="store_true", help="measure the configs that the model's form came from")
    asked = parser.parse_args()
    load = replace(load_of(1000, 1), warmup_s=_WARMUP_S, measured_s=_MEASURED_S, consumers=1)
    with open_target(Target(), print) as opened, asked.file.open("w", newline="") as file:
        burn_in(opened, replace(load, consumers=0))
        file.write(_head(librdkafka(), load))
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("record_bytes", *NAMES, "rate_records_per_s", *METRICS))
        for size, *values in FIRST if asked.first else UNSEEN:
            config = ProducerConfig.parse({name: text for name, text in zip(NAMES, values, strict=True) if text})
            saturating = replace(load, record_sizes=load_of(size, 1).record_sizes)
            seen = _measured(opened, config, saturating)
            out.writerow(_row(size, values, saturating, seen))
            for ratio in RATE_RATIOS:
                paced = replace(saturating, rate_records_per_s=round(ratio * seen["records_per_s"], 1))
                out.writerow(_row(size, values, paced, _measured(opened, config, paced)))
                file.flush()
            print(f"{size} B, {' '.join(filter(None, values)) or 'defaults'}: {seen['mb_per_s']:.0f} MB/s")
    end_reused_processes()


def _measured(opened: OpenTarget, config: ProducerConfig, load: Workload) -> dict[str, float]:
    with opened.topic_for_run()(load) as topic:
        runner = WithConsumers(
            Isolated(opened.on_topic(topic), reuses_process=True), TailConsumers(opened.cluster, topic)
        )
        return row_metrics_of(runner.run(config, load))


def _row(size: int, values: list[str], load: Workload, seen: dict[str, float]) -> list[str]:
    rate = "" if load.rate_records_per_s is None else f"{load.rate_records_per_s}"
    return [str(size), *values, rate, *(f"{seen[name]:.6g}" if name in seen else "" for name in METRICS)]


def _head(client: Client, load: Workload) -> str:
    how = (
        f"each config once: {_WARMUP_S:g} + {_MEASURED_S:g} s saturating, then as long at each of "
        f"{', '.join(f'{ratio:.0%}' for ratio in RATE_RATIOS)} of that throughput, each on a new topic; one consumer"
    )
    return facts("latencies by rate, with a consumer", "python -m benchmarks.measured_rates", how, client, load)


if __name__ == "__main__":
    main()
