"""Answers the requests for predictions."""

from collections.abc import Mapping
from typing import Any

from search_spaces.configs.producer_config import ProducerConfig
from tuner.model.errors import ProblemKind, RequestRefused
from tuner.prediction.changed_settings import ChangedSettings
from tuner.prediction.retention import TYPED, Retention
from tuner.service.answers.query import TEXT, Answer
from tuner.service.answers.results_cache import ResultsCache
from tuner.service.problems import Problem
from tuner.storage.protocols import ResultsStore


def prediction(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> Answer:
    """Return the prediction for another config or load, or the content of the what-if page."""
    try:
        return _prediction(cache, study, store, parameters)
    except RequestRefused as error:
        if parameters.get("form") == "page":
            # The error names a parameter of the REST interface; the field on the page has another name.
            raise RequestRefused(str(error)) from None
        raise


def _prediction(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> Answer:
    from tuner.prediction.question import PredictionRequest
    from tuner.present.predictions.prediction_view import prediction_json, prediction_lines, sweep_lines
    from tuner.present.predictions.what_if import what_if_json

    form, swept, settings = parameters.get("form"), parameters.get("sweep"), dict(parameters.get("changes", ()))
    limits = (parameters.get(name) for name in ("retention_s", "retention_bytes", "disk_bytes", "brokers"))
    typed = {name: settings.pop(name, "") for name in TYPED} if form == "page" else {}
    retention = Retention.from_request(*limits, swept=swept is not None) or Retention.from_form(typed)
    try:
        changes = ChangedSettings.of(settings)
    except ValueError as error:
        raise Problem(ProblemKind.INVALID, str(error)) from None
    source = cache.source(study, store, changes.record_bytes)
    begin = ProducerConfig.parse({}, source.config.client) if parameters.get("begin") == "defaults" else None
    request = PredictionRequest.of(source, changes, begin, swept, retention)
    calibration = cache.calibration(study, store, source)
    if form == "page":
        return Answer.of(what_if_json(source, calibration, request.question, retention, typed))
    predictions = request.predictions(calibration)
    if form != "text":
        return Answer.of(prediction_json(source, calibration, predictions, retention, setting=request.setting))
    if request.setting is None:
        lines = prediction_lines(source, calibration, predictions, retention)
    else:
        lines = sweep_lines(source, request.setting, predictions)
    return Answer.of("\n".join(lines) + "\n", TEXT)
