"""The batches show what ends them: a wait, a size, or that no second record comes."""

from itertools import chain

import pytest

from runners.inspection.record_batch import RecordBatch
from tests.helpers.batches import arrivals, batch, batch_of, batched, sample_of
from tuner.inspection.batch_ending import BatchEnding, Ending, ending_of

MUCH = 10**9


def ending(linger_ms: float, batch_bytes: int, mean_ms: float, codec: str = "none", ratio: float = 1.0) -> BatchEnding:
    batches = [batch_of(each, codec, ratio) for each in batched(arrivals(4_000, mean_ms), linger_ms, batch_bytes)]
    return ending_of(sample_of(batches))


@pytest.mark.parametrize("linger_ms", [5, 20, 100, 1_000])
@pytest.mark.parametrize(("codec", "ratio"), [("none", 1.0), ("lz4", 0.5)])
def test_a_wait_is_reported_with_its_length(linger_ms: int, codec: str, ratio: float) -> None:
    found = ending(linger_ms, MUCH, mean_ms=linger_ms / 20, codec=codec, ratio=ratio)
    assert found.ending is Ending.WAIT
    assert found.linger_at_most_ms is not None
    assert found.linger_at_least_ms <= linger_ms <= found.linger_at_most_ms
    assert found.linger_at_most_ms - found.linger_at_least_ms <= 2 + 0.3 * linger_ms
    assert found.full_bytes is None


@pytest.mark.parametrize("mean_ms", [0.01, 0.5, 5])
def test_full_batches_are_reported_with_their_size(mean_ms: float) -> None:
    found = ending(100_000, 16_384, mean_ms)
    assert found.ending is Ending.SIZE
    assert found.full_bytes is not None
    assert 16_384 - 1_000 < found.full_bytes <= 16_384
    assert found.linger_at_most_ms is None


def test_a_compressed_batch_may_be_full_without_its_compressed_size_being_exact() -> None:
    records = batched(arrivals(4_000, 0.1), 100_000, 32_768)
    batches = [batch_of(each, "lz4", 0.48 + 0.01 * (number % 5)) for number, each in enumerate(records)]
    assert ending_of(sample_of(batches)).ending is Ending.SIZE


def test_full_batches_of_a_java_client_grow_while_its_estimate_of_the_compression_improves() -> None:
    batches: list[RecordBatch] = []
    records, estimate = iter(arrivals(20_000, 0.1)), 1.0
    while len(batches) < 120:
        own, size = [], 61.0
        while size + 1_000 * estimate <= 65_536:
            own.append(next(records))
            size += own[-1][1] * estimate
        batches.append(batch_of(own, "snappy", 0.5))
        estimate = max(0.5, estimate - 0.005)
    found = ending_of(sample_of(batches))
    assert found.ending is Ending.SIZE
    assert found.full_bytes is not None
    assert 0.9 * 65_536 <= found.full_bytes <= 65_536


def test_records_that_come_one_by_one_say_only_how_long_the_wait_is_at_most() -> None:
    found = ending(5, MUCH, mean_ms=200)
    assert found.ending is Ending.EACH_RECORD
    assert found.linger_at_least_ms == 0
    assert found.linger_at_most_ms is not None
    assert found.linger_at_most_ms >= 5
    assert found.one_producer_assumed, "the next record may be another producer's"
    own = [batch_of([each], producer_id=1) for each in arrivals(100, 200)]
    assert not ending_of(sample_of(own)).one_producer_assumed


def test_records_of_bursts_say_little_of_the_wait() -> None:
    """Three records at once, once a second: the wait may be anything below a second."""
    batches = [batch_of([(1_000 * second + each, 100) for each in range(3)]) for second in range(50)]
    found = ending_of(sample_of(batches))
    assert found.ending is Ending.UNCLEAR
    assert found.linger_at_least_ms <= 2
    assert found.linger_at_most_ms == 1_001


