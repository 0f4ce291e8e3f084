"""Choosers that need no search: the ends of ranges, and the points of a grid in turn."""

import math
from collections.abc import Mapping, Sequence


class Ends:
    """Answers with the low or the high end of every range, and with one word of its own where it may."""

    def __init__(self, name: str, word: str, *, at_high: bool) -> None:
        """Answer `word` when asked for `name`, and the first word of every other choice."""
        self._name = name
        self._word = word
        self._at_high = at_high

    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        """Return the end."""
        return high if self._at_high else low

    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        """Return the end."""
        return high if self._at_high else low

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return the word, or the first."""
        return self._word if name == self._name else choices[0]


class Odometer:
    """Answers with grid points, and moves to the next combination like the wheels of an odometer.

    A parameter that is asked for in some combinations only has a wheel only there: none is run through for
    nothing.
    """

    def __init__(self, steps: int, own_steps: Mapping[str, int], turning: frozenset[str] | None = None) -> None:
        """Start at the first combination.

        Args:
            steps: points of each range, its ends included.
            own_steps: the same for single parameters, by name.
            turning: the parameters to run through, the others keep their first value; all when None.
        """
        self._steps = steps
        self._own_steps = own_steps
        self._turning = turning
        self._wheels: list[int] = []
        self._sizes: list[int] = []

    def advance(self) -> bool:
        """Move to the next combination; False when the last has been shown."""
        while self._sizes and self._wheels[-1] + 1 == self._sizes[-1]:
            self._sizes.pop()
            self._wheels.pop()
        if not self._sizes:
            return False
        self._wheels[-1] += 1
        self._sizes.clear()
        return True

    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        """Return the grid point at which the parameter's wheel stands."""
        points = dict.fromkeys(round(point) for point in self._points(name, low, high, log=log))
        return list(points)[self._turn(name, len(points))]

    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        """Return the grid point at which the parameter's wheel stands."""
        points = self._points(name, low, high, log=log)
        return points[self._turn(name, len(points))]

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return the word at which the parameter's wheel stands."""
        return choices[self._turn(name, len(choices))]

    def _points(self, name: str, low: float, high: float, *, log: bool) -> list[float]:
        steps = self._own_steps.get(name, self._steps)
        if steps == 1:
            return [math.sqrt(low * high) if log else (low + high) / 2]
        shares = [step / (steps - 1) for step in range(steps)]
        inner = [low * (high / low) ** share if log else low + (high - low) * share for share in shares[1:-1]]
        return [low, *inner, high]

    def _turn(self, name: str, size: int) -> int:
        if self._turning is not None and name not in self._turning:
            return 0
        asked = len(self._sizes)
        self._sizes.append(size)
        if asked == len(self._wheels):
            self._wheels.append(0)
        return self._wheels[asked]
