"""Parameters of an Optuna study as coordinates: where a value lies between the ends of its range."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from tuner.search.bayesian.solving import Array

Params = Mapping[str, Any]
"""Values by parameter."""
_WIDE: Final = 20.0
"""A range from near 0 that is as wide as this is looked at by ratios too: 1 and 2 ms differ, 198 and 199 do not."""
_EDGE: Final = 1e-9
_ONE_HOT: Final = math.sqrt(0.5)
"""So that two words are 1 apart."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One parameter.

    A number's position is 0 at the low end of its range and 1 at the high one; a special value lies outside. The
    position of a word is its index. A parameter that a trial does not have (a level without its codec) is at NaN.

    Attributes:
        name: Of the parameter.
        distribution: Float, int or categorical.
        core: The range in which values differ, where it is not all of the distribution: the stretch beyond it stands
            for one special value.
        ordered: Whether its whole numbers are indices into a list, each of which is tried.
    """

    name: str
    distribution: BaseDistribution
    core: tuple[float, float] | None = None
    ordered: bool = False

    @property
    def words(self) -> int:
        """How many words it has; 0 for a number."""
        return len(self.distribution.choices) if isinstance(self.distribution, CategoricalDistribution) else 0

    @property
    def features(self) -> int:
        """Numbers that a kernel sees of it: one, or one per word where there are three or more."""
        return self.words if self.words > 2 else 1

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest number, the special value left aside."""
        return self.core or _bounds(self.distribution)

    @property
    def least_step(self) -> float:
        """How far another position is at least, where only some numbers are taken; else 0."""
        return 1.0 / max(1, self._count - 1) if self.ordered else 0.0

    @property
    def special(self) -> float | None:
        """Position of the special value; None without one."""
        reach = self._reach
        return None if reach is None else float(self.at(np.array(reach)))

    def position(self, value: Any) -> float:
        """Where a value of the parameter lies."""
        if isinstance(self.distribution, CategoricalDistribution):
            return float(self.distribution.to_internal_repr(value))
        return float(self.at(np.array(float(value))))

    def at(self, numbers: Array) -> Array:
        """Positions of numbers."""
        low, high = self._scaled_ends()
        return np.asarray((self._scaled(numbers) - low) / ((high - low) or 1.0), dtype=np.float64)

    def numbers(self, positions: Array) -> Array:
        """The numbers at these positions; what lies neither in the range nor in it is the special value."""
        low, high = self._scaled_ends()
        scaled = low + positions * (high - low)
        numbers = np.exp(scaled) if self._log else np.expm1(scaled) if self._wide else scaled
        if self._reach is not None:
            outside = (positions < -_EDGE) | (positions > 1 + _EDGE)
            numbers = np.where(outside, self._reach, numbers)
        return np.asarray(numbers, dtype=np.float64)

    def value(self, position: float) -> Any:
        """The value at a position; a NaN gets the middle, or the first word.

        A number is not rounded to what the distribution takes.
        """
        if isinstance(self.distribution, CategoricalDistribution):
            index = 0 if math.isnan(position) else min(self.words - 1, int(position))
            return self.distribution.choices[index]
        return float(self.numbers(np.array(0.5 if math.isnan(position) else position)))

    def drawn(self, rng: np.random.Generator, count: int, steps: int) -> Array:
        """Positions at random: words, or one of `steps` even steps; the special value is one of them."""
        if self.words:
            return rng.integers(self.words, size=count).astype(np.float64)
        if self.ordered:
            return rng.integers(self._count, size=count) / max(1, self._count - 1)
        even: Array = rng.integers(steps, size=count) / (steps - 1)
        special = self.special
        return even if special is None else np.where(rng.random(count) < 1 / (steps + 1), special, even)

    def seen(self, positions: Array) -> Array:
        """What a kernel sees. Shape: (configs, features). A parameter that is not there lies in the middle."""
        if self.features > 1:
            return np.asarray((positions[:, None] == np.arange(self.words)) * _ONE_HOT, dtype=np.float64)
        return np.where(np.isnan(positions), 0.5, positions)[:, None]

    @property
    def _count(self) -> int:
        """How many whole numbers there are."""
        low, high = self.ends
        return round(high - low) + 1

    @property
    def _reach(self) -> float | None:
        if self.core is None:
            return None
        low, high = _bounds(self.distribution)
        return low if low < self.core[0] else high

    @property
    def _log(self) -> bool:
        return isinstance(self.distribution, (FloatDistribution, IntDistribution)) and self.distribution.log

    @property
    def _wide(self) -> bool:
        if self._log or self.words or self.ordered:
            return False
        low, high = self.ends
        return low >= 0 and high >= _WIDE * max(low, 1)

    def _scaled_ends(self) -> tuple[float, float]:
        if self.words:
            return 0.0, max(1.0, self.words - 1.0)
        low, high = self._scaled(np.array(self.ends, dtype=np.float64))
        return float(low), float(high)

    def _scaled(self, numbers: Array) -> Array:
        if self._log:
            return np.log(numbers)
        return np.log1p(numbers) if self._wide else numbers


def fitting(distribution: BaseDistribution, value: Any) -> Any:
    """The value that a distribution takes nearest to a given one."""
    if isinstance(distribution, CategoricalDistribution):
        return value
    low, high = _bounds(distribution)
    number = min(high, max(low, float(value)))
    step = getattr(distribution, "step", None)
    if step is not None:
        number = min(high, low + round((number - low) / step) * step)
    return round(number) if isinstance(distribution, IntDistribution) else number


class Space(Protocol):
    """Parameters, and what is known of how they bear on each other."""

    @property
    def axes(self) -> Sequence[Axis]:
        """One per parameter that a trial may have."""

    def allowed(self, rows: Array) -> Array:
        """Rows of positions, shape (configs, axes), as the rules between parameters leave them; may be in place."""

    def settled(self, values: Params) -> Params:
        """The parameters that come of wanting these values, one for each axis: rounded, and within all rules."""

    def implied(self, params: Params) -> Params | None:
        """A trial's parameters with those that follow from them; None for a trial that is to be left out."""


class PlainSpace:
    """Parameters with nothing between them: what a study's trials have in common."""

    def __init__(self, distributions: Mapping[str, BaseDistribution]) -> None:
        self.axes = tuple(Axis(name, distribution) for name, distribution in distributions.items())

    def allowed(self, rows: Array) -> Array:
        """See `Space.allowed`."""
        return rows

    def settled(self, values: Params) -> Params:
        """See `Space.settled`."""
        return {axis.name: fitting(axis.distribution, values[axis.name]) for axis in self.axes}

    def implied(self, params: Params) -> Params | None:
        """See `Space.implied`. A trial without one of the parameters is left out."""
        return params if all(axis.name in params for axis in self.axes) else None


def features_of(axes: Sequence[Axis], rows: Array) -> Array:
    """What a kernel sees of rows of positions. Shapes: (configs, axes) to (configs, features)."""
    return np.concatenate([axis.seen(rows[:, index]) for index, axis in enumerate(axes)], axis=1)


def _bounds(distribution: BaseDistribution) -> tuple[float, float]:
    if isinstance(distribution, (FloatDistribution, IntDistribution)):
        return float(distribution.low), float(distribution.high)
    return 0.0, 1.0
