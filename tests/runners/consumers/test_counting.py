"""Every record is counted, and offsets that are left out, come twice or come out of order are noticed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.consumer_runs.end_to_end_latency import arrival_times
from runners.consumers.consumption import ReadCounts
from runners.consumers.counting import ReadCounter
from runners.consumers.reading import OffsetRange

END = 12
BATCHES = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, END - 1)), min_size=1, max_size=8), min_size=1, max_size=6
)


def add(counter: ReadCounter, records: list[tuple[int, int]], at_ns: int = 0) -> None:
    """Count records of 5 bytes, each given as its partition and its offset."""
    partitions, offsets = zip(*records, strict=True)
    counter.add(np.array(partitions, dtype=np.int32), np.array(offsets, dtype=np.int64), 5 * len(records), at_ns)


def one_by_one(records: list[tuple[int, int]]) -> tuple[int, int, dict[int, int]]:
    """Return how many offsets were skipped and repeated, and what comes next, by looking at each record."""
    following = dict.fromkeys(range(3), 0)
    skipped = repeated = 0
    for partition, offset in records:
        if offset < following[partition]:
            repeated += 1
        else:
            skipped += offset - following[partition]
            following[partition] = offset + 1
    return skipped, repeated, following


@given(BATCHES)
def test_batches_of_offsets_are_counted_like_single_records(batches: list[list[tuple[int, int]]]) -> None:
    counter = ReadCounter([OffsetRange(number, 0, END) for number in range(3)], keep_arrivals=True)
    for number, batch in enumerate(batches):
        add(counter, batch, number)
    records = [record for batch in batches for record in batch]
    skipped, repeated, following = one_by_one(records)
    counts = counter.counts()
    assert (counts.taken, counts.skipped, counts.repeated) == (len(records), skipped, repeated)
    assert counter.value_bytes == 5 * len(records)
    assert {number: each.following for number, each in counter._positions.items()} == following
    assert counts.unread == sum(END - position for position in following.values())
    assert counter.unfinished == sum(position < END for position in following.values())
    # The records account for all offsets, whatever happened.
    assert counts.taken - counts.repeated + counts.skipped + counts.unread == counts.stored == 3 * END

    arrivals = counter.arrivals()
    assert arrivals is not None
    assert arrivals.records == len(records)
    runs = zip(
        arrivals.partitions.tolist(),
        arrivals.first_offsets.tolist(),
        arrivals.last_offsets.tolist(),
        arrivals.at_ns.tolist(),
        strict=True,
    )
    told = [(at, (partition, offset)) for partition, first, last, at in runs for offset in range(first, last + 1)]
    assert told == [(number, record) for number, batch in enumerate(batches) for record in batch]


def test_the_moment_of_each_record_can_be_looked_up() -> None:
    counter = ReadCounter([OffsetRange(0, 0, None), OffsetRange(1, 0, None)], keep_arrivals=True)
    add(counter, [(0, 2), (0, 3), (1, 0), (0, 7)], 10)
    add(counter, [(0, 4), (0, 5)], 20)
    arrivals = counter.arrivals()
    assert arrivals is not None
    times = arrival_times(arrivals, np.zeros(9, dtype=np.int32), np.arange(9))
    assert times.tolist() == [-1, -1, 10, 10, 20, 20, -1, 10, -1]
    others = arrival_times(arrivals, np.array([1, 1, 2], dtype=np.int32), np.array([1, 0, 0]))
    assert others.tolist() == [-1, 10, -1]


def test_a_partition_is_finished_at_its_end_offset_or_when_the_client_finds_no_more_records() -> None:
    counter = ReadCounter([OffsetRange(0, 5, 8), OffsetRange(1, 3, 3), OffsetRange(2, 0, None)])
    assert counter.unfinished == 2, "an empty partition has nothing to read"
    add(counter, [(0, 5), (0, 6)])
    counter.reach_end(0, 8)
    assert counter.unfinished == 1
    counter.reach_end(2, 0)
    assert counter.unfinished == 1, "at the tail, more may be written"
    counts = counter.counts()
    assert (counts.taken, counts.skipped, counts.unread, counts.stored) == (2, 1, 0, None)
    assert counter.arrivals() is None


def test_errors_are_counted_by_name() -> None:
    counter = ReadCounter([OffsetRange(0, 0, 1)])
    counter.fail("_SOMETHING")
    assert counter.counts().differences() == ("1 errors came in place of records: _SOMETHING",)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, None),
        ({"repeated": 2, "taken": 12, "received": 12}, "2 records came twice"),
        ({"taken": 9, "skipped": 1, "sole_writer": True}, "LOSS: 1 offsets"),
        ({"taken": 9, "skipped": 1, "received": 9}, None),
        ({"taken": 9, "skipped": 1, "received": 12}, None),
        ({"taken": 9, "skipped": 1, "received": 8}, "statistics count 8"),
        ({"taken": 9, "received": 9}, r"differ from the records taken by -1"),
        ({"received": 11}, "statistics count 11 records, but 10 were taken"),
        ({"taken": 8, "unread": 2, "received": 9}, None),
        ({"taken": 8, "unread": 2, "received": 7}, "statistics count 7"),
        ({"stored": None, "received": 12}, None),
    ],
)
def test_every_disagreement_is_named(changed: dict[str, int], said: str | None) -> None:
    right = {"taken": 10, "repeated": 0, "skipped": 0, "unread": 0, "stored": 10, "received": 10}
    counts = ReadCounts(**{**right, **changed})  # type: ignore[arg-type]
    assert counts.agree is (said is None)
    assert said is None or said in "; ".join(counts.differences())
