"""How far predictions are from measurements that the fit did not see, on the kept tables of measurements.

    python -m benchmarks.prediction

Some configs of a table calibrate the performance model, and the others are predicted. The configs that calibrate it are
chosen as `tuner calibrate` chooses its probes (`tuner.prediction.probes`). Each measurement was made once, so its own
noise is part of the error. A second table has latencies by rate (`benchmarks.predictions.at_rates`).
"""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import exp
from statistics import fmean
from typing import Final

import numpy as np

from benchmarks.evidence import benchmark_parser, run_benchmark
from benchmarks.predictions.at_rates import print_latencies
from benchmarks.predictions.noise import (
    STICKY_LINGER_MS,
    error_of_means,
    error_of_perfect_model,
    explained_by_cpu,
    scatter_of_defaults,
)
from benchmarks.predictions.of_producers import print_producers
from benchmarks.predictions.packet_model import Packet, PacketModel
from benchmarks.problems.observed import observed, paced_load, start_of
from benchmarks.problems.table import (
    MeasuredTable,
    embedded_grid,
    java_grid,
    large_records_grid,
    small_records_grid,
    small_records_java_grid,
    three_brokers_grid,
    undisturbed_grid,
)
from runners.performance_model.constants import EMBEDDED, ClusterConstants
from search_spaces.configs.producer_config import ProducerConfig
from tuner.prediction.calibration import calibrate, uncalibrated
from tuner.prediction.correction import limited_logs, logs_above_model, modelled_for, noise_ratios
from tuner.prediction.intervals import ModelledLoad
from tuner.prediction.observations import Observation
from tuner.prediction.predicted_metrics import BATCHES, CPU, FITTED, FULL_SPEED_METRICS, LATENCIES, WIRE
from tuner.prediction.predicting import predict, predict_all
from tuner.prediction.probes import chosen_probes
from tuner.regression.solving import solve

TABLES: Final[Mapping[str, Callable[[], MeasuredTable]]] = {
    "100 B": small_records_grid,
    "1 kB": embedded_grid,
    "1 kB, nothing else on the host": undisturbed_grid,
    "10 kB": large_records_grid,
    "1 kB, three brokers": three_brokers_grid,
    "1 kB, Java client": java_grid,
    "100 B, Java client": small_records_java_grid,
}
PROBES: Final = (0, 12, 25, 60)
THROUGHPUT, RECORDS_IN_BATCH, WIRE_BYTES, PAYLOAD, STORED = (
    "throughput",
    "records in a batch",
    "bytes on the wire",
    "payload share",
    "stored bytes",
)
GOAL_RATIO: Final[Mapping[str, float]] = {
    THROUGHPUT: 0.05,
    "latency_p50_ms": 0.15,
    "latency_p99_ms": 0.30,
    RECORDS_IN_BATCH: 0.05,
    WIRE_BYTES: 0.05,
    PAYLOAD: 0.03,
    STORED: 0.01,
}
"""The goals: by what is predicted, how large the mean error of the predictions may be."""
_NAMES: Final[Mapping[str, str]] = {"records_per_s": THROUGHPUT, WIRE: WIRE_BYTES, BATCHES: RECORDS_IN_BATCH}
"""What the tables call some of the metrics."""
_STEADY_RATIO: Final = 0.5
"""Up to this share of its throughput, a config's latency hardly differs from one measurement to the next."""
_ABOUT_NOISE: Final = (
    "The next table shows how noisy the measurements are. The median latency of a config is called *steady* if the "
    f"rate is at most half of the config's throughput, and `linger.ms` is at least {STICKY_LINGER_MS}. *Scatter* is "
    "the standard deviation of the logarithms of repeated measurements. *Explained by CPU time* is the R2 between the "
    "throughput of repeats and the CPU time that client and brokers took for a megabyte."
)
_RUNS: Final = 200
_POINTS: Final = 1_000


