"""The problems on which samplers are compared. The true gains are known, and samplers see metrics with added noise."""

import math
import zlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import ClassVar, Final

import numpy as np

from benchmarks.problems.clusters import PRESETS as CLUSTERS
from benchmarks.problems.front import known_front
from benchmarks.problems.grid import sensible_grid
from benchmarks.problems.observed import start_of
from benchmarks.problems.serial_line import serial_line
from benchmarks.problems.table import (
    MeasuredTable,
    embedded_grid,
    java_grid,
    large_records_grid,
    small_records_grid,
    small_records_java_grid,
    three_brokers_grid,
    undisturbed_grid,
)
from benchmarks.problems.truth import Simulate, Truth
from objectives.scoring import LEAST_HELD_RATIO, Objective
from runners.performance_model.constants import ClusterConstants
from runners.performance_model.performance import performance_of_settings
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.space.parameters import KnobChange
from search_spaces.space.search_space import SearchSpace
from tuner.execution.trials.stopping import HOPELESS_RATIO
from tuner.prediction.fitted_constants import PRIOR_SD_LOG, similar_host, with_shifted_logs

_P99, _MEDIAN = "latency_p99_ms", "latency_p50_ms"
_GRIDS: Final = {
    "table": embedded_grid,
    "undisturbed-table": undisturbed_grid,
    "table:100": small_records_grid,
    "table:10000": large_records_grid,
    "three-brokers-table": three_brokers_grid,
    "java-table": java_grid,
    "java-table:100": small_records_java_grid,
}
TABLES: Final = {
    name + end: (read, latency) for name, read in _GRIDS.items() for end, latency in (("", _P99), ("/median", _MEDIAN))
}
"""The measured tables that can be searched, and the latency that is optimised. `problem_of` takes these names."""
_NOISE_SEED: Final = 7_919
_UNLIKE: Final = 0.3
"""How much the constants of a cluster called `like-...` differ, as a standard deviation of their logarithms."""


class Volume:
    """The area that a search has covered: the hypervolume of its Pareto front.

    The axes are the logarithms of the gains in throughput and in latency over the client's defaults, the origin.
    """

    def __init__(self) -> None:
        self._members: list[tuple[float, float]] = []

    def add(self, gains: tuple[float, float]) -> float:
        """Add a config's gains, and return the area that all added configs cover."""
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
    """The problem of finding good configs for a simulated cluster.

    Attributes:
        cluster: The simulated cluster.
        size: The record size.
        noise_ratio: The noise between trials, as a standard deviation of the logarithm of each metric.
        simulate: How the cluster is simulated.
        producers: Number of producers that share the load.
    """

    cluster: ClusterConstants
    size: RecordSizes
    noise_ratio: float = 0.05
    simulate: Simulate = performance_of_settings
    producers: int = 1
    _seen: dict[str, tuple[dict[str, float], tuple[float, float]]] = field(default_factory=dict)

    @cached_property
    def space(self) -> SearchSpace:
        """The search space of a study with the client's defaults as its baseline."""
        return SearchSpace.of(self.size.largest_bytes, self.defaults)

    @cached_property
    def defaults(self) -> ProducerConfig:
        """The client's defaults."""
        return ProducerConfig.parse({})

    @cached_property
    def truth(self) -> Truth:
        """The outcomes of configs without noise."""
        return Truth.of(self.size.largest_bytes, self.cluster, simulate=self.simulate, producers=self.producers)

    @property
    def load(self) -> Workload:
        """The load of the paced phase."""
        return self.truth.paced

    @property
    def start(self) -> ClusterConstants:
        """The constants with which the performance model of a search begins: those of a similar host."""
        return similar_host(self.defaults.client, shared=self.cluster.shared_host)

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """Throughput and p99, which are the default of a study."""
        return _objectives(_P99)

    def gains(self, config: ProducerConfig) -> tuple[float, float]:
        """Return the true gains of a config over the defaults, in throughput and p99; (0, 0) if infeasible."""
        return self._outcome(config)[1]

    def metrics(self, config: ProducerConfig, number: int, seed: int) -> dict[str, float]:
        """Return the noisy metrics of a trial, as a study would measure them.

        The throughput is left out if the config falls far behind the rate of the paced phase.

        Args:
            config: The config.
            number: The number of the trial in its search.
            seed: The seed of the search.
        """
        true, _ = self._outcome(config)
        chance = np.random.default_rng([_NOISE_SEED, seed, number]).normal(size=4)
        speed, slow, held, usually_slow = np.exp(chance * self.noise_ratio)
        metrics = {
            "delivered_ratio": 1.0,
            "held_rate_ratio": min(1.0, true["room_ratio"] * float(held)),
            "latency_p99_ms": true["latency_p99_ms"] * float(slow),
            "latency_p50_ms": true["latency_p50_ms"] * float(usually_slow),
        }
        if metrics["held_rate_ratio"] >= HOPELESS_RATIO:
            metrics["mb_per_s"] = true["mb_per_s"] * float(speed)
            metrics["records_per_s"] = metrics["mb_per_s"] * 1e6 / self.size.mean_bytes
        return metrics

    def best_volume(self) -> float:
        """Return the greatest area that a search can cover, as `Volume` computes it: that under the known front."""
        volume = Volume()
        return max(volume.add(point.gains) for point in known_front(self.space, self.truth))

    def grid(self) -> tuple[ProducerConfig, ...]:
        """Return the configs that a search without a sampler would try: the grid of sensible configs."""
        return sensible_grid(self.space)

    def _outcome(self, config: ProducerConfig) -> tuple[dict[str, float], tuple[float, float]]:
        """Return the true metrics and the true gains of a config."""
        if config.fingerprint not in self._seen:
            found = self.truth.outcome(config)
            true = {
                "mb_per_s": found.mb_per_s,
                "latency_p99_ms": found.latency_p99_ms,
                "latency_p50_ms": found.latency_p50_ms,
                "room_ratio": found.paced.capacity_records_per_s / self.truth.rate_records_per_s,
            }
            self._seen[config.fingerprint] = true, self.truth.gains(found)
        return self._seen[config.fingerprint]


