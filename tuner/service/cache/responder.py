"""Computes the responses to queries from the results of a study.

This code runs in a separate process, which `ReadingProcess` in `reading_process.py` starts.
"""

import io
import logging
import tempfile
import traceback
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from search_spaces.client import client_of
from tuner.model.document import document
from tuner.model.errors import NoFeasibleConfig, RecordDamaged, StudyNotFound
from tuner.model.facts import (
    CLIENT_VERSION,
    EXPERIMENT,
    FINISHED_AT,
    IN_MLFLOW,
    OBJECTIVES,
    RECORD_SIZES,
    STARTED_AT,
    TARGET,
    TOTALS,
    TRIALS_PER_SIZE,
    VERIFICATION,
)
from tuner.model.spec import Goal
from tuner.model.trial import Kind
from tuner.present.console import Unwrapped
from tuner.present.export import SUFFIXES, Format, export_all, offered
from tuner.present.studies.status import status_of
from tuner.present.studies.study_list import listed_experiment, listed_study
from tuner.present.trial_tables.newest_trials import newest_trials
from tuner.present.trial_tables.trial_json import trial_json
from tuner.results.comparisons.comparison import compare
from tuner.results.grid_tables import grid_tables
from tuner.results.recommendations.recommend import recommend_each
from tuner.results.recommendations.recommendation import Conditions, Recommendation
from tuner.results.study_results import SizeResults, StudyResults
from tuner.service.cache.query import (
    CSV,
    EVERY_RECOMMENDATION,
    HTML,
    JSON,
    PNG,
    TEXT,
    YAML,
    CachedResponse,
    Responses,
    ResultQuery,
)
from tuner.service.cache.results_cache import ResultsCache, no_study
from tuner.service.problems import Problem, problem_of
from tuner.storage.protocols import ResultsStore, Storage

_LOG: Final = logging.getLogger("tuner.service")
_MEDIA_TYPES: Final = {"json": JSON, "yaml": YAML}
"""The media types of formats, by the end of their files' names."""


class Responder:
    """Responds to queries about the studies in one folder.

    Args:
        storage: The storage that holds the studies' results.
        root: The folder of the studies on this host.
    """

    def __init__(self, storage: Storage, root: Path) -> None:
        self._kept = ResultsCache(storage, root)

    def responses(self, query: ResultQuery) -> Responses:
        """Return the response to a query.

        For `EVERY_RECOMMENDATION`, return the responses to all queries for recommendations that clients are likely to
        poll. When a query fails, return an error response.
        """
        try:
            with closing(self._kept.open_store(query.study)) as store:
                if query.what == EVERY_RECOMMENDATION:
                    asked = _recommendations(query.study, self._kept.results(query.study, store))
                else:
                    asked = [query]
                return {each: self._response(each, store) for each in asked}
        except Exception as error:  # noqa: BLE001 - `_problem` says why
            return {query: _problem(query, error)}

    def _response(self, query: ResultQuery, store: ResultsStore) -> CachedResponse:
        try:
            return RESPONSES[query.what](self._kept, query.study, store, dict(query.given))
        except Exception as error:  # noqa: BLE001 - `_problem` says why
            return _problem(query, error)


def _problem(query: ResultQuery, error: Exception) -> CachedResponse:
    """Return the error response to a query that failed. An exception would end the process that reads the studies."""
    match error:
        case StudyNotFound():
            problem = no_study(query.study)
        case PermissionError():  # the folder of another user, which may be no study
            _LOG.error("the results of %s can't be read: %s", query.study, error)
            problem = no_study(query.study)
        case RecordDamaged():  # its text names the operator's files
            _LOG.error("the results of %s can't be read: %s", query.study, error)
            problem = Problem(
                404,
                "not-found",
                f"the stored results of {query.study} can't be read, because a trial or something else is damaged, or "
                "because a newer release wrote them; the service's log has the details",
            )
        case _:
            problem = problem_of(error)
    if problem.status == 500:
        traceback.print_exception(error)
    return CachedResponse.of_problem(problem)


