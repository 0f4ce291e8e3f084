"""The observations that the sampler learns from; only the best and the newest configs are kept, to save time."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from objectives.dominance import best_and_newest
from tuner.regression.solving import Array

MOST_CONFIGS: Final = 80
"""The most configs to learn from; the time that a proposal takes grows with the cube of the number of configs."""
# Once there are more, this many configs are kept: the best ones, and the newest ones.
_KEPT_CONFIGS: Final = 60
_BEST_CONFIGS: Final = 40
_HALF_MISSED: Final = 0.05
"""The violation of a constraint that is mapped to 0.5, halfway between just met (0) and completely missed (1)."""


@dataclass(slots=True)
class Config:
    """A config that was measured once or several times.

    Attributes:
        row: The coordinates of the config, one per parameter.
        values: For each objective, the measured values; more is better.
        misses: By constraint, one number per trial: above 0 and at most 1 if the trial missed the constraint, and
            0 to -1 if the trial kept it.
        feasible: Whether the config's last trial met all constraints and has a value for each objective.
    """

    row: Array
    values: list[list[float]]
    misses: dict[str, list[float]]
    feasible: bool = False

    def mean(self, objective: int) -> float:
        """Return the mean of the measured values of an objective; NaN if there are no values."""
        found = self.values[objective]
        return sum(found) / len(found) if found else math.nan


class Observations:
    """The measured configs, in the order of their first measurements.

    Args:
        objectives: The number of objectives.
    """

    def __init__(self, objectives: int) -> None:
        self._objectives = objectives
        self._configs: dict[bytes, Config] = {}
        self.measured: set[bytes] = set()
        """The keys (`key_of`) of all measured configs, including configs whose values are no longer kept."""
        self.first: Array | None = None
        """The coordinates of the config that was measured first; None before the first measurement."""

    def __len__(self) -> int:
        return len(self._configs)

    def __iter__(self) -> Iterator[Config]:
        return iter(self._configs.values())

    def add(self, row: Array, values: Sequence[float | None], constraints: Mapping[str, float]) -> None:
        """Add a complete trial.

        Args:
            row: The coordinates of the trial's config, one per parameter.
            values: One value per objective, more is better; None for an objective that was not measured.
            constraints: By name, how far each constraint was missed; 0 or less if it was met.
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
            config.misses.setdefault(name, []).append(violation / (abs(violation) + _HALF_MISSED))
        config.feasible = None not in values and all(violation <= 0 for violation in constraints.values())
        if len(self._configs) > MOST_CONFIGS:
            self._keep_best_and_newest()

    def worst(self, objective: int) -> float:
        """Return the worst value of an objective so far; 0 if there are no values."""
        return min((value for config in self for value in config.values[objective]), default=0.0)

    def repeated(self, objective: int) -> list[list[float]]:
        """Return the values of an objective, for each config that has more than one of these values."""
        return [config.values[objective] for config in self if len(config.values[objective]) > 1]

    def rows(self) -> Array:
        """Return the coordinates of all configs, one config per row, shape (configs, axes)."""
        return np.stack([config.row for config in self])

    def means(self) -> Array:
        """Return the mean values of all configs, shape (configs, objectives); NaN where a config has no value."""
        return np.array([[config.mean(objective) for objective in range(self._objectives)] for config in self])

    def feasible(self) -> NDArray[np.bool_]:
        """Return for each config whether it is feasible (meets all constraints), shape (configs,)."""
        return np.array([config.feasible for config in self], dtype=np.bool_)

    def missed_constraints(self) -> list[str]:
        """Return the names of the constraints that at least one config has missed; only they need a model."""
        return sorted({name for config in self for name, seen in config.misses.items() if max(seen) > 0})

    def _keep_best_and_newest(self) -> None:
        """Keep only the best and the newest configs.

        The choice depends only on the trials so far, in their order, so it is the same after an interruption.
        """
        configs, means = list(self._configs.items()), self.means()
        measured = np.where(np.isnan(means), -np.inf, means)
        kept = best_and_newest(measured, ~self.feasible(), _BEST_CONFIGS, _KEPT_CONFIGS)
        self._configs = dict(configs[number] for number in kept)


def key_of(row: Array) -> bytes:
    """Return a key by which configs with equal coordinates are recognised.

    Configs with the same effect have the same coordinates, for example if one config states a default that the other
    leaves out.
    """
    return np.round(row, 9).tobytes()
