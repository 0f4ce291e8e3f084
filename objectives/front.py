"""The Pareto front, kept as trials come, and the hypervolume under it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from objectives.outcome import Direction
from objectives.repeats import Estimate


def dominates(ours: Sequence[float], theirs: Sequence[float], directions: Sequence[Direction]) -> bool:
    """Whether `ours` is nowhere worse and somewhere better. Shapes: (objectives,) each."""
    for mine, other, direction in zip(ours, theirs, directions, strict=True):
        if mine != other and (mine > other) is not (direction is Direction.MAXIMIZE):
            return False
    return list(ours) != list(theirs)


def surely_dominates(ours: Sequence[Estimate], theirs: Sequence[Estimate], directions: Sequence[Direction]) -> bool:
    """Whether `ours` dominates by its values, and in one of them with intervals that do not touch.

    Where it only dominates plainly, the other config may as well belong to the front: noise decides which of two much
    alike is ahead. Shapes: (objectives,) each.
    """
    if not dominates([each.value for each in ours], [each.value for each in theirs], directions):
        return False
    return any(
        mine.low > other.high if direction is Direction.MAXIMIZE else mine.high < other.low
        for mine, other, direction in zip(ours, theirs, directions, strict=True)
    )


@dataclass(slots=True)
class Front:
    """The trials that no other dominates, updated one by one: a study of thousands never sorts them all again.

    Attributes:
        directions: Which way is better, per objective.
    """

    directions: tuple[Direction, ...]
    _members: dict[int, tuple[float, ...]] = field(default_factory=dict)

    def add(self, number: int, values: Sequence[float]) -> bool:
        """Take a feasible trial in; equal ones share a place.

        Returns:
            Whether the front changed.
        """
        ours = tuple(values)
        if any(dominates(theirs, ours, self.directions) for theirs in self._members.values()):
            return False
        self._members = {
            key: theirs for key, theirs in self._members.items() if not dominates(ours, theirs, self.directions)
        }
        self._members[number] = ours
        return True

    @property
    def numbers(self) -> tuple[int, ...]:
        """The members' numbers, in order."""
        return tuple(sorted(self._members))

    @property
    def points(self) -> tuple[tuple[float, ...], ...]:
        """The members' values, in the order of their numbers."""
        return tuple(self._members[number] for number in self.numbers)

    def __contains__(self, number: int) -> bool:
        return number in self._members

    def __iter__(self) -> Iterator[int]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self._members)


def hypervolume(gains: Sequence[Sequence[float]]) -> float:
    """Volume between the origin and points whose every coordinate is to be large.

    Fed with gains over the baseline (`Objective.gain`), the baseline alone gives 1.0.

    Source: slicing by the last coordinate (Zitzler 1999); exact, and quick for the two or three objectives of a study.

    Args:
        gains: Shape (points, objectives), not below 0.
    """
    if not gains:
        return 0.0
    if len(gains[0]) == 1:
        return max(point[0] for point in gains)
    levels = sorted({point[-1] for point in gains}, reverse=True)
    volume = 0.0
    for level, below in zip(levels, [*levels[1:], 0.0], strict=True):
        slice_points = [point[:-1] for point in gains if point[-1] >= level]
        volume += (level - below) * hypervolume(slice_points)
    return volume
