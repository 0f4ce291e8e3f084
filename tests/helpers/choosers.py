"""Choosers for tests: random answers, recorded answers, and a wrapper that records the questions."""

import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

from search_spaces import Chooser, ParamValue


class Random:
    """A chooser that answers at random, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        if not log:
            return self._random.randint(low, high)
        return min(high, max(low, round(self.real(name, low, high, log=True))))

    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        if log:
            return math.exp(self._random.uniform(math.log(low), math.log(high)))
        return self._random.uniform(low, high)

    def choice(self, name: str, choices: Sequence[str]) -> str:
        return self._random.choice(choices)


class Replay:
    """A chooser that gives recorded answers, such as those of `SearchSpace.params_of`."""

    def __init__(self, params: Mapping[str, ParamValue]) -> None:
        """Take the answers by name; methods raise `ValueError` if an answer is missing or has the wrong type."""
        self._params = dict(params)

    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        """Return the recorded whole number."""
        value = self._recorded(name)
        if not isinstance(value, int):
            raise ValueError(f"{name} is a whole number, not {value!r}")
        return value

    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        """Return the recorded number."""
        value = self._recorded(name)
        if isinstance(value, str):
            raise ValueError(f"{name} is a number, not {value!r}")
        return float(value)

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return the recorded word."""
        return str(self._recorded(name))

    def _recorded(self, name: str) -> ParamValue:
        if name not in self._params:
            raise ValueError(f"every parameter that is asked for needs an answer; {name} has none")
        return self._params[name]


class Recorder:
    """A chooser that forwards each call to another chooser, and records the method and the bounds for each name."""

    def __init__(self, chooser: Chooser) -> None:
        self.chooser = chooser
        self.asked: dict[str, set[object]] = defaultdict(set)
        self.bounds: dict[str, set[tuple[float, float]]] = defaultdict(set)

    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        self.asked[name].add(("integer", log))
        self.bounds[name].add((low, high))
        return self.chooser.integer(name, low, high, log=log)

    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        self.asked[name].add(("real", log))
        self.bounds[name].add((low, high))
        return self.chooser.real(name, low, high, log=log)

    def choice(self, name: str, choices: Sequence[str]) -> str:
        self.asked[name].add(tuple(choices))
        return self.chooser.choice(name, choices)
