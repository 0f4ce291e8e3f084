"""Latencies of a simulated cluster, computed from its simulated performance."""

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import Final

from runners.performance_model.performance import Performance

PERCENTILES: Final[Mapping[str, float]] = {
    "latency_p50_ms": 0.5,
    "latency_p90_ms": 0.9,
    "latency_p95_ms": 0.95,
    "latency_p99_ms": 0.99,
    "latency_p999_ms": 0.999,
}
"""The metrics that are percentiles of the latency, each with its percentile as a ratio, in ascending order."""
_NORMAL: Final = NormalDist()


def mean_ms(performance: Performance) -> float:
    """Return the mean latency of a simulated performance, in milliseconds."""
    return performance.latency_p50_ms * math.exp(performance.latency_spread**2 / 2)


def percentile_ms(performance: Performance, ratio: float, after_s: float = 0.0) -> float:
    """Return a percentile of the latency of a simulated performance, in milliseconds.

    Args:
        performance: The simulated performance.
        ratio: The percentile as a ratio, above 0 and below 1, such as 0.99 for the p99.
        after_s: The seconds since the load began. They matter only if the config falls behind its rate.
    """
    latency_ms = performance.latency_p50_ms * math.exp(performance.latency_spread * _NORMAL.inv_cdf(ratio))
    return latency_ms + performance.falling_behind_ratio * after_s * 1e3
