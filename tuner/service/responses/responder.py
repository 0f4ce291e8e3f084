"""Computes the responses to queries from the results of a study.

This code runs in a separate process, which `ReadingProcess` in `reading_process.py` starts.
"""

import logging
import traceback
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from tuner.model.errors import ProblemKind, ResultsDamaged, StudyNotFound
from tuner.service.problems import Problem, problem_of
from tuner.service.responses import pages, results
from tuner.service.responses.query import EVERY_RECOMMENDATION, TEXT, QueryResponse, QueryResponses, ResultQuery
from tuner.service.responses.results_cache import ResultsCache, no_study
from tuner.storage.protocols import ResultsStore, Storage

_LOG: Final = logging.getLogger("tuner.service")


class Responder:
    """Responds to queries about the studies in one folder.

    Args:
        storage: The storage that holds the studies' results.
        root: The folder of the studies on this host.
    """

    def __init__(self, storage: Storage, root: Path) -> None:
        self._cache = ResultsCache(storage, root)

    def responses(self, query: ResultQuery) -> QueryResponses:
        """Return the response to a query.

        For `EVERY_RECOMMENDATION`, return the responses to all queries for recommendations that clients are likely to
        poll. When a query fails, return an error response.
        """
        try:
            with closing(self._cache.open_store(query.study)) as store:
                if query.what == EVERY_RECOMMENDATION:
                    queries = results.polled_recommendations(query.study, self._cache.results(query.study, store))
                else:
                    queries = [query]
                return {each: self._response(each, store) for each in queries}
        except Exception as error:  # noqa: BLE001 - `_problem` says why
            return {query: _problem(query, error)}

    def _response(self, query: ResultQuery, store: ResultsStore) -> QueryResponse:
        try:
            return RESPONSES[query.what](self._cache, query.study, store, dict(query.parameters))
        except Exception as error:  # noqa: BLE001 - `_problem` says why
            return _problem(query, error)


def _problem(query: ResultQuery, error: Exception) -> QueryResponse:
    """Return the error response to a query that failed. No exception is raised, because it would end this process."""
    match error:
        case StudyNotFound():
            problem = no_study(query.study)
        case PermissionError():  # the folder of another user, which may be no study
            _LOG.error("the results of %s can't be read: %s", query.study, error)
            problem = no_study(query.study)
        case ResultsDamaged():  # its text names the operator's files
            _LOG.error("the results of %s can't be read: %s", query.study, error)
            problem = Problem(
                ProblemKind.RESULTS_DAMAGED,
                f"the stored results of {query.study} can't be read, because a trial or something else is damaged, or "
                "because a newer release wrote them; the service's log has the details",
            )
        case _:
            problem = problem_of(error)
    if problem.status == 500:
        traceback.print_exception(error)
    return QueryResponse.of_problem(problem)


def _stamp(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> QueryResponse:
    return QueryResponse.of(repr(cache.stamp(study, store)), TEXT)


_Respond = Callable[[ResultsCache, str, ResultsStore, Mapping[str, Any]], QueryResponse]
RESPONSES: Final[Mapping[str, _Respond]] = {
    "recommendation": results.recommendation,
    "front": results.front,
    "grid": results.grid,
    "status": results.status,
    "summary": pages.summary,
    "trials": results.trials,
    "trials_table": results.trials_table,
    "report": results.report,
    "comparison": results.comparison,
    "explanation": results.explanation,
    "prediction": results.prediction,
    "newest": pages.newest,
    "picture": pages.picture,
    "figure": pages.figure,
    "mlflow_views": pages.mlflow_views,
    "verification": results.verification,
    "stamp": _stamp,
}
