"""What a trial is judged by: the table of all metrics, and their values from a trial's one or two phases.

A metric is one number of a trial, with its unit, its better direction and the places that show it. Capacity comes from
the saturating phase, latency from the paced one, as latency under saturation is only the size of a full buffer
(`objectives.verdict`); it is kept under a name of its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from runners.measurement import Measurement, Window

SATURATED: Final = "saturated_"
"""Before the name of a latency that was taken under saturation."""


class Direction(Enum):
    """Which way is better."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"


class ShownIn(Enum):
    """Where a metric is shown whatever a study optimises; what it optimises is shown in all of these places."""

    MEASUREMENT = "the JSON record of a single measurement"
    COMPARISONS = "gains over the baseline: confirmations, verifications, explanations, the table of the front"
    TABLES = "tables of a config's numbers"
    MLFLOW = "metrics of a trial's run in MLflow"


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a trial.

    Attributes:
        name: With its unit at the end.
        label: The name in words, without the unit.
        unit: For people; empty where there is none.
        direction: Which way is better.
        meaning: One sentence for people.
        read: Takes it from a phase's measurement; None where the measurement does not know it.
        read_window: Takes it from one window of the phase; None where windows don't tell of it.
        paced: Whether it comes from the paced phase; else from the saturating one.
        worst_phase: Whether it comes from both phases instead, and the lower value counts.
        needs_acknowledgement: Whether it means anything only where brokers answer (acks other than 0).
        shown: Where it is always shown.
    """

    name: str
    label: str
    unit: str
    direction: Direction
    meaning: str
    read: Callable[[Measurement], float | None]
    read_window: Callable[[Window], float | None] | None = None
    paced: bool = False
    worst_phase: bool = False
    needs_acknowledgement: bool = False
    shown: frozenset[ShownIn] = frozenset()

    @property
    def title(self) -> str:
        """The name in words with the unit: `latency p99, ms`."""
        named = f"{self.label}, {self.unit}" if self.unit else self.label
        return f"{named} with a full queue" if self.name.startswith(SATURATED) else named

    def value_in(self, seen: Measurement) -> float | None:
        """The value that a trial may be judged by.

        None where the measurement does not know it, and for a latency with acks=0: what was timed then is the hand-off
        to the local socket.
        """
        if self.needs_acknowledgement and seen.latency_is_local:
            return None
        return self.read(seen)


_ALL_BUT_COMPARISONS: Final = frozenset(ShownIn) - {ShownIn.COMPARISONS}
_MEASUREMENT: Final = frozenset({ShownIn.MEASUREMENT})
_MLFLOW: Final = frozenset({ShownIn.MLFLOW})

Latency = Callable[[Measurement | Window], float | None]


def _percentile(ratio: float) -> Latency:
    return lambda seen: seen.latency.percentile_us(ratio) / 1e3 if seen.latency.count else None


def _mean_latency(seen: Measurement | Window) -> float | None:
    return seen.latency.mean_us / 1e3 if seen.latency.count else None


def delivered_ratio(seen: Measurement) -> float:
    """Share of the records handed over that the client did not give up; 1.0 when none was handed over."""
    total = seen.counts.acknowledged + seen.counts.failed_records
    return seen.counts.acknowledged / total if total else 1.0


def _held_rate_ratio(seen: Measurement) -> float | None:
    rate = seen.workload.rate_records_per_s
    return None if rate is None else seen.records_per_s / rate


def _latencies(
    what: str,
    read: Latency,
    *,
    in_windows: bool = True,
    shown: frozenset[ShownIn] = _MEASUREMENT,
    shown_saturated: frozenset[ShownIn] = frozenset(),
) -> tuple[Metric, Metric]:
    """A latency at the study's fixed rate, and the same with the client's queue full."""
    name, label = f"latency_{what}_ms", f"latency {what.replace('p999', 'p99.9')}"
    window = read if in_windows else None
    at_rate = f"{what} from the intended send time to the acknowledgement, at the study's fixed rate"
    full = f"{what} with the client's queue full: says how large the buffer is, not how quick the cluster"
    return (
        Metric(
            name,
            label,
            "ms",
            Direction.MINIMIZE,
            at_rate,
            read,
            window,
            paced=True,
            needs_acknowledgement=True,
            shown=shown,
        ),
        Metric(
            SATURATED + name,
            label,
            "ms",
            Direction.MINIMIZE,
            full,
            read,
            window,
            needs_acknowledgement=True,
            shown=shown_saturated,
        ),
    )


_ALL: Final = (
    Metric(
        "mb_per_s",
        "throughput",
        "MB/s",
        Direction.MAXIMIZE,
        "megabytes of values acknowledged per second, as fast as acknowledgements allow",
        lambda seen: seen.mb_per_s,
        lambda window: window.mb_per_s,
        shown=frozenset(ShownIn),
    ),
    Metric(
        "records_per_s",
        "throughput",
        "records/s",
        Direction.MAXIMIZE,
        "records acknowledged per second, as fast as acknowledgements allow",
        lambda seen: seen.records_per_s,
        lambda window: window.records_per_s,
        shown=_ALL_BUT_COMPARISONS,
    ),
    Metric(
        "wire_bytes_per_value_byte",
        "bytes on the wire per value byte",
        "",
        Direction.MINIMIZE,
        "bytes sent per byte of value",
        lambda seen: seen.wire_bytes_per_value_byte,
        shown=frozenset({ShownIn.MEASUREMENT, ShownIn.TABLES}),
    ),
    Metric(
        "broker_cpu_ms_per_mb",
        "broker CPU",
        "ms per MB",
        Direction.MINIMIZE,
        "CPU milliseconds of local brokers per megabyte of values",
        lambda seen: seen.broker_cpu_ms_per_mb,
        shown=frozenset({ShownIn.MEASUREMENT, ShownIn.TABLES}),
    ),
    *_latencies("mean", _mean_latency),
    *_latencies("p50", _percentile(0.5), shown=_ALL_BUT_COMPARISONS),
    *_latencies("p90", _percentile(0.9)),
    *_latencies("p95", _percentile(0.95)),
    *_latencies("p99", _percentile(0.99), shown=frozenset(ShownIn), shown_saturated=_MLFLOW),
    *_latencies("p999", _percentile(0.999), shown=_ALL_BUT_COMPARISONS),
    # A part of a phase shows a smaller maximum than the whole.
    *_latencies("max", _percentile(1.0), in_windows=False),
    Metric(
        "delivered_ratio",
        "share delivered",
        "",
        Direction.MAXIMIZE,
        "share of records that were acknowledged",
        delivered_ratio,
        worst_phase=True,
        shown=_MLFLOW,
    ),
    Metric(
        "held_rate_ratio",
        "share of the fixed rate held",
        "",
        Direction.MAXIMIZE,
        "share of the fixed rate that was delivered",
        _held_rate_ratio,
        paced=True,
        shown=_MLFLOW,
    ),
)

OUTCOME_METRICS: Final[Mapping[str, Metric]] = MappingProxyType({metric.name: metric for metric in _ALL})
"""Every metric by its name: the one table that all other lists of metrics are derived from."""


def shown_in(where: ShownIn) -> tuple[str, ...]:
    """Names of the metrics that are always shown in a place, in the order of the table."""
    return tuple(name for name, metric in OUTCOME_METRICS.items() if where in metric.shown)


COMPARED: Final = shown_in(ShownIn.COMPARISONS)
"""What is told of every config against the baseline, whatever the study optimises."""


def metrics_of(saturated: Measurement | None, paced: Measurement | None) -> dict[str, float]:
    """Every number that the phases can answer for; what they can't (latency with acks=0, say) is left out.

    Args:
        saturated: The saturating phase.
        paced: The paced phase.
    """
    found: dict[str, float] = {}
    for name, metric in OUTCOME_METRICS.items():
        phases = (saturated, paced) if metric.worst_phase else (paced if metric.paced else saturated,)
        values = [metric.value_in(seen) for seen in phases if seen is not None]
        known = [value for value in values if value is not None]
        if known:
            found[name] = min(known)
    return found
