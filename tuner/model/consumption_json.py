"""The result of a load of consumers as JSON: what `tuner consume --json` prints, and what an experiment stores.

The format has a version. A newer version may add fields, but a field never changes its meaning.
"""

from dataclasses import asdict
from typing import Any

from objectives.consumer_verdict import ReadEvidence, judge_reading
from runners.consumers.consumption import Consumption
from runners.measurements.measurement import Measurement
from tuner.model.document import document


def consumption_json(seen: Consumption, written: Measurement | None = None) -> dict[str, Any]:
    """Return the result and its verdict as a JSON document; unknown values are null.

    Args:
        seen: The result.
        written: The measurement of the producer that wrote to the topic at the same time; None if there was none.
    """
    verdict = judge_reading(ReadEvidence.of(seen))
    reading, counts = seen.reading, seen.counts
    return document(
        "consumption",
        reading={
            "start": str(reading.start),
            "consumers": reading.consumers,
            "warmup_s": reading.warmup_s,
            "measured_s": reading.measured_s,
            "properties": dict(reading.properties),
        },
        origin=asdict(seen.origin),
        duration_s=seen.duration_s,
        records=seen.records,
        value_bytes=seen.value_bytes,
        records_per_s=seen.records_per_s,
        mb_per_s=seen.mb_per_s,
        waiting_ratio=seen.waiting_ratio,
        client_cpu_ms_per_mb=seen.client_cpu_ms_per_mb,
        broker_cpu_ms_per_mb=seen.broker_cpu_ms_per_mb,
        ended_s=seen.ended_s,
        in_warm_up=seen.in_warm_up,
        stopped_early=seen.stopped_early,
        counts={**asdict(counts), "agree": counts.agree, "differences": list(counts.differences())},
        verdict={"bound": str(verdict.bound), "because": verdict.because},
        resources=asdict(seen.resources),
        activity=seen.activity and asdict(seen.activity),
        series=[
            {**asdict(window), "phase": str(window.phase), "records_per_s": window.records_per_s}
            for window in seen.series
        ],
        written=written
        and {
            "records_per_s": written.records_per_s,
            "mb_per_s": written.mb_per_s,
            "acknowledged": written.counts.acknowledged,
            "stored": written.counts.stored,
        },
        warnings=list(seen.warnings),
    )
