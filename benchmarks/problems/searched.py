"""What samplers are compared on: configs whose true worth is known, told with noise, as a study would be told."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Final, Protocol

import numpy as np

from benchmarks.problems.clusters import PRESETS as CLUSTERS
from benchmarks.problems.front import known_front
from benchmarks.problems.grid import published_grid
from benchmarks.problems.table import MeasuredTable, embedded_grid
from benchmarks.problems.truth import Truth
from objectives.scoring import HELD_RATE_RATIO
from runners.simulated.inputs import SimulatedCluster
from runners.workload import RecordSizes
from search_spaces.parameters import KnobChange
from search_spaces.producer_config import ProducerConfig
from search_spaces.space import SearchSpace
from tuner.course.racing import HOPELESS_RATIO

DEFAULTS: Final = ProducerConfig.parse({})
_NOISE_SEED: Final = 7_919


class Problem(Protocol):
    """Something to search."""

    @property
    def space(self) -> SearchSpace:
        """Where."""

    @property
    def size(self) -> RecordSizes:
        """Of the records."""

    def gains(self, config: ProducerConfig) -> tuple[float, float]:
        """How many times better than the defaults a config truly is, in throughput and p99; (0, 0) if infeasible."""

    def metrics(self, config: ProducerConfig, number: int, seed: int) -> dict[str, float]:
        """What trial `number` of the search with that seed is told of it."""

    def best_volume(self) -> float:
        """The most that a search could reach; see `Volume`."""

    def grid(self) -> tuple[ProducerConfig, ...]:
        """Configs that somebody without a sampler would walk through."""


def problem_of(name: str, noise_ratio: float) -> Problem:
    """The problem of a name: `table`, or cluster and record size, `embedded:1000`; a third part is left to `before`."""
    if name == "table":
        return TableProblem(embedded_grid(), RecordSizes.fixed(1_000), noise_ratio)
    cluster, size, *_ = name.split(":")
    return SimulatedProblem(CLUSTERS[cluster], RecordSizes.parse(size), noise_ratio)


def before(name: str) -> str | None:
    """The problem that is searched before one of that name: for `embedded:1000:100` it is `embedded:100`."""
    parts = name.split(":")
    return f"{parts[0]}:{parts[2]}" if len(parts) == 3 else None


class Volume:
    """The area that a search has covered: logarithms of gains, above the defaults' own."""

    def __init__(self) -> None:
        self._members: list[tuple[float, float]] = []

    def add(self, gains: tuple[float, float]) -> float:
        """Take a config in; the area after it."""
        if min(gains) > 1:
            ours = math.log(gains[0]), math.log(gains[1])
            self._members = [each for each in self._members if not (each[0] <= ours[0] and each[1] <= ours[1])]
            if not any(each[0] >= ours[0] and each[1] >= ours[1] for each in self._members):
                self._members.append(ours)
        area = height = 0.0
        for first, second in sorted(self._members, reverse=True):
            area += first * (second - height)
            height = second
        return area


@dataclass
class SimulatedProblem:
    """A simulated cluster.

    Attributes:
        cluster: Which.
        size: Of the records.
        noise_ratio: Standard deviation of each number's logarithm, from trial to trial.
    """

    cluster: SimulatedCluster
    size: RecordSizes
    noise_ratio: float = 0.05
    _seen: dict[str, tuple[dict[str, float], tuple[float, float]]] = field(default_factory=dict)

    @cached_property
    def space(self) -> SearchSpace:
        """See `Problem.space`."""
        return SearchSpace.of(self.size.largest_bytes, DEFAULTS)

    @cached_property
    def truth(self) -> Truth:
        """What is really so."""
        return Truth.of(self.size.largest_bytes, self.cluster)

    def gains(self, config: ProducerConfig) -> tuple[float, float]:
        """See `Problem.gains`."""
        return self._outcome(config)[1]

    def metrics(self, config: ProducerConfig, number: int, seed: int) -> dict[str, float]:
        """See `Problem.metrics`. Who falls far behind the rate is spared the saturating phase, as in a study."""
        true, _ = self._outcome(config)
        speed, slow, held = np.exp(np.random.default_rng([_NOISE_SEED, seed, number]).normal(size=3) * self.noise_ratio)
        told = {
            "delivered_ratio": 1.0,
            "held_rate_ratio": min(1.0, true["room_ratio"] * float(held)),
            "latency_p99_ms": true["latency_p99_ms"] * float(slow),
        }
        if told["held_rate_ratio"] >= HOPELESS_RATIO:
            told["mb_per_s"] = true["mb_per_s"] * float(speed)
        return told

    def best_volume(self) -> float:
        """See `Problem.best_volume`: under the known front."""
        volume = Volume()
        return max(volume.add(point.gains) for point in known_front(self.space, self.truth))

    def grid(self) -> tuple[ProducerConfig, ...]:
        """See `Problem.grid`: the published one."""
        return published_grid(self.space)

    def _outcome(self, config: ProducerConfig) -> tuple[dict[str, float], tuple[float, float]]:
        if config.fingerprint not in self._seen:
            found = self.truth.outcome(config)
            true = {
                "mb_per_s": found.mb_per_s,
                "latency_p99_ms": found.latency_p99_ms,
                "room_ratio": found.paced.capacity_records_per_s / self.truth.rate_records_per_s,
            }
            self._seen[config.fingerprint] = true, self.truth.gains(found)
        return self._seen[config.fingerprint]


