"""Builders for the parts of a measurement. Each part has good values, except for those that a test changes."""

from typing import Any

import numpy as np

from runners.host.probe import HostReading
from runners.librdkafka.load import LibrdkafkaResult
from runners.librdkafka.statistics import SendAccount, StatisticsReport
from runners.load.sums import Sum
from runners.measurements.end_to_end import EndToEnd
from runners.measurements.histogram import Histogram
from runners.measurements.measurement import (
    ClientActivity,
    Counts,
    LatencyCheck,
    Measurement,
    Origin,
    TimePoint,
    Window,
    WindowKind,
)
from runners.measurements.resources import Resources
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig


def counts(**changes: Any) -> Counts:
    """Return the counts of a thousand records, all of them acknowledged and stored."""
    good: dict[str, Any] = {
        "handed_over": 1_000,
        "acknowledged": 1_000,
        "failed": {},
        "transmitted": 1_000,
        "retries": 0,
        "stored": 1_000,
        "acks": -1,
        "idempotent": False,
        "sole_writer": True,
    }
    return Counts(**{**good, **changes})


def activity(**changes: Any) -> ClientActivity:
    """Return the activity of a client with an empty queue."""
    good: dict[str, Any] = {
        "queue_full_ratio": 0.0,
        "queue_growth_ratio": 0.0,
        "queued_records": 0.0,
        "queued_bytes": 0.0,
        "in_flight_requests": 0.0,
        "throttle_ms": 0.0,
        "wire_bytes": 50_000,
        "batch_records": 10.0,
        "batch_bytes": 500.0,
        "retries": 0,
        "partitions_used": 3,
    }
    return ClientActivity(**{**good, **changes})


def end_to_end(**changes: Any) -> EndToEnd:
    """Return the result of one consumer that received 40 records after 1 to 40 ms."""
    good: dict[str, Any] = {
        "latency": Histogram.of(np.arange(1, 41) * 1_000),
        "fetch": Histogram.of(np.arange(1, 41) * 100),
        "consumers": 1,
        "sampled": 40,
        "missing": 0,
        "records_per_s": 500.0,
        "behind_records": 3,
        "client_cpu_ms_per_mb": 3.0,
        "fetch_records": 20.0,
        "fetch_bytes": 2_000.0,
        "taken": 1_000,
        "repeated": 0,
    }
    return EndToEnd(**{**good, **changes})


def measurement(**changes: Any) -> Measurement:
    """Return a measurement of a thousand records of 100 B in two seconds, with latencies from 1 to 1,000 ms."""
    good: dict[str, Any] = {
        "config": ProducerConfig.parse({}),
        "workload": Workload(RecordSizes.fixed(100)),
        "origin": Origin("simulated", "none", "simulated", "", "", 1.0),
        "duration_s": 2.0,
        "records": 1_000,
        "value_bytes": 100_000.0,
        "latency": Histogram.of(np.arange(1, 1_001) * 1_000),
        "send_delay": Histogram.of([]),
        "sample_ratio": 1.0,
        "counts": counts(),
        "latency_check": LatencyCheck(500_500, 500_000, 400_000, 50_000, 50_000, None),
        "resources": Resources(),
        "activity": activity(),
        "series": (),
    }
    return Measurement(**{**good, **changes})


def window(**changes: Any) -> Window:
    """Return a window of a second with 500 records."""
    good: dict[str, Any] = {
        "number": 0,
        "phase": WindowKind.MEASURED,
        "at_s": 1.0,
        "duration_s": 1.0,
        "records": 500,
        "value_bytes": 50_000.0,
        "failed": 0,
        "queue_full_ratio": 0.25,
        "latency": Histogram.of([1_000, 2_000, 3_000]),
        "total_windows": 2,
    }
    return Window(**{**good, **changes})


def report(**changes: Any) -> StatisticsReport:
    """Return a report of a client that has done nothing yet."""
    nothing: dict[str, Any] = {
        "at_ns": 0,
        "queued_records": 0,
        "queued_bytes": 0,
        "tx_records": 0,
        "wire_bytes": 0,
        "retries": 0,
        "in_flight": 0,
        "batch_bytes": Sum(),
        "batch_records": Sum(),
        "brokers": (),
        "partition_records": (),
    }
    return StatisticsReport(**{**nothing, **changes})


def reading(**changes: Any) -> HostReading:
    """Return a reading with all counters at their start."""
    start: dict[str, Any] = {
        "at_s": 0.0,
        "own_threads": {},
        "client_threads": {},
        "client_user_s": 0.0,
        "process_cpu_s": 0.0,
        "host_busy_s": 0.0,
        "host_total_s": 0.0,
        "brokers": None,
        "broker_threads": None,
        "sockets": None,
    }
    return HostReading(**{**start, **changes})


def load_result(**changes: Any) -> LibrdkafkaResult:
    """Return the result of a load of two seconds with a thousand records, all of them transmitted."""
    good: dict[str, Any] = {
        "duration_s": 2.0,
        "records": 1_000,
        "queue_full_ratio": 0.5,
        "latency": Histogram.of([1_000] * 10),
        "served": Histogram.of([1_000] * 10),
        "send_delay": Histogram.of([]),
        "series": (TimePoint.of(window()),),
        "before": reading(),
        "after": reading(at_s=2.0),
        "account": SendAccount(),
        "at_start": None,
        "at_end": None,
        "last": report(tx_records=1_000),
        "handed_over": 1_000,
        "stopped_early": False,
        "sample_ratio": 1.0,
    }
    return LibrdkafkaResult(**{**good, **changes})
