"""Parameters of an Optuna study as coordinate axes.

The position of a value on its axis says where the value lies between the ends of its range. The positions of a config
on all axes are its coordinates.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from tuner.regression.solving import Array

Params = Mapping[str, Any]
"""The value of each parameter, by name."""
_WIDE: Final = 20.0
"""A range that starts near 0 and ends at this number or above is scaled by log(1 + x).

On that scale, 1 ms and 2 ms are far apart, and 198 ms and 199 ms are close together.
"""
_EDGE: Final = 1e-9
_ONE_HOT: Final = math.sqrt(0.5)
"""The number that encodes the chosen word in a one-hot encoding, so that the distance between two words is 1."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The coordinate axis of one parameter, on which each value of the parameter has a position.

    A number has the position 0 at the low end of its range and 1 at the high end. A special value, such as 0 for "do
    not wait", has a position outside of 0 to 1. The position of a word, such as a codec, is its index. A parameter
    that a trial does not have, such as the compression level of another codec, has the position NaN.

    Attributes:
        name: The name of the parameter.
        distribution: The parameter's distribution: float, int or categorical.
        core: The range of ordinary numbers, if the distribution also has a special value; all numbers of the
            distribution outside this range stand for the special value. None if there is no special value.
        ordered: Whether the parameter's numbers are indices into a list of values.
    """

    name: str
    distribution: BaseDistribution
    core: tuple[float, float] | None = None
    ordered: bool = False

    @property
    def words(self) -> int:
        """The number of words (categories) that the parameter can have; 0 for a numeric parameter."""
        return len(self.distribution.choices) if isinstance(self.distribution, CategoricalDistribution) else 0

    @property
    def feature_count(self) -> int:
        """The number of features that encode the parameter for a kernel.

        A parameter with three or more words has one feature per word; any other parameter has one feature.
        """
        return self.words if self.words > 2 else 1

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest number of the parameter, without the special value."""
        return self.core or _bounds(self.distribution)

    @property
    def listed_values(self) -> int | None:
        """How many values the parameter has, if they are listed: words, or numbers of a list; otherwise None."""
        return self.words or (self._count if self.ordered else None)

    @property
    def least_step(self) -> float:
        """The distance between two neighbouring positions of an ordered parameter; 0 for other parameters."""
        return 1.0 / max(1, self._count - 1) if self.ordered else 0.0

    def snapped(self, positions: Array) -> Array:
        """Return the nearest positions of whole numbers, if the parameter is a whole number."""
        if not isinstance(self.distribution, IntDistribution):
            return positions
        low, step = self.distribution.low, self.distribution.step
        return self.at(low + np.rint((self.numbers(positions) - low) / step) * step)

    @property
    def special(self) -> float | None:
        """The position of the special value on the axis; None if the parameter has no special value."""
        special_end = self._special_end
        return None if special_end is None else float(self.at(np.array(special_end)))

    def position(self, value: Any) -> float:
        """Return the position of a value of the parameter: 0 to 1 for an ordinary number, the index for a word."""
        if isinstance(self.distribution, CategoricalDistribution):
            return float(self.distribution.to_internal_repr(value))
        return float(self.at(np.array(float(value))))

    def at(self, numbers: Array) -> Array:
        """Return the positions of numbers on the axis: 0 at the low end of the range, 1 at the high end."""
        low, high = self._scaled_ends()
        return np.asarray((self._scaled(numbers) - low) / ((high - low) or 1.0), dtype=np.float64)

    def numbers(self, positions: Array) -> Array:
        """Return the numbers at positions on the axis; positions outside of 0 to 1 stand for the special value."""
        low, high = self._scaled_ends()
        scaled = low + positions * (high - low)
        numbers = np.exp(scaled) if self._is_log else np.expm1(scaled) if self._is_wide else scaled
        if self._special_end is not None:
            outside = (positions < -_EDGE) | (positions > 1 + _EDGE)
            numbers = np.where(outside, self._special_end, numbers)
        return np.asarray(numbers, dtype=np.float64)

    def value(self, position: float) -> Any:
        """Return the parameter's value at a position on the axis; for NaN, the middle of the range or the first word.

        A number is not rounded to the steps of the distribution.
        """
        if isinstance(self.distribution, CategoricalDistribution):
            index = 0 if math.isnan(position) else min(self.words - 1, int(position))
            return self.distribution.choices[index]
        return float(self.numbers(np.array(0.5 if math.isnan(position) else position)))

    def drawn(self, rng: np.random.Generator, count: int, steps: int) -> Array:
        """Draw positions on the axis at random.

        Args:
            rng: The source of randomness.
            count: How many positions to draw.
            steps: How many evenly spaced positions are possible for a number; the special value is possible as well.
        """
        if self.words:
            return rng.integers(self.words, size=count).astype(np.float64)
        if self.ordered:
            return rng.integers(self._count, size=count) / max(1, self._count - 1)
        even = self.snapped(rng.integers(steps, size=count) / (steps - 1))
        special = self.special
        return even if special is None else np.where(rng.random(count) < 1 / (steps + 1), special, even)

    def features_at(self, positions: Array) -> Array:
        """Return the features that encode positions on the axis for a kernel.

        Args:
            positions: The position of each config, shape (configs,). NaN counts as the middle of the range.

        Returns:
            The features, shape (configs, features).
        """
        if self.feature_count > 1:
            return np.asarray((positions[:, None] == np.arange(self.words)) * _ONE_HOT, dtype=np.float64)
        return np.where(np.isnan(positions), 0.5, positions)[:, None]

    @property
    def _count(self) -> int:
        """How many integers the parameter's range has, without the special value."""
        low, high = self.ends
        return round(high - low) + 1

    @property
    def _special_end(self) -> float | None:
        """The end of the distribution that stands for the special value; None if there is no special value."""
        if self.core is None:
            return None
        low, high = _bounds(self.distribution)
        return low if low < self.core[0] else high

    @property
    def _is_log(self) -> bool:
        """Whether the parameter's distribution is logarithmic."""
        return isinstance(self.distribution, (FloatDistribution, IntDistribution)) and self.distribution.log

    @property
    def _is_wide(self) -> bool:
        """Whether the range starts near 0 and is so wide that its numbers are scaled by log(1 + x)."""
        if self._is_log or self.words or self.ordered:
            return False
        low, high = self.ends
        return low >= 0 and high >= _WIDE * max(low, 1)

    def _scaled_ends(self) -> tuple[float, float]:
        """Return the two ends of the range, on the scale of the axis: log(x), log(1 + x) or x itself."""
        if self.words:
            return 0.0, max(1.0, self.words - 1.0)
        low, high = self._scaled(np.array(self.ends, dtype=np.float64))
        return float(low), float(high)

    def _scaled(self, numbers: Array) -> Array:
        """Convert numbers to the scale of the axis: log(x), log(1 + x) or x itself."""
        if self._is_log:
            return np.log(numbers)
        return np.log1p(numbers) if self._is_wide else numbers


