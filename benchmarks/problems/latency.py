"""Latencies that follow from what a simulated cluster gives."""

import math
from statistics import NormalDist
from typing import Final

from runners.simulated.model import Performance

_NORMAL: Final = NormalDist()


def mean_ms(told: Performance) -> float:
    """Mean latency."""
    return told.latency_p50_ms * math.exp(told.latency_spread**2 / 2)


def percentile_ms(told: Performance, ratio: float, after_s: float = 0.0) -> float:
    """What a share of the records, above 0 and below 1, does not exceed, after so many seconds of load."""
    latency_ms = told.latency_p50_ms * math.exp(told.latency_spread * _NORMAL.inv_cdf(ratio))
    return latency_ms + told.falling_behind_ratio * after_s * 1e3