@dataclass
class TableProblem:
    """A table that was measured: the space is its configs and no others, and its means count as the truth.

    Attributes:
        table: The table; its columns of properties are the knobs.
        size: Of the records.
        noise_ratio: What is added to what was measured.
    """

    table: MeasuredTable
    size: RecordSizes
    noise_ratio: float = 0.05

    @cached_property
    def space(self) -> SearchSpace:
        """See `Problem.space`."""
        configs = [row.config for row in self.table.rows if row.config.values]
        values: dict[str, tuple[str, ...]] = {
            name: tuple(dict.fromkeys(config.in_force.text(name) for config in configs)) for name in configs[0].values
        }
        unasked = SearchSpace.of(self.size.largest_bytes, DEFAULTS)
        knobs = (parameter.name for parameter in unasked.parameters if "level" not in parameter.name)
        off = dict.fromkeys(knobs, KnobChange(off=True))
        asked = {name: KnobChange(choices=choices) for name, choices in values.items()}
        return SearchSpace.of(
            self.size.largest_bytes, DEFAULTS, changes={**off, **asked, "compression.level": KnobChange(off=True)}
        )

    def gains(self, config: ProducerConfig) -> tuple[float, float]:
        """See `Problem.gains`."""
        ours, defaults = self._true(config), self._defaults
        if ours["held_rate_ratio"] < HELD_RATE_RATIO:
            return 0.0, 0.0
        return ours["mb_per_s"] / defaults["mb_per_s"], defaults["latency_p99_ms"] / ours["latency_p99_ms"]

    def metrics(self, config: ProducerConfig, number: int, seed: int) -> dict[str, float]:
        """See `Problem.metrics`."""
        true = self._true(config)
        speed, slow = np.exp(np.random.default_rng([_NOISE_SEED, seed, number]).normal(size=2) * self.noise_ratio)
        told = {name: true[name] for name in ("delivered_ratio", "held_rate_ratio")}
        told["latency_p99_ms"] = true["latency_p99_ms"] * float(slow)
        if told["held_rate_ratio"] >= HOPELESS_RATIO:
            told["mb_per_s"] = true["mb_per_s"] * float(speed)
        return told

    def best_volume(self) -> float:
        """See `Problem.best_volume`: of the whole table."""
        volume = Volume()
        return max(volume.add(self.gains(config)) for config in self.grid())

    def grid(self) -> tuple[ProducerConfig, ...]:
        """See `Problem.grid`: the table itself."""
        return tuple(self.space.grid())

    @cached_property
    def _defaults(self) -> dict[str, float]:
        return self._true(DEFAULTS)

    @cached_property
    def _means(self) -> dict[str, dict[str, float]]:
        rows: dict[str, list[Mapping[str, float]]] = defaultdict(list)
        for row in self.table.rows:
            rows[self._key(row.config)].append(row.metrics)
        return {
            key: {name: math.exp(fmean(math.log(each[name]) for each in found)) for name in found[0]}
            for key, found in rows.items()
        }

    def _true(self, config: ProducerConfig) -> dict[str, float]:
        return self._means[self._key(config)]

    def _key(self, config: ProducerConfig) -> str:
        names = [parameter.sets for parameter in self.space.parameters]
        return " ".join(config.in_force.text(name) for name in names)
