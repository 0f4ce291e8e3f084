"""Candidates for the next trial: good configs with a few changes, and some random configs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from tuner.regression.solving import Array
from tuner.search.bayesian.axes import Axis

_STEPS: Final = 7
"""How many evenly spaced values are possible for a number that is drawn at random.

Source: LlamaTune (Kanellis et al., VLDB 2022), which also searches coarse values.
"""
_MIXED_RATIO: Final = 0.3
"""Of the changed copies, the share that mixes two good configs: each value is from one of the two, at random."""
_NEAR_SD: Final = 0.1
"""The standard deviation of small changes to numbers, as a share of the range."""
_MOVED_RATIO: Final = 0.4
"""The share of its numbers that `nearby` changes in a copy of a candidate."""
_MOST_CHANGES: Final = 2
"""The most parameters that are changed in a candidate."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Generates candidates for the next trial: changed copies of good configs, and random configs.

    A candidate is given by its coordinates, one per parameter.

    Attributes:
        axes: One axis per parameter.
        allowed: Changes candidates so that they keep the rules between parameters; may change its argument in place.
        count: How many candidates `around` generates.
        anywhere_ratio: The share of candidates that are drawn at random from the whole space.
        near_ratio: Of the changes to numbers, the share whose new number is close to the old number.
        held: Coordinates that are the same in all candidates, by the index of the parameter.
    """

    axes: Sequence[Axis]
    allowed: Callable[[Array], Array]
    count: int = 700
    anywhere_ratio: float = 0.33
    near_ratio: float = 0.75
    held: Mapping[int, float] = field(default_factory=dict)

    def around(self, parents: Array, weights: Array, rng: np.random.Generator) -> Array:
        """Generate candidates by changing good configs, and some by drawing at random from the whole space.

        Args:
            parents: The good configs, shape (parents, axes).
            weights: How often each good config is used, relative to the others.
            rng: The source of randomness.

        Returns:
            The candidates, shape (count, axes).
        """
        far = round(self.count * self.anywhere_ratio)
        chances = weights / weights.sum()
        children = parents[rng.choice(len(parents), size=self.count - far, p=chances)].copy()
        others = parents[rng.choice(len(parents), size=len(children), p=chances)]
        mixed = rng.random(len(children)) < _MIXED_RATIO
        children = np.where((rng.random(children.shape) < 0.5) & mixed[:, None], others, children)
        self._change(children, rng)
        self._set_held(children)
        return np.concatenate([self.anywhere(far, rng), self.allowed(children)])

    def anywhere(self, count: int, rng: np.random.Generator) -> Array:
        """Draw candidates at random, shape (count, axes), except that the coordinates in `held` keep their values."""
        drawn = np.stack([axis.drawn(rng, count, _STEPS) for axis in self.axes], axis=1)
        self._set_held(drawn)
        return self.allowed(drawn)

    def nearby(self, rows: Array, copies: int, near_sd: float, rng: np.random.Generator) -> Array:
        """Return copies of candidates, with small changes to some of the numbers.

        The coordinates in `held` keep their values.

        Args:
            rows: The coordinates of the candidates, shape (rows, axes).
            copies: How many copies of each candidate to make.
            near_sd: The standard deviation of the changes, as a share of the range.
            rng: The source of randomness.
        """
        moved = np.repeat(rows, copies, axis=0)
        for index, axis in enumerate(self.axes):
            inside = (moved[:, index] >= 0) & (moved[:, index] <= 1)
            if not axis.words and index not in self.held:
                steps = rng.standard_normal(len(moved)) * near_sd
                chosen = inside & (rng.random(len(moved)) < _MOVED_RATIO)
                near = axis.snapped(np.clip(moved[:, index] + steps, 0, 1))
                moved[:, index] = np.where(chosen, near, moved[:, index])
        return self.allowed(moved)

    def _change(self, children: Array, rng: np.random.Generator) -> None:
        """Change between 1 and `_MOST_CHANGES` parameters of each candidate at random, in place."""
        wanted = rng.integers(1, _MOST_CHANGES + 1, size=len(children))
        lots = np.where(np.isnan(children), np.inf, rng.random(children.shape))
        changed = lots.argsort(axis=1).argsort(axis=1) < wanted[:, None]
        # Parameters in `held` do not change. So the more parameters are held, the less a candidate differs from the
        # config that it was made from.
        changed[:, list(self.held)] = False
        for index, axis in enumerate(self.axes):
            fresh = axis.drawn(rng, len(children), _STEPS)
            if not axis.words:
                moves = rng.standard_normal(len(children)) * _NEAR_SD
                moves = np.copysign(np.maximum(np.abs(moves), axis.least_step), moves)
                near = axis.snapped(np.clip(children[:, index] + moves, 0, 1))
                fresh = np.where(rng.random(len(children)) < self.near_ratio, near, fresh)
            children[:, index] = np.where(changed[:, index], fresh, children[:, index])

    def _set_held(self, rows: Array) -> None:
        """Overwrite coordinates of every candidate, in place, with the values in `held`."""
        for index, position in self.held.items():
            rows[:, index] = position