def _recommendations(study: str, results: StudyResults) -> list[ResultQuery]:
    formats = offered(client_of(results.newest.client)) if results.newest is not None else ()
    return [
        ResultQuery.of(study, "recommendation", record_bytes=size, goal=goal and str(goal), form=str(form))
        for size in (None, *(size.record_bytes for size in results.sizes))
        for goal in (None, *Goal)
        for form in formats
    ]


def _recommendation(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    results = kept.results(study, store)
    form = Format(given.get("form", Format.JSON))
    found, missing = _recommended(results, given)
    if missing:
        raise missing
    text = export_all(found, form, everything=given.get("everything", False))
    return CachedResponse.of(text, _MEDIA_TYPES.get(SUFFIXES[form].rpartition(".")[2], TEXT))


def _recommended(
    results: StudyResults, given: Mapping[str, Any]
) -> tuple[list[Recommendation], NoFeasibleConfig | None]:
    goal = Goal(given["goal"]) if given.get("goal") else None
    conditions = Conditions(given.get("max_p99_ms"), given.get("min_mb_per_s"), given.get("allow_loss"))
    return recommend_each(results, given.get("record_bytes"), goal, conditions)


def _explanation(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    from tuner.present.export.recommendation_json import explanations_json
    from tuner.present.recommendations.explanation_words import print_explanations
    from tuner.results.recommendations.explanation import explain, knob_importance

    results = kept.results(study, store)
    recommended, missing = _recommended(results, given)
    if missing:
        raise missing
    sizes = [results.size(each.record_bytes) for each in recommended]
    importances = [knob_importance(size) if size is not None else {} for size in sizes]
    found = [explain(results, *each) for each in zip(recommended, importances, strict=True)]
    if given.get("form") == "text":
        return CachedResponse.of(_as_text(partial(print_explanations, found)), TEXT)
    return CachedResponse.of(explanations_json(results.name, found))


def _prediction(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    from tuner.prediction.question import Changes, Question, Sweep, side_by_side
    from tuner.prediction.retention import TYPED, Retention
    from tuner.present.predictions.prediction_view import prediction_json, prediction_lines, sweep_lines
    from tuner.present.predictions.what_if import what_if_json

    form, swept, settings = given.get("form"), given.get("sweep"), dict(given.get("changes", ()))
    limits = (given.get(name) for name in ("retention_s", "retention_bytes", "disk_bytes", "brokers"))
    typed = {name: settings.pop(name, "") for name in TYPED} if form == "page" else {}
    try:
        retention = Retention.asked(*limits, swept=swept is not None) or Retention.typed(typed)
        changes = Changes.of(settings)
    except ValueError as error:
        raise Problem(422, "invalid", str(error)) from None
    source = kept.source(study, store, changes.record_bytes)
    asked = Question.of(source)
    asked = (asked.of_defaults() if given.get("begin") == "defaults" else asked).changed(changes)
    try:
        sweep = None if swept is None else Sweep.of(asked, swept, changes)
        if retention is not None:
            retention.check(asked.workload)
    except ValueError as error:
        raise Problem(422, "invalid", str(error)) from None
    calibration = kept.calibration(study, store, source)
    if form == "page":
        return CachedResponse.of(what_if_json(source, calibration, asked, retention, typed))
    told = side_by_side(source, asked, calibration) if sweep is None else sweep.answers(source, calibration)
    if form == "text":
        lines = (
            prediction_lines(source, calibration, told, retention)
            if sweep is None
            else sweep_lines(source, sweep.setting, told)
        )
        return CachedResponse.of("\n".join(lines) + "\n", TEXT)
    setting = None if sweep is None else sweep.setting
    return CachedResponse.of(prediction_json(source, calibration, told, retention, setting=setting))


def _front(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    from tuner.present.trial_tables.front_table import front_csv, fronts_json

    results = kept.results(study, store)
    sizes = _sizes(results, given.get("record_bytes"))
    match given.get("form", "json"):
        case "csv":
            return CachedResponse.of(front_csv(*sizes), CSV)
        case "text":
            from tuner.present.trial_tables.front_view import print_front

            shown = [_as_text(partial(print_front, results, size)) for size in sizes]
            return CachedResponse.of("".join(shown), TEXT)
        case _:
            return CachedResponse.of(fronts_json(results, sizes))


def _grid(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    from tuner.present.trial_tables.grid_view import grid_csv, grid_json, print_grid

    results = kept.results(study, store)
    sizes = _sizes(results, given.get("record_bytes"))
    tables = {size.record_bytes: grid_tables(results, size) for size in sizes}
    match given.get("form", "json"):
        case "csv":
            return CachedResponse.of(grid_csv(tables), CSV)
        case "text":
            shown = [_as_text(partial(print_grid, results.name, size, found)) for size, found in tables.items()]
            return CachedResponse.of("".join(shown), TEXT)
        case _:
            return CachedResponse.of(grid_json(results.name, tables, simulated=results.simulated))


def _status(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    found = status_of(kept.results(study, store), store.progress(), datetime.now(UTC))
    if state := given.get("state"):
        found = found.in_queue(state)
    if given.get("form") == "text":
        from tuner.present.studies.status_view import status_text

        return CachedResponse.of(_as_text(lambda out: out.print(status_text(found))), TEXT)
    return CachedResponse.of(found.as_json())


def _summary(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    """Return the values that the list of studies shows for one study.

    What a running study is doing, how long it still takes, and the best gain need all results of the study. So the
    results are read only for a study that is running or has ended. The answer for an ended study is cached.
    """
    facts, progress = store.facts(), store.progress()
    # A study that has just started has not stored its objectives yet, and its status can't be computed without them.
    reads = OBJECTIVES in facts and (given.get("at_work", False) or bool(facts.get(FINISHED_AT)))
    now = status_of(kept.results(study, store), progress, datetime.now(UTC)) if reads else None
    best = listed_study(study, facts, now.as_json()).best_gain if now else None
    extent = kept.extent(study, store, facts)
    names = (TARGET, RECORD_SIZES, OBJECTIVES, STARTED_AT, FINISHED_AT, TRIALS_PER_SIZE, TOTALS)
    return CachedResponse.of(
        {
            "trials": extent.trials,
            "search_trials": extent.search_trials,
            **{name: facts.get(name) for name in names},
            "simulated": facts.get(CLIENT_VERSION) == "simulated",
            "doing": now.doing if now else "",
            "left_s": now.left_s if now else None,
            "best_gain": asdict(best) if best else None,
            "updated_at": progress.updated_at if progress else "",
            "experiment": _experiment(study, store) if EXPERIMENT in facts else None,
        }
    )


def _experiment(name: str, store: ResultsStore) -> dict[str, Any]:
    """Return the line of the list of studies that shows an experiment."""
    measured = sum(trial.kind is Kind.MEASUREMENT for _, trial in store.trials())
    return listed_experiment(name, store.facts(), store.progress(), measured).as_json()


def _trials(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    after, limit = int(given.get("after", 0)), int(given.get("limit", 100))
    found = store.trials(after, limit)
    # The values are corrected for the baseline's drift, so they depend on all trials. The results are read after the
    # page, so that they hold every trial of the page.
    asked = given.get("record_bytes")
    sizes = _sizes(kept.results(study, store), asked) if found or asked is not None else ()
    known = {(trial.record_bytes, trial.number): (size, trial) for size in sizes for trial in size.trials}
    shown = {size.record_bytes for size in sizes}
    rows = [
        {"sequence": sequence, **trial_json(*known[trial.record_bytes, trial.number])}
        for sequence, trial in found
        if asked is None or trial.record_bytes in shown
    ]
    for row in rows:
        row.pop("sampler_state", None)
    following = found[-1][0] if len(found) == limit and found else None
    page = document("trials", study=study, trials=rows, next_after=following)
    return CachedResponse.of(page)


def _trials_table(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    # Imported here, because it imports pandas.
    from tuner.present.trial_tables.frames import trials_csv, trials_frame, trials_json

    results = kept.results(study, store)
    frame = trials_frame(_sizes(results, given.get("record_bytes")))
    if given["form"] == "csv":
        return CachedResponse.of(trials_csv(frame), CSV)
    objectives = [each.metric for each in results.objectives]
    return CachedResponse.of(trials_json(results.name, frame, objectives, simulated=results.simulated))


def _report(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    from tuner.present.report.page import report_page

    return CachedResponse.of(report_page(kept.results(study, store)), HTML)


def _comparison(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    found_in = (kept.results(study, store), kept.other_results(given["second"]))
    # The names of the folders: two studies that are called the same would be shown with their paths on this host.
    found = replace(compare(*found_in), names=(study, given["second"]))
    match given["form"]:
        case "html":
            from tuner.present.report.page import fronts_html
            from tuner.present.report.study_points import pictures_to_compare

            drawn = found_in[0].objectives == found_in[1].objectives
            return CachedResponse.of(fronts_html(found, pictures_to_compare(found_in, found) if drawn else {}), HTML)
        case "text":
            from tuner.present.comparisons.comparison_view import print_comparison

            return CachedResponse.of(_as_text(partial(print_comparison, found)), TEXT)
        case _:
            return CachedResponse.of(found.as_json())


def _newest(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    facts = store.facts()
    rows = newest_trials(kept.results(study, store)) if OBJECTIVES in facts else []
    return CachedResponse.of({"last": kept.extent(study, store, facts).last, "trials": rows})


def _picture(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    from tuner.present.report.study_pictures import draw_front
    from tuner.results.recommendations.by_goal import labels, recommendations_by_goal

    results = kept.results(study, store)
    (size,) = _sizes(results, given["record_bytes"])
    with tempfile.TemporaryDirectory(prefix="tuner-front-") as folder:
        path = Path(folder) / "front.png"
        draw_front(size, labels(recommendations_by_goal(results, size)), path, heading=f"{size.record_bytes} B records")
        return CachedResponse.of(path.read_bytes(), PNG)


def _figure(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    from tuner.present.report.interactive import figure_json
    from tuner.present.report.study_figures import front_figure
    from tuner.results.recommendations.by_goal import labels, recommendations_by_goal

    results = kept.results(study, store)
    (size,) = _sizes(results, given["record_bytes"])
    return CachedResponse.of(figure_json(front_figure(size, labels(recommendations_by_goal(results, size)))), JSON)


def _mlflow_views(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    """Return the links to the study's views in MLflow, by name; none if MLflow is not known to hold the study."""
    from tuner.tracking.views import SavedView, views_of

    place = store.facts().get(IN_MLFLOW)
    if place is None:
        return CachedResponse.of({})
    link = partial(SavedView.link, address=given["address"], experiment_id=place["experiment_id"], saved=place["views"])
    return CachedResponse.of({each.name: link(each) for each in views_of(kept.results(study, store))})


def _verification(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    stored = store.facts().get(VERIFICATION)
    if stored is None:
        raise Problem(404, "not-found", f"{study} verifies no config, or has not ended yet")
    if given.get("form") == "text":
        return CachedResponse.of(stored["text"] + "\n", TEXT)
    return CachedResponse.of({**stored["record"], "unmeasured": stored["unmeasured"], "simulated": stored["simulated"]})


def _stamp(kept: ResultsCache, study: str, store: ResultsStore, given: Mapping[str, Any]) -> CachedResponse:
    return CachedResponse.of(repr(kept.stamp(study, store)), TEXT)


def _sizes(results: StudyResults, record_bytes: str | None) -> tuple[SizeResults, ...]:
    try:
        return results.asked_sizes(record_bytes)
    except ValueError as error:
        raise Problem(404, "not-found", str(error)) from None


def _as_text(show: Callable[[Unwrapped], None]) -> str:
    text = io.StringIO()
    show(Unwrapped(file=text, highlight=False, no_color=True))
    return text.getvalue()


_Respond = Callable[[ResultsCache, str, ResultsStore, Mapping[str, Any]], CachedResponse]
RESPONSES: Final[Mapping[str, _Respond]] = {
    "recommendation": _recommendation,
    "front": _front,
    "grid": _grid,
    "status": _status,
    "summary": _summary,
    "trials": _trials,
    "trials_table": _trials_table,
    "report": _report,
    "comparison": _comparison,
    "explanation": _explanation,
    "prediction": _prediction,
    "newest": _newest,
    "picture": _picture,
    "figure": _figure,
    "mlflow_views": _mlflow_views,
    "verification": _verification,
    "stamp": _stamp,
}
