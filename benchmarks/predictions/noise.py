"""Computes how noisy a table of measurements is, and how much of a prediction's error its noise explains."""

from collections import defaultdict
from math import log, sqrt
from statistics import fmean, geometric_mean, stdev
from typing import Final

import numpy as np

from benchmarks.problems.observed import observed, paced_load, start_of
from benchmarks.problems.table import MeasuredTable
from search_spaces.configs.producer_config import ProducerConfig
from tuner.prediction.calibration import calibrate
from tuner.prediction.predicted_metrics import CPU, LATENCIES
from tuner.prediction.predicting import predict
from tuner.prediction.probes import chosen_probes

STICKY_LINGER_MS: Final = 0.5
"""With at least this `linger.ms`, librdkafka stays on a partition for some milliseconds."""


def scatter_of_defaults(table: MeasuredTable) -> list[float]:
    """Return how much throughput, p50 and p99 of the defaults scatter, as standard deviations of their logarithms."""
    defaults = [row for row in table.rows if not row.config.values]
    return [stdev(log(row.metrics[metric]) for row in defaults) for metric in ("mb_per_s", *LATENCIES)]


def error_of_perfect_model(table: MeasuredTable) -> float:
    """Return the mean error of predictions that know the true throughput of each config, as a ratio.

    Each config is compared with the mean of its other repeats. This mean is uncertain too, so the difference is scaled
    down to what it would be without that.
    """
    return fmean(
        abs(geometric_mean([*values[:index], *values[index + 1 :]]) / value - 1) * sqrt(1 - 1 / len(values))
        for values in map(list, map(dict.values, _repeats(table)))
        if len(values) > 1
        for index, value in enumerate(values)
    )


def error_of_means(table: MeasuredTable, probes: int) -> float:
    """Return the mean error of the predicted throughput of repeats, compared with their mean, as a ratio.

    Args:
        table: The table.
        probes: Number of configs that calibrate the model.
    """
    seen, start = observed(table), start_of(table)
    chosen = chosen_probes(list(seen), probes, paced_load(seen), start)
    calibration = calibrate([each for config in chosen for each in seen[config]], start)
    return fmean(
        abs(
            geometric_mean(
                predict(calibration, each, seen[each][0].workload).values["records_per_s"].value for each in repeats
            )
            / geometric_mean(repeats.values())
            - 1
        )
        for repeats in _repeats(table)
    )


def _repeats(table: MeasuredTable) -> list[dict[ProducerConfig, float]]:
    """Return groups of configs that have the same throughput, each with its measured records per second.

    At full speed all batches are full, so linger.ms makes no difference, as long as the client stays on a partition. So
    configs that differ only in linger.ms are repeated measurements of one throughput.
    """
    groups: dict[tuple[str, ...], dict[ProducerConfig, float]] = defaultdict(dict)
    for config, (first, *_) in observed(table).items():
        if config.values and config.linger_ms >= STICKY_LINGER_MS:
            others = tuple(f"{key}={value}" for key, value in config.pairs if key != "linger.ms")
            groups[others][config] = first.values["records_per_s"]
    return list(groups.values())


def explained_by_cpu(table: MeasuredTable) -> str:
    """Return the R2 between the throughput of repeats and the CPU time that client and brokers took for a megabyte.

    If the host's cores are slow for a while, the same work takes more CPU time, and the throughput falls.
    """
    found = observed(table)
    groups = [[found[config][0].values for config in repeats] for repeats in _repeats(table)]
    if not {*CPU} <= groups[0][0].keys():
        return "-"
    pairs = [[(log(each["records_per_s"]), log(sum(each[name] for name in CPU))) for each in group] for group in groups]
    rates, times = np.vstack([np.array(each) - np.mean(each, axis=0) for each in pairs]).T
    return f"{np.corrcoef(rates, times)[0, 1] ** 2:.2f}"
