"""Histograms agree with HdrHistogram, and merging loses nothing."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.measurements.histogram import HIGHEST_US, LOWEST_US, SIGNIFICANT_DIGITS, Histogram, Recorder

# Values around every bucket border, and values below the lowest and above the highest bucket.
DURATIONS = st.one_of(
    st.integers(-5, 5_000),
    st.integers(0, 33).flatmap(lambda bits: st.integers((1 << bits) - 2, (1 << bits) + 2)),
    st.integers(0, 2 * HIGHEST_US),
)
VALUES = st.lists(DURATIONS, max_size=60)
# Binary fractions are exact, so rounding can't cause a difference between our result and HdrHistogram's.
SHARES = st.integers(0, 256).map(lambda number: number / 256)


def clipped(values: Sequence[int]) -> list[int]:
    return [min(max(value, LOWEST_US), HIGHEST_US) for value in values]


def oracle(values: Sequence[int]) -> HdrHistogram:
    hdr = HdrHistogram(LOWEST_US, HIGHEST_US, SIGNIFICANT_DIGITS)
    for value in clipped(values):
        hdr.record_value(value)
    return hdr


@settings(max_examples=60)
@given(VALUES.filter(bool), st.lists(SHARES, min_size=1, max_size=5))
def test_percentiles_are_those_of_hdr_histogram(values: list[int], shares: list[float]) -> None:
    ours, expected = (
        Histogram.of(values),
        oracle(values).get_percentile_to_value_dict([100 * share for share in shares]),
    )
    assert {100 * share: ours.percentile_us(share) for share in shares} == expected


@settings(max_examples=60)
@given(VALUES.filter(bool))
def test_a_percentile_is_within_a_thousandth_of_a_recorded_value(values: list[int]) -> None:
    ordered = sorted(clipped(values))
    for share in (0.5, 0.9, 0.99, 0.999):
        true = ordered[max(0, math.floor(share * len(values) + 0.5) - 1)]
        assert true <= Histogram.of(values).percentile_us(share) <= true * 1.001
    assert Histogram.of(values).percentile_us(1.0) >= max(clipped(values))


@given(VALUES)
def test_count_and_mean_are_exact(values: list[int]) -> None:
    seen = Histogram.of(values)
    assert seen.count == len(values)
    assert seen.sum_us == sum(clipped(values))
    if values:
        assert seen.mean_us == sum(clipped(values)) / len(values)


@given(st.lists(VALUES, max_size=5))
def test_a_merged_histogram_is_the_histogram_of_all_values(parts: list[list[int]]) -> None:
    assert Histogram.merge(Histogram.of(part) for part in parts) == Histogram.of(
        [each for part in parts for each in part]
    )


@given(st.lists(VALUES, max_size=5))
def test_a_recorder_filled_in_parts_gives_the_same_histogram(parts: list[list[int]]) -> None:
    recorder = Recorder()
    for part in parts:
        recorder.record(np.array(part, dtype=np.int64))
    assert recorder.histogram() == Histogram.of([each for part in parts for each in part])


def test_a_histogram_does_not_change_when_its_recorder_continues() -> None:
    recorder = Recorder()
    recorder.record(np.array([7], dtype=np.int64))
    before = recorder.histogram()
    recorder.record(np.array([7], dtype=np.int64))
    assert (before.count, recorder.histogram().count) == (1, 2)
    with pytest.raises(ValueError, match="read-only"):
        before.counts[0] = 1


@settings(max_examples=12)
@given(VALUES)
def test_hdr_histogram_decodes_our_encoding(values: list[int]) -> None:
    seen = Histogram.of(values)
    theirs = HdrHistogram.decode(seen.encoded().encode())
    counts = {item.value_iterated_to: item.count_at_value_iterated_to for item in theirs.get_recorded_iterator()}
    repeated = np.repeat(np.array(list(counts), dtype=np.int64), np.array(list(counts.values()), dtype=np.int64))
    assert np.array_equal(Histogram.of(repeated).counts, seen.counts)
    assert theirs.get_total_count() == len(values)
    if values:
        assert theirs.get_value_at_percentile(50) == seen.percentile_us(0.5)


def test_an_empty_histogram_has_no_mean_and_no_percentile() -> None:
    empty = Histogram.of([])
    assert empty == Histogram.merge([])
    assert empty.count == 0
    assert all(math.isnan(value) for value in (empty.mean_us, empty.percentile_us(0.5), empty.percentile_us(1.0)))


@pytest.mark.parametrize("share", [-0.1, 1.1, 99.0, math.nan])
def test_a_ratio_outside_0_to_1_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="0 <= ratio <= 1"):
        Histogram.of([1]).percentile_us(share)


def test_longer_durations_count_as_an_hour() -> None:
    assert Histogram.of([HIGHEST_US]) == Histogram.of([HIGHEST_US * 1000])
    assert Histogram.of([-1, 0, 1]) == Histogram.of([1, 1, 1])
