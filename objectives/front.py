"""The Pareto front, updated with every trial, and the hypervolume that it dominates."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from objectives.metrics import Direction
from objectives.repeats import Estimate


def dominates(ours: Sequence[float], theirs: Sequence[float], directions: Sequence[Direction]) -> bool:
    """Return whether `ours` dominates `theirs`: it is worse in no objective and better in at least one.

    All three arguments have the shape (objectives,).
    """
    for mine, other, direction in zip(ours, theirs, directions, strict=True):
        if mine != other and (mine > other) is not (direction is Direction.MAXIMIZE):
            return False
    return list(ours) != list(theirs)


def surely_dominates(ours: Sequence[Estimate], theirs: Sequence[Estimate], directions: Sequence[Direction]) -> bool:
    """Return whether `ours` dominates `theirs` by more than noise.

    The values of `ours` must dominate, and in at least one objective the two confidence intervals must not overlap.
    Otherwise the two configs are so similar that noise may decide which of them is better, and `theirs` may belong to
    the Pareto front too.
    All three arguments have the shape (objectives,).
    """
    if not dominates([each.value for each in ours], [each.value for each in theirs], directions):
        return False
    return any(
        mine.low > other.high if direction is Direction.MAXIMIZE else mine.high < other.low
        for mine, other, direction in zip(ours, theirs, directions, strict=True)
    )


@dataclass(slots=True)
class Front:
    """The Pareto front: the trials that no other trial dominates.

    The front is updated trial by trial, so that a study of thousands of trials never has to compare them all again.

    Attributes:
        directions: The better direction of each objective.
    """

    directions: tuple[Direction, ...]
    _members: dict[int, tuple[float, ...]] = field(default_factory=dict)

    def add(self, number: int, values: Sequence[float]) -> bool:
        """Add a trial unless a member of the front dominates it, and remove the members that the added trial dominates.

        Trials with equal values can all be members.

        Args:
            number: The number of the trial, which must meet all constraints.
            values: The trial's values. Shape (objectives,).

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
        """The trial numbers of the members, ascending."""
        return tuple(sorted(self._members))

    @property
    def points(self) -> tuple[tuple[float, ...], ...]:
        """The values of the members, in the order of their trial numbers."""
        return tuple(self._members[number] for number in self.numbers)

    def __contains__(self, number: int) -> bool:
        return number in self._members

    def __len__(self) -> int:
        return len(self._members)


def hypervolume(points: Sequence[Sequence[float]]) -> float:
    """Return the hypervolume of a set of points: the volume of the boxes from the origin to each point, taken together.

    Source: slicing by the last coordinate (Zitzler 1999). It is exact, and fast for two or three objectives.

    Args:
        points: The points, with coordinates of at least 0; larger is better. Shape (points, objectives).
    """
    if not points:
        return 0.0
    if len(points[0]) == 1:
        return max(point[0] for point in points)
    levels = sorted({point[-1] for point in points}, reverse=True)
    volume = 0.0
    for level, below in zip(levels, [*levels[1:], 0.0], strict=True):
        slice_points = [point[:-1] for point in points if point[-1] >= level]
        volume += (level - below) * hypervolume(slice_points)
    return volume