@dataclass
class TableProblem:
    """The problem of finding the best configs of a measured table. The means of a config's rows count as true values.

    Attributes:
        table: The table. Its configs are the search space, and its columns of properties are the knobs.
        size: The record size.
        noise_ratio: The noise that is added to the measured values, as a standard deviation of their logarithms.
        latency: The percentile of the latency that is optimised.
    """

    table: MeasuredTable
    size: RecordSizes
    noise_ratio: float = 0.05
    latency: str = _P99
    producers: ClassVar[int] = 1
    """The tables were measured with one producer."""

    @cached_property
    def space(self) -> SearchSpace:
        """The search space that has the configs of the table and no others."""
        configs = [row.config for row in self.table.rows if row.config.values]
        values: dict[str, tuple[str, ...]] = {
            name: tuple(dict.fromkeys(config.effective_values.text(name) for config in configs))
            for name in configs[0].values
        }
        unasked = SearchSpace.of(self.size.largest_bytes, self.defaults)
        changes = {parameter.sets: KnobChange(off=True) for parameter in unasked.parameters}
        changes |= {name: KnobChange(choices=choices) for name, choices in values.items()}
        return SearchSpace.of(self.size.largest_bytes, self.defaults, changes=changes)

    @cached_property
    def defaults(self) -> ProducerConfig:
        """The defaults of the client that the table was measured with."""
        return ProducerConfig.parse({}, client=self.table.rows[0].config.client)

    @property
    def load(self) -> Workload:
        """The load of the paced phase."""
        return self.table.load_of(self.table.rows[0])

    @cached_property
    def start(self) -> ClusterConstants:
        """The constants for brokers on the producer's host, which do not come from this table with the Java client."""
        return start_of(self.table)

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """Throughput, and the percentile of the latency that is optimised."""
        return _objectives(self.latency)

    def gains(self, config: ProducerConfig) -> tuple[float, float]:
        """Return the measured gains of a config over the defaults, in throughput and latency; (0, 0) if infeasible."""
        ours, defaults = self._true(config), self._defaults
        if ours["held_rate_ratio"] < LEAST_HELD_RATIO:
            return 0.0, 0.0
        return ours["mb_per_s"] / defaults["mb_per_s"], defaults[self.latency] / ours[self.latency]

    def metrics(self, config: ProducerConfig, number: int, seed: int) -> dict[str, float]:
        """Return the measured metrics of a config with added noise.

        The arguments, and what is left out, are as in `SimulatedProblem.metrics`.
        """
        true = self._true(config)
        speed, slow = np.exp(np.random.default_rng([_NOISE_SEED, seed, number]).normal(size=2) * self.noise_ratio)
        metrics = {name: true[name] for name in ("delivered_ratio", "held_rate_ratio")}
        metrics |= {name: true[name] for name in ("latency_p50_ms", _P99)}
        metrics[self.latency] *= float(slow)
        if metrics["held_rate_ratio"] >= HOPELESS_RATIO:
            metrics["mb_per_s"] = true["mb_per_s"] * float(speed)
            metrics["records_per_s"] = metrics["mb_per_s"] * 1e6 / self.size.mean_bytes
        return metrics

    def best_volume(self) -> float:
        """Return the area under the front of the whole table."""
        volume = Volume()
        return max(volume.add(self.gains(config)) for config in self.grid())

    def grid(self) -> tuple[ProducerConfig, ...]:
        """Return all configs of the table."""
        return tuple(self.space.grid())

    @cached_property
    def _defaults(self) -> dict[str, float]:
        """The measured metrics of the client's defaults."""
        return self._true(self.defaults)

    @cached_property
    def _means(self) -> dict[str, dict[str, float]]:
        """The geometric mean of each metric over the rows of each config, by the config's key."""
        rows: dict[str, list[Mapping[str, float]]] = defaultdict(list)
        for row in self.table.rows:
            rows[self._key(row.config)].append(row.metrics)
        return {
            key: {name: math.exp(fmean(math.log(each[name]) for each in found)) for name in found[0]}
            for key, found in rows.items()
        }

    def _true(self, config: ProducerConfig) -> dict[str, float]:
        """Return the mean metrics of a config."""
        return self._means[self._key(config)]

    def _key(self, config: ProducerConfig) -> str:
        """Return a key that is equal for configs with the same values of all knobs."""
        names = [parameter.sets for parameter in self.space.parameters]
        return " ".join(config.effective_values.text(name) for name in names)


