"""The result of a load of consumers as JSON: what `tuner consume --json` prints, and what an experiment stores.

The format has a version. A newer version may add fields, but a field never changes its meaning.
"""

from dataclasses import asdict
from typing import Any

from objectives.consumer_verdict import ReadEvidence, judge_reading
from runners.consumers.consumption import Consumption
from runners.measurements.measurement import Measurement
from tuner.model.document import document


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
