"""What is said about a topic's batches, in sentences that follow from the figures."""

from dataclasses import replace

import pytest

from runners.inspection.batch_sampling import BatchSample
from runners.inspection.record_batch import BatchSequence, MergedBatches, RecordBatch
from tests.helpers.batches import arrivals, batch, batch_of, batched, sample_of, stored
from tuner.inspection.batch_ending import BatchEnding, Ending
from tuner.inspection.topic_savings import Inspection, inspection_of, rank_topics
from tuner.present.topics.inspection_view import inspection_json, inspection_lines, print_ranking, ranking_json
from tuner.present.topics.inspection_words import in_short, linger, notes, remarks, share, why_unusable

HALVED = MergedBatches(40, 10, 40, 6_440, 4_610, {"lz4": 3_220, "zstd": 3_300, "gzip": 3_200, "snappy": 4_000})
MUCH = 10**9


def single(**changes: object) -> list[RecordBatch]:
    return [replace(batch_of([(50.0 * number, 100)]), **changes) for number in range(40)]  # type: ignore[arg-type]


def found_in(sample: BatchSample) -> Inspection:
    found = inspection_of(sample)
    assert found is not None
    return found


def said(sample: BatchSample) -> str:
    found = found_in(sample)
    return " ".join([*remarks(found), *notes(sample, found)])


def test_for_uncompressed_batches_of_one_record_the_words_say_what_waiting_and_a_codec_would_save() -> None:
    text = said(sample_of(single(), merged=HALVED))
    assert (
        "1.00 records a batch: the producers do not wait for a second record (linger.ms: at most 51, if one producer"
        in text
    )
    assert "40 batches would become 10, which is 75 % fewer, for up to 20 ms more latency." in text
    assert "Batches are not compressed: lz4 would save 31 % of the bytes, " in text
    assert "and 50 % if the batches were larger, too." in text
    assert "No batch has a producer id: enable.idempotence is off" in text
    assert "If there are several, longer waits would bring less." in text
    assert in_short(found_in(sample_of(single()))) == "1.00 records a batch, not compressed"


def test_for_batches_that_end_after_a_wait_the_words_say_linger_and_that_waiting_longer_hardly_helps() -> None:
    batches = [batch_of(each, "lz4", 0.4, producer_id=7) for each in batched(arrivals(3_000, 1), 50, MUCH)]
    sample = sample_of(batches, merged=MergedBatches(10, 10, 500, 1_000, 2_500, {"lz4": 1_000, "zstd": 990}))
    text = said(sample)
    assert "batches end after a wait, and linger.ms is 4" in text
    assert "Waiting longer would hardly help" in text
    assert "Batches are compressed with lz4, and another codec would save hardly any bytes." in text
    assert "All batches have a producer id: enable.idempotence is on (1 producer)." in text
    assert in_short(found_in(sample)).endswith("records a batch, lz4")


def test_full_batches_tell_batch_size_and_not_linger() -> None:
    batches = [batch_of(each) for each in batched(arrivals(3_000, 0.05), 10_000, 16_384)]
    text = said(sample_of(batches))
    assert "Batches end because they are full: batch.size is about 16," in text
    assert "linger.ms plays no part" in text


def test_a_topic_whose_batches_differ_gets_the_share_of_each_kind() -> None:
    some = [*single(producer_id=1, transactional=True), *single(codec="zstd")]
    text = said(sample_of(some, [], [], []))
    assert "50 % of the batches belong to transactions." in text
    assert "50 % of the batches have a producer id" in text
    assert "50 % of the batches are not compressed" in text
    assert "One of the 4 partitions has 96 % of the records" in text
    assert in_short(found_in(sample_of(some))) == "1.00 records a batch, zstd in part"


def test_what_limits_the_figures_is_said() -> None:
    sequence = BatchSequence(tuple(single()), MergedBatches(), {"control": 3, "compacted": 1_200})
    sample = BatchSample(stored((0, 40), (0, 9), (0, 9)), {0: sequence}, {1: "NOT_LEADER", 2: "NOT_LEADER"})
    text = said(sample)
    assert "of the batches that were read, 3 that end transactions were left out." in text
    assert "1,200 were left out, because compaction has removed records from them." in text
    assert "2 partitions could not be read: NOT_LEADER." in text


