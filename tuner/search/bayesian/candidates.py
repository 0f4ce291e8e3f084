"""Configs that might be worth measuring: changes of a few parameters of good ones, and some from anywhere."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from tuner.search.bayesian.axes import Axis
from tuner.search.bayesian.solving import Array

_STEPS: Final = 7
"""Values of a number that are tried far from home. Source: coarse values in LlamaTune (Kanellis et al., VLDB 2022)."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """How candidates are made.

    Attributes:
        axes: One per parameter.
        allowed: Moves rows to where the rules between parameters leave them; may change them in place.
        count: How many.
        anywhere_ratio: Share drawn from the whole space.
        mixed_ratio: Share of the others that take each value from one of two parents.
        near_ratio: Share of the changes that stay close to the parent's value.
        near_sd: How close, as a share of the range.
        most_changes: Parameters changed at a time.
        held: Axes that are not searched, and where all candidates are on them, whatever their parents have there.
    """

    axes: Sequence[Axis]
    allowed: Callable[[Array], Array]
    count: int = 700
    anywhere_ratio: float = 0.33
    mixed_ratio: float = 0.3
    near_ratio: float = 0.75
    near_sd: float = 0.1
    most_changes: int = 2
    held: Mapping[int, float] = field(default_factory=dict)

    def around(self, parents: Array, weights: Array, rng: np.random.Generator) -> Array:
        """Candidates, shape (count, axes).

        Args:
            parents: Good configs, shape (parents, axes).
            weights: How often each is a parent, relative to the others.
            rng: Chance.
        """
        far = round(self.count * self.anywhere_ratio)
        chances = weights / weights.sum()
        children = parents[rng.choice(len(parents), size=self.count - far, p=chances)].copy()
        others = parents[rng.choice(len(parents), size=len(children), p=chances)]
        mixed = rng.random(len(children)) < self.mixed_ratio
        children = np.where((rng.random(children.shape) < 0.5) & mixed[:, None], others, children)
        self._change(children, rng)
        self._hold(children)
        return np.concatenate([self.anywhere(far, rng), self.allowed(children)])

    def anywhere(self, count: int, rng: np.random.Generator) -> Array:
        """Configs of the whole space, but for what is held, shape (count, axes)."""
        drawn = np.stack([axis.drawn(rng, count, _STEPS) for axis in self.axes], axis=1)
        self._hold(drawn)
        return self.allowed(drawn)

    def nearby(self, rows: Array, copies: int, near_sd: float, rng: np.random.Generator) -> Array:
        """The rows, each `copies` times, some of its numbers moved a little."""
        moved = np.repeat(rows, copies, axis=0)
        for index, axis in enumerate(self.axes):
            inside = (moved[:, index] >= 0) & (moved[:, index] <= 1)
            if not axis.words and index not in self.held:
                steps = rng.standard_normal(len(moved)) * near_sd
                chosen = inside & (rng.random(len(moved)) < 0.4)
                moved[:, index] = np.where(chosen, np.clip(moved[:, index] + steps, 0, 1), moved[:, index])
        return self.allowed(moved)

    def _change(self, children: Array, rng: np.random.Generator) -> None:
        """Give one parameter of each child or a few another value."""
        wanted = rng.integers(1, self.most_changes + 1, size=len(children))
        lots = np.where(np.isnan(children), np.inf, rng.random(children.shape))
        changed = lots.argsort(axis=1).argsort(axis=1) < wanted[:, None]
        # Held parameters keep their value, so with more of them held a child differs less from its parent.
        changed[:, list(self.held)] = False
        for index, axis in enumerate(self.axes):
            fresh = axis.drawn(rng, len(children), _STEPS)
            if not axis.words:
                moves = rng.standard_normal(len(children)) * self.near_sd
                moves = np.copysign(np.maximum(np.abs(moves), axis.least_step), moves)
                near = np.clip(children[:, index] + moves, 0, 1)
                fresh = np.where(rng.random(len(children)) < self.near_ratio, near, fresh)
            children[:, index] = np.where(changed[:, index], fresh, children[:, index])

    def _hold(self, rows: Array) -> None:
        for index, position in self.held.items():
            rows[:, index] = position
