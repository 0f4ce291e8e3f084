"""Computes what the pages request: summaries of studies, new trials, charts and links to MLflow."""

import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

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
)
from tuner.present.studies.status import status_of
from tuner.present.studies.study_list import listed_experiment, listed_study
from tuner.present.trial_tables.newest_trials import newest_trials
from tuner.service.responses.query import JSON, PNG, QueryResponse
from tuner.service.responses.results_cache import ResultsCache, selected_sizes
from tuner.storage.protocols import ResultsStore


def summary(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    """Return the values that the list of studies shows for one study.

    All results of the study are needed for its current work, its remaining time and its best gain. So the results are
    read only for a study that is running or has ended. The response for an ended study is cached.
    """
    facts, progress = store.facts(), store.progress()
    # A study that has just started has not stored its objectives yet, and its status can't be computed without them.
    reads = OBJECTIVES in facts and (parameters.get("at_work", False) or bool(facts.get(FINISHED_AT)))
    now = status_of(cache.results(study, store), progress, datetime.now(UTC)) if reads else None
    best = listed_study(study, facts, now.as_json()).best_gain if now else None
    experiment = None
    if EXPERIMENT in facts:
        experiment = listed_experiment(study, facts, progress, (trial for _, trial in store.trials())).as_json()
    extent = cache.extent(study, store, facts)
    names = (TARGET, RECORD_SIZES, OBJECTIVES, STARTED_AT, FINISHED_AT, TRIALS_PER_SIZE, TOTALS)
    return QueryResponse.of(
        {
            "trials": extent.trials,
            "search_trials": extent.search_trials,
            **{name: facts.get(name) for name in names},
            "simulated": facts.get(CLIENT_VERSION) == "simulated",
            "doing": now.doing if now else "",
            "left_s": now.left_s if now else None,
            "best_gain": asdict(best) if best else None,
            "updated_at": progress.updated_at if progress else "",
            "experiment": experiment,
        }
    )


def newest(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    """Return the newest trials of a study, for its page."""
    facts = store.facts()
    rows = newest_trials(cache.results(study, store)) if OBJECTIVES in facts else []
    return QueryResponse.of({"last": cache.extent(study, store, facts).last, "trials": rows})


def picture(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    """Return the chart of a Pareto front, as PNG."""
    from tuner.present.report.study_pictures import draw_front
    from tuner.results.recommendations.by_goal import goals_by_trial, recommendations_by_goal

    results = cache.results(study, store)
    (size,) = selected_sizes(results, parameters["record_bytes"])
    with tempfile.TemporaryDirectory(prefix="tuner-front-") as folder:
        path = Path(folder) / "front.png"
        draw_front(
            size, goals_by_trial(recommendations_by_goal(results, size)), path, heading=f"{size.record_bytes} B records"
        )
        return QueryResponse.of(path.read_bytes(), PNG)


def figure(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    """Return the interactive chart of a Pareto front, as JSON."""
    from tuner.present.report.interactive import figure_json
    from tuner.present.report.study_figures import front_figure
    from tuner.results.recommendations.by_goal import goals_by_trial, recommendations_by_goal

    results = cache.results(study, store)
    (size,) = selected_sizes(results, parameters["record_bytes"])
    return QueryResponse.of(
        figure_json(front_figure(size, goals_by_trial(recommendations_by_goal(results, size)))), JSON
    )


def mlflow_views(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    """Return the links to the study's views in MLflow, by name; none if MLflow is not known to hold the study."""
    from tuner.tracking.views import SavedView, views_of

    place = store.facts().get(IN_MLFLOW)
    if place is None:
        return QueryResponse.of({})
    link = partial(
        SavedView.link, address=parameters["address"], experiment_id=place["experiment_id"], saved=place["views"]
    )
    return QueryResponse.of({each.name: link(each) for each in views_of(cache.results(study, store))})
