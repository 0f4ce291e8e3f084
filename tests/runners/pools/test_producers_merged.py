"""Producers of one trial are merged: sums are sums, and percentiles come from merged histograms.

A value that one producer does not know is not made up.
"""

import math
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from objectives.bottlenecks import Bottleneck
from objectives.producer_verdict import Evidence, judge
from objectives.row_metrics import row_metrics_of
from runners.measurements.histogram import Histogram
from runners.measurements.measurement import LatencyCheck, Measurement, TimePoint, WindowKind
from runners.measurements.resources import Resources
from runners.pools.producers import merge, merge_windows, share_of_producer
from runners.workload import RecordSizes, Workload
from tests.helpers.measurements import activity, counts, measurement, window

WHOLE = Workload(RecordSizes.fixed(100), rate_records_per_s=5_000)
RATIOS = st.floats(0.0, 1.0)
MAYBE = st.none() | RATIOS
FLOATS = [each.name for each in fields(Resources) if each.name not in ("host_cores", "brokers")]
USED = st.builds(Resources, host_cores=st.none() | st.integers(1, 64), **dict.fromkeys(FLOATS, MAYBE))


@st.composite
def measurements(draw: st.DrawFn) -> Measurement:
    acknowledged = draw(st.integers(0, 10_000))
    failed = draw(st.dictionaries(st.sampled_from(["A", "B"]), st.integers(1, 9)))
    shown = draw(st.lists(st.integers(1, 1_000), max_size=4))
    return measurement(
        duration_s=draw(st.floats(0.5, 2.0)),
        records=acknowledged,
        value_bytes=acknowledged * 100.0,
        latency=Histogram.of(draw(st.lists(st.integers(1, 10**7), max_size=20))),
        send_delay=Histogram.of(draw(st.lists(st.integers(1, 10**5), max_size=5))),
        sample_ratio=draw(RATIOS),
        counts=counts(
            handed_over=acknowledged + sum(failed.values()),
            acknowledged=acknowledged,
            failed=failed,
            transmitted=draw(st.none() | st.just(acknowledged)),
            retries=draw(st.integers(0, 9)),
            sole_writer=draw(st.booleans()),
        ),
        latency_check=draw(st.none() | st.builds(LatencyCheck, *[st.floats(1.0, 1e6)] * 5, MAYBE, MAYBE)),
        resources=draw(USED),
        activity=draw(st.none() | st.builds(activity, queue_full_ratio=RATIOS, wire_bytes=st.none() | st.just(7))),
        series=tuple(
            TimePoint(number + 1.0, WindowKind.MEASURED, float(records), 1.0, float(records), 0.5)
            for number, records in enumerate(shown)
        ),
        stopped_early=draw(st.booleans()),
        warnings=tuple(draw(st.lists(st.sampled_from("abc"), max_size=3, unique=True))),
    )


SEVERAL = st.lists(measurements(), min_size=2, max_size=3)
FEW = settings(max_examples=25)  # the histograms of one example take a megabyte


@FEW
@given(measurements())
def test_a_single_measurement_keeps_all_but_the_workload(one: Measurement) -> None:
    assert merge([one], WHOLE, ()) == replace(one, workload=WHOLE)


@FEW
@given(SEVERAL, st.floats(0.01, 1.0))
def test_counts_and_histograms_add_up(several: list[Measurement], ratio: float) -> None:
    several = [replace(each, sample_ratio=ratio) for each in several]
    merged = merge(several, WHOLE, ())
    assert merged.workload == WHOLE
    assert merged.records == sum(each.records for each in several)
    assert merged.value_bytes == sum(each.value_bytes for each in several)
    assert merged.duration_s == max(each.duration_s for each in several)
    assert merged.latency == Histogram.merge(each.latency for each in several)
    assert merged.send_delay == Histogram.merge(each.send_delay for each in several)
    assert merged.counts.acknowledged == sum(each.counts.acknowledged for each in several)
    assert merged.counts.failed_records == sum(each.counts.failed_records for each in several)
    assert merged.counts.sole_writer == all(each.counts.sole_writer for each in several)
    assert merged.stopped_early == any(each.stopped_early for each in several)
    assert set(merged.warnings) == {warning for each in several for warning in each.warnings}
    assert len(merged.warnings) == len(set(merged.warnings))


@FEW
@given(SEVERAL)
def test_unknown_values_are_not_added_up(several: list[Measurement]) -> None:
    merged = merge(several, WHOLE, ())
    assert merged.counts.stored is None
    assert (merged.counts.transmitted is None) == any(each.counts.transmitted is None for each in several)
    cores = [each.resources.process_cpu_cores for each in several]
    assert (merged.resources.process_cpu_cores is None) == (None in cores)
    busiest = [ratio for each in several if (ratio := each.resources.sender_cpu_ratio) is not None]
    assert merged.resources.sender_cpu_ratio == max(busiest, default=None)
    assert (merged.latency_check is None) == all(each.latency_check is None for each in several)
    assert (merged.activity is None) == all(each.activity is None for each in several)


