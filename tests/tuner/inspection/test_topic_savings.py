"""What there is to gain in a topic, and which topics of a cluster gain most."""

from dataclasses import replace

import pytest

from runners.inspection.record_batch import MergedBatches
from tests.helpers.batches import batch, sample_of
from tuner.inspection.topic_savings import Inspection, best_codec, inspection_of, rank_topics, savings_of


def inspection(merged: MergedBatches, name: str = "orders", recent: int = 1_000) -> Inspection:
    found = inspection_of(sample_of([batch(records=2, bytes=200)] * 10, merged=merged, name=name))
    assert found is not None
    return replace(found, traffic=replace(found.traffic, recent_records=recent))


def test_savings_are_shares_of_today_s_batches_and_bytes() -> None:
    merged = MergedBatches(10, 2, 20, 2_000, 1_500, {"lz4": 510, "zstd": 500, "gzip": 490, "snappy": 700})
    found = inspection(merged).savings
    assert (found.batches_ratio, found.codec) == (0.8, "lz4")
    assert found.bytes_ratio == pytest.approx(1 - 510 / 2_000)


def test_the_codec_is_the_first_that_is_nearly_the_best() -> None:
    assert best_codec({"lz4": 600, "zstd": 500, "gzip": 490, "snappy": 700}, 1_000) == "zstd"
    assert best_codec({"lz4": 990, "zstd": 980, "gzip": 970, "snappy": 1_000}, 1_000) == "none"
    assert best_codec({}, 1_000) == "none"


def test_batches_that_are_as_good_as_they_can_be_save_nothing() -> None:
    found = inspection(MergedBatches(10, 10, 20, 1_000, 3_000, {"lz4": 1_010, "zstd": 1_005})).savings
    assert (found.batches_ratio, found.bytes_ratio) == (0.0, 0.0)
    nothing = inspection(MergedBatches())
    assert savings_of(nothing.traffic).codec == "none"


def test_topics_are_ranked_by_their_share_of_what_the_cluster_could_save() -> None:
    much = MergedBatches(10, 1, 20, 2_000, 2_000, {"lz4": 1_000})
    little = MergedBatches(10, 9, 20, 2_000, 2_000, {"lz4": 1_900})
    rows = rank_topics(
        [
            inspection(much, "quiet", recent=10),
            inspection(little, "busy", recent=10_000),
            inspection(much, "busy and small", recent=10_000),
        ]
    )
    assert [row.inspection.topic for row in rows] == ["busy and small", "busy", "quiet"]
    batches = 20_010 / 2
    assert rows[0].batches_ratio == pytest.approx(0.9 * 5_000 / batches)
    assert rows[0].bytes_ratio == pytest.approx(0.5 * 10_000 / 20_010)
    assert rows[0].saved_ratio == pytest.approx((rows[0].batches_ratio + rows[0].bytes_ratio) / 2)
    assert sum(row.saved_ratio for row in rows) <= 1


def test_a_cluster_on_which_nothing_was_written_has_no_ranking() -> None:
    rows = rank_topics([inspection(MergedBatches(), "b", recent=0), inspection(MergedBatches(), "a", recent=0)])
    assert [row.inspection.topic for row in rows] == ["a", "b"]
    assert rank_topics([]) == []
