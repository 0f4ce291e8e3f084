"""What a knob may be: a range, some numbers, or some words; each asks a chooser and reads the answer back.

Two choosers need no search: the ends of ranges, and the points of a grid in turn.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, Self

ParamValue = int | float | str
# How far rounding in a chooser's logarithms may carry an answer over the edge.
_SLACK: Final = 1e-9


class Chooser(Protocol):
    """Whoever picks values: an Optuna trial, a point of a grid, a random generator, a recorded answer.

    Bounds belong to the range. One name always comes with the same method and, for `choice`, the same
    choices; the bounds of a number may differ from config to config.
    """

    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        """Pick a whole number."""
        ...

    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        """Pick a number."""
        ...

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Pick one of the words."""
        ...


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `low` to `high`, and perhaps one special value that is far from them.

    The special value (0 for "do not wait", a million for "no limit") gets a stretch of its own at the end of
    the range, between `reach` and the nearer bound: one parameter instead of two, and a fair share of draws.
    Source of the idea: "special values" in LlamaTune (Kanellis et al., VLDB 2022).

    Attributes:
        low: the least number, in the knob's unit.
        high: the greatest.
        whole: whether only whole numbers are taken; otherwise they have three decimals.
        log: whether to search it by ratios rather than differences.
        special: the special value; None when there is none.
        reach: where the stretch of the special value ends, below `low` or above `high`.
    """

    low: float
    high: float
    whole: bool = True
    log: bool = False
    special: float | None = None
    reach: float = 0

    @property
    def span(self) -> tuple[float, float]:
        """The least and the greatest value, the special one left aside."""
        return self.low, self.high

    @property
    def text(self) -> str:
        """The range in words."""
        text = f"{_number(self.low)} to {_number(self.high)}" + (", log" if self.log else "")
        return text if self.special is None else f"{text}, or {_number(self.special)}"

    @property
    def only(self) -> str | None:
        """Its value when it has but one."""
        return _number(self.low) if self.low == self.high and self.special is None else None

    def narrowed(self, low: float, high: float) -> Self | None:
        """Return what is left of it between `low` and `high`; None when nothing is."""
        keeps_special = self.special is not None and low <= self.special <= high
        low, high = max(self.low, low), min(self.high, high)
        if self.whole:
            low, high = math.ceil(low), math.floor(high)
        if low > high:
            return None
        return replace(self, low=low, high=high, special=self.special if keeps_special else None)

    def ask(self, chooser: Chooser, name: str) -> str:
        """Have `chooser` pick a value and return it as text.

        Raises:
            ValueError: the chooser answered outside the range.
        """
        low, high = self.low, self.high
        if self.special is not None:
            low, high = min(low, self.reach), max(high, self.reach)
        answer: float
        if self.whole:
            answer = chooser.integer(name, int(low), int(high), log=self.log)
        else:
            answer = chooser.real(name, low, high, log=self.log)
        slack = 0 if self.whole else _SLACK * abs(answer)
        if not low - slack <= answer <= high + slack:
            raise ValueError(f"{name} is chosen from {low} to {high}, not {answer}")
        if self.special is not None and not self.low <= answer <= self.high:
            return _number(self.special)
        return _number(min(max(answer, self.low), self.high))

    def answer(self, text: str) -> ParamValue | None:
        """Return what a chooser would answer to get the value `text`; None when it lies outside."""
        value = float(text)
        if self.special is not None and value == self.special:
            value = self.reach
        elif not self.low <= value <= self.high:
            return None
        return int(value) if self.whole else value


@dataclass(frozen=True, slots=True)
class Numbers:
    """Some numbers. Choosers hear of their positions, from 0: a rule may then shorten the list from call to call.

    Attributes:
        values: the numbers as text, ascending.
        first: the position of the first of them in the list as it was before it was narrowed.
    """

    values: tuple[str, ...]
    first: int = 0

    @property
    def span(self) -> tuple[float, float]:
        """The least and the greatest of them."""
        return float(self.values[0]), float(self.values[-1])

    @property
    def text(self) -> str:
        """The numbers, with commas."""
        return ", ".join(self.values)

    @property
    def only(self) -> str | None:
        """Its value when it has but one."""
        return self.values[0] if len(self.values) == 1 else None

    def narrowed(self, low: float, high: float) -> Self | None:
        """Return what is left of it between `low` and `high`; None when nothing is."""
        kept = [position for position, value in enumerate(self.values) if low <= float(value) <= high]
        if not kept:
            return None
        return replace(self, values=self.values[kept[0] : kept[-1] + 1], first=self.first + kept[0])

    def ask(self, chooser: Chooser, name: str) -> str:
        """Have `chooser` pick the position of a value and return the value.

        Raises:
            ValueError: the chooser answered outside the list.
        """
        last = self.first + len(self.values) - 1
        answer = chooser.integer(name, self.first, last, log=False)
        if not self.first <= answer <= last:
            raise ValueError(f"{name} is a position from {self.first} to {last}, not {answer}")
        return self.values[answer - self.first]

    def answer(self, text: str) -> ParamValue | None:
        """Return what a chooser would answer to get the value `text`; None when it lies outside."""
        return self.first + self.values.index(text) if text in self.values else None


@dataclass(frozen=True, slots=True)
class Words:
    """Some words, always the same.

    Attributes:
        values: the words as users read them.
        canonical: the same as the client's canonical text, position by position.
    """

    values: tuple[str, ...]
    canonical: tuple[str, ...]

    @property
    def text(self) -> str:
        """The words, with commas."""
        return ", ".join(self.values)

    @property
    def only(self) -> str | None:
        """Its value, canonical, when it has but one."""
        return self.canonical[0] if len(self.canonical) == 1 else None

    def ask(self, chooser: Chooser, name: str) -> str:
        """Have `chooser` pick a word and return its canonical text.

        Raises:
            ValueError: the chooser answered another word.
        """
        answer = chooser.choice(name, self.values)
        if answer not in self.values:
            raise ValueError(f"{name} is one of {self.text}, not {answer}")
        return self.canonical[self.values.index(answer)]

    def answer(self, text: str) -> ParamValue | None:
        """Return what a chooser would answer to get the value `text`; None when it lies outside."""
        return self.values[self.canonical.index(text)] if text in self.canonical else None


Domain = Range | Numbers | Words


def _number(value: float) -> str:
    """Write a number as the client does: no exponent, at most microseconds of a millisecond."""
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


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

    def __iter__(self) -> Iterator[Self]:
        """Stand at each combination in turn; answers are to be asked for at each of them."""
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