def _objectives(latency: str) -> tuple[Objective, ...]:
    return Objective("mb_per_s"), Objective(latency)


Problem = SimulatedProblem | TableProblem
"""A search problem for samplers, on which the true gains of every config are known."""


def problem_of(name: str, noise_ratio: float) -> Problem:
    """Return the problem with a given name.

    Args:
        name: A name in `TABLES`, or the cluster and the record size, such as `embedded:1000`. A third part of the name,
            which only `searched_before` uses, is ignored. The cluster `like-embedded` is the same form of model as
            `embedded` with other constants, and `serial-embedded` is a model of another form (`serial_line`). The size
            `1000/3` stands for three producers.
        noise_ratio: The noise of the metrics, as a standard deviation of their logarithms.

    Raises:
        ValueError: There is no such problem.
    """
    if name in TABLES:
        read, latency = TABLES[name]
        table = read()
        return TableProblem(table, table.rows[0].sizes, noise_ratio, latency)
    cluster, load, *_ = [*name.split(":"), ""]
    size, _, producers = load.partition("/")
    if producers and not (producers.isdecimal() and int(producers)):
        raise ValueError(
            f"the producers of a problem must be a whole number from 1, as in `embedded:1000/3`, but got {name}"
        )
    kind, _, preset = cluster.rpartition("-") if cluster not in CLUSTERS else ("", "", cluster)
    if preset not in CLUSTERS or kind not in ("", "like", "serial") or not size:
        raise ValueError(
            f"a problem is one of {', '.join(TABLES)}, or a cluster and a record size, such as `embedded:1000` or "
            f"`like-remote:1000` (clusters: {', '.join(CLUSTERS)}), but got {name!r}"
        )
    constants, simulate = CLUSTERS[preset], serial_line if kind == "serial" else performance_of_settings
    if kind == "like":
        # Each constant has a draw of its own, so that a further constant of the model leaves the others as they are.
        draws = [np.random.default_rng(zlib.crc32(f"{cluster} {each}".encode())).normal() for each in PRIOR_SD_LOG]
        off = np.array(draws) * _UNLIKE
        constants = with_shifted_logs(constants, off)
    return SimulatedProblem(constants, RecordSizes.parse(size), noise_ratio, simulate, int(producers or 1))


def searched_before(name: str) -> str | None:
    """Return the name of the problem that is searched before this problem, or None if there is none.

    For `embedded:1000:100` it is `embedded:100`: records of 100 B are searched before records of 1000 B.
    """
    parts = name.split(":")
    return f"{parts[0]}:{parts[2]}" if len(parts) == 3 else None
