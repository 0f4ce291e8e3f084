"""What went wrong, for clients to read: `application/problem+json`, in the words that the command line has.

Source: RFC 9457, Problem Details for HTTP APIs.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from runners.errors import RunnerError, WorkloadRefused
from search_spaces.errors import ConfigError
from tuner.model.errors import NoFeasibleConfig, StudyError, StudyNotFound
from tuner.service.errors import JobNotFound, NameTaken, WrongMove
from tuner.study_file import StudyFileError

MEDIA_TYPE: Final = "application/problem+json"
_KINDS: Final = "https://kafka-tuner.invalid/problems/"


class Problem(Exception):  # noqa: N818 - the RFC's word
    """An answer other than what was asked for.

    Attributes:
        status: HTTP status.
        kind: What kind of problem, in one word or several with hyphens; the last part of its `type`.
        detail: What is wrong here: rule, value, what to do.
        errors: For study files, each with `line`, `key` and `detail`.
        headers: To be sent along.
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
        """The body."""
        body: dict[str, Any] = {
            "type": f"{_KINDS}{self.kind}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        return {**body, "errors": [dict(each) for each in self.errors]} if self.errors else body


def problem_of(error: Exception) -> Problem:
    """The answer that an error stands for; one that is nobody's fault but ours says nothing of its cause."""
    match error:
        case Problem():
            return error
        case StudyFileError():
            found = tuple({"line": each.line or None, "key": each.key, "detail": each.what} for each in error.problems)
            return Problem(422, "study-file", str(error), found)
        case JobNotFound() | StudyNotFound():
            return Problem(404, "not-found", str(error))
        case NameTaken():
            return Problem(409, "name-taken", str(error))
        case WrongMove():
            return Problem(409, "wrong-state", str(error))
        case NoFeasibleConfig():
            return Problem(404, "no-feasible-config", str(error))
        case ConfigError() | WorkloadRefused():
            return Problem(422, "invalid", str(error))
        case StudyError() | RunnerError():
            return Problem(503, "unavailable", str(error))
        case _:
            return Problem(500, "defect", "the service failed at this; its log says how")
