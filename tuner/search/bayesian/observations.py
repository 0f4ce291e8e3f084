"""The observations that the sampler learns from, limited to as many configs as it has the time to compute with."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from objectives.dominance import dominated_by
from tuner.search.bayesian.solving import Array

MOST_CONFIGS: Final = 80
"""The most configs to learn from; the time that a proposal takes grows with the cube of their number."""
_BEST_CONFIGS: Final = 40
_KEPT_CONFIGS: Final = 60
_SOFT: Final = 0.05
"""The violation of a constraint that is mapped to 0.5, halfway between just kept (0) and completely missed (1)."""


@dataclass(slots=True)
class Config:
    """A config that was measured once or several times.

    Attributes:
        row: The positions of its parameters.
        values: For each objective, the measured values; more is better.
        misses: By constraint, how far each trial missed it (0 to 1) or kept it (0 to -1).
        feasible: Whether its last trial kept all constraints and has a value for each objective.
    """

    row: Array
    values: list[list[float]]
    misses: dict[str, list[float]]
    feasible: bool = False

    def mean(self, objective: int) -> float:
        """Return the mean of the values of an objective; NaN if there is none."""
        found = self.values[objective]
        return sum(found) / len(found) if found else math.nan


class Observations:
    """The measured configs, in the order in which each was measured first.

    Args:
        objectives: The number of objectives.
    """

    def __init__(self, objectives: int) -> None:
        self._objectives = objectives
        self._configs: dict[bytes, Config] = {}
        self.measured: set[bytes] = set()
        """The keys of all configs that were measured, including those that are no longer kept."""
        self.first: Array | None = None
        """The row of the config that was measured first; None before there is one."""

    def __len__(self) -> int:
        return len(self._configs)

    def __iter__(self) -> Iterator[Config]:
        return iter(self._configs.values())

    def add(self, row: Array, values: Sequence[float | None], constraints: Mapping[str, float]) -> None:
        """Add a complete trial.

        Args:
            row: The positions of its parameters.
            values: One value per objective, more is better; None for an objective that was not measured.
            constraints: By name, how far each constraint was missed; 0 or less if it was kept.
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
        """Return the worst value of an objective so far; 0 if there is none."""
        return min((value for config in self for value in config.values[objective]), default=0.0)

    def repeated(self, objective: int) -> list[list[float]]:
        """Return the values of each config that has more than one value of an objective."""
        return [config.values[objective] for config in self if len(config.values[objective]) > 1]

    def rows(self) -> Array:
        """Return the rows of all configs, shape (configs, axes)."""
        return np.stack([config.row for config in self])

    def means(self) -> Array:
        """Return the mean values of all configs, shape (configs, objectives); NaN where a config has no value."""
        return np.array([[config.mean(objective) for objective in range(self._objectives)] for config in self])

    def feasible(self) -> NDArray[np.bool_]:
        """Return which configs are feasible, shape (configs,)."""
        return np.array([config.feasible for config in self], dtype=np.bool_)

    def missed_constraints(self) -> list[str]:
        """Return the names of the constraints that at least one config has missed; only these can be learned."""
        return sorted({name for config in self for name, seen in config.misses.items() if max(seen) > 0})

    def _forget_some(self) -> None:
        """Keep only the best configs and the newest ones.

        The choice depends only on the trials so far, in their order, so it is the same after an interruption.
        """
        configs, means = list(self._configs.items()), self.means()
        rank = dominated_by(np.where(np.isnan(means), -np.inf, means))
        best = set(np.lexsort((rank, ~self.feasible()))[:_BEST_CONFIGS].tolist())
        newest = range(len(configs) - (_KEPT_CONFIGS - _BEST_CONFIGS), len(configs))
        self._configs = dict(configs[index] for index in sorted({*best, *newest}))


def key_of(row: Array) -> bytes:
    """Return a key that is equal for configs with the same effect, whether or not they spell out defaults."""
    return np.round(row, 9).tobytes()
