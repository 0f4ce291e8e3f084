"""The numbers that a measurement can be judged by, each with unit, direction and the conditions it needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from runners.measurement import Measurement


class UnusableMetric(ValueError):  # noqa: N818 - names say what happened
    """The measurement can't answer for this metric, and the message says why; leave the metric out."""


class Direction(Enum):
    """Which way is better."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a measurement.

    Attributes:
        name: With its unit at the end.
        direction: Which way is better.
        read: Takes it from a measurement; None where the measurement does not know it.
        needs_acknowledgement: Whether it means anything only where brokers answer (acks other than 0).
    """

    name: str
    direction: Direction
    read: Callable[[Measurement], float | None]
    needs_acknowledgement: bool = False


def _latency(ratio: float) -> Callable[[Measurement], float | None]:
    return lambda seen: seen.latency.percentile_us(ratio) / 1e3 if seen.latency.count else None


def _mean_latency(seen: Measurement) -> float | None:
    return seen.latency.mean_us / 1e3 if seen.latency.count else None


_ALL: Final = (
    Metric("records_per_s", Direction.MAXIMIZE, lambda seen: seen.records_per_s),
    Metric("mb_per_s", Direction.MAXIMIZE, lambda seen: seen.mb_per_s),
    Metric("latency_mean_ms", Direction.MINIMIZE, _mean_latency, True),
    Metric("latency_p50_ms", Direction.MINIMIZE, _latency(0.5), True),
    Metric("latency_p90_ms", Direction.MINIMIZE, _latency(0.9), True),
    Metric("latency_p95_ms", Direction.MINIMIZE, _latency(0.95), True),
    Metric("latency_p99_ms", Direction.MINIMIZE, _latency(0.99), True),
    Metric("latency_p999_ms", Direction.MINIMIZE, _latency(0.999), True),
    Metric("latency_max_ms", Direction.MINIMIZE, _latency(1.0), True),
    Metric("wire_bytes_per_value_byte", Direction.MINIMIZE, lambda seen: seen.wire_bytes_per_value_byte),
    Metric("broker_cpu_ms_per_mb", Direction.MINIMIZE, lambda seen: seen.broker_cpu_ms_per_mb),
)

METRICS: Final[Mapping[str, Metric]] = MappingProxyType({metric.name: metric for metric in _ALL})


def value_of(name: str, seen: Measurement) -> float:
    """The metric's value, fit to be an objective.

    Raises:
        KeyError: There is no such metric.
        UnusableMetric: The measurement does not know it, or it is a latency that nobody acknowledged.
    """
    metric = METRICS[name]
    if metric.needs_acknowledgement and seen.latency_is_local:
        raise UnusableMetric(
            f"{name} needs acknowledgements, but acks=0 asks for none: what was timed is the hand-off "
            "to the local socket; use acks=1 or acks=all"
        )
    value = metric.read(seen)
    if value is None:
        raise UnusableMetric(f"{name} could not be measured here")
    return value
