"""Makes the responses of REST resources from JSON, and from the answers of the processes that read studies."""

import json
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from tuner.service.answers.query import JSON, Answer, ResultQuery
from tuner.service.http.studies import Studies


def json_response(body: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response whose body is a dictionary, written as JSON."""
    return Response(json.dumps(body, ensure_ascii=False), status, headers, JSON)


async def answered(request: Request, studies: Studies, query: ResultQuery) -> Response:
    """Return the response to a query, or status 304 if the client has this response already."""
    answer = await studies.responses.get(query)
    if answer.status != 200:
        return response_of(answer)
    # Caches may store the response, but must ask each time whether it is still valid.
    headers = {"etag": answer.etag, "cache-control": "private, no-cache"}
    # Source: RFC 9110, section 13.1.2: If-None-Match uses the weak comparison.
    named = [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]
    if "*" in named or answer.etag in named:
        return Response(status_code=304, headers=headers)
    return response_of(answer, headers)


def response_of(answer: Answer, headers: dict[str, str] | None = None) -> Response:
    """Return a cached response as a response of the framework, with more headers if given."""
    return Response(answer.body, answer.status, headers, answer.media_type)
