"""The table of all metrics, and the computation of a trial's metrics from its phases.

A metric is a number that a trial measures, such as `mb_per_s`. The table has its unit, whether more or less is better,
and which outputs show it. Throughput comes from the saturating phase (load as fast as the client takes it), and latency
from the paced phase (load at a fixed rate). Latency in the saturating phase mostly shows how large the client's queue
is (see `objectives.producer_verdict`). Therefore the metrics for this latency have other names, with the prefix
`saturated_`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from runners.measurements.end_to_end import EndToEnd
from runners.measurements.measurement import Measurement, Window

SATURATED_PREFIX: Final = "saturated_"
"""Prefix of the names of latencies from the saturating phase."""


class Direction(Enum):
    """The better direction of a metric."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"


class ShownIn(Enum):
    """An output that shows metrics. Each output has its list of metrics, and also shows the objectives of the study."""

    MEASUREMENT = "the JSON record of a single measurement"
    FRONT = "the table of the front, the tables of a grid, and lists of trials"
    TABLES = "tables of a config's numbers"
    MLFLOW = "metrics of a trial's run in MLflow"


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a trial.

    Attributes:
        name: The metric's name, which ends with the unit.
        label: The name for people, without the unit.
        unit: The unit for people; empty if there is none.
        direction: The better direction.
        meaning: What the metric says, in one sentence for people.
        read: Returns the metric's value in a phase's measurement; None if the measurement does not have it.
        read_window: Returns the metric's value in one window of a phase; None for a metric that windows do not have.
        paced: Whether the metric comes from the paced phase; otherwise from the saturating phase.
        worst_phase: Whether the metric comes from both phases, and the lower value counts.
        needs_acknowledgement: Whether the metric is meaningful only if brokers answer, that is, unless acks=0.
        shown: The outputs that always show the metric.
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
        """The name for people with the unit, such as `latency p99, ms`."""
        return f"{self.label}, {self.unit}" if self.unit else self.label

    def value_in(self, measurement: Measurement) -> float | None:
        """Return the metric's value in a measurement; None if the measurement has no meaningful value.

        A latency with acks=0 is not meaningful. No broker answers then, so the latency would only be the time until the
        record was written to the local socket.
        """
        if self.needs_acknowledgement and measurement.latency_is_local:
            return None
        return self.read(measurement)


_ALL_BUT_FRONT: Final = frozenset(ShownIn) - {ShownIn.FRONT}
_MEASUREMENT: Final = frozenset({ShownIn.MEASUREMENT})
_MLFLOW: Final = frozenset({ShownIn.MLFLOW})

Latency = Callable[[Measurement | Window | EndToEnd], float | None]


def _percentile(ratio: float) -> Latency:
    return lambda seen: seen.latency.percentile_us(ratio) / 1e3 if seen.latency.count else None


def _mean_latency(seen: Measurement | Window | EndToEnd) -> float | None:
    return seen.latency.mean_us / 1e3 if seen.latency.count else None


def delivered_ratio(measurement: Measurement) -> float:
    """Return the share of the sent records that were delivered; 1.0 if no record was sent.

    A record is delivered if it was acknowledged and is in the topic, where that can be counted. Records that we made
    the client give up after the load are left out, because they might still have been delivered.
    """
    counts = measurement.counts
    delivered = counts.acknowledged
    if counts.sole_writer and counts.stored is not None:
        delivered = max(0, min(delivered, counts.stored))
    total = counts.acknowledged + counts.failed_records - counts.purged
    return delivered / total if total else 1.0


def _held_rate_ratio(measurement: Measurement) -> float | None:
    rate = measurement.workload.rate_records_per_s
    return None if rate is None else measurement.records_per_s / rate


def _latencies(
    what: str,
    read: Latency,
    *,
    in_windows: bool = True,
    shown: frozenset[ShownIn] = _MEASUREMENT,
    shown_saturated: frozenset[ShownIn] = frozenset(),
) -> tuple[Metric, Metric]:
    """Return two metrics for a latency such as "p99": one under load at a fixed rate, one with a full client queue."""
    window = read if in_windows else None
    spoken = what.replace("p999", "p99.9")
    name, label = f"latency_{what}_ms", f"latency {spoken}"
    at_rate = f"{spoken} of the time from a record's intended send to its acknowledgement, at the study's fixed rate"
    full = f"{spoken} of the same time at full speed; it shows how large the client's queue is, not how fast Kafka is"
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
            SATURATED_PREFIX + name,
            f"{label} with a full queue",
            "ms",
            Direction.MINIMIZE,
            full,
            read,
            window,
            needs_acknowledgement=True,
            shown=shown_saturated,
        ),
    )


def _end_to_end(what: str, read: Latency, shown: frozenset[ShownIn] = frozenset()) -> Metric:
    """Return a metric of the end-to-end latency under load at a fixed rate."""
    spoken = what.replace("p999", "p99.9")
    return Metric(
        f"end_to_end_{what}_ms",
        f"end-to-end latency {spoken}",
        "ms",
        Direction.MINIMIZE,
        f"{spoken} of the time from a record's intended send until a consumer has it, at the study's fixed rate; needs "
        "workload.consumers",
        lambda seen: None if seen.end_to_end is None else read(seen.end_to_end),
        paced=True,
        needs_acknowledgement=True,
        shown=shown,
    )


