"""Computes the errors of predictions for two and three producers that use measurements of one producer only."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean, geometric_mean

from benchmarks.problems.table import MeasuredTable, Row, producers_table
from objectives.scoring import LEAST_HELD_RATIO
from tuner.prediction.calibration import calibrate
from tuner.prediction.observations import Observation
from tuner.prediction.predicted_metrics import FULL_SPEED_METRICS, LATENCIES
from tuner.prediction.predicting import predict


def print_producers() -> None:
    """Print the errors by number of producers."""
    table = producers_table()
    groups: dict[tuple[int, str, float | None], list[Row]] = defaultdict(list)
    for row in table.rows:
        groups[row.producers, row.config.fingerprint, row.rate_records_per_s].append(row)
    seen = [found for rows in groups.values() if (found := _observation(table, rows)).values]
    calibration = calibrate([each for each in seen if each.producers == 1])
    metrics = (FULL_SPEED_METRICS[0], *LATENCIES)
    print(f"| producers | {' | '.join(metrics)} | in their intervals |")
    print("| ---: |", " ---: |" * (len(metrics) + 1), sep="")
    for producers in (2, 3):
        errors: dict[str, list[float]] = {name: [] for name in metrics}
        inside = []
        for each in (each for each in seen if each.producers == producers):
            predictions = predict(calibration, each.config, each.workload, producers).values
            for name in each.values.keys() & predictions.keys() & errors.keys():
                errors[name].append(predictions[name].value / each.values[name] - 1)
                inside.append(predictions[name].low <= each.values[name] <= predictions[name].high)
        print(f"| {producers} | {' | '.join(_cell(errors[name]) for name in metrics)} | {fmean(inside):.0%} |")
    print("\nSix configs, at full speed and at 30,000 records/s; calibrated by the same configs with one producer.")


def _observation(table: MeasuredTable, rows: Sequence[Row]) -> Observation:
    first = rows[0]
    values: Mapping[str, float] = {
        "records_per_s": geometric_mean(row.metrics["mb_per_s"] * 1e6 / row.sizes.mean_bytes for row in rows)
    }
    if first.rate_records_per_s is not None:
        rows = [row for row in rows if row.metrics.get("held_rate_ratio", 0.0) >= LEAST_HELD_RATIO]
        values = {name: geometric_mean(row.metrics[name] for row in rows) for name in LATENCIES} if rows else {}
    return Observation(first.config, table.load_of(first), values, first.producers, len(rows))


def _cell(errors: Sequence[float]) -> str:
    return f"{fmean(map(abs, errors)):.0%} ({fmean(errors):+.0%})"
