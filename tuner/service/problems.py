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
    RequestRefused,
    StudyBusy,
    StudyChanged,
    StudyError,
    StudyNotFound,
)
from tuner.service.errors import JobNotFound, NameTaken, WrongMove
from tuner.study_file import StudyFileError

MEDIA_TYPE: Final = "application/problem+json"
_LOG: Final = logging.getLogger("tuner.service")
_KINDS: Final = "https://kafka-tuner.invalid/problems/"


class Problem(Exception):
    """An error that is sent to the client as a problem document.

    Attributes:
        status: The HTTP status.
        kind: The kind of problem, in lower-case words joined by hyphens. It is the last part of the document's `type`.
        detail: What is wrong: the rule, the value, and what to do.
        errors: The mistakes in a study file, each with `line`, `key` and `detail`.
        headers: HTTP headers to send with the response.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        errors: tuple[Mapping[str, Any], ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.errors = errors
        self.headers = headers or {}

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
            found = tuple({"line": each.line or None, "key": each.key, "detail": each.what} for each in error.problems)
            return Problem(422, "study-file", str(error), found)
        case LimitTooLow():
            told = {"line": None, "key": error.key, "detail": f"{error.rule}; give at least {error.least}"}
            return Problem(422, "limit-too-low", str(error), (told,))
        case JobNotFound() | StudyNotFound():
            return Problem(404, "not-found", str(error))
        case NameTaken():
            return Problem(409, "name-taken", str(error))
        case StudyChanged():
            return Problem(409, "settings-changed", str(error))
        case WrongMove():
            return Problem(409, "wrong-state", str(error))
        case StudyBusy():  # its text names the host and the process
            return Problem(409, "wrong-state", "another process is running this study; wait until it has ended")
        case NothingToFit() | NothingMeasured():
            return Problem(404, "nothing-measured", str(error))
        case NoFeasibleConfig():
            return Problem(404, "no-feasible-config", str(error))
        case NotAStudy():
            return Problem(404, "not-a-study", f"{error} on the service's host")
        case ConfigError() | WorkloadRefused() | RequestRefused():
            return Problem(422, "invalid", str(error))
        case StudyError() | RunnerError():
            # The text may name the operator's hosts, users and files. Requests without a token get this response too.
            _LOG.error("a request could not be answered: %s", error)
            return Problem(503, "unavailable", "the service can't answer at the moment; its log has the details")
        case _:
            return Problem(500, "defect", "the service failed because of a defect; its log has the details")
