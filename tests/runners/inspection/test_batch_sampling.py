"""Which batches are read: the newest, from each partition, and never more bytes than allowed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pytest

from runners.clusters.topics.stored_topics import BrokerAddress, StoredTopic
from runners.inspection.batch_reader import FetchedBatches, FetchRange, ResponseNotRead
from runners.inspection.batch_sampling import BatchSample, SampleLimits, sample_batches
from runners.inspection.record_batch import BatchSequence, RecordBatch
from tests.helpers.batches import batch, stored

MB = 1_000_000


def log(batches: int, records: int, size: int) -> list[RecordBatch]:
    """A partition with batches that are all alike."""
    return [
        batch(base_offset=number * records, last_offset=(number + 1) * records - 1, records=records, bytes=size)
        for number in range(batches)
    ]


@dataclass
class LogReader:
    """Reads from lists of batches as a broker does."""

    logs: Mapping[tuple[str, int], Sequence[RecordBatch]]
    most_response_bytes: int
    received_bytes: int = 0
    requests: int = 0
    largest_bytes: int = 0

    def fetch(self, broker: BrokerAddress, ranges: Sequence[FetchRange], most_bytes: int) -> list[FetchedBatches]:
        found, left = [], most_bytes
        for asked in ranges:
            taken: list[RecordBatch] = []
            room = min(asked.most_bytes, left)
            for each in self.logs[asked.topic, asked.partition]:
                first_of_all = left == most_bytes and not taken
                if asked.offset <= each.last_offset and each.base_offset < asked.end:
                    if each.bytes > room and not first_of_all:
                        break
                    taken.append(each)
                    room -= each.bytes
                    left -= each.bytes
            next_offset = taken[-1].last_offset + 1 if taken else None
            found.append(
                FetchedBatches(BatchSequence(tuple(taken)), next_offset, taken[0].base_offset if taken else None)
            )
        size = most_bytes - left
        self.requests += 1
        if size > self.most_response_bytes:
            raise ResponseNotRead("the response is too large")
        self.received_bytes += size
        self.largest_bytes = max(self.largest_bytes, size)
        return found


def sampled(limits: SampleLimits, **logs: Sequence[Sequence[RecordBatch]]) -> tuple[dict[str, BatchSample], LogReader]:
    topics: list[StoredTopic] = []
    for name, partitions in logs.items():
        ends = [(each[0].base_offset, each[-1].last_offset + 1) if each else (7, 7) for each in partitions]
        topics.append(stored(*ends, name=name))
    lists = {(name, number): each for name, partitions in logs.items() for number, each in enumerate(partitions)}
    reader = LogReader(lists, limits.most_response_bytes)
    return {each.topic.name: each for each in sample_batches(reader, topics, limits)}, reader


@pytest.mark.parametrize("records", [1, 7, 500])
def test_about_as_many_of_the_newest_batches_are_read_as_asked_for(records: int) -> None:
    found, _ = sampled(SampleLimits(100, 20 * MB), orders=[log(3_000, records, 300)])
    batches = found["orders"].sequences[0].batches
    assert batches[-1].last_offset == 3_000 * records - 1
    assert 90 <= len(batches) <= 110
    assert all(after.base_offset == before.last_offset + 1 for before, after in pairwise(batches))


def test_a_short_topic_is_read_from_its_beginning() -> None:
    found, _ = sampled(SampleLimits(100, 20 * MB), orders=[log(20, 50, 300)])
    assert len(found["orders"].sequences[0].batches) == 20


def test_every_partition_with_records_is_read() -> None:
    found, _ = sampled(SampleLimits(100, 20 * MB), orders=[log(500, 2, 300), [], log(500, 200, 300)])
    sequences = found["orders"].sequences
    assert set(sequences) == {0, 2}
    assert all(45 <= len(each.batches) <= 60 for each in sequences.values())
    assert found["orders"].unread == {}


def test_batches_that_are_larger_than_a_share_are_asked_for_alone() -> None:
    limits = SampleLimits(100, 20 * MB)
    partitions = [log(50, 1_000, 900_000) for _ in range(30)]
    found, reader = sampled(limits, orders=partitions)
    assert reader.received_bytes <= limits.most_bytes
    read = sum(len(each.batches) for each in found["orders"].sequences.values())
    assert read * 900_000 > limits.most_bytes / 2
    assert max(len(each.batches) for each in found["orders"].sequences.values()) >= 9
    assert all("no more bytes may be read" in reason for reason in found["orders"].unread.values())
    assert found["orders"].lacks_bytes


def test_a_batch_that_no_response_may_hold_is_left_out_and_named() -> None:
    found, reader = sampled(
        SampleLimits(100, 5 * MB), orders=[log(50, 10, 2 * MB), log(50, 10, 300)], payments=[log(80, 10, 400)]
    )
    assert reader.received_bytes <= 5 * MB
    assert len(found["orders"].sequences[1].batches) >= 45
    assert len(found["payments"].sequences[0].batches) >= 70
    assert list(found["orders"].unread) == [0]
    assert "a batch is larger than 900 kB" in found["orders"].unread[0]
    assert [found["orders"].lacks_bytes, found["payments"].lacks_bytes] == [True, False]


@pytest.mark.campaign
@pytest.mark.parametrize("size", [100, 3_000, 16_384, 200_000, 1_000_000])
def test_two_hundred_topics_are_read_within_twenty_megabytes(size: int) -> None:
    limits = SampleLimits(50, 20 * MB)
    topics = {f"topic-{number}": [log(300, 1 + number % 50, size)] * (1 + number % 6) for number in range(200)}
    found, reader = sampled(limits, **topics)
    assert reader.received_bytes <= limits.most_bytes
    assert reader.largest_bytes <= limits.most_response_bytes
    assert reader.requests < 500
    read = [each for each in found.values() if any(part.batches for part in each.sequences.values())]
    assert len(read) >= (200 if size < 50_000 else int(0.75 * limits.most_bytes / size))


def test_the_error_of_a_partition_is_kept_and_its_batches_count_as_unread() -> None:
    class Moved(LogReader):
        def fetch(self, broker: BrokerAddress, ranges: Sequence[FetchRange], most_bytes: int) -> list[FetchedBatches]:
            return [FetchedBatches(error="NOT_LEADER_OR_FOLLOWER") for _ in ranges]

    (found,) = sample_batches(Moved({}, MB), [stored((0, 10))], SampleLimits(100, 5 * MB))
    assert found.unread == {0: "NOT_LEADER_OR_FOLLOWER"}
    assert not found.lacks_bytes
    assert found.sequences == {}
