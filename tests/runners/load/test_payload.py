"""A pool holds distinct records of exactly the requested sizes, keys and compressibility."""

import ctypes
import zlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.errors import WorkloadRefused
from runners.librdkafka.native_client import _slots
from runners.load.payload import (
    FEWEST_RECORDS,
    MAX_RECORDS,
    MIN_RECORDS,
    MOST_POOL_BYTES,
    PayloadPool,
    make_pool,
    zipf_shares,
)
from runners.workload import MAX_RECORD_BYTES, RecordSizes

# How far zlib's ratio may lie above the share of random bytes (measured: 0.024 at 100 B, 0.010 at 1 kB). zlib can't
# shrink random bytes, and it needs a few bytes to encode the filler as repeats of at most 258 bytes each (RFC 1951).
ZLIB_SPENDS = {100: 0.03, 1_000: 0.015}


def content(pool: PayloadPool) -> bytes:
    return pool.values.tobytes() + pool.offsets.tobytes() + pool.lengths.tobytes() + pool.keys.tobytes()


def records(pool: PayloadPool) -> list[bytes]:
    return [pool.value(index) for index in range(len(pool))]


@pytest.mark.parametrize("sizes", ["1000", "100:1,5000:9"])
def test_the_seed_decides_every_byte(sizes: str) -> None:
    def make(seed: int) -> PayloadPool:
        return make_pool(RecordSizes.parse(sizes), key_bytes=4, compressibility_ratio=0.5, seed=seed)

    assert content(make(1)) == content(make(1))
    assert content(make(1)) != content(make(2))


@pytest.mark.parametrize(("size", "compressibility"), [(3, 0.0), (7, 0.0), (8, 0.0), (100, 0.99), (100_000, 0.5)])
def test_no_record_is_sent_twice_before_all_were_sent(size: int, compressibility: float) -> None:
    pool = make_pool(RecordSizes.fixed(size), compressibility_ratio=compressibility)
    assert len(set(records(pool))) == len(pool)


@pytest.mark.parametrize("sizes", ["1:1,200:9", "2:5,3:95"])
def test_a_mix_repeats_no_record_that_is_large_enough_to_differ(sizes: str) -> None:
    pool = make_pool(RecordSizes.parse(sizes), compressibility_ratio=0.99)
    roomy = [record for record in records(pool) if len(record) >= 3]
    assert len(set(roomy)) == len(roomy)


@pytest.mark.parametrize(
    ("size", "count"), [(1, MAX_RECORDS), (1_024, 16_384), (100_000, MIN_RECORDS), (1 << 24, FEWEST_RECORDS)]
)
def test_a_pool_is_bounded_in_records_and_memory(size: int, count: int) -> None:
    pool = make_pool(RecordSizes.fixed(size))
    assert len(pool) == count
    assert len(pool.values) == count * size <= MOST_POOL_BYTES


@settings(max_examples=15)
@given(
    st.dictionaries(st.integers(500, 20_000), st.integers(1, 100), min_size=1, max_size=5),
    st.integers(0, 2**32),
)
def test_each_size_has_its_exact_share_in_random_order(weights: dict[int, int], seed: int) -> None:
    sizes = RecordSizes.parse(",".join(f"{size}:{weight}" for size, weight in weights.items()))
    pool = make_pool(sizes, seed=seed)
    for size, share in sizes.shares:
        assert abs(np.count_nonzero(pool.lengths == size) - share * len(pool)) <= 1 + len(sizes.shares) / 2
    assert pool.mean_bytes == pytest.approx(sizes.mean_bytes, rel=0.02)
    if len(weights) > 1:
        assert (np.diff(pool.lengths) != 0).sum() > len(weights), "shuffled"


def test_records_lie_one_after_another_in_memory() -> None:
    pool = make_pool(RecordSizes.parse("100:1,300:1"))
    assert b"".join(records(pool)) == pool.values.tobytes()
    assert [len(record) for record in records(pool)] == pool.lengths.tolist()


