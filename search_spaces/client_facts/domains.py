"""The domains of knobs: a range of numbers, a list of numbers, or a list of words.

A domain is the set of values that a knob may have. A chooser, such as an Optuna trial, picks one of these values when
the domain asks for it. The domain can also compute which answer of a chooser leads to a given value.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, Self

ParamValue = int | float | str
# A chooser that computes with logarithms may exceed a bound by this relative rounding error.
_SLACK: Final = 1e-9


class Chooser(Protocol):
    """The source of a knob's value: an Optuna trial, a point of a grid, a random generator, or a recorded answer.

    The bounds `low` and `high` are allowed values too. For the same knob, always the same method is called and, for
    `choice`, with the same choices. The bounds of a number may differ from config to config.
    """

    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        """Pick a whole number from `low` to `high` for the knob `name`."""
        ...

    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        """Pick a number from `low` to `high` for the knob `name`."""
        ...

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Pick one of the words for the knob `name`."""
        ...


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers from `low` to `high`, and optionally one special value outside them.

    A special value, such as 0 for "do not wait" or a million for "no limit", may lie far from the other numbers. So the
    range that a chooser sees is extended from the nearer bound to `reach`, and every answer in the extension stands for
    the special value. The search then needs one parameter instead of two, and tries the special value often enough.
    Source of the idea: "special values" in LlamaTune (Kanellis et al., VLDB 2022).

    Attributes:
        low: The smallest number, in the knob's unit.
        high: The largest number, in the knob's unit.
        whole: Whether only whole numbers are allowed; otherwise numbers have up to three decimals.
        log: Whether to search the range on a logarithmic scale.
        special: The special value; None if there is none.
        reach: Where the extension for the special value ends, below `low` or above `high`.
    """

    low: float
    high: float
    whole: bool = True
    log: bool = False
    special: float | None = None
    reach: float = 0

    @property
    def asks_whole(self) -> bool:
        """Whether a chooser is asked for a whole number; if not, its answer is rounded.

        The extension of a logarithmic range may end between 0 and 1, where there is no whole number.
        """
        return self.whole and (self.special is None or not 0 < self.reach < 1)

    @property
    def span(self) -> tuple[float, float]:
        """The smallest and the largest number, without the special value."""
        return self.low, self.high

    @property
    def text(self) -> str:
        """The range as text, such as "1 to 100, log, or 1000000"."""
        text = f"{_number(self.low)} to {_number(self.high)}" + (", log" if self.log else "")
        return text if self.special is None else f"{text}, or {_number(self.special)}"

    @property
    def only(self) -> str | None:
        """The range's single value; None if it has several."""
        return _number(self.low) if self.low == self.high and self.special is None else None

    def narrowed(self, low: float, high: float) -> Self | None:
        """Return the part of the range between `low` and `high`; None if no value lies there."""
        keeps_special = self.special is not None and low <= self.special <= high
        low, high = max(self.low, low), min(self.high, high)
        if self.whole:
            low, high = math.ceil(low), math.floor(high)
        if low > high:
            return None
        return replace(self, low=low, high=high, special=self.special if keeps_special else None)

    def ask(self, chooser: Chooser, name: str) -> str:
        """Return the value that `chooser` picks, as text.

        Raises:
            ValueError: The chooser answered with a number outside the range.
        """
        low, high = self.low, self.high
        if self.special is not None:
            low, high = min(low, self.reach), max(high, self.reach)
        answer: float
        if self.asks_whole:
            answer = chooser.integer(name, int(low), int(high), log=self.log)
        else:
            answer = chooser.real(name, low, high, log=self.log)
        slack = 0 if self.asks_whole else _SLACK * abs(answer)
        if not low - slack <= answer <= high + slack:
            raise ValueError(f"{name} must be chosen from {low} to {high}, but got {answer}")
        return self.text_of(answer)

    def text_of(self, answer: float) -> str:
        """Convert a chooser's answer to the value that it stands for, as text."""
        slack = _SLACK * abs(answer)
        if self.special is not None and not self.low - slack <= answer <= self.high + slack:
            return _number(self.special)
        inside = min(max(answer, self.low), self.high)
        return str(round(inside)) if self.whole else _number(inside)

    def answer(self, text: str) -> ParamValue | None:
        """Return the chooser's answer that leads to the value `text`; None if the range does not contain it."""
        value = float(text)
        if self.special is not None and value == self.special:
            value = self.reach
        elif not self.low <= value <= self.high:
            return None
        return int(value) if self.asks_whole else value


@dataclass(frozen=True, slots=True)
class NumberList:
    """A list of numbers.

    A chooser picks the position of a number, counted from 0. A rule may leave only a part of the list for a config; the
    numbers in this part keep their positions.

    Attributes:
        values: The numbers as text, ascending.
        first: The position that the first of `values` had in the list before a rule left only a part of the list.
    """

    values: tuple[str, ...]
    first: int = 0

    @property
    def span(self) -> tuple[float, float]:
        """The smallest and the largest number."""
        return float(self.values[0]), float(self.values[-1])

    @property
    def text(self) -> str:
        """The numbers, separated by commas."""
        return ", ".join(self.values)

    @property
    def only(self) -> str | None:
        """The list's single value; None if it has several."""
        return self.values[0] if len(self.values) == 1 else None

    def narrowed(self, low: float, high: float) -> Self | None:
        """Return the numbers between `low` and `high`; None if no number lies there."""
        kept = [position for position, value in enumerate(self.values) if low <= float(value) <= high]
        if not kept:
            return None
        return replace(self, values=self.values[kept[0] : kept[-1] + 1], first=self.first + kept[0])

    def ask(self, chooser: Chooser, name: str) -> str:
        """Return the number at the position that `chooser` picks, as text.

        Raises:
            ValueError: The chooser answered with a position outside the list.
        """
        last = self.first + len(self.values) - 1
        answer = chooser.integer(name, self.first, last, log=False)
        if not self.first <= answer <= last:
            raise ValueError(f"{name} must be a position from {self.first} to {last}, but got {answer}")
        return self.values[answer - self.first]

    def answer(self, text: str) -> ParamValue | None:
        """Return the chooser's answer that leads to the value `text`; None if the list does not contain it."""
        return self.first + self.values.index(text) if text in self.values else None


@dataclass(frozen=True, slots=True)
class WordList:
    """A list of words. Unlike ranges and lists of numbers, it is the same for every config of a search space.

    Attributes:
        values: The words as users read them.
        canonical: The client's canonical text for each word, in the same order.
    """

    values: tuple[str, ...]
    canonical: tuple[str, ...]

    @property
    def text(self) -> str:
        """The words, separated by commas."""
        return ", ".join(self.values)

    @property
    def only(self) -> str | None:
        """The canonical text of the list's single word; None if it has several."""
        return self.canonical[0] if len(self.canonical) == 1 else None

    def ask(self, chooser: Chooser, name: str) -> str:
        """Return the canonical text of the word that `chooser` picks.

        Raises:
            ValueError: The chooser answered with a word that is not in the list.
        """
        answer = chooser.choice(name, self.values)
        if answer not in self.values:
            raise ValueError(f"{name} must be one of {self.text}, but got {answer}")
        return self.canonical[self.values.index(answer)]

    def answer(self, text: str) -> ParamValue | None:
        """Return the chooser's answer that leads to the canonical text `text`; None if the list lacks it."""
        return self.values[self.canonical.index(text)] if text in self.canonical else None


Domain = Range | NumberList | WordList


def _number(value: float) -> str:
    """Return a number as the client writes it, without an exponent and with at most three decimals."""
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
