"""How far predictions are from measurements that the fit did not see, on the kept tables of measurements.

    python -m benchmarks.prediction

Some configs of a table calibrate the performance model, and the others are predicted. The configs that calibrate it are
chosen as `tuner calibrate` chooses its probes (`tuner.prediction.probes`). Each measurement was made once, so its own
noise is part of the error.
"""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, log
from statistics import fmean, median
from typing import Final

from benchmarks.evidence import benchmark_parser, run_benchmark
from benchmarks.packet_model import Packet, PacketModel
from benchmarks.problems.table import MeasuredTable, Row, embedded_grid, java_grid
from runners.performance_model.constants import EMBEDDED
from runners.performance_model.performance import perform
from runners.performance_model.settings import Settings
from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig
from tuner.prediction.calibration import Calibration, calibrate, value_of
from tuner.prediction.observations import PACED, SATURATED, Observation
from tuner.prediction.predicting import predict
from tuner.prediction.probes import spread_out

PHASES: Final[Mapping[str, tuple[str, ...]]] = {"saturated": SATURATED, "paced": PACED}
PROBES: Final = (12, 25)
GOAL_RATIO: Final[Mapping[str, float]] = {"records_per_s": 0.05, "latency_p50_ms": 0.15, "latency_p99_ms": 0.30}
"""The goals: by metric, how large the mean error of the predictions may be."""
_HELD: Final = 0.98
_RUNS: Final = 200


def main() -> None:
    """Print the errors of the predictions, and how long a prediction takes."""
    benchmark_parser(__doc__).parse_args()
    print("| table | probes | metric | predicted | mean error | median error | goal | in the interval (goal: 90 %) |")
    print("| --- | ---: | --- | ---: | ---: | ---: | --- | ---: |")
    calibration = None
    for name, table in (("librdkafka", embedded_grid()), ("Java", java_grid())):
        seen = observed(table)
        for count in (0, *PROBES):
            chosen = spread_out(list(seen), count, paced_load(seen), EMBEDDED)
            calibration = calibrate([each for config in chosen for each in seen[config]]) if count else None
            rest = {config: each for config, each in seen.items() if config not in chosen}
            for line in _lines(rest, calibration):
                print(f"| {name} | {count or 'none'} | {line} |")
            if count:
                print(f"| {name} | {count} | {_by_the_paper(chosen, seen, rest)} |")
    assert calibration is not None
    config, (first, *_) = next(iter(observed(java_grid()).items()))
    began_s = time.perf_counter()
    for _ in range(_RUNS):
        predict(calibration, config, first.workload)
    print(f"\nA prediction takes {1e3 * (time.perf_counter() - began_s) / _RUNS:.1f} ms (goal: 50 ms).")


def observed(table: MeasuredTable) -> dict[ProducerConfig, list[Observation]]:
    """Return what a table has measured, by config: the saturating load, and the paced load if the config held it."""
    rows: dict[ProducerConfig, list[Row]] = defaultdict(list)
    for row in table.rows:
        rows[row.config].append(row)
    return {config: _observations(table, repeats) for config, repeats in rows.items()}


def _observations(table: MeasuredTable, repeats: Sequence[Row]) -> list[Observation]:
    first = repeats[0]
    load = Workload(
        first.sizes,
        compressibility_ratio=float(table.facts["compressibility_ratio"]),
        partitions=int(table.facts["partitions"]),
    )
    records_per_s = _mean([row.metrics["mb_per_s"] for row in repeats]) * 1e6 / first.sizes.mean_bytes
    found = [Observation(first.config, load, {"records_per_s": records_per_s})]
    held = [row for row in repeats if row.metrics.get("held_rate_ratio", 0.0) >= _HELD]
    if held:
        values = {name: _mean([row.metrics[name] for row in held]) for name in PACED}
        found.append(Observation(first.config, replace(load, rate_records_per_s=first.rate_records_per_s), values))
    return found


def paced_load(seen: Mapping[ProducerConfig, Sequence[Observation]]) -> Workload:
    """Return the load of a table's paced phases."""
    return next(each.workload for found in seen.values() for each in found if each.workload.rate_records_per_s)


def _lines(rest: Mapping[ProducerConfig, Sequence[Observation]], calibration: Calibration | None) -> list[str]:
    """Return the cells of each metric: how many values, their errors, the goal, and how many are in the interval."""
    errors: dict[str, list[float]] = defaultdict(list)
    inside: dict[str, list[bool]] = defaultdict(list)
    for config, seen in rest.items():
        for each in seen:
            told = None if calibration is None else predict(calibration, config, each.workload)
            bare = perform(EMBEDDED, Settings.of(config, each.workload), each.workload)
            for name, value in each.values.items():
                if told is not None and name not in told.values:
                    continue
                predicted = value_of(bare, name) if told is None else told.values[name].value
                errors[name].append(abs(predicted / value - 1))
                if told is not None:
                    inside[name].append(told.values[name].low <= value <= told.values[name].high)
    return [
        f"{name} | {len(off)} | {fmean(off):.1%} | {median(off):.1%} | {_goal(name, fmean(off), calibration)} | "
        f"{f'{fmean(inside[name]):.0%}' if inside[name] else '-'}"
        for name, off in errors.items()
    ]


def _by_the_paper(
    chosen: Sequence[ProducerConfig],
    seen: Mapping[ProducerConfig, Sequence[Observation]],
    rest: Mapping[ProducerConfig, Sequence[Observation]],
) -> str:
    """Return the cells for the throughput that the paper's model predicts from the same probes."""

    def measured(config: ProducerConfig) -> tuple[Packet, float]:
        first = seen[config][0]
        return Packet.of(config, first.workload), first.values["records_per_s"]

    packets, rates = zip(*map(measured, chosen), strict=True)
    model = PacketModel.fitted(packets, rates)
    off = [abs(model.records_per_s(packet) / rate - 1) for packet, rate in map(measured, rest)]
    return f"records_per_s, by the paper's model | {len(off)} | {fmean(off):.1%} | {median(off):.1%} | - | -"


def _goal(metric: str, mean: float, calibration: Calibration | None) -> str:
    if calibration is None or metric not in GOAL_RATIO:
        return "-"
    return f"{GOAL_RATIO[metric]:.0%}, {'met' if mean <= GOAL_RATIO[metric] else '**missed**'}"


def _mean(values: Sequence[float]) -> float:
    return exp(fmean(map(log, values)))


if __name__ == "__main__":
    run_benchmark(main)
