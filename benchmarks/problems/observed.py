"""What the tables have measured, in the form that a calibration takes, and the constants with which it begins."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import geometric_mean
from typing import Final

from benchmarks.problems.table import MeasuredTable, Row, java_grid, small_records_java_grid
from objectives.scoring import LEAST_HELD_RATIO
from runners.performance_model.constants import ClusterConstants
from runners.workload import Workload
from search_spaces.client import ClientKind
from search_spaces.configs.producer_config import ProducerConfig
from tuner.prediction.calibration import calibrate
from tuner.prediction.fitted_constants import similar_host
from tuner.prediction.observations import Observation
from tuner.prediction.predicted_metrics import BATCHES, CPU, FULL_SPEED_METRICS, LATENCIES

_JAVA_GRIDS: Final = (java_grid, small_records_java_grid)
"""The tables from which the tuner's constants for the Java client come."""


def observed(table: MeasuredTable) -> dict[ProducerConfig, list[Observation]]:
    """Return what a table has measured, by config: the saturating load, and the paced load if the config held it.

    Besides what the model is fitted to, they have `batch_records` and `stored_bytes_per_record` if the table has them.
    """
    rows: dict[ProducerConfig, list[Row]] = defaultdict(list)
    for row in table.rows:
        rows[row.config].append(row)
    return {config: _observations(table, repeats) for config, repeats in rows.items()}


def _observations(table: MeasuredTable, repeats: Sequence[Row]) -> list[Observation]:
    first = repeats[0]
    load = replace(table.load_of(first), rate_records_per_s=None)
    records_per_s = geometric_mean([row.metrics["mb_per_s"] for row in repeats]) * 1e6 / first.sizes.mean_bytes
    values = {"records_per_s": records_per_s, **_known(repeats, (FULL_SPEED_METRICS[1], *CPU, BATCHES))}
    found = [Observation(first.config, load, values, measurements=len(repeats))]
    held = [row for row in repeats if row.metrics.get("held_rate_ratio", 0.0) >= LEAST_HELD_RATIO]
    if held:
        values = _known(held, (*LATENCIES, "paced_batch_records", "stored_bytes_per_record"))
        if "paced_batch_records" in values:
            values[BATCHES] = values.pop("paced_batch_records")
        paced = replace(load, rate_records_per_s=first.rate_records_per_s)
        found.append(Observation(first.config, paced, values, measurements=len(held)))
    return found


def _known(rows: Sequence[Row], metrics: Sequence[str]) -> dict[str, float]:
    found = {name: [row.metrics[name] for row in rows if row.metrics.get(name, 0.0) > 0] for name in metrics}
    return {name: geometric_mean(values) for name, values in found.items() if values}


def paced_load(seen: Mapping[ProducerConfig, Sequence[Observation]]) -> Workload:
    """Return the load of a table's paced phases."""
    return next(each.workload for found in seen.values() for each in found if each.workload.rate_records_per_s)


def start_of(table: MeasuredTable) -> ClusterConstants:
    """Return the constants with which a calibration on a table's host begins.

    For the Java client, they are fitted to its other table. The tuner's own come from both, so its predictions for a
    table would have seen that table.
    """
    client = table.rows[0].config.client
    return _fitted_to_other_tables(table.title) if client.kind is ClientKind.JAVA else similar_host(client, shared=True)


@lru_cache
def _fitted_to_other_tables(title: str) -> ClusterConstants:
    others = [table for table in (read() for read in _JAVA_GRIDS) if table.title != title]
    seen = [each for table in others for found in observed(table).values() for each in found]
    return calibrate(seen).constants