def test_only_batches_that_are_too_large_need_more_bytes() -> None:
    refused = BatchSample(stored((0, 9)), {}, {0: "NOT_LEADER_OR_FOLLOWER"})
    assert why_unusable(refused) == "NOT_LEADER_OR_FOLLOWER"
    large = BatchSample(stored((0, 9)), {}, {0: "its batches are larger than 9 kB"}, lacks_bytes=True)
    assert why_unusable(large).startswith("its batches are larger than 9 kB; a batch may have at most 18 %")
    ends = {number: BatchSequence((), MergedBatches(), {"control": 2}) for number in range(2)}
    assert why_unusable(BatchSample(stored((0, 9), (0, 9)), ends, {})) == "4 that end transactions were left out"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(0, 4, "at most 4"), (19, 21, "19 to 21"), (0, None, "not known"), (98, None, "at least 98")],
)
def test_linger_is_a_range_a_bound_or_not_known(low: float, high: float | None, text: str) -> None:
    assert linger(BatchEnding(Ending.UNCLEAR, low, high)) == text


def test_only_percentages_below_ten_have_a_decimal() -> None:
    assert [share(each) for each in (0.0, 0.004, 0.099, 0.5, 1.0)] == ["0 %", "0.4 %", "9.9 %", "50 %", "100 %"]


def test_the_figures_have_a_line_each() -> None:
    lines = dict(inspection_lines(found_in(sample_of(single(), merged=HALVED)), 12_345))
    assert lines["topic"].startswith("orders: 40 of the newest batches of 1 of 1 partition, 40 records; 0.01 MB read")
    assert lines["batch fill"].startswith("1.0 % of 16,384 (batch.size of the Java client by default)")
    assert lines["in larger batches"].startswith("lz4 50 %, zstd 51 %, snappy 62 %, gzip 50 % of today's bytes")
    assert lines["batch to next batch"].startswith("mean 50.0, median 50.0, p90 50.0 ms")
    assert "CreateTime" in lines["creation to append"]


def test_one_record_in_one_partition_is_in_the_singular() -> None:
    lines = dict(inspection_lines(found_in(sample_of([batch()])), 73))
    assert lines["topic"] == "orders: 1 of the newest batches of 1 of 1 partition, 1 record; 0.00 MB read"
    assert lines["balance"] == "the only partition has 1 stored record"
    assert dict(inspection_lines(found_in(sample_of([batch()], [batch()])), 73))["balance"] == (
        "the fullest of 2 partitions has 50 % of 2 stored records"
    )


def test_counts_without_transaction_markers_are_estimates() -> None:
    sample = sample_of([batch(records=2), batch(records=2)])
    sequence = replace(sample.sequences[0], set_aside={"control": 2})
    topic = stored((0, 60), recent=30)
    lines = dict(inspection_lines(found_in(replace(sample, sequences={0: sequence}, topic=topic)), 500))
    assert lines["balance"] == "the only partition has about 40 stored records"
    assert lines["last 24 hours"] == "about 20 records"


def test_json_has_all_figures() -> None:
    sample = sample_of(single(), merged=HALVED)
    found = found_in(sample)
    record = inspection_json(found, sample, 99)
    assert (record["kind"], record["topic"], record["received_bytes"]) == ("inspection", "orders", 99)
    assert record["traffic"]["merged"]["after"] == 10
    assert record["ending"]["ending"] == "each record"
    assert record["savings"]["codec"] == "lz4"
    assert record["says"]
    ranking = ranking_json(rank_topics([found]), {"old": "no record in the last 24 hours"}, 99, 86_400)
    assert (ranking["kind"], ranking["topics"][0]["topic"]) == ("inspections", "orders")
    assert ranking["unread"] == {"old": "no record in the last 24 hours"}


def test_a_ranking_without_topics_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    print_ranking([], {"old": "no record in the last 24 hours"}, 0, 20)
    assert capsys.readouterr().out.splitlines() == [
        "there is no topic to rank",
        "not ranked, no record in the last 24 hours: old",
    ]
