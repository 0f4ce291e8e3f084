"""What a search knows: the trials it was told of, as numbers to learn from, and no more of them than it can afford."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from objectives.metrics import Direction
from objectives.repeats import ASSUMED_NOISE_RATIO, Noise
from objectives.scoring import Objective
from tuner.model.trial import Kind, Trial
from tuner.search.bayesian.solving import Array

MOST_CONFIGS: Final = 80
"""A proposal's cost grows with the cube of what is learned from."""
_BEST_CONFIGS: Final = 40
_KEPT_CONFIGS: Final = 60
_TINY: Final = 1e-9
_SOFT: Final = 0.05
"""A constraint that is missed or kept by 5 % is half missed or kept."""


@dataclass(slots=True)
class Config:
    """One config that was measured, once or more often.

    Attributes:
        row: Its coordinates.
        values: Per objective, what was measured: logarithms, more is better.
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


class Known:
    """What was told, config by config, in the order of their first trials."""

    def __init__(self, objectives: Sequence[Objective]) -> None:
        self._signs = [1.0 if each.direction is Direction.MAXIMIZE else -1.0 for each in objectives]
        self._configs: dict[bytes, Config] = {}
        self._baselines: list[list[float]] = [[] for _ in objectives]
        self.measured: set[bytes] = set()
        """Keys of everything told, forgotten or not."""
        self.home: Array | None = None
        """The baseline's coordinates; of the first config told where the baseline lies outside of the space."""

    def __len__(self) -> int:
        return len(self._configs)

    def __iter__(self) -> Iterator[Config]:
        return iter(self._configs.values())

    def add(self, trial: Trial, row: Array | None) -> None:
        """Learn from a complete trial; of a baseline outside of the space, what there is to be better than."""
        told = [
            None if value is None else sign * math.log(max(value, _TINY))
            for value, sign in zip(trial.objectives, self._signs, strict=True)
        ]
        if trial.kind is Kind.BASELINE:
            for baselines, value in zip(self._baselines, told, strict=True):
                if value is not None:
                    baselines.append(value)
        if row is None:
            return
        if self.home is None or trial.kind is Kind.BASELINE:
            self.home = row
        key = key_of(row)
        self.measured.add(key)
        config = self._configs.setdefault(key, Config(row, [[] for _ in self._signs], {}))
        for values, value in zip(config.values, told, strict=True):
            if value is not None:
                values.append(value)
        for name, violation in trial.violations.items():
            config.misses.setdefault(name, []).append(violation / (abs(violation) + _SOFT))
        config.feasible = trial.feasible
        if len(self._configs) > MOST_CONFIGS:
            self._forget_some()

    @property
    def reference(self) -> Array:
        """The baseline's values, shape (objectives,); before there are any, the worst that was seen."""
        seen = [[value for config in self for value in config.values[place]] for place in range(len(self._signs))]
        return np.array(
            [
                float(np.median(baseline)) if baseline else min(values, default=0.0)
                for baseline, values in zip(self._baselines, seen, strict=True)
            ]
        )

    def noise_sd(self, objective: int) -> float:
        """Standard deviation of a single value, from all configs measured more than once."""
        groups = [np.exp(np.array(config.values[objective]) - config.mean(objective)) for config in self]
        return Noise.of([group.tolist() for group in groups if len(group) > 1], ASSUMED_NOISE_RATIO).sd_log

    def rows(self) -> Array:
        """Shape (configs, axes)."""
        return np.stack([config.row for config in self])

    def constraints(self) -> list[str]:
        """Those that some config has missed: the others tell nothing."""
        missed = {name for config in self for name, seen in config.misses.items() if max(seen) > 0}
        return sorted(missed)

    def _forget_some(self) -> None:
        """Keep the best configs and the newest. What is left follows from what was told, in its order."""
        configs = list(self._configs.items())
        values = np.array([[config.mean(place) for place in range(len(self._signs))] for _, config in configs])
        rank = dominated_by(np.where(np.isnan(values), -np.inf, values))
        usable = np.array([config.feasible for _, config in configs])
        best = set(np.lexsort((rank, ~usable))[:_BEST_CONFIGS].tolist())
        newest = range(len(configs) - (_KEPT_CONFIGS - _BEST_CONFIGS), len(configs))
        kept = sorted({*best, *newest})
        self._configs = dict(configs[place] for place in kept)


def key_of(row: Array) -> bytes:
    """The same for configs of the same effect, whether they spell defaults out or not."""
    return np.round(row, 9).tobytes()


def dominated_by(values: Array) -> Array:
    """How many others are nowhere worse and somewhere better than each; shape (configs, objectives), more is better."""
    nowhere_worse = (values[:, None, :] >= values[None, :, :]).all(axis=2)
    better = (values[:, None, :] > values[None, :, :]).any(axis=2)
    return np.asarray((nowhere_worse & better).sum(axis=0), dtype=np.float64)
