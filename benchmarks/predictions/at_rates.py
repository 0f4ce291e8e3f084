"""Computes the errors of predicted latencies at rates of up to 80 % of the capacity.

Two models are compared on the stored table of six configs that were measured with a consumer
(`benchmarks.measured_rates`). Each model gets the throughput of a config and its latency at 5 % of this throughput, and
predicts the latency at the higher rates:

- ours, calibrated by these measurements;
- the queue of Wu, Shang and Wolter (2019), M/PH/1. The latencies at 5 % give the distribution of its service times,
  scaled so that the queue is as busy as the config. Its waiting time is added to the mean latency at 5 %.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from statistics import fmean
from typing import Final

import numpy as np

from benchmarks.predictions.queueing import Array, fitted, mean_response_s
from benchmarks.problems.latency import PERCENTILES
from benchmarks.problems.table import MeasuredTable, Row, unseen_rates_table
from runners.performance_model.performance import performance_of_settings
from runners.performance_model.settings import Settings
from tuner.prediction.calibration import Calibration, calibrate
from tuner.prediction.observations import Observation
from tuner.prediction.predicted_metrics import CONSUMERS, LATENCIES
from tuner.prediction.predicting import predict

_LOWEST: Final = 0.1
"""The lowest rate of a config is below this share of its throughput."""
_SAMPLES: Final = 500
OURS: Final = ("latency_p50_ms", "latency_p99_ms", "end_to_end_p50_ms", "end_to_end_p99_ms")
OUR_MEAN, THEIR_MEAN = "end_to_end_mean_ms, ours", "end_to_end_mean_ms, M/PH/1"


def print_latencies() -> None:
    """Print the errors by rate."""
    names = (*OURS, OUR_MEAN, THEIR_MEAN)
    print(f"| rate | {' | '.join(names)} | ours in their intervals |")
    print("| ---: |", " ---: |" * (len(names) + 1), sep="")
    for share, found in errors_at_rates(unseen_rates_table()).items():
        cells = [f"{fmean(map(abs, found.errors[name])):.0%} ({fmean(found.errors[name]):+.0%})" for name in names]
        print(f"| {share:.0%} | {' | '.join(cells)} | {fmean(found.inside):.0%} |")
    print("\nMean error, and in parentheses the mean of the errors with their signs: below 0, a model underestimates.")


@dataclass
class AtRate:
    """How far the predictions are from the measurements at one rate.

    Attributes:
        errors: By predicted metric, the error for each config with its sign, as a share of the measured value.
        inside: Whether each latency lies in the interval that our model predicts; not if it predicts none.
    """

    errors: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    inside: list[bool] = field(default_factory=list)


def errors_at_rates(table: MeasuredTable) -> Mapping[float, AtRate]:
    """Return the errors of all configs, by the rate as a share of the throughput."""
    configs: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in table.rows:
        configs[str(row.sizes), row.config.fingerprint].append(row)
    calibration = calibrate([each for rows in configs.values() for each in _known(table, rows)])
    found: dict[float, AtRate] = defaultdict(AtRate)
    for rows in configs.values():
        for row in rows:
            share = _share(row, rows)
            if share is None or share < _LOWEST:
                continue
            here, intervals = found[round(share, 2)], predict(calibration, row.config, table.load_of(row)).values
            predictions = {name: intervals[name].value for name in OURS if name in intervals}
            if "end_to_end_p50_ms" in predictions:
                predictions[OUR_MEAN] = predictions["end_to_end_p50_ms"] * _mean_of_median(table, calibration, row)
            predictions[THEIR_MEAN] = _by_the_queue(row, rows, share)
            for name, predicted in predictions.items():
                here.errors[name].append(predicted / row.metrics[name.partition(",")[0]] - 1)
            for name in OURS:
                interval = intervals.get(name)
                here.inside.append(interval is not None and interval.low <= row.metrics[name] <= interval.high)
    return dict(sorted(found.items()))


def _known(table: MeasuredTable, rows: Sequence[Row]) -> list[Observation]:
    """Return the models' inputs: a config's throughput, and its latency at the lowest rate."""
    found = []
    for row in rows:
        share = _share(row, rows)
        if share is None:
            value = row.metrics["mb_per_s"] * 1e6 / row.sizes.mean_bytes
            found.append(Observation(row.config, table.load_of(row), {"records_per_s": value}))
        elif share < _LOWEST:
            values = {name: row.metrics[name] for name in (*LATENCIES, *CONSUMERS)}
            found.append(Observation(row.config, table.load_of(row), values))
    return found


def _share(row: Row, rows: Sequence[Row]) -> float | None:
    """Return the rate as a share of the config's throughput; None for a saturating load."""
    if row.rate_records_per_s is None:
        return None
    full = next(each for each in rows if each.rate_records_per_s is None)
    return row.rate_records_per_s * row.sizes.mean_bytes / 1e6 / full.metrics["mb_per_s"]


def _mean_of_median(table: MeasuredTable, calibration: Calibration, row: Row) -> float:
    """Return the ratio of the mean latency to the median. The latency is taken to be log-normal."""
    load = table.load_of(row)
    spread = performance_of_settings(calibration.constants, Settings.of(row.config, load), load).latency_spread
    return exp(spread**2 / 2)


def _by_the_queue(row: Row, rows: Sequence[Row], share: float) -> float:
    """Return the mean end-to-end latency in milliseconds by M/PH/1."""
    lowest = min((each for each in rows if each.rate_records_per_s), key=lambda each: each.rate_records_per_s or 0.0)
    requests_per_s = (row.rate_records_per_s or 0.0) / lowest.metrics["batch_records"]
    service_s = share / requests_per_s
    service = fitted(_scaled(_times(lowest), service_s))
    waiting_s = mean_response_s(requests_per_s, service) - service_s
    return lowest.metrics["end_to_end_mean_ms"] + waiting_s * 1e3


def _times(row: Row) -> Array:
    """Return times whose percentiles are the measured ones, shape (times,)."""
    ranks = np.array([0.0, *PERCENTILES.values(), 1.0])
    values = np.array([row.metrics[name] for name in PERCENTILES])
    logs = np.log([values[0] / 2, *values, values[-1]])
    return np.asarray(np.exp(np.interp((np.arange(_SAMPLES) + 0.5) / _SAMPLES, ranks, logs)), dtype=np.float64)


def _scaled(times: Array, mean: float) -> Array:
    return np.asarray(times * mean / times.mean(), dtype=np.float64)
