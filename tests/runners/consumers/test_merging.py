"""What consumers measured at the same time adds up, also if some of them had nothing more to read."""

from dataclasses import replace

import numpy as np
import pytest

from runners.consumers.consumer_processes import _Windows
from runners.consumers.consumption import (
    Arrivals,
    Consumption,
    FetchActivity,
    ReadCounts,
    ReadOrigin,
    ReadWindow,
)
from runners.consumers.merging import merge_consumptions
from runners.consumers.reading import Reading
from runners.measurements.measurement import WindowKind
from runners.measurements.resources import Resources

ACTIVITY = FetchActivity(
    fetches_per_s=10.0,
    fetch_records=100.0,
    fetch_bytes=1_000.0,
    fetch_ms=2.0,
    in_flight_requests=1.0,
    throttle_ms=0.0,
    wire_bytes=5_000,
    queued_records=3.0,
    lag_records=4.0,
    receiving_ratio=0.5,
)


def window(
    number: int, at_s: float, records: int, phase: WindowKind = WindowKind.MEASURED, length_s: float = 1.0
) -> ReadWindow:
    return ReadWindow(
        number=number,
        phase=phase,
        at_s=at_s,
        duration_s=length_s,
        records=records,
        value_bytes=10 * records,
        total_windows=3,
        waiting_ratio=0.5,
    )


def consumption(*series: ReadWindow, ended_s: float | None = None, cores: float = 1.0) -> Consumption:
    taken = sum(each.records for each in series)
    runs = np.array([0]), np.array([0]), np.array([taken - 1]), np.array([7])
    return Consumption(
        reading=Reading(consumers=2, warmup_s=1.0, measured_s=2.0),
        origin=ReadOrigin(
            client_version="librdkafka", cluster="embedded", topic="t", partitions=1, started_at="2026-01-01"
        ),
        series=series,
        counts=ReadCounts(taken=taken, repeated=0, skipped=0, unread=0, stored=taken, received=taken),
        resources=Resources(process_cpu_cores=cores, drain_demand_ratio=cores / 2, host_cpu_ratio=0.9),
        activity=ACTIVITY,
        ended_s=ended_s,
        arrivals=Arrivals(*runs),
    )


WARM = window(0, 1.0, 50, WindowKind.WARMUP)


def test_windows_counts_and_resources_add_up() -> None:
    first, second = (
        consumption(WARM, window(1, 2.0, 100), window(2, 3.0, 100)),
        consumption(WARM, window(1, 2.01, 200), window(2, 3.0, 300)),
    )
    whole = merge_consumptions([first, second])
    assert [each.records for each in whole.series] == [100, 300, 400]
    assert whole.records == 700
    assert whole.duration_s == pytest.approx(2.0)
    assert whole.records_per_s == pytest.approx(350)
    assert whole.counts.taken == whole.counts.stored == whole.counts.received == 800
    assert whole.origin.partitions == 2
    assert whole.resources.process_cpu_cores == pytest.approx(2.0)
    assert whole.resources.host_cpu_ratio == 0.9
    assert whole.activity is not None
    assert whole.activity.fetches_per_s == 20
    assert whole.activity.fetch_records == pytest.approx(100)
    assert whole.activity.lag_records == 8
    assert whole.arrivals is not None
    assert whole.arrivals.records == 800
    assert (whole.ended_s, whole.in_warm_up) == (None, False)


def test_a_consumer_that_has_read_its_share_reads_no_more() -> None:
    early = consumption(WARM, window(1, 1.5, 100, length_s=0.5), ended_s=1.5)
    late = consumption(WARM, window(1, 2.0, 200), window(2, 2.75, 300, length_s=0.75), ended_s=2.75)
    whole = merge_consumptions([early, late])
    assert [each.records for each in whole.series] == [100, 300, 300]
    assert whole.ended_s == 2.75
    assert whole.duration_s == pytest.approx(1.75)
    assert whole.records_per_s == pytest.approx(600 / 1.75)
    # One core for half a second, and one for the whole time.
    assert whole.resources.process_cpu_cores == pytest.approx(0.5 / 1.75 + 1.0)


def test_a_short_last_window_that_ended_before_a_late_one_belongs_to_it() -> None:
    early = consumption(WARM, window(1, 2.0, 100), window(2, 2.05, 5, length_s=0.05), ended_s=2.05)
    late = consumption(WARM, window(1, 2.1, 200, length_s=1.1), ended_s=2.1)
    whole = merge_consumptions([early, late])
    assert [each.records for each in whole.series] == [100, 305]
    assert [each.value_bytes for each in whole.series] == [1_000, 3_050]
    assert [each.duration_s for each in whole.series] == pytest.approx([1.0, 1.1])
    assert whole.duration_s == pytest.approx(1.1)


def test_windows_of_consumers_are_shown_in_the_order_of_their_ends() -> None:
    windows, shown = _Windows(2), list[ReadWindow]()
    for consumer, each in ((0, WARM), (1, WARM), (0, window(1, 2.0, 100)), (0, window(2, 2.1, 5, length_s=0.1))):
        shown += windows.add(consumer, each)
    shown += windows.end(0)
    shown += windows.add(1, window(1, 2.1, 200, length_s=1.1))
    shown += windows.end(1)
    assert [each.records for each in shown] == [100, 300]
    assert [each.records_per_s for each in shown] == pytest.approx([100, 300 / 1.1])


def test_if_all_consumers_ended_in_the_warm_up_its_values_count() -> None:
    ended = consumption(replace(WARM, at_s=0.4, duration_s=0.4), ended_s=0.4)
    whole = merge_consumptions([ended, replace(ended, activity=None)])
    assert whole.in_warm_up
    assert whole.records == 100
    assert whole.records_per_s == pytest.approx(250)
    in_the_other_phase = merge_consumptions([ended, consumption(WARM, window(1, 2.0, 100))])
    assert not in_the_other_phase.in_warm_up
    assert in_the_other_phase.records == 100
    assert in_the_other_phase.ended_s is None


def test_a_single_result_is_kept() -> None:
    alone = consumption(WARM)
    assert merge_consumptions([alone]) is alone
