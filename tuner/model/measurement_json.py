"""The measurements of producers and of consumers as JSON: what `--json` prints, and what an experiment stores.

The format has a version. A newer version may add fields, but a field never changes its meaning.
"""

import math
from dataclasses import asdict, fields
from typing import Any, Final

from objectives.consumer_verdict import ReadEvidence, judge_reading
from objectives.metrics import OUTCOME_METRICS, ShownIn, shown_in
from objectives.producer_verdict import Evidence, judge
from runners.consumers.consumption import Consumption
from runners.measurements.end_to_end import EndToEnd
from runners.measurements.histogram import Histogram
from runners.measurements.measurement import Measurement
from tuner.model.document import document

_PERCENTILES: Final = (0.5, 0.9, 0.95, 0.99, 0.999, 1.0)


def measurement_json(measurement: Measurement) -> dict[str, Any]:
    """Return a measurement and its verdict, converted to JSON types; unknown values become null."""
    verdict = judge(Evidence.of(measurement))
    check = measurement.latency_check
    record = document(
        "measurement",
        config={
            "client": measurement.config.client.identity,
            "fingerprint": measurement.config.fingerprint,
            "values": measurement.config.values,
        },
        workload={
            "record_bytes": str(measurement.workload.record_sizes),
            "key_bytes": measurement.workload.key_bytes,
            "compressibility_ratio": measurement.workload.compressibility_ratio,
            "partitions": measurement.workload.partitions,
            "replication": measurement.workload.replication,
            "warmup_s": measurement.workload.warmup_s,
            "measured_s": measurement.workload.measured_s,
            "load": measurement.workload.load,
            "rate_records_per_s": measurement.workload.rate_records_per_s,
            "consumers": measurement.workload.consumers,
            "one_payload": measurement.workload.one_payload,
            "different_keys": measurement.workload.different_keys,
            "most_frequent_key_ratio": measurement.workload.most_frequent_key_ratio,
            "peak_ratio": measurement.workload.peak_ratio,
            "seed": measurement.workload.seed,
        },
        origin=asdict(measurement.origin),
        duration_s=measurement.duration_s,
        producers=measurement.producers,
        records=measurement.records,
        value_bytes=measurement.value_bytes,
        metrics={name: OUTCOME_METRICS[name].read(measurement) for name in shown_in(ShownIn.MEASUREMENT)},
        latency_is_local=measurement.latency_is_local,
        latency=_histogram(measurement.latency),
        send_delay=_histogram(measurement.send_delay),
        end_to_end=None if measurement.end_to_end is None else _end_to_end(measurement.end_to_end),
        sample_ratio=measurement.sample_ratio,
        counts={
            **{name: value for name, value in asdict(measurement.counts).items() if name != "failed"},
            "failed": dict(measurement.counts.failed),
            "agree": measurement.counts.agree,
            "differences": list(measurement.counts.differences()),
        },
        latency_check=check and {**asdict(check), "difference_ratio": check.difference_ratio, "agrees": check.agrees},
        verdict={
            "bound": str(verdict.bound),
            "because": verdict.because,
            "latency_is_buffer": verdict.latency_is_buffer,
            "consumers_fell_behind": verdict.consumers_fell_behind,
            "says_nothing_of_config": verdict.says_nothing_of_config,
        },
        resources=asdict(measurement.resources),
        activity=measurement.activity and asdict(measurement.activity),
        series=[asdict(point) for point in measurement.series],
        stopped_early=measurement.stopped_early,
        flush_s=measurement.flush_s,
        warnings=list(measurement.warnings),
    )
    return {name: _plain(value) for name, value in record.items()}


def _end_to_end(end_to_end: EndToEnd) -> dict[str, Any]:
    names = [each.name for each in fields(end_to_end) if each.name not in ("latency", "fetch")]
    return {
        "latency": _histogram(end_to_end.latency),
        "fetch": _histogram(end_to_end.fetch),
        **{name: getattr(end_to_end, name) for name in names},
    }


def _histogram(histogram: Histogram) -> dict[str, Any] | None:
    if not histogram.count:
        return None
    percentiles_us = histogram.percentiles_us(*_PERCENTILES)
    return {
        "unit": "us",
        "count": histogram.count,
        "mean": histogram.mean_us,
        "percentiles": {f"{ratio:g}": found for ratio, found in zip(_PERCENTILES, percentiles_us, strict=True)},
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


def consumption_json(consumption: Consumption, written: Measurement | None = None) -> dict[str, Any]:
    """Return the result and its verdict as a JSON document; unknown values are null.

    Args:
        consumption: The result.
        written: The measurement of the producer that wrote to the topic at the same time; None if there was none.
    """
    verdict = judge_reading(ReadEvidence.of(consumption))
    reading, counts = consumption.reading, consumption.counts
    return document(
        "consumption",
        reading={
            "start": str(reading.start),
            "consumers": reading.consumers,
            "warmup_s": reading.warmup_s,
            "measured_s": reading.measured_s,
            "properties": dict(reading.properties),
        },
        origin=asdict(consumption.origin),
        duration_s=consumption.duration_s,
        records=consumption.records,
        value_bytes=consumption.value_bytes,
        records_per_s=consumption.records_per_s,
        mb_per_s=consumption.mb_per_s,
        waiting_ratio=consumption.waiting_ratio,
        client_cpu_ms_per_mb=consumption.client_cpu_ms_per_mb,
        broker_cpu_ms_per_mb=consumption.broker_cpu_ms_per_mb,
        ended_s=consumption.ended_s,
        in_warm_up=consumption.in_warm_up,
        stopped_early=consumption.stopped_early,
        counts={**asdict(counts), "agree": counts.agree, "differences": list(counts.differences())},
        verdict={"bound": str(verdict.bound), "because": verdict.because},
        resources=asdict(consumption.resources),
        activity=consumption.activity and asdict(consumption.activity),
        series=[
            {**asdict(window), "phase": str(window.phase), "records_per_s": window.records_per_s}
            for window in consumption.series
        ],
        written=written
        and {
            "records_per_s": written.records_per_s,
            "mb_per_s": written.mb_per_s,
            "acknowledged": written.counts.acknowledged,
            "stored": written.counts.stored,
        },
        warnings=list(consumption.warnings),
    )
