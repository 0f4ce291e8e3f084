"""Predictions as text and JSON."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import inf
from typing import Any, Final

from objectives.row_metrics import ROW_METRICS
from runners.reporting import counted, in_bytes, percent
from search_spaces.properties.catalogue import shown_values
from tuner.model.document import document
from tuner.prediction.calibration import Calibration
from tuner.prediction.fitted_constants import PRIOR_SD_LOG
from tuner.prediction.intervals import Interval
from tuner.prediction.observations import Observation
from tuner.prediction.predicted_metrics import LATENCIES
from tuner.prediction.predicting import AT_FULL_SPEED, AT_RATE, Prediction
from tuner.prediction.prediction_source import PredictionSource
from tuner.prediction.question import CHANGED, PredictionRequest
from tuner.prediction.retention import Retention
from tuner.present.number_text import aligned, number

_SWEPT: Final = ("mb_per_s", *LATENCIES, "batch_records")
"""The metrics that the table of a sweep shows."""
ESTIMATE: Final = "these numbers are estimated by a model, and were not measured"
_KEPT_TITLES: Final = {
    "kept_days": "records kept for at least, days",
    "kept_gb_per_broker": "kept on each broker, at most, GB",
    "disk_full_after_days": "disks full after, days",
}
BOUND_BY: Final = "bound by (model)"
IN_INTERVAL: Final = "about 9 of 10 single measurements lie in the interval"
_Spread = tuple[float | None, float | None, float | None]
"""A value, and the low and high end of its interval. None is a time that never comes."""


def prediction_lines(
    request: PredictionRequest, calibration: Calibration, predictions: Mapping[str, Prediction | str]
) -> list[str]:
    """Return predictions as lines of text: a row for each value of a sweep, and otherwise a column for each config.

    Args:
        request: What was asked.
        calibration: What was fitted to the study or experiment.
        predictions: The predictions, as `request.predictions` returns them.
    """
    source = request.source
    shown = (
        _side_by_side(calibration, predictions, request.retention)
        if request.setting is None
        else _sweep_table(request.setting, predictions)
    )
    *_, last = predictions.values()
    if request.setting is None and isinstance(last, Prediction) and (command := _command(last, source)):
        shown.append(f"Measure it: {command}")
    return [*source.warnings, f"{ESTIMATE}; {fitted_to(calibration.observations, source.name)}", *shown]


def _command(prediction: Prediction, source: PredictionSource) -> str | None:
    """Return the command that measures a predicted config under its load; None for several producers."""
    load, config = prediction.workload, prediction.config
    if prediction.producers > 1:
        return None
    words = {
        # A service does not tell the addresses of its clusters.
        "--bootstrap": "HOST:PORT" if source.users_cluster else None,
        "--brokers": load.replication if load.replication > 1 and not source.users_cluster else None,
        "--client": config.client.identity.replace(" ", ":"),
        "--record-bytes": load.record_sizes,
        "--key-bytes": load.key_bytes or None,
        "--compressibility": load.compressibility_ratio,
        "--partitions": load.partitions,
        "--replication": load.replication,
        "--rate": load.rate_records_per_s and f"{load.rate_records_per_s:.10g}",
    }
    given = [(name, str(value)) for name, value in words.items() if value is not None]
    given += [("-X", f"{name}={value}") for name, value in config.values.items()]
    return shlex.join(["tuner", "bench", *(word for pair in given for word in pair)])


def _side_by_side(
    calibration: Calibration, predictions: Mapping[str, Prediction | str], retention: Retention | None
) -> list[str]:
    predicted = [(title_of(heading), each) for heading, each in predictions.items() if isinstance(each, Prediction)]
    unknown = [(title_of(heading), each) for heading, each in predictions.items() if isinstance(each, str)]
    return [
        *(f"{title}: {load_and_config(each)}" for title, each in predicted),
        *(f"{title}: no prediction, because {reasons}" for title, reasons in unknown),
        "",
        *aligned(
            [["", *(title for title, _ in predicted)], *prediction_rows([each for _, each in predicted], retention)]
        ),
        "",
        determined(calibration),
    ]


def title_of(heading: str) -> str:
    """Return what texts call a prediction that has a heading in the JSON."""
    return "with your changes" if heading == CHANGED else heading


def prediction_rows(predictions: Iterable[Prediction], retention: Retention | None) -> list[list[str]]:
    """Return a row for each predicted number: its name, and its value in each prediction."""
    predictions, rows = list(predictions), []
    for name in (*AT_FULL_SPEED, *AT_RATE):
        cells = [_cell(each, name) for each in predictions]
        if any(cell != "-" for cell in cells):
            load = "full speed" if name in AT_FULL_SPEED else "the fixed rate"
            rows.append([f"{ROW_METRICS[name].title}, at {load}", *cells])
    if any(taken := [each.consumer_mb_per_s for each in predictions]):
        rows.append(["a consumer takes on one core, MB/s", *map(_or_dash, taken)])
    rows.append([BOUND_BY, *(each.bound_by for each in predictions)])
    if any(stored := [each.stored_gb_per_day for each in predictions]):
        slower = ", or at full speed where that is lower" if any(each.falls_behind for each in predictions) else ""
        rows.append([f"stored by all replicas, GB per day, at the fixed rate{slower}", *map(_or_dash, stored)])
    return rows if retention is None else [*rows, *_retention_rows(retention, predictions)]


def _retention_rows(retention: Retention, predictions: Sequence[Prediction]) -> Iterator[list[str]]:
    each_kept = [_kept(retention, each) for each in predictions]
    for name in next(filter(None, each_kept), {}):
        yield [_KEPT_TITLES[name], *(_kept_cell(*kept[name]) if kept else "-" for kept in each_kept)]


def _kept_cell(value: float | None, low: float | None, high: float | None) -> str:
    texts = ["never" if each is None else number(each) for each in (value, low, high)]
    return texts[0] if len(set(texts)) == 1 else f"{texts[0]} ({texts[1]} to {texts[2]})"


def _kept(retention: Retention, prediction: Prediction) -> dict[str, _Spread]:
    """Return how long and how much a topic stores; empty if nothing can be computed."""
    load, stored = prediction.workload, prediction.stored_gb_per_day
    if stored is None or not retention.covers(load):
        return {}
    kept = {"kept_days": retention.kept_days, "kept_gb_per_broker": retention.kept_gb} if retention.limited else {}
    disk = {} if retention.disk_bytes is None else {"disk_full_after_days": retention.full_after_days}
    found: dict[str, _Spread] = {}
    for name, computed in {**kept, **disk}.items():
        value, *ends = (computed(load, each) for each in (stored.value, stored.low, stored.high))
        low, high = sorted(ends, key=lambda days: inf if days is None else days)
        found[name] = value, low, high
    return found


def _sweep_table(setting: str, predictions: Mapping[str, Prediction | str]) -> list[str]:
    rows = [[setting, *(ROW_METRICS[name].title for name in _SWEPT), BOUND_BY]]
    for value, outcome in predictions.items():
        if isinstance(outcome, Prediction):
            rows.append([value, *(_cell(outcome, name) for name in _SWEPT), outcome.bound_by])
        else:
            rows.append([value, *("-" for _ in _SWEPT), outcome])
    predicted = ((value, each) for value, each in predictions.items() if isinstance(each, Prediction))
    return [
        *(
            f"with {setting}={value}: {load_and_config(each)}; the other rows differ in {setting} only"
            for value, each in islice(predicted, 1)
        ),
        "throughput and batches are at full speed, latencies at the fixed rate",
        *aligned(rows, right=False),
    ]


def prediction_json(
    request: PredictionRequest, calibration: Calibration, predictions: Mapping[str, Prediction | str]
) -> dict[str, Any]:
    """Return predictions as JSON types. If there is no prediction, the reason stands in place of its metrics.

    Args:
        request: What was asked.
        calibration: What was fitted to the study or experiment.
        predictions: The predictions, as `request.predictions` returns them.
    """
    source = request.source
    return document(
        "prediction",
        study=source.name,
        client=source.config.client.identity,
        simulated=source.simulated,
        warnings=list(source.warnings),
        **({} if request.setting is None else {"setting": request.setting}),
        means=len(calibration.observations),
        undetermined=list(calibration.undetermined),
        predictions={
            heading: {"outside": each} if isinstance(each, str) else _json(each, request)
            for heading, each in predictions.items()
        },
    )


def _json(prediction: Prediction, request: PredictionRequest) -> dict[str, Any]:
    taken, stored = prediction.consumer_mb_per_s, prediction.stored_gb_per_day
    others = {"consumer_mb_per_s": taken, "stored_gb_per_day": stored}
    derived: dict[str, _Spread] = {
        name: (each.value, each.low, each.high) for name, each in others.items() if each is not None
    }
    derived |= {} if request.retention is None else _kept(request.retention, prediction)
    return {
        "config": prediction.config.values,
        "record_bytes": str(prediction.workload.record_sizes),
        "partitions": prediction.workload.partitions,
        "replication": prediction.workload.replication,
        "producers": prediction.producers,
        "compressibility_ratio": prediction.workload.compressibility_ratio,
        "rate_records_per_s": prediction.workload.rate_records_per_s,
        "metrics": {
            name: {"value": found.value, "low": found.low, "high": found.high}
            for name, found in prediction.values.items()
        },
        "bound_by": prediction.bound_by,
        "falls_behind": prediction.falls_behind,
        "no_latency": prediction.no_latency,
        "stored_gb_per_day": None,
        **{name: value for name, (value, _, _) in derived.items()},
        "intervals": {name: {"low": low, "high": high} for name, (_, low, high) in derived.items()},
        "command": _command(prediction, request.source),
    }


def fitted_to(observations: Sequence[Observation], name: str) -> str:
    """Return in words what the model is fitted to: the repeats of each config under each load are averaged."""
    return (
        f"the model is fitted to {counted(len(observations), 'measured combination')} of a config and a load of {name}"
    )


def _cell(prediction: Prediction, metric: str) -> str:
    if metric in prediction.values:
        return interval_text(prediction.values[metric])
    return prediction.no_latency if metric in LATENCIES and prediction.workload.rate_records_per_s is not None else "-"


def _or_dash(interval: Interval | None) -> str:
    return "-" if interval is None else interval_text(interval)


def interval_text(interval: Interval) -> str:
    """Return a predicted value with its interval, `310 (262 to 367)`."""
    return f"{number(interval.value)} ({number(interval.low)} to {number(interval.high)})"


def determined(calibration: Calibration) -> str:
    """Return which of the model's constants the measurements determine, in words."""
    unknown = len(calibration.undetermined)
    names = [name for name in PRIOR_SD_LOG if name not in calibration.undetermined]
    if not names:
        return f"these measurements determine none of the model's {unknown} constants, so the intervals are wide"
    return (
        f"these measurements determine {len(names)} of the model's {len(PRIOR_SD_LOG)} constants: "
        f"{', '.join(names)}; predictions that depend on the others have wide intervals"
    )


def load_and_config(prediction: Prediction) -> str:
    """Return what is predicted in one line: the load, with the rate of the latencies, and the config's properties."""
    load, rate = prediction.workload, prediction.workload.rate_records_per_s
    at = "" if rate is None else f", latency at {number(rate)} records/s"
    shape = f"{counted(load.partitions, 'partition')}, {counted(load.replication, 'replica')}"
    by = "" if prediction.producers == 1 else f", {prediction.producers} producers"
    keys = f" with keys of {load.key_bytes} B" if load.key_bytes else ""
    values = f"records of {in_bytes(load.record_sizes)}{keys}, {percent(load.compressibility_ratio)} compressible"
    config = shown_values(prediction.config.values) or "the client's defaults"
    return f"{values}, {shape}{by}{at}; {config}"
