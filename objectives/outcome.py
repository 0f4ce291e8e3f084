"""What a trial is judged by: numbers of its one or two phases under one flat set of names.

Capacity comes from the saturating phase, latency from the paced one, as latency under saturation is only the size of a
full buffer (`objectives.verdict`); it is kept under a name of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from objectives.metrics import METRICS, Direction, UnusableMetric, value_of
from runners.measurement import Measurement

SATURATED: Final = "saturated_"
"""Before the name of a latency that was taken under saturation."""


@dataclass(frozen=True, slots=True)
class OutcomeMetric:
    """One number of a trial.

    Attributes:
        name: With its unit at the end.
        direction: Which way is better.
        meaning: One sentence for people.
        paced: Whether it needs the paced phase.
        needs_acknowledgement: Whether it means anything only where brokers answer (acks other than 0).
    """

    name: str
    direction: Direction
    meaning: str
    paced: bool
    needs_acknowledgement: bool = False


_CAPACITY: Final = ("records_per_s", "mb_per_s", "wire_bytes_per_value_byte", "broker_cpu_ms_per_mb")
_MEANINGS: Final = {
    "records_per_s": "records acknowledged per second, as fast as acknowledgements allow",
    "mb_per_s": "megabytes of values acknowledged per second, as fast as acknowledgements allow",
    "wire_bytes_per_value_byte": "bytes sent per byte of value",
    "broker_cpu_ms_per_mb": "CPU milliseconds of local brokers per megabyte of values",
}


def _all() -> Mapping[str, OutcomeMetric]:
    found = [OutcomeMetric(name, METRICS[name].direction, _MEANINGS[name], paced=False) for name in _CAPACITY]
    for name, metric in METRICS.items():
        if name.startswith("latency_"):
            what = name.removeprefix("latency_").removesuffix("_ms")
            at_rate = f"{what} from the intended send time to the acknowledgement, at the study's fixed rate"
            found.append(OutcomeMetric(name, metric.direction, at_rate, True, metric.needs_acknowledgement))
            full = f"{what} with the client's queue full: says how large the buffer is, not how quick the cluster"
            found.append(OutcomeMetric(SATURATED + name, metric.direction, full, False, metric.needs_acknowledgement))
    found += [
        OutcomeMetric("delivered_ratio", Direction.MAXIMIZE, "share of records that were acknowledged", paced=False),
        OutcomeMetric("held_rate_ratio", Direction.MAXIMIZE, "share of the fixed rate that was delivered", paced=True),
    ]
    return MappingProxyType({metric.name: metric for metric in found})


OUTCOME_METRICS: Final = _all()


def metrics_of(saturated: Measurement | None, paced: Measurement | None) -> dict[str, float]:
    """Every number that the phases can answer for; what they can't (latency with acks=0, say) is left out.

    Args:
        saturated: The saturating phase.
        paced: The paced phase.
    """
    found: dict[str, float] = {}
    for name, metric in OUTCOME_METRICS.items():
        seen = paced if metric.paced else saturated
        if seen is None or name in ("delivered_ratio", "held_rate_ratio"):
            continue
        try:
            found[name] = value_of(name.removeprefix(SATURATED), seen)
        except UnusableMetric:
            continue
    shares = [delivered_ratio(seen) for seen in (saturated, paced) if seen is not None]
    if shares:
        found["delivered_ratio"] = min(shares)
    if paced is not None and paced.workload.rate_records_per_s is not None:
        found["held_rate_ratio"] = paced.records_per_s / paced.workload.rate_records_per_s
    return found


def delivered_ratio(seen: Measurement) -> float:
    """Share of the records handed over that the client did not give up; 1.0 when none was handed over."""
    total = seen.counts.acknowledged + seen.counts.failed_records
    return seen.counts.acknowledged / total if total else 1.0