_ALL: Final = (
    Metric(
        "mb_per_s",
        "throughput",
        "MB/s",
        Direction.MAXIMIZE,
        "megabytes of record values acknowledged per second, sent as fast as the client takes them",
        lambda measurement: measurement.mb_per_s,
        lambda window: window.mb_per_s,
        shown=frozenset(ShownIn),
    ),
    Metric(
        "records_per_s",
        "throughput",
        "records/s",
        Direction.MAXIMIZE,
        "records acknowledged per second, sent as fast as the client takes them",
        lambda measurement: measurement.records_per_s,
        lambda window: window.records_per_s,
        shown=_ALL_BUT_FRONT,
    ),
    Metric(
        "wire_bytes_per_value_byte",
        "bytes on the wire per value byte",
        "",
        Direction.MINIMIZE,
        "bytes sent to brokers per byte of record values",
        lambda measurement: measurement.wire_bytes_per_value_byte,
        shown=frozenset({ShownIn.MEASUREMENT, ShownIn.TABLES}),
    ),
    Metric(
        "broker_cpu_ms_per_mb",
        "broker CPU",
        "ms per MB",
        Direction.MINIMIZE,
        "CPU milliseconds of brokers on this host per megabyte of record values",
        lambda measurement: measurement.broker_cpu_ms_per_mb,
        shown=frozenset({ShownIn.MEASUREMENT, ShownIn.TABLES}),
    ),
    Metric(
        "client_cpu_ms_per_mb",
        "client CPU",
        "ms per MB",
        Direction.MINIMIZE,
        "CPU milliseconds of the process with the client and the load generator per megabyte of record values",
        lambda measurement: measurement.client_cpu_ms_per_mb,
        shown=_MEASUREMENT,
    ),
    *_latencies("mean", _mean_latency),
    *_latencies("p50", _percentile(0.5), shown=_ALL_BUT_FRONT),
    *_latencies("p90", _percentile(0.9)),
    *_latencies("p95", _percentile(0.95)),
    *_latencies("p99", _percentile(0.99), shown=frozenset(ShownIn), shown_saturated=_MLFLOW),
    *_latencies("p999", _percentile(0.999), shown=_ALL_BUT_FRONT),
    # Windows are left out, because the maximum of a part of a phase is lower than that of the whole phase.
    *_latencies("max", _percentile(1.0), in_windows=False),
    _end_to_end("mean", _mean_latency),
    _end_to_end("p50", _percentile(0.5), frozenset({ShownIn.TABLES})),
    _end_to_end("p95", _percentile(0.95)),
    _end_to_end("p99", _percentile(0.99), frozenset({ShownIn.TABLES})),
    _end_to_end("p999", _percentile(0.999)),
    Metric(
        "consumer_cpu_ms_per_mb",
        "consumer CPU",
        "ms per MB",
        Direction.MINIMIZE,
        "CPU milliseconds of the consumers' processes per megabyte of record values, at the study's fixed rate; needs "
        "workload.consumers",
        lambda seen: None if seen.end_to_end is None else seen.end_to_end.client_cpu_ms_per_mb,
        paced=True,
        shown=frozenset({ShownIn.TABLES}),
    ),
    Metric(
        "delivered_ratio",
        "share delivered",
        "",
        Direction.MAXIMIZE,
        "share of the sent records that were acknowledged and, where that can be counted, are in the topic",
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
"""Every metric by its name.

The list of metrics of each output is derived from this table. Lists of metrics with a rule of their own, such as
`objectives.stalls.TAIL_LATENCIES`, are not; CONTRIBUTING.md names them ("A metric").
"""


OF_CONSUMERS: Final = ("end_to_end_", "consumer_")
"""The prefixes of the names of metrics that need consumers beside the load."""


SIDE_EFFECTS_ON_CONSUMERS: Final = ("end_to_end_p99_ms", "consumer_cpu_ms_per_mb")
"""What a recommendation says about the consumers, if there were any: how a config changes their latency and CPU."""


def shown_in(where: ShownIn) -> tuple[str, ...]:
    """Return the names of the metrics that an output always shows, in the order of `OUTCOME_METRICS`."""
    return tuple(name for name, metric in OUTCOME_METRICS.items() if where in metric.shown)


COMPARED_WITH_BASELINE: Final = ("mb_per_s", "latency_p99_ms")
"""The metrics in which every config is compared with the baseline, even if the study does not optimise them.

Each confirmation computes their gains, and `tuner verify` fails if a config is worse in one of them. Metrics that are
only shown are not in this list; `Metric.shown` names the outputs that show them.
"""


def metrics_of(saturated: Measurement | None, paced: Measurement | None) -> dict[str, float]:
    """Return a trial's metrics by name. Metrics without a value, such as a latency with acks=0, are left out.

    Args:
        saturated: The measurement under load as fast as the client takes it (saturating phase); None if it was not run.
        paced: The measurement under load at a fixed rate (paced phase); None if it was not run.
    """
    metrics: dict[str, float] = {}
    for name, metric in OUTCOME_METRICS.items():
        phases = (saturated, paced) if metric.worst_phase else (paced if metric.paced else saturated,)
        values = [metric.value_in(measurement) for measurement in phases if measurement is not None]
        known = [value for value in values if value is not None]
        if known:
            metrics[name] = min(known)
    return metrics
