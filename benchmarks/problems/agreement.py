"""Computes how well a simulated cluster ranks the configs of a measured table: Spearman's correlation per metric."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.problems.latency import PERCENTILES, mean_ms, percentile_ms
from benchmarks.problems.table import MeasuredTable, Row
from runners.performance_model.constants import ClusterConstants
from runners.performance_model.performance import Performance, performance
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig

_SATURATED: Final = "saturated_"
_LATE_S: Final = 5.0
"""The time in the phase at which latencies are compared, in seconds. It is about the middle of the phase.

If a config can't keep up with the rate, its latency has grown so much by then that the config is ranked last.
"""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement between model and measurement for one metric, over all configs of a table.

    Attributes:
        metric: The name of the metric.
        configs: How many configs were compared, each with the mean of its repeats.
        correlation: Spearman's correlation over all configs and record sizes.
        within_sizes: The mean of the correlations within each record size, weighted by the number of its configs. It
            is lower than `correlation` if a model predicts only the differences between record sizes well.
    """

    metric: str
    configs: int
    correlation: float
    within_sizes: float


class _Point(NamedTuple):
    sizes: RecordSizes
    measured: float
    simulated: float


def agreements(table: MeasuredTable, cluster: ClusterConstants) -> tuple[Agreement, ...]:
    """Compare a model with a table, for each metric that both of them have.

    Latencies with acks=0 are left out, because then the broker acknowledges nothing.
    """
    repeats: dict[tuple[str, RecordSizes, ProducerConfig], list[Row]] = defaultdict(list)
    for row in table.rows:
        for metric in row.metrics:
            if not ("latency" in metric and row.config.acks == 0):
                repeats[metric, row.sizes, row.config].append(row)
    found: dict[str, list[_Point]] = defaultdict(list)
    for (metric, sizes, _), rows in repeats.items():
        simulated = _simulated(metric, rows[0], table, cluster)
        if simulated is not None:
            found[metric].append(_Point(sizes, fmean(row.metrics[metric] for row in rows), simulated))
    return tuple(_agreement(metric, points) for metric, points in found.items())


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's correlation, with mean ranks for equal values; NaN if all values of a series are equal."""
    ranks, others = _ranks(one), _ranks(other)
    if np.ptp(ranks) == 0 or np.ptp(others) == 0:
        return math.nan
    return float(np.corrcoef(ranks, others)[0, 1])


def _agreement(metric: str, points: Sequence[_Point]) -> Agreement:
    """Return the agreement between model and measurement for one metric."""
    within: list[tuple[float, int]] = []
    for size in dict.fromkeys(point.sizes for point in points):
        there = [point for point in points if point.sizes == size]
        correlation = _correlation(there)
        if not math.isnan(correlation):
            within.append((correlation, len(there)))
    configs = sum(count for _, count in within)
    return Agreement(
        metric,
        len(points),
        _correlation(points),
        sum(correlation * count for correlation, count in within) / configs if configs else math.nan,
    )


def _correlation(points: Sequence[_Point]) -> float:
    """Return the rank correlation between measured and simulated values."""
    return rank_correlation([point.measured for point in points], [point.simulated for point in points])


def _simulated(metric: str, row: Row, table: MeasuredTable, cluster: ClusterConstants) -> float | None:
    """Return the model's value of a metric for a row's config and load, or None if the model lacks the metric."""
    saturated = metric.startswith(_SATURATED) or metric in ("mb_per_s", "records_per_s")
    if not saturated and row.rate_records_per_s is None:
        return None
    workload = Workload(
        row.sizes,
        compressibility_ratio=float(table.facts.get("compressibility_ratio", 0.0)),
        partitions=int(table.facts.get("partitions", 3)),
        rate_records_per_s=None if saturated else row.rate_records_per_s,
    )
    return _value(metric.removeprefix(_SATURATED), performance(cluster, row.config, workload))


def _value(metric: str, performance: Performance) -> float | None:
    """Return a metric of a simulated performance, or None if the model lacks the metric."""
    if metric in PERCENTILES:
        return percentile_ms(performance, PERCENTILES[metric], _LATE_S)
    values = {
        "mb_per_s": performance.mb_per_s,
        "records_per_s": performance.records_per_s,
        "latency_mean_ms": mean_ms(performance),
        "wire_bytes_per_value_byte": performance.wire_bytes_per_value_byte,
    }
    return values.get(metric)


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Return the rank of each value from 1 on; equal values get the mean of their ranks."""
    _, places, counts = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: NDArray[np.float64] = (last - (counts - 1) / 2)[places]
    return ranks
