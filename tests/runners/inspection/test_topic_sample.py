"""Statistics of a topic's records: what is counted of them, and which mix of sizes stands for them."""

import os

import pytest

from runners.clusters.topics.topic_reader import ReadRecord
from runners.inspection.topic_sample import SampleCount, TopicSample
from runners.workload import RecordSizes

MUCH = 10**9


def counted(records: list[ReadRecord], max_bytes: int = MUCH) -> TopicSample:
    count = SampleCount()
    count.add(records, max_bytes)
    return count.result(partitions=2)


def record(size: int, key: bytes | None = None, at_ms: int | None = None, partition: int = 0) -> ReadRecord:
    return ReadRecord(partition, key, b"x" * size, at_ms)


def test_sizes_keys_and_times_are_counted() -> None:
    found = counted(
        [
            record(100, b"a", 1_000),
            record(100, b"a", 1_500),
            record(300, b"bcd", 3_000),
            record(500, None, 5_000),
            ReadRecord(1, b"a", None, 2_000),
        ]
    )
    assert (found.records, found.tombstones, found.value_bytes) == (5, 1, 1_000)
    assert found.sizes == {100: 2, 300: 1, 500: 1}
    assert (found.keyed, found.different_keys, found.key_bytes) == (4, 2, 1.5)
    assert found.most_frequent_key_ratio == 0.75
    assert (found.span_s, found.busiest_records_per_s) == (4.0, 2)
    assert found.rate_records_per_s == 5 / 4
    assert [found.size_at(share) for share in (0.0, 0.5, 0.75, 1.0)] == [100, 100, 300, 500]


def test_nothing_of_the_content_is_kept() -> None:
    count = SampleCount()
    count.add([ReadRecord(0, b"SECRET-KEY", b"SECRET-VALUE" * 10_000, 1)], MUCH)
    found = count.result(1)
    assert "SECRET" not in repr(found)
    assert "SECRET" not in repr(count)


def test_records_of_a_few_milliseconds_have_no_rate() -> None:
    found = counted([record(10, None, 1_000 + at) for at in range(4)])
    assert (found.span_s, found.rate_records_per_s, found.busiest_records_per_s) == (0.003, 0.0, 4)


def test_records_without_times_have_no_rate() -> None:
    found = counted([record(10), record(10)])
    assert (found.span_s, found.rate_records_per_s, found.busiest_records_per_s) == (0.0, 0.0, 0)


def test_each_codec_compresses_what_the_records_hold() -> None:
    random = [ReadRecord(0, None, os.urandom(1_000), None) for _ in range(200)]
    alike = [ReadRecord(0, None, b'{"event": "page_view", "user": 17}' * 30, None) for _ in range(200)]
    for name, ratio in counted(random).removed_ratio.items():
        assert ratio < 0.02, name
    found = counted(alike).removed_ratio
    assert {"gzip", "lz4", "snappy", "zstd"} == set(found)
    assert all(ratio > 0.9 for ratio in found.values())


def test_reading_ends_at_the_largest_number_of_bytes() -> None:
    assert counted([record(100) for _ in range(50)], max_bytes=1_000).records == 11


def test_a_size_that_hardly_varies_is_one_size() -> None:
    assert counted([record(995 + number % 11) for number in range(1_100)]).mix() == "1000"


def test_the_mix_has_the_mean_size_of_the_records() -> None:
    sizes = [10 * (1 + number % 700) for number in range(7_000)]
    mix = RecordSizes.parse(counted([record(size) for size in sizes]).mix())
    assert len(mix.shares) == 5
    assert mix.mean_bytes == pytest.approx(sum(sizes) / len(sizes), rel=0.01)


def test_empty_values_are_sent_as_one_byte() -> None:
    assert counted([record(0)]).mix() == "1"


def test_few_sizes_are_named_as_they_are() -> None:
    assert counted([record(200)] * 670 + [record(1_000)] * 330).mix() == "200:67,1000:33"
    assert counted([record(200)] * 3 + [record(500)] * 5 + [record(1_000)] * 992).mix() == "200:1,500:1,1000:98"