def main() -> None:
    """Print the errors of the predictions, and how long predictions take."""
    benchmark_parser(__doc__).parse_args()
    print("| table | probes |", " | ".join(f"{name} (goal {goal:.0%})" for name, goal in GOAL_RATIO.items()), "|")
    print("| --- | ---: |", "---: | " * len(GOAL_RATIO), sep=" ")
    inside: dict[int, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    missed: dict[int, int] = defaultdict(int)
    straight: dict[int, list[float]] = defaultdict(list)
    medians: dict[str, _Errors] = {}
    for name, read in TABLES.items():
        table = read()
        seen, start = observed(table), start_of(table)
        for count in PROBES:
            chosen = chosen_probes(list(seen), count, paced_load(seen), start)
            rest = {config: each for config, each in seen.items() if config not in chosen}
            errors = _errors(start, chosen, seen, rest)
            print(f"| {name} | {count or 'none'} | {' | '.join(map(errors.cell, GOAL_RATIO))} |")
            if count:
                paper = _by_the_paper(chosen, seen, rest)
                straight[count].append(paper.r_squared)
                print(f"| {name} | {count}, by the paper's model | {' | '.join(map(paper.cell, GOAL_RATIO))} |")
            if count == PROBES[1]:
                medians[name] = errors
                smoothed = _smoothed(start, seen)
                cells = map(_errors(start, chosen, smoothed, {each: smoothed[each] for each in rest}).cell, GOAL_RATIO)
                print(f"| {name} | {count}, smoothed | {' | '.join(cells)} |")
            for metric, held in errors.inside.items():
                inside[count][metric] += held
            missed[count] += errors.missed
        print(f"| {name} | all others | {' | '.join(map(_leave_one_out(start, seen).cell, GOAL_RATIO))} |")
    _print_shares_inside(inside, missed)
    explained = [f"{fmean(found):.2f} with {count} probes" for count, found in straight.items()]
    print(
        "\nThe paper fits a line to the time between two packets, over their size. Its R2 on these tables, on average:",
        end=" ",
    )
    print(f"{', '.join(explained)}; in the paper, it is close to 0.99.")
    _print_noise(medians)
    _print_times()
    print()
    print_latencies()
    print()
    print_producers()


@dataclass
class _Errors:
    """How far predictions are from measurements.

    Attributes:
        ratios: By what is predicted, the error of each prediction as a share of the measured value.
        inside: By metric, whether each measurement lies in its interval; not if the prediction is that the rate can't
            be held.
        missed: Number of measured latencies for which the model predicts none.
        steady: The errors of the median latencies that hardly differ from one measurement to the next.
        unsteady: The errors of the other median latencies.
        r_squared: For the paper's model, the share of the intervals' variance that its line explains.
    """

    ratios: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    inside: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    missed: int = 0
    steady: list[float] = field(default_factory=list)
    unsteady: list[float] = field(default_factory=list)
    r_squared: float = 0.0

    def cell(self, name: str) -> str:
        """Return the mean error, in bold type if it misses its goal; a dash if nothing was measured."""
        off = self.ratios[name]
        if not off:
            return "-"
        return f"{fmean(off):.1%}" if fmean(off) <= GOAL_RATIO[name] else f"**{fmean(off):.1%}**"


def _errors(
    start: ClusterConstants,
    chosen: Sequence[ProducerConfig],
    seen: Mapping[ProducerConfig, Sequence[Observation]],
    rest: Mapping[ProducerConfig, Sequence[Observation]],
) -> _Errors:
    """Calibrate the model, which begins with `start`, with the `chosen` configs, and predict those in `rest`."""
    known = [each for config in chosen for each in seen[config]]
    calibration = calibrate(known, start) if known else uncalibrated(start)
    errors = _Errors()
    for each in (each for found in rest.values() for each in found):
        config, load, values = each.config, each.workload, each.values
        here = predict(calibration, config, load).values
        [modelled] = ModelledLoad.of(calibration, (each.settings, load))
        batches = modelled.intervals([BATCHES])[BATCHES]
        compared: dict[str, tuple[float, float]] = {}
        if load.rate_records_per_s is None:
            compared[THROUGHPUT] = here["records_per_s"].value, values["records_per_s"]
            wire = here[WIRE].value
            if WIRE in values:
                compared[WIRE_BYTES] = wire, values[WIRE]
                if config.compression == "none":
                    compared[PAYLOAD] = 1 / wire, 1 / values[WIRE]
        else:
            compared |= {name: (here[name].value, values[name]) for name in LATENCIES if name in here}
            missed = {*LATENCIES} & values.keys() - here.keys()
            errors.missed += len(missed)
            for name in missed:
                errors.inside[name].append(False)
            if "stored_bytes_per_record" in values:
                compared[STORED] = modelled.stored_bytes_per_record.value, values["stored_bytes_per_record"]
        if BATCHES in values:
            compared[RECORDS_IN_BATCH] = batches.value, values[BATCHES]
        for name, (predicted, measured) in compared.items():
            errors.ratios[name].append(abs(predicted / measured - 1))
        if LATENCIES[0] in compared:
            full_speed = rest[config][0].values["records_per_s"]
            waits = not config.values or config.linger_ms >= STICKY_LINGER_MS
            steady = waits and (load.rate_records_per_s or full_speed) <= _STEADY_RATIO * full_speed
            (errors.steady if steady else errors.unsteady).append(errors.ratios[LATENCIES[0]][-1])
        fitted = {*FULL_SPEED_METRICS, *LATENCIES, *CPU} & here.keys() & values.keys()
        intervals = {name: here[name] for name in fitted} | {BATCHES: batches}
        for name, interval in intervals.items():
            if name in values:
                errors.inside[name].append(interval.low <= values[name] <= interval.high)
    return errors


def _smoothed(
    start: ClusterConstants, seen: Mapping[ProducerConfig, Sequence[Observation]]
) -> dict[ProducerConfig, list[Observation]]:
    """Return measurements with less noise: their values come from the model, fitted to all of them and corrected."""
    calibration = calibrate([each for found in seen.values() for each in found], start)
    smoothed = defaultdict(list)
    for each in (each for found in seen.values() for each in found):
        [modelled] = ModelledLoad.of(calibration, (each.settings, each.workload))
        fitted = modelled.intervals([name for name in FITTED if name in each.values])
        values = {name: interval.value for name, interval in fitted.items()}
        smoothed[each.config].append(replace(each, values={**each.values, **values}))
    return smoothed


def _leave_one_out(start: ClusterConstants, seen: Mapping[ProducerConfig, Sequence[Observation]]) -> _Errors:
    """Return the errors for each config if all others are known: most of it is noise of the measurements.

    The constants are fitted to all configs, and only the correction is learnt without the config. Source: Rasmussen
    and Williams (2006), equation 5.12.
    """
    known = [each for found in seen.values() for each in found]
    errors = _Errors()
    calibration = calibrate(known, start)
    for metric, found in calibration.corrections.items():
        inverse = solve(found.process.root, np.eye(len(found.process.root)))
        measured = [each for each in known if metric in each.values]
        modelled = modelled_for(metric, measured, calibration.constants, calibration.corrections)
        # The process has learnt from the values without outliers, and is judged by the values as they are.
        logs, ratios = logs_above_model(metric, measured, modelled), noise_ratios(metric, measured, modelled)
        off = found.process.weights / np.diag(inverse) + logs - limited_logs(metric, logs, ratios)
        for each, left in zip(measured, off, strict=True):
            if metric in LATENCIES and predict(calibration, each.config, each.workload).no_latency:
                continue
            errors.ratios[_NAMES.get(metric, metric)].append(abs(exp(-left) - 1))
    return errors


def _by_the_paper(
    chosen: Sequence[ProducerConfig],
    seen: Mapping[ProducerConfig, Sequence[Observation]],
    rest: Mapping[ProducerConfig, Sequence[Observation]],
) -> _Errors:
    """Return the errors of what the paper's model predicts from the same probes."""
    packets = {
        config: Packet.of(config, found[0].workload, found[0].workload.replication) for config, found in seen.items()
    }
    rates = [seen[config][0].values["records_per_s"] for config in chosen]
    model = PacketModel.fitted([packets[config] for config in chosen], rates)
    errors = _Errors(r_squared=model.r_squared)
    for each in (each for found in rest.values() for each in found):
        packet, values, load = packets[each.config], each.values, each.workload
        compared: dict[str, tuple[float, float]] = {}
        if BATCHES in values:
            compared[RECORDS_IN_BATCH] = packet.batch_records, values[BATCHES]
        if "stored_bytes_per_record" in values:
            compared[STORED] = (
                model.stored_bytes(packet, 1.0) / model.records_per_s(packet),
                values["stored_bytes_per_record"],
            )
        if load.rate_records_per_s is None:
            compared[THROUGHPUT] = model.records_per_s(packet), values["records_per_s"]
            if WIRE in values:
                compared[WIRE_BYTES] = 1 / packet.payload_ratio, values[WIRE]
                if each.config.compression == "none":
                    compared[PAYLOAD] = packet.payload_ratio, 1 / values[WIRE]
        for name, (predicted, measured) in compared.items():
            errors.ratios[name].append(abs(predicted / measured - 1))
    return errors


def _print_shares_inside(inside: Mapping[int, Mapping[str, Sequence[bool]]], missed: Mapping[int, int]) -> None:
    """Print how many measurements lie in the predicted intervals, for each metric and number of probes, as a share."""
    print("\nShare of the measurements inside their intervals (goal: 90 %):\n")
    print("| measured |", " | ".join(f"{count} probes" if count else "no probes" for count in inside), "|")
    print("| --- |", "---: | " * len(inside), sep=" ")
    for metric in (*FULL_SPEED_METRICS, BATCHES, *LATENCIES, *CPU):
        print(f"| {_NAMES.get(metric, metric)} |", end="")
        print(*(f" {fmean(held[metric]):.0%} |" if held.get(metric) else " - |" for held in inside.values()), sep="")
    print("| all |", *(f" {fmean(chain(*held.values())):.0%} |" for held in inside.values()), sep="")
    counts = ", ".join(f"{many} with {count or 'no'} probes" for count, many in missed.items())
    print(f"\nFor some measured latencies, the model predicts none. They count as outside: {counts}.")


def _print_noise(medians: Mapping[str, _Errors]) -> None:
    """Print a table that shows how noisy each table of measurements is, and which medians are predicted well."""
    print(f"\n{_ABOUT_NOISE}\n")
    print(f"| measurements | p50 error, steady, {PROBES[1]} probes | p50 error, others |", end="")
    print(" scatter of the defaults: throughput | p50 | p99 | throughput error of a perfect model |", end="")
    print(f" throughput error, means of repeats, {PROBES[1]} probes | explained by CPU time |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, errors in medians.items():
        rows = TABLES[name]()
        shares = [f"{fmean(each):.0%}" for each in (errors.steady, errors.unsteady)]
        shares += [f"{sd:.0%}" for sd in scatter_of_defaults(rows)]
        shares += [
            f"{error_of_perfect_model(rows):.1%}",
            f"{error_of_means(rows, PROBES[1]):.1%}",
            explained_by_cpu(rows),
        ]
        print(f"| {name} | {' | '.join(shares)} |")


def _print_times() -> None:
    seen = observed(embedded_grid())
    load = paced_load(seen)
    chosen = chosen_probes(list(seen), PROBES[1], load, EMBEDDED)
    calibration = calibrate([each for config in chosen for each in seen[config]])
    configs = [
        ProducerConfig.parse({"linger.ms": f"{index / 10:g}", "batch.size": "131072"}) for index in range(_POINTS)
    ]
    began_s = time.perf_counter()
    for config in configs[:_RUNS]:
        predict(calibration, config, load)
    once_ms = 1e3 * (time.perf_counter() - began_s) / _RUNS
    began_s = time.perf_counter()
    predict_all(calibration, [(config, load, 1) for config in configs])
    sweep_s = time.perf_counter() - began_s
    print(f"\nA prediction takes {once_ms:.1f} ms (goal: at most 50 ms),", end=" ")
    print(f"and a sweep of {_POINTS:,} points {sweep_s:.1f} s (goal: at most 5 s).")


if __name__ == "__main__":
    run_benchmark(main)