def _nearest_value(distribution: BaseDistribution, value: Any) -> Any:
    """Return the value of a distribution that is nearest to the given value."""
    if isinstance(distribution, CategoricalDistribution):
        return value
    low, high = _bounds(distribution)
    number = min(high, max(low, float(value)))
    step = getattr(distribution, "step", None)
    if step is not None:
        number = min(high, low + round((number - low) / step) * step)
    return round(number) if isinstance(distribution, IntDistribution) else number


class Space(Protocol):
    """A space of parameters, with the rules between them."""

    @property
    def axes(self) -> Sequence[Axis]:
        """One axis per parameter that a trial may have."""

    def allowed(self, rows: Array) -> Array:
        """Change configs so that they keep the rules between parameters.

        Args:
            rows: The coordinates of one config per row, shape (configs, axes); may be changed in place.

        Returns:
            The coordinates of the changed configs, in the same shape.
        """

    def nearest_valid(self, values: Params) -> Params:
        """Return rounded parameters that keep all rules and are as near to the given values as possible.

        Args:
            values: A value for each parameter.
        """

    def implied(self, params: Params) -> Params | None:
        """Return a trial's parameters, and the further parameters whose values follow from them.

        Returns:
            All parameters of the trial; None if the sampler should ignore the trial.
        """


class PlainSpace:
    """A space without rules: its parameters are those that all trials of a study have in common."""

    def __init__(self, distributions: Mapping[str, BaseDistribution]) -> None:
        self.axes = tuple(Axis(name, distribution) for name, distribution in distributions.items())

    def allowed(self, rows: Array) -> Array:
        """Return the rows unchanged, as there are no rules."""
        return rows

    def nearest_valid(self, values: Params) -> Params:
        """Return, for each parameter, the value of its distribution that is nearest to the given value."""
        return {axis.name: _nearest_value(axis.distribution, values[axis.name]) for axis in self.axes}

    def implied(self, params: Params) -> Params | None:
        """Return the parameters unchanged; None if a parameter of the space is missing."""
        return params if all(axis.name in params for axis in self.axes) else None


def features_of(axes: Sequence[Axis], rows: Array) -> Array:
    """Return the features that encode configs for a kernel.

    Args:
        axes: One axis per parameter.
        rows: The coordinates of one config per row, shape (configs, axes).

    Returns:
        The features, shape (configs, features).
    """
    return np.concatenate([axis.features_at(rows[:, index]) for index, axis in enumerate(axes)], axis=1)


def _bounds(distribution: BaseDistribution) -> tuple[float, float]:
    """Return the low and the high end of a numeric distribution; 0 and 1 for a categorical distribution."""
    if isinstance(distribution, (FloatDistribution, IntDistribution)):
        return float(distribution.low), float(distribution.high)
    return 0.0, 1.0
