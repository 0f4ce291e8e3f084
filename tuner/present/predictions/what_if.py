"""The content of the what-if page: the settings that people change, and the predictions for them."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor, log10
from types import MappingProxyType
from typing import Any, Final

from runners.performance_model.performance import performance_of_settings
from runners.performance_model.settings import Settings
from search_spaces.client_facts.knobs import IN_FLIGHT
from search_spaces.errors import ConfigError
from tuner.prediction.calibration import Calibration
from tuner.prediction.predicting import MOST_EXTRAPOLATION, Prediction
from tuner.prediction.prediction_source import PredictionSource
from tuner.prediction.question import PredictionRequest, Question
from tuner.prediction.retention import BROKERS, FORM_FIELDS
from tuner.present.predictions.prediction_view import load_and_config, prediction_rows, title_of

_MOST_LINGER_MS: Final = 100.0
_BATCH_POWERS: Final = range(12, 21)
"""The sizes of batches that people choose from, as powers of two: 4 KiB to 1 MiB."""
_LABELS: Final = {
    "record_bytes": "record size, B",
    "rate": "rate, records/s",
    "retention_days": "retention, days",
    "disk_gb": "a broker's disk, GB",
}
"""The labels of fields. All other fields have their names as labels."""


def what_if_json(
    request: PredictionRequest, calibration: Calibration, typed: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the content of the what-if page, on which people change settings and see predictions, as JSON types.

    `fields` has the settings with their possible values. `headings` and `rows` make the table, and `predicted` has the
    load and the config of each heading. `unknown` says for each missing prediction why the measurements do not allow
    it.

    Args:
        request: What was asked: a single prediction, and no sweep.
        calibration: The constants that were fitted to the study or experiment.
        typed: The text that the user typed into the fields of `tuner.prediction.retention.FORM_FIELDS`.
    """
    source, question, predictions = request.source, request.question, request.predictions(calibration)
    predicted = {title_of(heading): each for heading, each in predictions.items() if isinstance(each, Prediction)}
    return {
        "means": len(calibration.observations),
        "fields": [
            *_knob_fields(source, question),
            *_load_fields(source, calibration, question),
            *_disk_fields(question, typed),
        ],
        "headings": list(predicted),
        "rows": prediction_rows(predicted.values(), request.retention),
        "unknown": [each for each in predictions.values() if isinstance(each, str)],
        "predicted": {heading: load_and_config(each) for heading, each in predicted.items()},
        "warnings": list(source.warnings),
    }


def _knob_fields(source: PredictionSource, question: Question) -> Iterator[dict[str, Any]]:
    effective_values = question.config.effective_values
    yield _slider(
        "linger.ms",
        effective_values.number("linger.ms"),
        0,
        max(_MOST_LINGER_MS, effective_values.number("linger.ms")),
        1,
    )
    sizes = [str(2**power) for power in _BATCH_POWERS]
    yield _choice(
        "batch.size", effective_values.text("batch.size"), [size for size in sizes if _is_possible(question, size)]
    )
    codecs = dict.fromkeys(each.config.compression for each in source.observations)
    yield _choice("compression.type", question.config.compression, list(codecs))
    yield _choice(IN_FLIGHT, effective_values.text(IN_FLIGHT), ["1", "2", "3", "5"])


def _is_possible(question: Question, batch_size: str) -> bool:
    try:
        question.config.updated({"batch.size": batch_size})
    except ConfigError:
        return False
    return True


def _load_fields(source: PredictionSource, calibration: Calibration, question: Question) -> Iterator[dict[str, Any]]:
    load, loads = question.workload, [each.workload for each in source.observations]
    sizes = [each.record_sizes.mean_bytes for each in loads]
    size = round(load.record_sizes.mean_bytes)
    least, most = ceil(min(sizes) / MOST_EXTRAPOLATION), floor(max(sizes) * MOST_EXTRAPOLATION)
    yield _slider("record_bytes", size, max(1, least), most, 1)
    most_partitions = floor(max(each.partitions for each in loads) * MOST_EXTRAPOLATION)
    yield _slider("partitions", load.partitions, 1, most_partitions, 1)
    most_producers = floor(max(each.producers for each in source.observations) * MOST_EXTRAPOLATION)
    yield _slider("producers", question.producers, 1, most_producers, 1)
    if load.rate_records_per_s is not None:
        settings = Settings.of(source.config, load, min(question.producers, most_producers))
        capacity = performance_of_settings(calibration.constants, settings, load).capacity_records_per_s
        step = 10.0 ** max(0, floor(log10(capacity)) - 2)
        most_rate = max(step * floor(capacity / step), load.rate_records_per_s)
        rates = [each.rate_records_per_s for each in (load, source.workload) if each.rate_records_per_s is not None]
        yield _slider("rate", load.rate_records_per_s, min(step, *rates), most_rate, step)


def _disk_fields(question: Question, typed: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the fields about stored records. Without a rate, nothing is known of them."""
    if question.workload.rate_records_per_s is not None:
        for name in FORM_FIELDS:
            step = "1" if name == BROKERS else "any"
            yield {**_field(name), "typed": True, "step": step, "value": typed.get(name, "")}


def _field(name: str) -> dict[str, Any]:
    return {"name": name, "label": _LABELS.get(name, name), "choices": []}


def _slider(name: str, value: float, low: float, high: float, step: float) -> dict[str, Any]:
    texts = {"value": value, "low": low, "high": high, "step": step}
    shown = f"{value:.10g}" if value < 1_000 else f"{value:,.0f}"
    return {**_field(name), "shown": shown, **{key: f"{each:.10g}" for key, each in texts.items()}}


def _choice(name: str, value: str, choices: Sequence[str]) -> dict[str, Any]:
    return {**_field(name), "value": value, "choices": [*choices, *([] if value in choices else [value])]}
