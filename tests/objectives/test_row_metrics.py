"""The metrics of a row of an experiment that are computed from others, on published numbers."""

import pytest

from objectives.row_metrics import row_metrics_of
from runners.measurements.measurement import LatencyCheck, Measurement, TimePoint, WindowKind
from runners.measurements.resources import BrokerUse, Resources
from runners.workload import RecordSizes, Workload
from search_spaces.client import java
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.measurements import activity, counts, measurement, window

THESIS = {"buffer.memory": "33554432", "batch.size": "16384", "enable.idempotence": "false"}


def seen(record_bytes: int, records_per_s: float, latency_ms: float, **changes: str) -> Measurement:
    return measurement(
        config=ProducerConfig.parse({**THESIS, **changes}, client=java()),
        workload=Workload(RecordSizes.fixed(record_bytes)),
        records=round(records_per_s * 2),
        value_bytes=records_per_s * 2 * record_bytes,
        latency_check=LatencyCheck(latency_ms * 1e3, latency_ms * 1e3, latency_ms * 900, 0, latency_ms * 100, None),
    )


@pytest.mark.parametrize(
    ("record_bytes", "records_per_s", "latency_ms", "ratio"),
    [(100, 290_141, 0.582, 0.0006), (1_000, 125_221, 261.591, 1.0), (10_000, 10_665, 192.018, 1.0)],
)
def test_the_latency_of_a_full_buffer_is_distinguished_from_other_latencies(
    record_bytes: int, records_per_s: float, latency_ms: float, ratio: float
) -> None:
    """Source: De Vos Meaker (2020), table 14. The defaults, in records per second."""
    found = row_metrics_of(seen(record_bytes, records_per_s, latency_ms))
    assert found["full_buffer_ratio"] == pytest.approx(ratio, abs=0.005)
    assert found["request_time_ratio"] == pytest.approx(0.1)


def test_how_many_compressed_records_a_buffer_holds_is_not_known() -> None:
    assert "full_buffer_ratio" not in row_metrics_of(seen(1_000, 125_221, 261.591, **{"compression.type": "gzip"}))


def test_the_throughput_with_overhead_counts_what_was_sent() -> None:
    found = row_metrics_of(measurement(activity=activity(wire_bytes=150_000)))
    assert found["wire_mb_per_s"] == pytest.approx(1.5 * found["mb_per_s"])


def test_the_spread_over_time_is_that_of_the_measured_windows() -> None:
    points = [
        TimePoint.of(window(records=records, phase=phase))
        for phase, records in ((WindowKind.WARMUP, 1), (WindowKind.MEASURED, 90), (WindowKind.MEASURED, 110))
    ]
    assert row_metrics_of(measurement(series=tuple(points)))["throughput_spread_ratio"] == pytest.approx(
        0.1414, abs=1e-4
    )
    assert "throughput_spread_ratio" not in row_metrics_of(measurement(series=tuple(points[:2])))


def test_an_interruption_is_the_time_with_less_than_half_of_the_usual_throughput() -> None:
    load = Workload(RecordSizes.fixed(100), warmup_s=1.0, rate_records_per_s=100)
    points = [
        TimePoint.of(window(phase=phase, at_s=at_s, records=records))
        for phase, at_s, records in (
            (WindowKind.WARMUP, 1.0, 0),
            (WindowKind.MEASURED, 2.0, 100),
            (WindowKind.MEASURED, 3.0, 49),
            (WindowKind.MEASURED, 3.5, 0),
            (WindowKind.MEASURED, 4.5, 150),
        )
    ]
    assert row_metrics_of(measurement(workload=load, series=tuple(points)))["interrupted_s"] == pytest.approx(1.5)


def test_the_quiet_time_between_bursts_is_no_interruption() -> None:
    """With bursts of 50 times the mean rate, the rate between them is about half of the mean."""
    load = Workload(RecordSizes.fixed(100), warmup_s=0.0, rate_records_per_s=100, peak_ratio=50)
    rates = (5_000, 49, 51, 49, 49, 0)
    points = [TimePoint.of(window(at_s=number + 1.0, records=records)) for number, records in enumerate(rates)]
    assert row_metrics_of(measurement(workload=load, series=tuple(points)))["interrupted_s"] == pytest.approx(1.0)


def test_records_that_were_acknowledged_and_are_not_there_are_lost() -> None:
    def found(stored: int | None, *, sole_writer: bool = True) -> tuple[float | None, float | None]:
        values = row_metrics_of(measurement(counts=counts(acknowledged=10, stored=stored, sole_writer=sole_writer)))
        return values.get("lost_records"), values.get("surplus_records")

    assert found(7) == (3, 0)
    assert found(12) == (0, 2)
    assert found(10) == (0, 0)
    assert found(None) == (None, None)
    assert found(7, sole_writer=False) == (None, None), "others may have written or deleted records"


def test_what_brokers_use_is_added_up_unless_one_is_unknown() -> None:
    two = (BrokerUse(9092, 0.5, 10.0, 40.0, 80.0), BrokerUse(9094, 0.25, 0.0, 20.0, None))
    values = row_metrics_of(measurement(resources=Resources(broker_cpu_cores=0.75, brokers=two)))
    assert values["broker_cpu_cores"] == 0.75
    assert values["busiest_broker_cpu_cores"] == 0.5
    assert values["broker_disk_mb_per_s"] == 10.0
    assert values["broker_received_mb_per_s"] == 60.0
    assert "broker_sent_mb_per_s" not in values
