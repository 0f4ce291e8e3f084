"""The number of records that a topic has is read when its replicas have them."""

from collections.abc import Iterator, Sequence

import pytest

from runners.clock import NS_PER_S
from runners.clusters.topics.stored_records import once_replicated
from tests.helpers.moved_clock import MovedClock


def counts(values: Sequence[int]) -> Iterator[int]:
    """Yield the values, and then the last one for ever."""
    yield from values
    while True:
        yield values[-1]


@pytest.mark.parametrize(
    ("values", "acknowledged", "stored"),
    [
        ([100], 100, 100),
        ([100], 0, 100),  # nobody waits for a number that is not known
        ([40, 60, 60, 100], 100, 100),  # the replicas catch up
        ([40, 60, 90], 100, 90),  # records were lost
        ([120], 100, 120),  # another producer writes, too
    ],
)
def test_the_number_is_the_last_that_is_seen(values: list[int], acknowledged: int, stored: int) -> None:
    read = counts(values)
    assert once_replicated(lambda: next(read), acknowledged, MovedClock()) == stored


def test_a_number_that_grows_for_ever_is_not_waited_for() -> None:
    clock, read = MovedClock(), iter(range(10_000))
    assert once_replicated(lambda: next(read), 100_000, clock) < 10_000
    assert clock.at_ns < 100 * NS_PER_S
