"""Computes what is requested of a study's results: front, grids, report, recommendations, predictions and others."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from search_spaces.client import client_of
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import InvalidValue, MisplacedProperty, RuleBroken, UnknownProperty
from tuner.model.document import document
from tuner.model.errors import ProblemKind, RequestRefused
from tuner.model.facts import VERIFICATION
from tuner.model.goals import Goal
from tuner.prediction.changed_settings import ChangedSettings
from tuner.prediction.retention import FORM_FIELDS, Retention
from tuner.present.console import text_of
from tuner.present.export import SUFFIXES, Format, export_all, offered
from tuner.present.studies.status import status_of
from tuner.present.trial_tables.trial_json import trial_json
from tuner.results.comparisons.comparison import compare
from tuner.results.grid_tables import grid_tables
from tuner.results.recommendations.recommend import recommend_each
from tuner.results.recommendations.recommendation import Conditions, Recommendation
from tuner.results.study_results import StudyResults
from tuner.service.problems import Problem
from tuner.service.responses.query import CSV, HTML, JSON, TEXT, YAML, QueryResponse, ResultQuery
from tuner.service.responses.results_cache import ResultsCache, selected_sizes
from tuner.storage.protocols import ResultsStore

_MEDIA_TYPES: Final = {"json": JSON, "yaml": YAML}
"""The media types of formats, by the end of their files' names."""


