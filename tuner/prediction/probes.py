"""Chooses the measurements that calibrate the performance model, and writes them as an experiment file.

Each probe is a config that is measured twice: as fast as the client takes records, and at a fixed rate. The probes are
chosen from a grid one after another. The first eighth shows most about the constants: each raises the determinant of
the information matrix as much as possible (greedy D-optimal design). Such configs are extreme. So the others fill the
space between them: each is as far as possible from all that were chosen before. Source: Fedorov (1972), Theory of
Optimal Experiments, chapter 3; Johnson, Moore, Ylvisaker (1990), Minimax and Maximin Distance Designs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import ceil, log
from typing import Final

import numpy as np
import yaml
from numpy.typing import NDArray

from runners.errors import WorkloadRefused
from runners.performance_model.constants import ClusterConstants
from runners.performance_model.performance import all_performances
from runners.performance_model.settings import Settings
from runners.workload import Workload
from search_spaces.client import Client
from search_spaces.configs.producer_config import ProducerConfig, check_record, same_effect
from search_spaces.errors import RuleBroken
from tuner.model.target import Target
from tuner.prediction.correction import coordinates_of, distances
from tuner.prediction.fitted_constants import PRIOR_SD_LOG, raised_in_turn
from tuner.prediction.predicted_metrics import FITTED, FULL_SPEED_METRICS, LATENCIES

_GRID: Final[Mapping[str, tuple[str, ...]]] = {
    "linger.ms": ("0", "0.5", "5", "50"),
    "batch.size": ("16384", "131072", "1000000"),
    "compression.type": ("none", "lz4", "zstd"),
    "max.in.flight.requests.per.connection": ("1", "5"),
}
_INFORMATIVE_RATIO: Final = 1 / 8
"""The share of the probes that are chosen for the constants. Source: the tables of `benchmarks.prediction`."""
_WHOLE_MS: Final = "1"
_DEFAULTS: Final = "defaults"
_STEP: Final = 1e-3
"""By how much a logarithm is raised to find a slope: enough for the whole number of records in a batch to change."""


def candidates(client: Client) -> list[ProducerConfig]:
    """Return the grid of configs from which probes are chosen. The Java client takes whole milliseconds only."""
    found = []
    for values in product(*_GRID.values()):
        config = dict(zip(_GRID, values, strict=True))
        if client.catalogue.find("linger.ms").kind != "float" and config["linger.ms"] == "0.5":
            config["linger.ms"] = _WHOLE_MS
        found.append(ProducerConfig.parse(config, client))
    return found


def chosen_probes(
    configs: Sequence[ProducerConfig], count: int, load: Workload, start: ClusterConstants
) -> list[ProducerConfig]:
    """Return the configs to measure for a calibration.

    Args:
        configs: The configs to choose from.
        count: How many to choose.
        load: The load under which each is measured: once saturating, and once at this load's rate.
        start: The constants at which the sensitivity of the model is computed.
    """
    slopes = {config: _slopes(config, load, start) for config in configs}
    information = np.diag([sd**-2.0 for sd in PRIOR_SD_LOG.values()])
    chosen: list[ProducerConfig] = []
    count = min(count, len(configs))
    for _ in range(ceil(count * _INFORMATIVE_RATIO)):
        inverse = np.linalg.inv(information)
        gains = {
            config: float(np.linalg.slogdet(np.eye(len(each)) + each @ inverse @ each.T)[1])
            for config, each in slopes.items()
            if config not in chosen
        }
        best = max(gains, key=lambda config: gains[config])
        information += slopes[best].T @ slopes[best]
        chosen.append(best)
    points = {config: coordinates_of(Settings.of(config, load), load) for config in configs}
    while len(chosen) < count:
        rest = [config for config in configs if config not in chosen]
        apart = distances(np.stack([points[each] for each in rest]), np.stack([points[each] for each in chosen]))
        chosen.append(rest[int(apart.min(axis=1).argmax())])
    return chosen


def _slopes(config: ProducerConfig, load: Workload, start: ClusterConstants) -> NDArray[np.float64]:
    """Return how the model's values change with the logarithms of its constants, in units of their scatter.

    The shape is (values, constants). A config that does not hold the rate has no values of the paced load.
    """
    settings, constants, rows = Settings.of(config, load), [start, *raised_in_turn(start, _STEP)], []
    for phase_load, metrics in ((replace(load, rate_records_per_s=None), FULL_SPEED_METRICS), (load, LATENCIES)):
        base, *all_raised = (modelled for [modelled] in all_performances(constants, [(settings, phase_load)]))
        if base.falling_behind_ratio:
            continue
        rows += [
            [
                log(raised.value_of(name) / base.value_of(name)) / _STEP / FITTED[name].model_sd_log
                for raised in all_raised
            ]
            for name in metrics
        ]
    return np.array(rows)


def defaults_for(client: Client, load: Workload) -> ProducerConfig:
    """Return the client's defaults, which a calibration measures beside the probes.

    Raises:
        WorkloadRefused: They don't allow records of this size.
    """
    defaults, record_bytes = ProducerConfig.parse({}, client), load.record_sizes.largest_bytes
    limits = client.limits
    most_bytes = defaults.effective_values.integer(limits.largest_message)
    try:
        check_record(defaults, record_bytes)
    except RuleBroken:
        raise WorkloadRefused(
            f"a calibration measures the client's defaults, so a record with its framing must fit in "
            f"{limits.largest_message}={most_bytes}, but got records of {record_bytes} bytes; give a --record-bytes of "
            f"at most {most_bytes - limits.framing_bytes(record_bytes, 0)}"
        ) from None
    return defaults


def calibration_file(
    defaults: ProducerConfig, target: Target, load: Workload, count: int, start: ClusterConstants
) -> str:
    """Return the text of an experiment file whose rows calibrate the model.

    Args:
        defaults: The client's defaults.
        target: The cluster. The file names its address, and no connection settings.
        load: The load, with the rate of its paced rows.
        count: The number of probes; one of them has the client's defaults.
        start: The constants of a similar host.
    """
    client = defaults.client
    others = [each for each in candidates(client) if not same_effect(each.effective_values, defaults.effective_values)]
    probes = {
        f"probe {number}": config for number, config in enumerate(chosen_probes(others, count - 1, load, start), 1)
    }
    rows = []
    for name, config in {_DEFAULTS: defaults, **probes}.items():
        rows += [
            {"row": name, **config.values},
            {"row": f"{name} at the rate", **config.values, "rate_records_per_s": load.rate_records_per_s},
        ]
    file = {
        "about": "Probes that calibrate the performance model.",
        "client": client.identity,
        "target": {"brokers": target.brokers} if target.bootstrap is None else {"bootstrap": target.bootstrap},
        "load": {
            "record_bytes": str(load.record_sizes),
            "partitions": load.partitions,
            "replication": load.replication,
            "compressibility_ratio": load.compressibility_ratio,
            "warmup": load.warmup_s,
            "measured": load.measured_s,
        },
        "rows": rows,
        "control": {"row": _DEFAULTS},
        "control_every": len(rows),
        "rounds": 1,
        "metrics": ["mb_per_s", "latency_p50_ms", "latency_p99_ms"],
    }
    return yaml.safe_dump(file, sort_keys=False, allow_unicode=True)
