"""A knob as a coordinate: where a value lies between the ends of its range, on the scale that it is searched by."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from search_spaces.domains import Domain, Numbers, Range, Words
from tuner.search.bayesian.solving import Array

_WIDE: Final = 20.0
"""A range from near 0 that is as wide as this is looked at by ratios too: 1 and 2 ms differ, 198 and 199 do not."""
_EDGE: Final = 1e-9
_ONE_HOT: Final = math.sqrt(0.5)
"""So that two words are 1 apart."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One parameter of a space.

    A number's position is 0 at the low end of its range and 1 at the high one; that of a special value (0 for "do not
    wait") lies outside, as far as the range gives it room. A word's position is its place among the words. A knob that
    means nothing beside the others (a level without its codec) has the position NaN.

    Attributes:
        name: Of the parameter.
        domain: Its range.
    """

    name: str
    domain: Domain

    @property
    def words(self) -> int:
        """How many words it has; 0 for a number."""
        return len(self.domain.values) if isinstance(self.domain, Words) else 0

    @property
    def features(self) -> int:
        """Numbers that a kernel sees of it: one, or one per word where there are three or more."""
        return self.words if self.words > 2 else 1

    @property
    def whole(self) -> bool:
        """Whether it has whole numbers only."""
        return isinstance(self.domain, Range) and self.domain.whole

    @property
    def least_step(self) -> float:
        """How far another position is at least, where only some numbers are taken; else 0."""
        return 1.0 / max(1, len(self.domain.values) - 1) if isinstance(self.domain, Numbers) else 0.0

    @property
    def special(self) -> float | None:
        """Position of the special value; None without one."""
        domain = self.domain
        if not isinstance(domain, Range) or domain.special is None:
            return None
        return float(self.at(np.array(float(domain.reach))))

    def position(self, text: str) -> float | None:
        """Where a value lies, given as the client's text; None outside of the range."""
        answer = self.domain.answer(text)
        if answer is None:
            return None
        if isinstance(self.domain, Words):
            return float(self.domain.canonical.index(text))
        return float(self.at(np.array(float(answer))))

    def at(self, answers: Array) -> Array:
        """Positions of numbers as a chooser answers with them."""
        low, high = self._ends()
        found: Array = (self._scaled(answers) - low) / ((high - low) or 1.0)
        return found

    def answers(self, positions: Array) -> Array:
        """What a chooser answers to get these positions; between the range and its special value lies nothing."""
        low, high = self._ends()
        scaled = low + positions * (high - low)
        domain = self.domain
        if not isinstance(domain, Range):
            return scaled
        found: Array = np.exp(scaled) if domain.log else np.expm1(scaled) if self._wide else scaled
        if domain.special is not None:
            found = np.where((positions < -_EDGE) | (positions > 1 + _EDGE), domain.reach, found)
        return found

    def answer(self, position: float, low: float, high: float) -> float:
        """The same for one position, within the bounds offered; a NaN gets the middle."""
        return min(high, max(low, float(self.answers(np.array(0.5 if math.isnan(position) else position)))))

    def word(self, position: float, choices: Sequence[str]) -> str:
        """The word at a position; a NaN gets the first."""
        return choices[0 if math.isnan(position) else min(len(choices) - 1, int(position))]

    def values(self, positions: Array) -> Array:
        """The numbers themselves, in the knob's unit, special values as such."""
        domain = self.domain
        if isinstance(domain, Numbers):
            places = np.rint(self.answers(positions)).astype(int) - domain.first
            numbers: Array = np.array([float(text) for text in domain.values])
            return np.asarray(numbers[np.clip(places, 0, len(numbers) - 1)])
        found = self.answers(positions)
        if isinstance(domain, Range) and domain.special is not None:
            return np.where((found < domain.low) | (found > domain.high), domain.special, found)
        return found

    def drawn(self, rng: np.random.Generator, count: int, steps: int) -> Array:
        """Positions at random: words, or one of `steps` even steps; the special value is one of them."""
        if isinstance(self.domain, Words):
            return rng.integers(self.words, size=count).astype(np.float64)
        if isinstance(self.domain, Numbers):
            return rng.integers(len(self.domain.values), size=count) / max(1, len(self.domain.values) - 1)
        even: Array = rng.integers(steps, size=count) / (steps - 1)
        special = self.special
        return even if special is None else np.where(rng.random(count) < 1 / (steps + 1), special, even)

    def seen(self, positions: Array) -> Array:
        """What a kernel sees. Shape: (configs, features). A knob that means nothing lies in the middle."""
        if self.features > 1:
            return np.asarray((positions[:, None] == np.arange(self.words)) * _ONE_HOT, dtype=np.float64)
        return np.where(np.isnan(positions), 0.5, positions)[:, None]

    @property
    def _wide(self) -> bool:
        domain = self.domain
        if not isinstance(domain, Range) or domain.log:
            return False
        return domain.low >= 0 and domain.high >= _WIDE * max(domain.low, 1)

    def _ends(self) -> tuple[float, float]:
        domain = self.domain
        if isinstance(domain, Words):
            return 0.0, max(1.0, self.words - 1.0)
        if isinstance(domain, Numbers):
            return float(domain.first), float(domain.first + len(domain.values) - 1)
        ends = self._scaled(np.array([domain.low, domain.high], dtype=np.float64))
        return float(ends[0]), float(ends[1])

    def _scaled(self, answers: Array) -> Array:
        domain = self.domain
        if isinstance(domain, Range) and domain.log:
            return np.log(answers)
        return np.log1p(answers) if self._wide else answers
