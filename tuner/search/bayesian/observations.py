"""What a search has observed: trials as numbers to learn from, and no more of them than it can afford."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from objectives.dominance import dominated_by
from tuner.search.bayesian.solving import Array

MOST_CONFIGS: Final = 80
"""A proposal's cost grows with the cube of what is learned from."""
_BEST_CONFIGS: Final = 40
_KEPT_CONFIGS: Final = 60
_SOFT: Final = 0.05
"""A constraint that is missed or kept by 5 % is half missed or kept."""


@dataclass(slots=True)
class Config:
    """One config that was measured, once or more often.

    Attributes:
        row: Its positions.
        values: Per objective, what was measured; more is better.
        misses: By constraint, how it was missed (above 0) or kept, between -1 and 1.
        feasible: Whether its last trial kept all constraints and has all values.
    """

    row: Array
    values: list[list[float]]
    misses: dict[str, list[float]]
    feasible: bool = False

    def mean(self, objective: int) -> float:
        """Of its values; NaN without one."""
        found = self.values[objective]
        return sum(found) / len(found) if found else math.nan


class Observations:
    """Trials, config by config, in the order of their first ones.

    Args:
        objectives: How many.
    """

    def __init__(self, objectives: int) -> None:
        self._objectives = objectives
        self._configs: dict[bytes, Config] = {}
        self.measured: set[bytes] = set()
        """Keys of all configs, forgotten or not."""
        self.first: Array | None = None
        """The row of the first config."""

    def __len__(self) -> int:
        return len(self._configs)

    def __iter__(self) -> Iterator[Config]:
        return iter(self._configs.values())

    def add(self, row: Array, values: Sequence[float | None], constraints: Mapping[str, float]) -> None:
        """Learn from a complete trial.

        Args:
            row: Its positions.
            values: One per objective, more is better; None where it has none.
            constraints: By how much each was missed; 0 or less is kept.
        """
        if self.first is None:
            self.first = row
        key = key_of(row)
        self.measured.add(key)
        config = self._configs.setdefault(key, Config(row, [[] for _ in range(self._objectives)], {}))
        for seen, value in zip(config.values, values, strict=True):
            if value is not None:
                seen.append(value)
        for name, violation in constraints.items():
            config.misses.setdefault(name, []).append(violation / (abs(violation) + _SOFT))
        config.feasible = None not in values and all(violation <= 0 for violation in constraints.values())
        if len(self._configs) > MOST_CONFIGS:
            self._forget_some()

    def worst(self, objective: int) -> float:
        """The least value seen of an objective; 0 before there is one."""
        return min((value for config in self for value in config.values[objective]), default=0.0)

    def repeated(self, objective: int) -> list[list[float]]:
        """The values of configs that were measured more than once."""
        return [config.values[objective] for config in self if len(config.values[objective]) > 1]

    def rows(self) -> Array:
        """Shape (configs, axes)."""
        return np.stack([config.row for config in self])

    def means(self) -> Array:
        """Shape (configs, objectives); NaN where a config has no value."""
        return np.array([[config.mean(objective) for objective in range(self._objectives)] for config in self])

    def feasible(self) -> NDArray[np.bool_]:
        """Shape (configs,)."""
        return np.array([config.feasible for config in self], dtype=np.bool_)

    def missed_constraints(self) -> list[str]:
        """Those that some config has missed: the others tell nothing."""
        return sorted({name for config in self for name, seen in config.misses.items() if max(seen) > 0})

    def _forget_some(self) -> None:
        """Keep the best configs and the newest. What is left follows from what was told, in its order."""
        configs, means = list(self._configs.items()), self.means()
        rank = dominated_by(np.where(np.isnan(means), -np.inf, means))
        best = set(np.lexsort((rank, ~self.feasible()))[:_BEST_CONFIGS].tolist())
        newest = range(len(configs) - (_KEPT_CONFIGS - _BEST_CONFIGS), len(configs))
        self._configs = dict(configs[index] for index in sorted({*best, *newest}))


def key_of(row: Array) -> bytes:
    """The same for configs of the same effect, whether they spell defaults out or not."""
    return np.round(row, 9).tobytes()
