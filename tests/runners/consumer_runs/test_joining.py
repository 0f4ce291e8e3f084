"""Joining a producer's records with the consumers' arrivals."""

import numpy as np
import pytest

from runners.consumer_runs.joining import _behind, arrival_times
from runners.consumers.consumption import Arrivals
from runners.measurements.end_to_end import SampledDeliveries


def arrivals(*runs: tuple[int, int, int, int]) -> Arrivals:
    """Return runs of records: partition, first offset, last offset, time."""
    columns = np.array(runs, dtype=np.int64).reshape(-1, 4)
    return Arrivals(columns[:, 0].astype(np.int32), columns[:, 1], columns[:, 2], columns[:, 3])


def times(found: Arrivals, *places: tuple[int, int]) -> list[int]:
    """Return when the records at these places (partition, offset) were taken."""
    columns = np.array(places, dtype=np.int64)
    return [int(time) for time in arrival_times(found, columns[:, 0].astype(np.int32), columns[:, 1])]


def test_a_record_has_the_time_of_the_run_that_holds_its_offset() -> None:
    found = arrivals((0, 0, 9, 100), (1, 5, 7, 150), (0, 10, 10, 200), (0, 20, 29, 300))
    assert times(found, (0, 0), (0, 9), (0, 10), (0, 25), (1, 6)) == [100, 100, 200, 300, 150]


def test_a_record_that_nobody_took_has_no_time() -> None:
    found = arrivals((0, 5, 9, 100), (0, 20, 29, 300))
    assert times(found, (0, 4), (0, 10), (0, 30), (2, 5)) == [-1, -1, -1, -1]


def test_of_a_record_that_came_twice_the_first_time_counts() -> None:
    assert times(arrivals((0, 5, 9, 400), (0, 5, 9, 100)), (0, 7)) == [100]


@pytest.mark.parametrize(
    ("found", "behind"),
    [
        (arrivals((0, 1_000_000, 1_000_006, 90)), 13),
        (arrivals((0, 1_000_000, 1_000_019, 110)), 20),
        (arrivals((1, 0, 9, 90)), 15),
    ],
    ids=["taken in time", "taken later", "never taken"],
)
def test_records_that_the_topic_held_before_do_not_count_as_waiting(found: Arrivals, behind: int) -> None:
    offsets = np.array([1_000_005, 1_000_012, 1_000_019])
    times_ns = np.array([10, 20, 30])
    sent = SampledDeliveries(np.zeros(3, dtype=np.int32), offsets, times_ns, times_ns + 1, start_ns=0, end_ns=100)
    assert _behind(sent, found) == behind
