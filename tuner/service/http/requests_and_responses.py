"""What REST resources share: they read parameters, the study file and the token of a request, and make a response."""

import json
from typing import Annotated, Any, Final, Literal

from fastapi import Path, Query, Request
from fastapi.responses import Response
from pydantic import AfterValidator
from starlette.concurrency import run_in_threadpool

from runners.errors import WorkloadRefused
from runners.workload import RecordSizes
from tuner.model.errors import ProblemKind
from tuner.service.http.studies import NAME_PATTERN, Studies
from tuner.service.http.tokens import Token
from tuner.service.problems import Problem
from tuner.service.responses.query import JSON, QueryResponse, ResultQuery
from tuner.service.submission import text_of_body, text_of_json


def _record_sizes(text: str) -> str:
    try:
        RecordSizes.parse(text)
    except WorkloadRefused as error:
        raise ValueError(str(error)) from None
    return text


Study = Annotated[str, Path(pattern=NAME_PATTERN, description="Name of the study.", examples=["orders"])]
_RECORD_BYTES: Final[Any] = Query(
    max_length=500,
    description="Record size, such as `1000` or `64KiB`, or a mix of sizes with weights, such as `100:70,1000:30`.",
    examples=["1000"],
)
RequiredRecordBytes = Annotated[str, AfterValidator(_record_sizes), _RECORD_BYTES]
RecordBytes = Annotated[Annotated[str, AfterValidator(_record_sizes)] | None, _RECORD_BYTES]
_FORMAT: Final[Any] = Query(alias="format", description="Format of the response.")
JsonOrText = Annotated[Literal["json", "text"], _FORMAT]
JsonCsvOrText = Annotated[Literal["json", "csv", "text"], _FORMAT]
_YAML_TYPES: Final = frozenset({"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"})


def only_known_parameters(request: Request) -> None:
    """Refuse a request that has an unknown query parameter, for example a mistyped one, or one twice.

    Raises:
        Problem: The request has an unknown parameter, and the message names the parameters of the resource. Or it gives
            a parameter twice that takes one value.
    """
    resource = request.app.openapi()["paths"][request.scope["route"].path][request.method.lower()]
    schemas = {each["name"]: each["schema"] for each in resource.get("parameters", ()) if each["in"] == "query"}
    names = list(schemas)
    rule = f"a query parameter must be one of {', '.join(names)}" if names else "this takes no query parameters"
    unknown = [name[:60] for name in request.query_params if name not in names]
    errors = tuple({"line": None, "key": f"query.{name}", "detail": f"{rule}, but got {name!r}"} for name in unknown)
    if errors:
        raise Problem(ProblemKind.INVALID, f"{rule}, but got {', '.join(map(repr, unknown))}", errors)
    for name, schema in schemas.items():
        kinds = {each.get("type") for each in (schema, *schema.get("anyOf", ()))}
        if "array" not in kinds:
            _refuse_repeated(request, name)


def each_parameter_once(request: Request) -> None:
    """Refuse a request that gives a query parameter twice.

    Raises:
        Problem: A parameter has several values.
    """
    for name in request.query_params:
        _refuse_repeated(request, name)


def _refuse_repeated(request: Request, name: str) -> None:
    values = request.query_params.getlist(name)
    if len(values) > 1:
        detail = f"must be given once, but got {' and '.join(repr(each[:60]) for each in values[:5])}"
        raise Problem.of_value(f"query.{name[:60]}", detail)


async def study_text(request: Request) -> str:
    """Return the study file in a request, as text that the YAML reader understands.

    Raises:
        Problem: The media type is not YAML or JSON.
        StudyFileError: The body is not UTF-8, or the Content-Type is JSON, but the body is not JSON.
    """
    kind = _media_type(request)
    if kind != JSON and kind not in _YAML_TYPES:
        raise Problem(
            ProblemKind.WRONG_TYPE,
            f"the Content-Type of a study file must be application/yaml or application/json, but got {kind[:60]!r}",
        )
    text = text_of_body(await request.body())
    return await run_in_threadpool(text_of_json, text) if kind == JSON else text


def only_json(request: Request) -> None:
    """Refuse a request whose body is not JSON according to its Content-Type.

    Raises:
        Problem: The media type is not JSON.
    """
    if (kind := _media_type(request)) != JSON:
        raise Problem(ProblemKind.WRONG_TYPE, f"the Content-Type must be application/json, but got {kind[:60]!r}")


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def client_name(request: Request) -> str:
    """Return the name of the token that the client sent; empty if it sent none."""
    token: Token | None = request.state.token
    return token.name if token is not None else ""


def json_response(body: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response whose body is a dictionary, written as JSON."""
    return Response(json.dumps(body, ensure_ascii=False), status, headers, JSON)


async def conditional_response(request: Request, studies: Studies, query: ResultQuery) -> Response:
    """Return the response to a query, or status 304 if the client has this response already."""
    found = await studies.responses.get(query)
    if found.status != 200:
        return response_of(found)
    # Caches may store the response, but must ask each time whether it is still valid.
    headers = {"etag": found.etag, "cache-control": "private, no-cache"}
    # Source: RFC 9110, section 13.1.2: If-None-Match uses the weak comparison.
    named = [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]
    if "*" in named or found.etag in named:
        return Response(status_code=304, headers=headers)
    return response_of(found, headers)


def response_of(found: QueryResponse, headers: dict[str, str] | None = None) -> Response:
    """Return what a query gave as an HTTP response, with `headers` added."""
    return Response(found.body, found.status, headers, found.media_type)
