"""A query about a study's results, and the HTTP response to it."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final, Self

from tuner.service.problems import PROBLEM_JSON, Problem

JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"
HTML: Final = "text/html; charset=utf-8"
YAML: Final = "application/yaml; charset=utf-8"
CSV: Final = "text/csv; charset=utf-8"
PNG: Final = "image/png"


@dataclass(frozen=True, slots=True)
class ResultQuery:
    """A query about the results of one study.

    Equal queries have equal responses for as long as the study's results stay the same.

    Attributes:
        study: The study's name.
        what: The kind of response: a key of `tuner.service.responses.responder.RESPONSES`, or `EVERY_RECOMMENDATION`.
        parameters: The parameters of the query as pairs of name and value, sorted by name.
    """

    study: str
    what: str
    parameters: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, study: str, what: str, **parameters: Any) -> Self:
        """Return a query with the given parameters. Parameters that are None are left out."""
        return cls(study, what, tuple(sorted(pair for pair in parameters.items() if pair[1] is not None)))


@dataclass(frozen=True, slots=True)
class QueryResponse:
    """The complete HTTP response to a query.

    Attributes:
        status: The HTTP status.
        media_type: The media type of the body.
        body: The body.
        etag: A strong validator, computed from the body, with its quotes.
    """

    status: int
    media_type: str
    body: bytes
    etag: str

    @classmethod
    def of(cls, body: bytes | str | dict[str, Any], media_type: str = JSON, status: int = 200) -> Self:
        """Return a response with this body. A dictionary is written as JSON."""
        if isinstance(body, dict):
            body = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        data = body.encode() if isinstance(body, str) else body
        return cls(status, media_type, data, f'"{hashlib.sha256(data).hexdigest()[:32]}"')

    @classmethod
    def of_problem(cls, problem: Problem) -> Self:
        """Return the response that describes a problem."""
        return cls.of(problem.as_json(), PROBLEM_JSON, problem.status)


QueryResponses = dict[ResultQuery, QueryResponse]
EVERY_RECOMMENDATION: Final = "recommendations"
"""The value of `ResultQuery.what` that asks for all recommendations that clients are likely to poll for.

All recommendations of a study are computed together, because reading the study takes most of the time.
"""
