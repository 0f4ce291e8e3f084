"""What is asked of a study's record, and the response as it goes over the wire."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final, Self

from tuner.service.http.problems import MEDIA_TYPE, Problem

JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"
HTML: Final = "text/html; charset=utf-8"
YAML: Final = "application/yaml; charset=utf-8"
CSV: Final = "text/csv; charset=utf-8"
PNG: Final = "image/png"


@dataclass(frozen=True, slots=True)
class ResultQuery:
    """A question about one study's record; equal questions have equal answers as long as the record stays the same.

    Attributes:
        study: The study's name.
        what: A name of `tuner.service.cache.record_reader.RESPONSES`, or `EVERY_RECOMMENDATION`.
        given: What else is asked, by name, in order of the names.
    """

    study: str
    what: str
    given: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, study: str, what: str, **given: Any) -> Self:
        """A question; what is None was not asked."""
        return cls(study, what, tuple(sorted((name, value) for name, value in given.items() if value is not None)))


@dataclass(frozen=True, slots=True)
class CachedResponse:
    """A response as it goes over the wire.

    Attributes:
        status: HTTP status.
        media_type: Of the body.
        body: The bytes.
        etag: Strong validator made of the body, with its quotes.
    """

    status: int
    media_type: str
    body: bytes
    etag: str

    @classmethod
    def of(cls, body: bytes | str | dict[str, Any], media_type: str = JSON, status: int = 200) -> Self:
        """A response; what is neither bytes nor text is written as JSON."""
        if isinstance(body, dict):
            body = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        data = body.encode() if isinstance(body, str) else body
        return cls(status, media_type, data, f'"{hashlib.sha256(data).hexdigest()[:32]}"')

    @classmethod
    def of_problem(cls, problem: Problem) -> Self:
        """A response that says what is wrong."""
        return cls.of(problem.as_json(), MEDIA_TYPE, problem.status)


Responses = dict[ResultQuery, CachedResponse]
EVERY_RECOMMENDATION: Final = "recommendations"
"""Asks for all recommendations that pollers are likely to ask for: reading the study is what takes long."""