def test_batches_that_are_all_alike_may_be_full_or_may_have_waited() -> None:
    batches = [batch_of([(100 * number + 2 * each, 100) for each in range(50)]) for number in range(50)]
    found = ending_of(sample_of(batches))
    assert found.ending is Ending.SIZE_OR_WAIT
    assert found.full_bytes == 5_061
    assert found.linger_at_least_ms == pytest.approx(98, abs=2)


def test_compressed_batches_of_many_records_end_by_size_or_wait_whichever_scatters_less() -> None:
    """Their sizes differ by some percent only, but their times by less."""
    records = [(2.0 * number, size) for number, (_, size) in enumerate(arrivals(8_000, 1))]
    batches = [batch_of(each, "zstd", 0.5) for each in batched(records, 500, MUCH)]
    found = ending_of(sample_of(batches))
    assert found.ending is Ending.WAIT
    assert found.full_bytes is None
    full = [batch_of(each, "zstd", 0.5) for each in batched(records, MUCH, 150_000)]
    assert ending_of(sample_of(full)).ending is Ending.SIZE


def test_a_few_batches_of_each_partition_do_not_show_their_largest_size() -> None:
    partitions = []
    for seed in range(10):
        partitions.append([batch_of(each) for each in batched(arrivals(90, 1, seed), 30, MUCH)][:4])
    found = ending_of(sample_of(*partitions))
    assert found.ending is Ending.WAIT
    assert found.linger_at_least_ms <= 30


def test_a_client_that_is_held_up_has_no_fixed_wait() -> None:
    """Without a wait, records gather while earlier requests are on their way, for longer or shorter."""
    waits_ms = [1, 3, 17, 2, 9, 30, 4, 12, 1, 25] * 5
    records = arrivals(4_000, 0.5)
    batches, at = [], 0
    for wait_ms in waits_ms:
        own = [each for each in records[at:] if each[0] <= records[at][0] + wait_ms]
        batches.append(batch_of(own))
        at += len(own)
    found = ending_of(sample_of(batches))
    assert found.ending is Ending.UNCLEAR
    assert found.linger_at_least_ms == 0
    assert found.linger_at_most_ms is not None
    assert found.linger_at_most_ms <= 4


def test_producers_are_told_apart_by_their_ids() -> None:
    slow = [batch_of(each, producer_id=1) for each in batched(arrivals(2_000, 1, seed=1), 100, MUCH)]
    quick = [batch_of(each, producer_id=2) for each in batched(arrivals(2_000, 1, seed=2), 10, MUCH)]
    mixed = sorted(chain(slow, quick), key=lambda each: each.last_created_ms)
    found = ending_of(sample_of(mixed))
    assert found.producers_differ
    assert found.linger_at_least_ms < 10
    assert found.linger_at_most_ms is not None
    assert found.linger_at_most_ms > 100
    alike = [batch_of(each, producer_id=3) for each in batched(arrivals(2_000, 1, seed=3), 100, MUCH)]
    both = sorted(chain(slow, alike), key=lambda each: each.last_created_ms)
    assert ending_of(sample_of(both)).ending is Ending.WAIT


def test_several_producers_without_ids_hide_how_batches_end() -> None:
    mixed = chain(
        *([batch_of(each) for each in batched(arrivals(2_000, 1, seed), 100, MUCH)] for seed in range(3)),
    )
    found = ending_of(sample_of(sorted(mixed, key=lambda each: each.last_created_ms)))
    assert found.linger_at_most_ms is None
    assert found.ending is Ending.UNCLEAR


def test_too_few_batches_and_batches_without_times_tell_nothing() -> None:
    assert ending_of(sample_of([batch() for _ in range(5)])) == BatchEnding(Ending.UNCLEAR)
    untimed = [batch(first_created_ms=-1, last_created_ms=-1) for _ in range(50)]
    assert ending_of(sample_of(untimed)) == BatchEnding(Ending.UNCLEAR)