def status(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    """Return the progress of a study."""
    status_now = status_of(cache.results(study, store), store.progress(), datetime.now(UTC))
    if state := parameters.get("state"):
        status_now = status_now.in_queue(state)
    if parameters.get("form") == "text":
        from tuner.present.studies.status_view import status_text

        return QueryResponse.of(text_of(lambda out: out.print(status_text(status_now))), TEXT)
    return QueryResponse.of(status_now.as_json())


def trials(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    """Return one page of a study's trials: at most `limit` of them, beginning after the sequence number `after`."""
    after, limit = int(parameters.get("after", 0)), int(parameters.get("limit", 100))
    page = store.trials(after, limit)
    # The values are corrected for the baseline's drift, so they depend on all trials. The results are read after the
    # page, so that they hold every trial of the page.
    record_bytes = parameters.get("record_bytes")
    sizes = selected_sizes(cache.results(study, store), record_bytes) if page or record_bytes is not None else ()
    by_number = {(trial.record_bytes, trial.number): (size, trial) for size in sizes for trial in size.trials}
    shown = {size.record_bytes for size in sizes}
    rows = [
        {"sequence": sequence, **trial_json(*by_number[trial.record_bytes, trial.number])}
        for sequence, trial in page
        if record_bytes is None or trial.record_bytes in shown
    ]
    for row in rows:
        row.pop("sampler_state", None)
    following = page[-1][0] if len(page) == limit else None
    return QueryResponse.of(document("trials", study=study, trials=rows, next_after=following))


def trials_table(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    """Return the table of all trials of a study, as CSV or JSON."""
    # Imported here, because it imports pandas.
    from tuner.present.trial_tables.frames import trials_csv, trials_frame, trials_json

    results = cache.results(study, store)
    frame = trials_frame(selected_sizes(results, parameters.get("record_bytes")))
    if parameters["form"] == "csv":
        return QueryResponse.of(trials_csv(frame), CSV)
    objectives = [each.metric for each in results.objectives]
    return QueryResponse.of(trials_json(results.name, frame, objectives, simulated=results.simulated))


def front(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    """Return the Pareto front of each record size."""
    from tuner.present.trial_tables.front_table import front_csv, fronts_json, print_fronts

    results = cache.results(study, store)
    sizes = selected_sizes(results, parameters.get("record_bytes"))
    match parameters.get("form", "json"):
        case "csv":
            return QueryResponse.of(front_csv(*sizes), CSV)
        case "text":
            return QueryResponse.of(text_of(partial(print_fronts, results, sizes)), TEXT)
        case _:
            return QueryResponse.of(fronts_json(results, sizes))


def grid(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    """Return the tables of a grid search."""
    from tuner.present.trial_tables.grid_view import grid_csv, grid_json, print_grids

    results = cache.results(study, store)
    sizes = selected_sizes(results, parameters.get("record_bytes"))
    tables = {size.record_bytes: grid_tables(results, size) for size in sizes}
    match parameters.get("form", "json"):
        case "csv":
            return QueryResponse.of(grid_csv(tables), CSV)
        case "text":
            return QueryResponse.of(text_of(partial(print_grids, results.name, tables)), TEXT)
        case _:
            return QueryResponse.of(grid_json(results.name, tables, simulated=results.simulated))


def report(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    """Return the report of a study as one HTML page."""
    from tuner.present.report.page import report_page

    return QueryResponse.of(report_page(cache.results(study, store)), HTML)


def comparison(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    """Return the comparison of a study with another one."""
    found_in = (cache.results(study, store), cache.other_results(parameters["second"]))
    # The studies are named after their folders. Otherwise, two studies of the same name would be shown with their
    # paths on this host.
    compared = replace(compare(*found_in), names=(study, parameters["second"]))
    match parameters["form"]:
        case "html":
            from tuner.present.report.page import fronts_html
            from tuner.present.report.study_points import front_charts

            drawn = found_in[0].objectives == found_in[1].objectives
            views = front_charts(found_in, compared) if drawn else {}
            return QueryResponse.of(fronts_html(compared, views, served=parameters.get("served", False)), HTML)
        case "text":
            from tuner.present.comparisons.comparison_view import print_comparison

            return QueryResponse.of(text_of(partial(print_comparison, compared)), TEXT)
        case _:
            return QueryResponse.of(compared.as_json())


def verification(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    """Return the judgement of a verified config."""
    stored = store.facts().get(VERIFICATION)
    if stored is None:
        raise Problem(ProblemKind.NOT_FOUND, f"{study} verifies no config, or has not ended yet")
    if parameters.get("form") == "text":
        return QueryResponse.of(stored["text"] + "\n", TEXT)
    return QueryResponse.of({**stored["record"], "unmeasured": stored["unmeasured"], "simulated": stored["simulated"]})


def recommendation(
    cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]
) -> QueryResponse:
    """Return the configs that a study recommends."""
    results = cache.results(study, store)
    form = Format(parameters.get("form", Format.JSON))
    text = export_all(_recommended(results, parameters), form, everything=parameters.get("everything", False))
    return QueryResponse.of(text, _MEDIA_TYPES.get(SUFFIXES[form].rpartition(".")[2], TEXT))


def explanation(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    """Return the explanation of a study's recommendations."""
    from tuner.present.export.recommendation_json import explanations_json
    from tuner.present.recommendations.explanation_words import print_explanations
    from tuner.results.recommendations.explanation import explain, knob_importance

    results = cache.results(study, store)
    explanations = [
        explain(results, each, knob_importance(*results.selected_sizes(each.record_bytes)))
        for each in _recommended(results, parameters)
    ]
    if parameters.get("form") == "text":
        return QueryResponse.of(text_of(partial(print_explanations, explanations)), TEXT)
    return QueryResponse.of(explanations_json(results.name, explanations))


def _recommended(results: StudyResults, parameters: Mapping[str, Any]) -> list[Recommendation]:
    """Return the recommendations that a query asks for.

    Raises:
        NoFeasibleConfig: A record size has no recommendation.
    """
    goal = Goal(parameters["goal"]) if parameters.get("goal") else None
    found, missing = recommend_each(results, parameters.get("record_bytes"), goal, Conditions.named(parameters))
    if missing:
        raise missing
    return found


def polled_recommendations(study: str, results: StudyResults) -> list[ResultQuery]:
    """Return the queries for all recommendations of a study that clients are likely to poll for."""
    formats = offered(client_of(results.newest.client)) if results.newest is not None else ()
    return [
        ResultQuery.of(
            study, "recommendation", record_bytes=size, goal=goal and str(goal), form=str(form), everything=False
        )
        for size in (None, *(size.record_bytes for size in results.sizes))
        for goal in (None, *Goal)
        for form in formats
    ]


def prediction(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    """Return the prediction for another config or load, or the content of the what-if page."""
    try:
        return _prediction(cache, study, store, parameters)
    except RequestRefused as error:
        if parameters.get("form") == "page":
            # The error names a parameter of the REST interface; the field on the page has another name.
            raise RequestRefused(str(error)) from None
        raise


def _prediction(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    from tuner.prediction.question import PredictionRequest
    from tuner.present.predictions.prediction_view import prediction_json, prediction_lines
    from tuner.present.predictions.what_if import what_if_json

    form, swept, settings = parameters.get("form"), parameters.get("sweep"), dict(parameters.get("changes", ()))
    limits = (parameters.get(name) for name in ("retention_s", "retention_bytes", "disk_bytes", "brokers"))
    typed = {name: settings.pop(name, "") for name in FORM_FIELDS} if form == "page" else {}
    retention = Retention.from_request(*limits, swept=swept is not None) or Retention.from_form(typed)
    try:
        changes = ChangedSettings.of(settings)
    except ValueError as error:
        raise Problem(ProblemKind.INVALID, str(error)) from None
    source = cache.source(study, store, changes.record_bytes)
    defaults = parameters.get("begin") == "defaults"
    begin = ProducerConfig.parse({}, source.config.client) if defaults else source.config
    try:
        request = PredictionRequest.of(source, changes, begin, swept, retention)
    except (InvalidValue, MisplacedProperty, UnknownProperty) as error:
        raise RequestRefused(str(error), "set") from None
    except RuleBroken as error:  # a new value does not fit the other values
        changed = "set" if changes.properties else "record_bytes" if changes.record_bytes else "begin"
        raise RequestRefused(str(error), changed) from None
    calibration = cache.calibration(study, store, source)
    if form == "page":
        return QueryResponse.of(what_if_json(request, calibration, typed))
    predictions = request.predictions(calibration)
    if form != "text":
        return QueryResponse.of(prediction_json(request, calibration, predictions))
    return QueryResponse.of("\n".join(prediction_lines(request, calibration, predictions)) + "\n", TEXT)
