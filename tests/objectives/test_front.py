"""Tests of the front and the hypervolume, compared with their definitions."""

import math
from collections.abc import Sequence
from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from objectives.dominance import best_and_newest, dominated_by
from objectives.front import Front, dominates, hypervolume
from objectives.metrics import Direction
from objectives.scoring import Objective

UP, DOWN = Direction.MAXIMIZE, Direction.MINIMIZE
Point = tuple[float, ...]
Trials = tuple[tuple[Direction, ...], list[Point]]


@st.composite
def trials(draw: st.DrawFn) -> Trials:
    """Draw directions, and points with few different values, so that ties, duplicates and dominance are common."""
    directions = tuple(draw(st.lists(st.sampled_from(Direction), min_size=1, max_size=3)))
    level = st.one_of(st.integers(0, 4).map(float), st.floats(-1e6, 1e6))
    return directions, draw(st.lists(st.tuples(*[level] * len(directions)), max_size=12))


def beats(ours: Point, theirs: Point, directions: Sequence[Direction]) -> bool:
    """Return whether `ours` dominates `theirs`, by the definition."""
    signs = [1 if direction is UP else -1 for direction in directions]
    pairs = [(sign * mine, sign * other) for sign, mine, other in zip(signs, ours, theirs, strict=True)]
    return all(mine >= other for mine, other in pairs) and any(mine > other for mine, other in pairs)


def undominated(points: Sequence[Point], directions: Sequence[Direction]) -> tuple[int, ...]:
    return tuple(n for n, ours in enumerate(points) if not any(beats(other, ours, directions) for other in points))


def filled(points: Sequence[Point], directions: tuple[Direction, ...], order: Sequence[int]) -> Front:
    front = Front(directions)
    for number in order:
        front.add(number, points[number])
    return front


@settings(max_examples=50)
@given(trials())
def test_domination_follows_its_definition(drawn: Trials) -> None:
    directions, points = drawn
    for ours, theirs in combinations(points, 2):
        assert dominates(ours, theirs, directions) is beats(ours, theirs, directions)
        assert dominates(theirs, ours, directions) is beats(theirs, ours, directions)


@settings(max_examples=50)
@given(trials(), st.randoms(use_true_random=False))
def test_the_front_does_not_depend_on_the_order_of_trials(drawn: Trials, random: Random) -> None:
    directions, points = drawn
    order = list(range(len(points)))
    random.shuffle(order)
    front = filled(points, directions, order)
    expected = undominated(points, directions)
    assert front.numbers == expected
    assert front.points == tuple(points[number] for number in expected)
    assert len(front) == len(expected)
    assert [number for number in range(len(points)) if number in front] == list(expected)


@settings(max_examples=50)
@given(trials())
def test_adding_returns_whether_the_front_changed(drawn: Trials) -> None:
    directions, points = drawn
    front = Front(directions)
    for number, point in enumerate(points):
        before = front.numbers
        assert front.add(number, point) is (front.numbers != before)


def test_equal_trials_are_all_on_the_front() -> None:
    front = filled([(1.0, 5.0), (1.0, 5.0), (2.0, 9.0), (1.0, 5.0)], (UP, DOWN), range(4))
    assert [*front.numbers] == [0, 1, 2, 3]
    assert front.add(4, (1.0, 4.0))
    assert [*front.numbers] == [2, 4], "a trial that dominates another dominates its equals too"


def test_points_of_another_length_are_refused() -> None:
    front = filled([(1.0, 1.0)], (UP, DOWN), [0])
    with pytest.raises(ValueError, match="zip"):
        front.add(1, (1.0,))


def union_of_boxes(gains: Sequence[Point]) -> float:
    """Return the volume of the union of the points' boxes, by inclusion and exclusion over all subsets of points."""
    return math.fsum(
        (-1) ** (size + 1) * math.prod(min(coordinates) for coordinates in zip(*some, strict=True))
        for size in range(1, len(gains) + 1)
        for some in combinations(gains, size)
    )


@given(trials())
def test_the_dominating_rows_are_counted(of: Trials) -> None:
    directions, points = of
    more_is_better = [1.0 if direction is UP else -1.0 for direction in directions]
    counted = [sum(dominates(other, point, directions) for other in points) for point in points]
    values = np.array(points).reshape(len(points), len(directions)) * more_is_better
    assert dominated_by(values).tolist() == counted


def test_equal_rows_do_not_dominate_each_other() -> None:
    assert dominated_by(np.array([[1.0, 1.0], [2.0, 0.0], [0.5, 0.5], [1.0, 1.0]])).tolist() == [0, 0, 2, 0]


def test_the_rows_that_are_kept_are_the_best_that_keep_the_constraints_and_the_newest() -> None:
    values, missed = np.array([[9.0], [2.0], [5.0], [1.0], [3.0], [4.0]]), np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert best_and_newest(values, missed, best=1, kept=3) == [2, 4, 5]
    assert best_and_newest(values, missed, best=2, kept=4) == [2, 4, 5], "one of the best is among the newest"


COORDINATE = st.one_of(st.integers(0, 3).map(float), st.floats(0, 10))


@settings(max_examples=50)
@given(
    st.integers(1, 4).flatmap(lambda dimensions: st.lists(st.tuples(*[COORDINATE] * dimensions), max_size=6)),
    st.randoms(use_true_random=False),
)
def test_the_hypervolume_is_the_volume_of_the_union_of_boxes(gains: list[Point], random: Random) -> None:
    volume = hypervolume(gains)
    assert volume == pytest.approx(union_of_boxes(gains), abs=1e-9)
    random.shuffle(gains)
    assert hypervolume(gains) == pytest.approx(volume)


def test_hypervolumes_are_as_computed_by_hand() -> None:
    assert hypervolume([]) == 0.0
    assert hypervolume([[2.0], [3.0]]) == 3.0
    assert hypervolume([[2.0, 1.0], [1.0, 3.0]]) == 4.0
    assert hypervolume([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]]) == 4.0


@pytest.mark.parametrize(
    "metrics",
    [("mb_per_s",), ("mb_per_s", "latency_p99_ms"), ("mb_per_s", "latency_p99_ms", "broker_cpu_ms_per_mb")],
)
def test_the_baseline_alone_has_a_hypervolume_of_one(metrics: tuple[str, ...]) -> None:
    baseline = dict(zip(metrics, (48.5, 7.25, 3.125), strict=False))
    gains = [Objective(name).gain(value, value) for name, value in baseline.items()]
    assert hypervolume([gains]) == 1.0


def test_dominance_counts_how_many_configs_are_better() -> None:
    values = np.array([[1.0, 1.0], [2.0, 0.0], [0.5, 0.5], [1.0, 1.0]])
    assert dominated_by(values).tolist() == [0, 0, 2, 0]