@FEW
@given(SEVERAL)
def test_means_lie_between_those_of_the_producers(several: list[Measurement]) -> None:
    merged = merge(several, WHOLE, ())
    ratios = [each.sample_ratio for each in several]
    assert min(ratios) - 1e-9 <= merged.sample_ratio <= max(ratios) + 1e-9
    checks = [each.latency_check.seen_us for each in several if each.latency_check]
    if merged.latency_check:
        assert min(checks) * (1 - 1e-9) <= merged.latency_check.seen_us <= max(checks) * (1 + 1e-9)


@FEW
@given(SEVERAL)
def test_the_order_of_producers_does_not_matter(several: list[Measurement]) -> None:
    one, other = merge(several, WHOLE, ()), merge(several[::-1], WHOLE, ())
    assert (one.records, one.latency, one.counts) == (other.records, other.latency, other.counts)
    assert one.sample_ratio == pytest.approx(other.sample_ratio)


def test_latency_is_weighted_by_records() -> None:
    check = LatencyCheck(100.0, 100.0, 0.0, 0.0, 0.0, None)
    slow = replace(check, seen_us=400.0, drain_us=1.0)
    several = [measurement(records=300, latency_check=check), measurement(records=100, latency_check=slow)]
    merged = merge(several, WHOLE, ())
    assert merged.latency_check is not None
    assert merged.latency_check.seen_us == pytest.approx(175.0)
    assert merged.latency_check.drain_us is None


def test_a_producer_that_recorded_fewer_latencies_counts_as_much() -> None:
    """Both sent 10,000 records; of the slow producer only a hundredth was recorded."""
    fast = measurement(records=10_000, sample_ratio=1.0, latency=Histogram.of([1_000] * 10_000))
    slow = measurement(records=10_000, sample_ratio=0.01, latency=Histogram.of([9_000] * 100))
    merged = merge([fast, slow], WHOLE, ())
    assert merged.latency.percentile_us(0.49) == Histogram.of([1_000]).percentile_us(0.5)
    assert merged.latency.percentile_us(0.51) == Histogram.of([9_000]).percentile_us(0.5)
    assert merged.latency.mean_us == pytest.approx(5_000, rel=1e-3)
    assert merged.latency.count == 10_100, "as many latencies as were recorded"
    whole = merge_windows([window(records=each.records, latency=each.latency) for each in (fast, slow)])
    assert whole.latency == merged.latency


@FEW
@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=50), st.floats(0.1, 10.0))
def test_a_scaled_histogram_has_the_same_percentiles(values_us: list[int], factor: float) -> None:
    one = Histogram.of(values_us)
    scaled = one.scaled(factor)
    assert abs(scaled.count - one.count * factor) <= 0.5
    assert (scaled.counts >= 0).all()
    assert not scaled.counts[one.counts == 0].any()
    if scaled.count:
        assert scaled.mean_us == pytest.approx(one.mean_us, rel=1e-3, abs=1.0)
    assert one.scaled(1.0) == one


def test_merging_no_measurements_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one measurement"):
        merge([], WHOLE, ())


def test_a_window_of_all_producers_holds_all_their_records() -> None:
    early, late = window(at_s=1.0, records=100), window(at_s=1.1, records=300, queue_full_ratio=0.75)
    both = merge_windows([early, late])
    assert (both.at_s, both.records, both.latency.count) == (1.1, 400, 6)
    assert both.queue_full_ratio == pytest.approx(0.625)


@given(st.integers(1, 20), st.none() | st.floats(1.0, 1e6), st.integers(0, 100))
def test_shares_add_up_to_the_whole_load_and_have_different_seeds(
    producers: int, rate: float | None, seed: int
) -> None:
    whole = replace(WHOLE, rate_records_per_s=rate, seed=seed)
    shares = [share_of_producer(whole, producers, producer) for producer in range(producers)]
    assert len({each.seed for each in shares}) == producers
    assert {each.load for each in shares} == {whole.load}
    if rate is not None:
        assert math.fsum(each.rate_records_per_s or 0.0 for each in shares) == pytest.approx(rate)


def test_a_single_producer_gets_the_whole_load() -> None:
    assert share_of_producer(WHOLE, 1, 0) == WHOLE


def test_equal_producers_together_have_the_verdict_of_each_of_them() -> None:
    """Rates add up, so the records in the queues of all producers count together, too."""
    one = measurement(activity=activity(queue_full_ratio=0.5, queued_bytes=25_000.0, in_flight_requests=0.2))
    three = merge([one, one, one], replace(WHOLE, rate_records_per_s=None), ())
    alone, together = judge(Evidence.of(one)), judge(Evidence.of(three))
    assert (alone.bound, alone.latency_is_buffer) == (Bottleneck.CLIENT_BUFFER, True)
    assert (together.bound, together.latency_is_buffer) == (Bottleneck.CLIENT_BUFFER, True)
    assert Evidence.of(three).in_flight_requests == pytest.approx(0.6)
    ratio = row_metrics_of(one)["full_buffer_ratio"]
    assert row_metrics_of(three)["full_buffer_ratio"] == pytest.approx(ratio)
    busy, idle = (replace(one, activity=activity(in_flight_requests=each), records=r) for each, r in ((2, 900), (0, 0)))
    assert Evidence.of(merge([busy, idle], WHOLE, ())).in_flight_requests == 2, "a mean over time"
