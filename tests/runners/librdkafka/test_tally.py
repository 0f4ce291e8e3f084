"""Counts are complete, and the sample of latencies is fair, however deliveries are grouped into events."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.clock import NS_PER_US
from runners.librdkafka.tally import Tally

COUNTS = st.lists(st.one_of(st.integers(1, 5), st.integers(1, 20_000)), min_size=1, max_size=30)


@settings(max_examples=50)
@given(COUNTS, st.floats(0.0005, 1.0), st.integers(0, 1000))
def test_every_delivery_is_counted_and_picks_lie_in_their_event(counts: list[int], ratio: float, seed: int) -> None:
    tally = Tally(seed=seed, sample_ratio=ratio)
    for count in counts:
        picks = tally.delivered(count)
        assert ((picks >= 0) & (picks < count)).all()
        assert (np.diff(picks) > 0).all()
    assert tally.acknowledged == sum(counts) == tally.done


@settings(max_examples=30)
@given(COUNTS, st.floats(0.0005, 1.0), st.integers(0, 1000))
def test_the_sample_does_not_depend_on_the_size_of_events(counts: list[int], ratio: float, seed: int) -> None:
    bunched, single = Tally(seed=seed, sample_ratio=ratio), Tally(seed=seed, sample_ratio=ratio)
    begins = np.cumsum([0, *counts[:-1]])
    picked = [begin + bunched.delivered(count) for begin, count in zip(begins, counts, strict=True)]
    total = min(sum(counts), 5_000)
    one_by_one = [number for number in range(total) if len(single.delivered(1))]
    assert [pick for pick in np.concatenate(picked).tolist() if pick < total] == one_by_one


def test_a_ratio_of_one_samples_everything() -> None:
    tally = Tally(sample_ratio=1.0)
    assert [tally.delivered(count).tolist() for count in (3, 10_000, 1)] == [[0, 1, 2], list(range(10_000)), [0]]


@pytest.mark.parametrize("ratio", [0.3, 0.01, 0.001])
def test_the_share_of_the_sample_is_the_requested_one(ratio: float) -> None:
    tally, total = Tally(sample_ratio=ratio), 2_000_000
    picked = sum(len(tally.delivered(10_000)) for _ in range(total // 10_000))
    spread = np.sqrt(total * ratio * (1 - ratio))
    assert abs(picked - total * ratio) < 5 * spread


def test_a_new_ratio_applies_from_the_next_delivery_on() -> None:
    tally = Tally(sample_ratio=1e-9)
    assert not len(tally.delivered(1_000))
    tally.resample(1.0)
    assert len(tally.delivered(1_000)) == 1_000


@pytest.mark.parametrize("batch", [100, 1_000, 10_000])
def test_latency_that_depends_on_the_place_in_a_batch_is_sampled_fairly(batch: int) -> None:
    """A fixed stride of 1 in 100 would always see the same positions of a batch, and be wrong by up to a half."""
    tally, batches = Tally(sample_ratio=0.01), 2_000_000 // batch
    tally.measured.start_ns, tally.measured.end_ns = -(1 << 62), 1 << 62
    waited_us = np.arange(batch, 0, -1, dtype=np.int64) * 10  # the first record of a batch waits longest
    for _ in range(batches):
        tally.sample(-waited_us[tally.delivered(batch)] * NS_PER_US, served_ns=0)
    tally.take_latencies()
    seen = tally.latency()
    true_mean, spread = waited_us.mean(), waited_us.std() / np.sqrt(seen.count)
    assert abs(seen.mean_us - true_mean) < 5 * spread
    for share in (0.05, 0.5, 0.95):
        # Five standard errors of a percentile of a uniform distribution, plus the width of a bucket.
        slack = 5 * np.sqrt(share * (1 - share) / seen.count) * batch * 10 + share * batch / 100 + 10
        assert abs(seen.percentile_us(share) - share * batch * 10) < slack


def test_windows_count_by_serving_and_the_total_by_intended_time() -> None:
    tally = Tally()
    tally.measured.start_ns, tally.measured.end_ns = 1_000_000, 2_000_000
    tally.sample(np.array([999_999, 1_000_000, 1_999_999], dtype=np.int64), served_ns=2_500_000)
    assert tally.take_latencies().count == 3
    tally.sample(np.array([2_000_000, 1_500_000], dtype=np.int64), served_ns=3_500_000)
    assert tally.take_latencies().count == 2
    assert tally.take_latencies().count == 0
    assert tally.latency().count == 3
    assert tally.latency().sum_us == (2_500_000 - 1_000_000) // 1000 + (2_500_000 - 1_999_999) // 1000 + 2_000


def test_failed_records_are_counted_by_error_and_count_as_done() -> None:
    tally = Tally()
    tally.delivered(5)
    tally.fail("_MSG_TIMED_OUT", 3)
    tally.fail("_MSG_TIMED_OUT")
    tally.fail("INVALID_RECORD")
    assert tally.failed == {"_MSG_TIMED_OUT": 4, "INVALID_RECORD": 1}
    assert tally.done == 10


def test_only_the_newest_error_messages_are_kept() -> None:
    tally = Tally()
    for number in range(10_000):
        tally.add_complaint(f"error {number}")
    assert len(tally.errors) < 1_000
    assert tally.complaints()[-1] == "error 9999"


def test_complaints_are_the_errors_since_the_last_acknowledgement() -> None:
    tally = Tally()
    tally.add_complaint("before")
    tally.delivered(1)
    assert tally.complaints() == []
    tally.add_complaint("first")
    tally.add_complaint("second")
    assert tally.complaints() == ["first", "second"]
    tally.fail("_MSG_TIMED_OUT")
    assert tally.complaints() == ["first", "second"]
