"""What is asked of a study's record, and the answer as it goes over the wire."""

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
class Ask:
    """A question about one study's record; equal questions have equal answers as long as the record stays the same.

    Attributes:
        study: The study's name.
        what: A name of `tuner.service.cache.reading.ANSWERS`.
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
class Answer:
    """An answer as it goes over the wire.

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
        """An answer; what is neither bytes nor text is written as JSON."""
        if isinstance(body, dict):
            body = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        data = body.encode() if isinstance(body, str) else body
        return cls(status, media_type, data, f'"{hashlib.sha256(data).hexdigest()[:32]}"')

    @classmethod
    def of_problem(cls, problem: Problem) -> Self:
        """An answer that says what is wrong."""
        return cls.of(problem.as_json(), MEDIA_TYPE, problem.status)
