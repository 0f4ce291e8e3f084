"""Predictions as text and JSON."""

from collections.abc import Iterator, Mapping, Sequence
from math import exp, sqrt
from typing import Any, Final

from objectives.row_metrics import ROW_METRICS
from runners.reporting import counted
from tuner.prediction.calibration import Calibration
from tuner.prediction.predicting import AT_FULL_SPEED, AT_RATE, QUANTILE, Interval, Prediction
from tuner.prediction.source import Source
from tuner.present.wording import aligned, number

ESTIMATE: Final = "an estimate by a model, nothing was measured for it"


def prediction_lines(source: Source, calibration: Calibration, told: Mapping[str, Prediction]) -> list[str]:
    """Return predictions side by side, as lines of text.

    Args:
        source: The study or experiment.
        calibration: What was fitted to it.
        told: The predictions, each with the heading of its column.
    """
    rows = [["", *told]]
    for name in (*AT_FULL_SPEED, *AT_RATE):
        cells = [_cell(each, name) for each in told.values()]
        if any(cell != "-" for cell in cells):
            rows.append([ROW_METRICS[name].title, *cells])
    rows.append(["bound by", *(each.bound_by for each in told.values())])
    if any(each.stored_gb_per_day is not None for each in told.values()):
        rows.append(["stored, GB per day", *(number(each.stored_gb_per_day) for each in told.values())])
    return [
        f"{len(calibration.observations)} measurements of {source.name} calibrate the model; {ESTIMATE}",
        *(f"{heading}: {_load(each)}; {_config(each)}" for heading, each in told.items()),
        "",
        *aligned(rows),
        "",
        _known(calibration),
    ]


def calibration_lines(name: str, calibration: Calibration) -> list[str]:
    """Return what an experiment has calibrated, as lines of text.

    Args:
        name: Name of the experiment.
        calibration: What was fitted to it.
    """
    rows = [["constant", "value", "95 % interval"]]
    for constant, value, low, high in _constants(calibration):
        if constant not in calibration.undetermined:
            rows.append([constant, number(value), f"{number(low)} to {number(high)}"])
    off = [f"{ROW_METRICS[metric].label} {sd:.0%}" for metric, sd in calibration.scatter.items()]
    return [
        f"{len(calibration.observations)} measurements of {name}; they scatter around the model by {', '.join(off)}",
        *(["", *aligned(rows)] if len(rows) > 1 else []),
        "",
        _known(calibration),
        f"ask it: tuner predict {name} -X linger.ms=20",
    ]


def calibration_record(name: str, calibration: Calibration) -> dict[str, Any]:
    """Return what an experiment has calibrated, as JSON types."""
    return {
        "schema_version": 1,
        "kind": "calibration",
        "experiment": name,
        "measurements": len(calibration.observations),
        "scatter": dict(calibration.scatter),
        "constants": {
            constant: {
                "value": value,
                "low": low,
                "high": high,
                "determined": constant not in calibration.undetermined,
            }
            for constant, value, low, high in _constants(calibration)
        },
    }


def _constants(calibration: Calibration) -> Iterator[tuple[str, float, float, float]]:
    """Yield each fitted constant with its value and the ends of its 95 % interval."""
    for place, name in enumerate(calibration.names):
        value, sd = getattr(calibration.constants, name), sqrt(calibration.covariance[place, place])
        yield name, value, value * exp(-QUANTILE * sd), value * exp(QUANTILE * sd)


def sweep_lines(setting: str, metrics: Sequence[str], told: Mapping[str, Prediction | str]) -> list[str]:
    """Return a sweep as lines of text: a row for each value of a setting.

    Args:
        setting: The setting that varies.
        metrics: The metrics that the table shows.
        told: By value of the setting, the prediction, or why there is none.
    """
    rows = [[setting, *(ROW_METRICS[name].title for name in metrics), "bound by"]]
    for value, each in told.items():
        if isinstance(each, Prediction):
            rows.append([value, *(_cell(each, name) for name in metrics), each.bound_by])
        else:
            rows.append([value, *("-" for _ in metrics), each])
    return aligned(rows, right=False)


def prediction_record(source: Source, calibration: Calibration, told: Mapping[str, Prediction | str]) -> dict[str, Any]:
    """Return predictions as JSON types. One that can't be told has the reason in place of its metrics."""
    return {
        "schema_version": 1,
        "kind": "prediction",
        "study": source.name,
        "measurements": len(calibration.observations),
        "undetermined": list(calibration.undetermined),
        "predictions": {
            heading: {"outside": each} if isinstance(each, str) else _record(each) for heading, each in told.items()
        },
    }


def _record(each: Prediction) -> dict[str, Any]:
    return {
        "config": each.config.values,
        "record_bytes": str(each.workload.record_sizes),
        "partitions": each.workload.partitions,
        "replication": each.workload.replication,
        "compressibility_ratio": each.workload.compressibility_ratio,
        "rate_records_per_s": each.workload.rate_records_per_s,
        "metrics": {
            name: {"value": found.value, "low": found.low, "high": found.high} for name, found in each.values.items()
        },
        "bound_by": each.bound_by,
        "falls_behind": each.falls_behind,
        "stored_gb_per_day": each.stored_gb_per_day,
    }


def _cell(each: Prediction, metric: str) -> str:
    if metric in each.values:
        return _interval(each.values[metric])
    return "falls behind the rate" if metric in AT_RATE and each.falls_behind else "-"


def _interval(found: Interval) -> str:
    return f"{number(found.value)} ({number(found.low)} to {number(found.high)})"


def _known(calibration: Calibration) -> str:
    """Return which of the model's constants the measurements tell, in words."""
    unknown = len(calibration.undetermined)
    known = [name for name in calibration.names if name not in calibration.undetermined]
    if not known:
        return f"these measurements tell none of the model's {unknown} constants alone, only what they do together"
    return f"constants that these measurements tell: {', '.join(known)}; the other {unknown} stay uncertain"


def _load(each: Prediction) -> str:
    load, rate = each.workload, each.workload.rate_records_per_s
    at = "" if rate is None else f", latency at {number(rate)} records/s"
    shape = f"{counted(load.partitions, 'partition')}, {counted(load.replication, 'replica')}"
    return f"records of {load.record_sizes} B, {shape}{at}"


def _config(each: Prediction) -> str:
    return " ".join(f"{name}={value}" for name, value in each.config.values.items()) or "the client's defaults"
