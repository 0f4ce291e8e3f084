"""Error responses: `application/problem+json`, with the same messages as the command line.

Source: RFC 9457, Problem Details for HTTP APIs.
"""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from runners.errors import RunnerError, WorkloadRefused
from search_spaces.errors import ConfigError
from tuner.model.errors import (
    LimitTooLow,
    NoFeasibleConfig,
    NotAStudy,
    NothingMeasured,
    NothingToFit,
    ProblemKind,
    RequestRefused,
    StudyBusy,
    StudyChanged,
    StudyError,
    StudyNotFound,
)
from tuner.service.errors import JobNotFound, NameTaken, WrongMove
from tuner.study_file import StudyFileError

PROBLEM_JSON: Final = "application/problem+json"
_LOG: Final = logging.getLogger("tuner.service")
_KINDS: Final = "https://kafka-tuner.invalid/problems/"
_KINDS_OF_ERRORS: Final[dict[type[Exception], ProblemKind]] = {
    JobNotFound: ProblemKind.NOT_FOUND,
    StudyNotFound: ProblemKind.NOT_FOUND,
    NameTaken: ProblemKind.NAME_TAKEN,
    StudyChanged: ProblemKind.SETTINGS_CHANGED,
    WrongMove: ProblemKind.WRONG_STATE,
    NothingToFit: ProblemKind.NOTHING_MEASURED,
    NothingMeasured: ProblemKind.NOTHING_MEASURED,
    NoFeasibleConfig: ProblemKind.NO_FEASIBLE_CONFIG,
    ConfigError: ProblemKind.INVALID,
    WorkloadRefused: ProblemKind.INVALID,
    RequestRefused: ProblemKind.INVALID,
}
"""The kinds of the errors whose text clients may read as it is. The first that an error belongs to counts."""


class Problem(Exception):
    """An error that is sent to the client as a problem document.

    Attributes:
        kind: The kind of problem.
        status: The HTTP status; by default that of the kind.
        detail: What is wrong: the rule, the value, and what to do.
        errors: The single values that are wrong, each with `line`, `key` and `detail`.
        headers: HTTP headers to send with the response.
    """

    def __init__(
        self,
        kind: ProblemKind,
        detail: str,
        errors: tuple[Mapping[str, Any], ...] = (),
        headers: Mapping[str, str] | None = None,
        *,
        status: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.status = kind.status if status is None else status
        self.detail = detail
        self.errors = errors
        self.headers = headers or {}

    @classmethod
    def of_value(cls, key: str, detail: str) -> "Problem":
        """Return the problem of a single wrong value.

        Args:
            key: The place of the value in the request, such as `query.brokers`.
            detail: The rule and the value.
        """
        return cls(ProblemKind.INVALID, f"{key}: {detail}", ({"line": None, "key": key, "detail": detail},))

    @classmethod
    def of_json(cls, body: Mapping[str, Any]) -> "Problem":
        """Return the problem that a problem document describes."""
        kind = next(each for each in ProblemKind if body["type"] == f"{_KINDS}{each}")
        return cls(kind, body["detail"], tuple(body.get("errors", ())))

    def as_json(self) -> dict[str, Any]:
        """Return the problem document, which is the body of the response."""
        body: dict[str, Any] = {
            "type": f"{_KINDS}{self.kind}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        return {**body, "errors": [dict(each) for each in self.errors]} if self.errors else body


def problem_of(error: Exception) -> Problem:
    """Return the problem to send to the client after an error. The cause of an unexpected error is not revealed."""
    match error:
        case Problem():
            return error
        case StudyFileError():
            errors = tuple({"line": each.line or None, "key": each.key, "detail": each.what} for each in error.problems)
            return Problem(ProblemKind.STUDY_FILE, str(error), errors)
        case LimitTooLow():
            fields = {"line": None, "key": error.key, "detail": f"{error.rule}; give at least {error.least}"}
            return Problem(ProblemKind.LIMIT_TOO_LOW, str(error), (fields,))
        case RequestRefused() if error.setting:
            return Problem.of_value(f"query.{error.setting}", str(error))
        case StudyBusy():  # its text names the host and the process
            return Problem(ProblemKind.WRONG_STATE, "another process is running this study; wait until it has ended")
        case NotAStudy():
            return Problem(ProblemKind.NOT_A_STUDY, f"{error} on the service's host")
    if kind := next((kind for each, kind in _KINDS_OF_ERRORS.items() if isinstance(error, each)), None):
        return Problem(kind, str(error))
    if isinstance(error, StudyError | RunnerError):
        # The text may name the operator's hosts, users and files. Requests without a token get this response too.
        _LOG.error("a request could not be answered: %s", error)
        return Problem(ProblemKind.UNAVAILABLE, "the service can't answer at the moment; its log has the details")
    return Problem(ProblemKind.DEFECT, "the service failed because of a defect; its log has the details")