@pytest.mark.parametrize("size", [100, 1_000])
def test_zlib_removes_the_requested_share(size: int) -> None:
    ratios = []
    for percent in (0, 10, 50, 90):
        pool = make_pool(RecordSizes.fixed(size), compressibility_ratio=percent / 100)
        ratios.append(pool.zlib_ratio())
        assert 0 <= ratios[-1] - (1 - percent / 100) <= ZLIB_SPENDS[size]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[0] >= 1.0


def test_the_zlib_ratio_is_the_ratio_of_the_records_sent() -> None:
    pool = make_pool(RecordSizes.fixed(1_000), compressibility_ratio=0.7)
    sent = b"".join(records(pool)[:1_000])
    assert pool.zlib_ratio() == pytest.approx(len(zlib.compress(sent, 6)) / len(sent), rel=0.01)


def test_keys_have_the_requested_size_and_are_distinct() -> None:
    pool = make_pool(RecordSizes.fixed(1_000), key_bytes=8)
    keys = [pool.key(index) for index in range(len(pool))]
    assert {len(key) for key in keys if key is not None} == {8}
    assert len(set(keys)) == len(pool)


def test_without_key_bytes_there_is_no_key() -> None:
    assert make_pool(RecordSizes.fixed(1_000)).key(0) is None


@pytest.mark.parametrize(("key_bytes", "keys"), [(16, 200_000), (10_000, 6_710), (MAX_RECORD_BYTES, FEWEST_RECORDS)])
def test_the_memory_of_large_keys_is_bounded(key_bytes: int, keys: int) -> None:
    pool = make_pool(RecordSizes.fixed(10), key_bytes=key_bytes)
    assert len(pool) == 200_000
    assert pool.keys.shape == (keys, key_bytes)
    assert pool.key(keys - 1) != pool.key(0)
    assert pool.key(len(pool) - 1) == pool.key((len(pool) - 1) % keys)


def test_the_memory_of_a_mix_with_many_large_sizes_is_bounded() -> None:
    many = ",".join(f"{MAX_RECORD_BYTES - number}:1" for number in range(FEWEST_RECORDS + 1))
    with pytest.raises(WorkloadRefused, match="add up to at most"):
        RecordSizes.parse(f"10:1000000000,{many}")


def test_the_client_is_given_repeated_keys_in_turn() -> None:
    pool = make_pool(RecordSizes.fixed(100_000), key_bytes=1_000_000)
    assert 1 < len(pool.keys) < len(pool)
    slots = _slots(pool)
    given = [ctypes.string_at(int(slot["key"]), int(slot["key_len"])) for slot in slots[len(pool.keys) - 1 :][:3]]
    assert given == [pool.key(index) for index in range(len(pool.keys) - 1, len(pool.keys) + 2)]
    assert given[1] == pool.key(0)


@pytest.mark.parametrize(("different", "ratio"), [(1, 0.0), (100, 0.0), (100, 0.3), (10_000, 0.01), (2, 0.9)])
def test_keys_have_the_requested_number_and_frequency(different: int, ratio: float) -> None:
    pool = make_pool(RecordSizes.fixed(100), key_bytes=4, different_keys=different, most_frequent_key_ratio=ratio)
    counts = Counter(pool.key(number) for number in range(len(pool)))
    assert len(counts) <= different
    assert len(counts) > 0.8 * min(different, len(pool)) or ratio
    largest = counts.most_common(1)[0][1] / len(pool)
    assert largest == pytest.approx(ratio or 1 / different, rel=0.1)
    again = make_pool(RecordSizes.fixed(100), key_bytes=4, different_keys=different, most_frequent_key_ratio=ratio)
    assert np.array_equal(again.keys, pool.keys)


def test_keys_follow_zipfs_law() -> None:
    shares = zipf_shares(1_000, 0.1)
    assert shares.sum() == pytest.approx(1)
    assert shares[0] == pytest.approx(0.1)
    power = np.log(shares[0] / shares[9]) / np.log(10)
    assert shares[99] == pytest.approx(shares[0] * 100**-power)
    assert zipf_shares(10, 0.1) == pytest.approx(np.full(10, 0.1), abs=1e-6)
