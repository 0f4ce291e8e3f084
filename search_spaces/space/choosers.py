"""Two choosers that need no sampler: `RangeEnds` picks the ends of ranges, `GridChooser` goes through a whole grid."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

from typing_extensions import override

from search_spaces.client_facts.domains import Chooser


class RangeEnds(Chooser):
    """A chooser that picks the low ends of all ranges, or the high ends, and a given word for one knob."""

    def __init__(self, name: str, word: str, *, at_high: bool) -> None:
        """Make a chooser.

        Args:
            name: The knob whose word is set. For every other knob with words, the chooser picks the first word.
            word: The word of this knob.
            at_high: Whether the chooser picks the high ends of ranges; otherwise it picks the low ends.
        """
        self._name = name
        self._word = word
        self._at_high = at_high

    @override
    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        return high if self._at_high else low

    @override
    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        return high if self._at_high else low

    @override
    def choice(self, name: str, choices: Sequence[str]) -> str:
        return self._word if name == self._name else choices[0]


class GridChooser(Chooser):
    """A chooser that goes through all combinations of grid points, as an odometer goes through all numbers.

    Every parameter has a wheel, and the last wheel turns fastest. Some parameters, such as the level of a codec, are
    needed only in some combinations. They have a wheel only in these combinations, so that no combination is repeated
    because of a parameter that it does not need.
    """

    def __init__(self, steps: int, own_steps: Mapping[str, int], turning: frozenset[str] | None) -> None:
        """Start at the first combination.

        Args:
            steps: Number of grid points of a range, including both ends.
            own_steps: Number of grid points by parameter, for parameters that do not use `steps`.
            turning: Names of the parameters to vary; all others keep their first value. None varies all parameters.
        """
        self._steps = steps
        self._own_steps = own_steps
        self._turning = turning
        self._wheels: list[int] = []
        self._sizes: list[int] = []

    def __iter__(self) -> Iterator[Self]:
        """Yield this chooser once per combination; the caller must ask for all values before it continues."""
        yield self
        while True:
            while self._sizes and self._wheels[-1] + 1 == self._sizes[-1]:
                self._sizes.pop()
                self._wheels.pop()
            if not self._sizes:
                return
            self._wheels[-1] += 1
            self._sizes.clear()
            yield self

    @override
    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        points = dict.fromkeys(round(point) for point in self._points(name, low, high, log=log))
        return list(points)[self._wheel_position(name, len(points))]

    @override
    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        points = self._points(name, low, high, log=log)
        return points[self._wheel_position(name, len(points))]

    @override
    def choice(self, name: str, choices: Sequence[str]) -> str:
        return choices[self._wheel_position(name, len(choices))]

    def _points(self, name: str, low: float, high: float, *, log: bool) -> list[float]:
        steps = self._own_steps.get(name, self._steps)
        if steps == 1:
            return [math.sqrt(low * high) if log else (low + high) / 2]
        shares = [step / (steps - 1) for step in range(steps)]
        inner = [low * (high / low) ** share if log else low + (high - low) * share for share in shares[1:-1]]
        return [low, *inner, high]

    def _wheel_position(self, name: str, size: int) -> int:
        """Return the position of a parameter's wheel; the wheels are in the order in which they are asked for."""
        if self._turning is not None and name not in self._turning:
            return 0
        wheel = len(self._sizes)
        self._sizes.append(size)
        if wheel == len(self._wheels):
            self._wheels.append(0)
        return self._wheels[wheel]
