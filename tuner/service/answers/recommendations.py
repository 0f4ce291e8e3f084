"""Answers the requests for recommendations and for their explanations."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from search_spaces.client import client_of
from tuner.model.errors import NoFeasibleConfig
from tuner.model.goals import Goal
from tuner.present.console import text_of
from tuner.present.export import SUFFIXES, Format, export_all, offered
from tuner.results.recommendations.recommend import recommend_each
from tuner.results.recommendations.recommendation import Conditions, Recommendation
from tuner.results.study_results import StudyResults
from tuner.service.answers.query import JSON, TEXT, YAML, Answer, ResultQuery
from tuner.service.answers.results_cache import ResultsCache
from tuner.storage.protocols import ResultsStore

_MEDIA_TYPES: Final = {"json": JSON, "yaml": YAML}
"""The media types of formats, by the end of their files' names."""


def recommendation(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> Answer:
    """Return the configs that a study recommends."""
    results = cache.results(study, store)
    form = Format(parameters.get("form", Format.JSON))
    recommended, missing = _recommended(results, parameters)
    if missing:
        raise missing
    text = export_all(recommended, form, everything=parameters.get("everything", False))
    return Answer.of(text, _MEDIA_TYPES.get(SUFFIXES[form].rpartition(".")[2], TEXT))


def explanation(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> Answer:
    """Return the explanation of a study's recommendations."""
    from tuner.present.export.recommendation_json import explanations_json
    from tuner.present.recommendations.explanation_words import print_explanations
    from tuner.results.recommendations.explanation import explain, knob_importance

    results = cache.results(study, store)
    recommended, missing = _recommended(results, parameters)
    if missing:
        raise missing
    sizes = [results.size(each.record_bytes) for each in recommended]
    importances = [knob_importance(size) if size is not None else {} for size in sizes]
    explanations = [explain(results, *each) for each in zip(recommended, importances, strict=True)]
    if parameters.get("form") == "text":
        return Answer.of(text_of(partial(print_explanations, explanations)), TEXT)
    return Answer.of(explanations_json(results.name, explanations))


def _recommended(
    results: StudyResults, parameters: Mapping[str, Any]
) -> tuple[list[Recommendation], NoFeasibleConfig | None]:
    goal = Goal(parameters["goal"]) if parameters.get("goal") else None
    return recommend_each(results, parameters.get("record_bytes"), goal, Conditions.named(parameters))


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
