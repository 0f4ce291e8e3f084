"""A measurement as JSON: what `--json` prints.

The format has a version. A newer version may add fields, but a field never changes its meaning.
"""

import math
from dataclasses import asdict, fields
from typing import Any, Final

from objectives.metrics import OUTCOME_METRICS, ShownIn, shown_in
from objectives.producer_verdict import Evidence, judge
from runners.measurements.end_to_end import EndToEnd
from runners.measurements.histogram import Histogram
from runners.measurements.measurement import Measurement
from tuner.model.document import document

PERCENTILES: Final = (0.5, 0.9, 0.95, 0.99, 0.999, 1.0)


def measurement_json(seen: Measurement) -> dict[str, Any]:
    """Return a measurement and its verdict, converted to JSON types; unknown values become null."""
    verdict = judge(Evidence.of(seen))
    check = seen.latency_check
    record = document(
        "measurement",
        config={
            "client": seen.config.client.identity,
            "fingerprint": seen.config.fingerprint,
            "values": seen.config.values,
        },
        workload={
            "record_bytes": str(seen.workload.record_sizes),
            "key_bytes": seen.workload.key_bytes,
            "compressibility_ratio": seen.workload.compressibility_ratio,
            "partitions": seen.workload.partitions,
            "replication": seen.workload.replication,
            "warmup_s": seen.workload.warmup_s,
            "measured_s": seen.workload.measured_s,
            "load": seen.workload.load,
            "rate_records_per_s": seen.workload.rate_records_per_s,
            "consumers": seen.workload.consumers,
            "one_payload": seen.workload.one_payload,
            "different_keys": seen.workload.different_keys,
            "most_frequent_key_ratio": seen.workload.most_frequent_key_ratio,
            "peak_ratio": seen.workload.peak_ratio,
            "seed": seen.workload.seed,
        },
        origin=asdict(seen.origin),
        duration_s=seen.duration_s,
        producers=seen.producers,
        records=seen.records,
        value_bytes=seen.value_bytes,
        metrics={name: OUTCOME_METRICS[name].read(seen) for name in shown_in(ShownIn.MEASUREMENT)},
        latency_is_local=seen.latency_is_local,
        latency=_histogram(seen.latency),
        send_delay=_histogram(seen.send_delay),
        end_to_end=None if seen.end_to_end is None else _end_to_end(seen.end_to_end),
        sample_ratio=seen.sample_ratio,
        counts={
            **{name: value for name, value in asdict(seen.counts).items() if name != "failed"},
            "failed": dict(seen.counts.failed),
            "agree": seen.counts.agree,
            "differences": list(seen.counts.differences()),
        },
        latency_check=check and {**asdict(check), "difference_ratio": check.difference_ratio, "agrees": check.agrees},
        verdict={
            "bound": str(verdict.bound),
            "because": verdict.because,
            "latency_is_buffer": verdict.latency_is_buffer,
            "consumers_fell_behind": verdict.consumers_fell_behind,
            "says_nothing_of_config": verdict.says_nothing_of_config,
        },
        resources=asdict(seen.resources),
        activity=seen.activity and asdict(seen.activity),
        series=[asdict(point) for point in seen.series],
        stopped_early=seen.stopped_early,
        flush_s=seen.flush_s,
        warnings=list(seen.warnings),
    )
    return {name: _plain(value) for name, value in record.items()}


def _end_to_end(seen: EndToEnd) -> dict[str, Any]:
    names = [each.name for each in fields(seen) if each.name not in ("latency", "fetch")]
    return {
        "latency": _histogram(seen.latency),
        "fetch": _histogram(seen.fetch),
        **{name: getattr(seen, name) for name in names},
    }


def _histogram(histogram: Histogram) -> dict[str, Any] | None:
    if not histogram.count:
        return None
    percentiles_us = histogram.percentiles_us(*PERCENTILES)
    return {
        "unit": "us",
        "count": histogram.count,
        "mean": histogram.mean_us,
        "percentiles": {f"{ratio:g}": found for ratio, found in zip(PERCENTILES, percentiles_us, strict=True)},
        "hdr": histogram.encoded(),
        "sum": histogram.sum_us,
    }


def _plain(value: Any) -> Any:
    """Return the value converted to JSON types; NaN and infinity, which JSON lacks, become null."""
    match value:
        case float() if not math.isfinite(value):
            return None
        case dict():
            return {name: _plain(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case _:
            return value
