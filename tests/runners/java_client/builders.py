"""Builders for what the Java process reports. Each part has good values, except for those that a test changes."""

from typing import Any, Final

from runners.java_client.load import JavaResult
from runners.java_client.reports import ClientTotals, JavaReport
from runners.measurements.histogram import Histogram
from runners.measurements.measurement import TimePoint
from tests.helpers.measurements import reading, window

METRICS: Final = {
    "record-send-total": 1_000.0,
    "record-retry-total": 0.0,
    "records-per-request-avg": 100.0,
    "byte-total": 40_000.0,
    "batch-size-avg": 2_000.0,
    "record-queue-time-avg": 4.0,
    "request-latency-avg": 2.5,
    "requests-in-flight": 2.0,
    "produce-throttle-time-avg": 1.5,
    "bufferpool-wait-time-ns-total": 5e6,
    "outgoing-byte-total": 45_000.0,
    "buffer-total-bytes": 10_000.0,
    "buffer-available-bytes": 7_000.0,
}
"""A client that has sent a thousand records in 20 batches and 10 requests, of which 2 await their response."""


def message(**changes: Any) -> dict[str, Any]:
    """The message of a load with 1,000 records, 990 of them acknowledged."""
    good: dict[str, Any] = {
        "is": "progress",
        "at_ns": 1,
        "handed_over": 1_000,
        "bytes": 100_000,
        "acknowledged": 990,
        "failed": {},
        "sampled": 100,
        "in_send_ns": 50_000,
        "batch_age_ns": 125_000_000,
        "timed": 100,
        "callback_ns": 0,
        "responses": 8,
        "response_fraction_ns": 0,
        "collector_ms": 10,
        "metrics": METRICS,
    }
    return {**good, **changes}


def report(**changes: Any) -> JavaReport:
    """The report in such a message."""
    return JavaReport.parse(message(**changes))


def java_result(**changes: Any) -> JavaResult:
    """The result of a load of two seconds with 990 records, which began with the measured phase."""
    good: dict[str, Any] = {
        "duration_s": 2.0,
        "records": 990,
        "latency": Histogram.of([5_500] * 10),
        "served": Histogram.of([5_500] * 10),
        "send_delay": Histogram.of([]),
        "sample_ratio": 0.1,
        "series": (TimePoint.of(window()),),
        "before": reading(collector_s=1.0),
        "after": reading(at_s=2.0, collector_s=1.5),
        "at_start": JavaReport(),
        "at_end": report(),
        "last": report(acknowledged=1_000),
        "gauges": (
            (ClientTotals(in_flight=1, queued_bytes=2_000), 10),
            (ClientTotals(in_flight=3, queued_bytes=4_000), 30),
        ),
        "partition_records": (400, 300, 290, 0),
        "stopped_early": False,
        "flush_s": 0.1,
    }
    return JavaResult(**{**good, **changes})
