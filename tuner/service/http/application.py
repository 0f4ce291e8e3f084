"""The web application: REST resources, pages, health checks and metrics, all behind the access control."""

import asyncio
import importlib.metadata
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from types import NoneType
from typing import Annotated, Any, Final

import psutil
from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from runners.errors import RunnerError
from search_spaces.errors import ConfigError
from tuner.model.errors import ProblemKind, StudyError
from tuner.present.report.assets import plotly_script
from tuner.service.config import ServiceConfig
from tuner.service.http import pages
from tuner.service.http.access import AccessControl, is_event_stream, problem_response
from tuner.service.http.event_streams import EventStreams
from tuner.service.http.examples import METRICS, PROBLEMS, study_schema
from tuner.service.http.prediction_api import SETTING_PATTERN, prediction_query
from tuner.service.http.prometheus import PROMETHEUS_TEXT, Labels, Requests, family
from tuner.service.http.requests_and_responses import (
    RequiredRecordBytes,
    Study,
    conditional_response,
    each_parameter_once,
    only_known_parameters,
    response_of,
)
from tuner.service.http.results_api import EVENT_ID_PATTERN, results_router
from tuner.service.http.studies import CURSOR_PATTERN, NAME_PATTERN, Studies
from tuner.service.http.studies_api import actions_router, studies_router
from tuner.service.http.tokens import TokenFile
from tuner.service.problems import Problem, problem_of
from tuner.service.queue.job_queue import JobQueue
from tuner.service.response_cache import ResponseCache
from tuner.service.responses.query import HTML, ResultQuery
from tuner.service.worker.supervisor import Supervisor
from tuner.storage.locations import storage_at

_ALIVE_S = 15.0
_WARM_S = 60.0
_SHOWN_CHARACTERS = 100
"""How many characters of a wrong value or address a message shows."""
_PATTERNS: Final = {
    NAME_PATTERN: "must consist of letters, digits, -, _ and ., begin with a letter or digit, and have at most 100 "
    "characters",
    SETTING_PATTERN: "must read NAME=VALUE, such as linger.ms=20",
    CURSOR_PATTERN: "must be the `next` that the previous page returned",
    EVENT_ID_PATTERN: "must be the id of an event of this stream",
}
"""What messages say instead of a regular expression that a value must match."""
_JSON_TYPES: Final[dict[type, str]] = {dict: "an object", list: "an array", NoneType: "null"}
"""What messages say in place of a wrong value that is neither a text nor a number."""


def application(
    config: ServiceConfig,
    queue: JobQueue,
    supervisor: Supervisor,
    tokens: TokenFile,
    stopping: asyncio.Event,
) -> AccessControl:
    """Return the web application.

    Args:
        config: The configuration of the service.
        queue: The queue of studies.
        supervisor: The thread that works through the queue.
        tokens: The token file.
        stopping: An event that is set when the service stops.
    """
    cached = ResponseCache(config.root, shared=storage_at().is_shared)
    studies = Studies(config, queue, cached, supervisor)
    requests = Requests()
    warmed = asyncio.Event()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(_warm(studies, warmed))
        yield
        warming.cancel()
        cached.close()

    app = FastAPI(
        title="kafka-tuner",
        version=importlib.metadata.version("kafka-tuner"),
        description="Runs studies that find the best Kafka producer configs, and returns their recommendations.",
        docs_url=None,  # these pages would load scripts from the internet
        redoc_url=None,
        lifespan=lifespan,
    )
    streams = EventStreams(studies, stopping)
    for router in _routers(studies, streams):
        app.include_router(router, dependencies=[Depends(only_known_parameters)])
    _add_pages(app, studies)
    _add_health(app, queue, supervisor, warmed, lambda: _metrics(queue, supervisor, cached, streams, requests))
    _add_problems(app)
    _add_schema(app)
    return AccessControl(app, config, tokens, requests)


def _routers(studies: Studies, streams: EventStreams) -> tuple[APIRouter, ...]:
    """Return all routes below `/v1`.

    They are not one inside the other, because the metrics of the service would then name a route without `/v1`.
    """
    return studies_router(studies), results_router(studies, streams), actions_router(studies)


def _add_pages(app: FastAPI, studies: Studies) -> None:
    headers = {"content-security-policy": pages.CSP}
    once = [Depends(each_parameter_once)]

    @app.get("/", include_in_schema=False)
    async def studies_page(
        cursor: Annotated[str | None, Query(pattern=CURSOR_PATTERN)] = None,
    ) -> Response:
        listed, following = await studies.listed(30, cursor)
        counts = await run_in_threadpool(studies.queue.counts)
        named = {str(state): count for state, count in counts.items()}
        page = pages.list_page(listed, following, named, studies.config.mlflow_url)
        return Response(page, headers=headers, media_type=HTML)

    @app.get("/studies/{study}", include_in_schema=False)
    async def study_page(study: Study) -> Response:
        shown, newest = await studies.show(study), await studies.newest(study)
        page = pages.study_page(shown, newest, studies.config.mlflow_url, await studies.mlflow_views(study))
        return Response(page, headers=headers, media_type=HTML)

    @app.get("/studies/{study}/front.png", include_in_schema=False, dependencies=once)
    async def picture(request: Request, study: Study, record_bytes: RequiredRecordBytes) -> Response:
        return await conditional_response(request, studies, ResultQuery.of(study, "picture", record_bytes=record_bytes))

    @app.get("/studies/{study}/front.json", include_in_schema=False, dependencies=once)
    async def figure(request: Request, study: Study, record_bytes: RequiredRecordBytes) -> Response:
        return await conditional_response(request, studies, ResultQuery.of(study, "figure", record_bytes=record_bytes))

    @app.get("/studies/{study}/what-if", include_in_schema=False, dependencies=once)
    async def what_if_page(request: Request, study: Study) -> Response:
        # Each field of the form is a producer property, such as linger.ms, or a setting of the load, such as the rate.
        changes = dict(request.query_params)
        response = await studies.responses.get(prediction_query(study, changes, "page"))
        if response.status != 200:
            return response_of(response)
        page = pages.what_if_page(study, json.loads(response.body))
        return Response(page, headers=headers, media_type=HTML)

    @app.get("/submit", include_in_schema=False)
    async def submit_page(request: Request) -> Response:
        page = pages.submit_page(sorted(studies.config.targets), needs_token=request.state.token is not None)
        return Response(page, headers=headers, media_type=HTML)

    cached = {"cache-control": "private, max-age=3600"}

    @app.get("/static/page.js", include_in_schema=False)
    async def script() -> Response:
        return Response(pages.SCRIPT, headers=cached, media_type="text/javascript")

    @app.get("/favicon.ico", include_in_schema=False)
    async def icon() -> Response:
        return Response(pages.ICON, headers=cached, media_type="image/svg+xml")

    @app.get("/static/plotly.js", include_in_schema=False)
    async def plotly() -> Response:
        return Response(await run_in_threadpool(plotly_script), headers=cached, media_type="text/javascript")

    @app.get("/static/style.css", include_in_schema=False)
    async def style() -> Response:
        return Response(pages.STYLE_SHEET, headers=cached, media_type="text/css")


async def _warm(studies: Studies, warmed: asyncio.Event) -> None:
    """Read all studies into the cache, so that later requests need not wait. Stop after `_WARM_S` seconds."""
    try:
        async with asyncio.timeout(_WARM_S):
            names = await run_in_threadpool(lambda: storage_at().names(studies.config.root))
            await studies.responses.warm(names)
    except (OSError, StudyError):  # also TimeoutError
        pass
    finally:
        warmed.set()


def _add_health(
    app: FastAPI, queue: JobQueue, supervisor: Supervisor, warmed: asyncio.Event, numbers: Callable[[], Iterator[str]]
) -> None:
    @app.get(
        "/healthz", tags=["health"], response_class=Response, responses={200: {"description": "The service runs."}}
    )
    async def healthz() -> Response:
        """Return 200 while the service runs."""
        return Response("ok\n", media_type="text/plain")

    @app.get(
        "/readyz",
        tags=["health"],
        response_class=Response,
        responses={200: {"description": "The service is ready."}, 503: PROBLEMS[503]},
    )
    async def readyz() -> Response:
        """Return 200 when the service has read its studies, reaches its queue and works through it."""
        await run_in_threadpool(queue.counts)
        if not warmed.is_set():
            raise Problem(
                ProblemKind.UNAVAILABLE, "the service has just started and is still reading its studies; try again"
            )
        if supervisor.seconds_since_alive > _ALIVE_S:
            raise Problem(
                ProblemKind.UNAVAILABLE,
                "the service is not working through its queue; its log has the details",
            )
        return Response("ready\n", media_type="text/plain")

    @app.get("/metrics", tags=["health"], response_class=Response, responses=METRICS)
    async def prometheus() -> Response:
        """Return the metrics of the service, for Prometheus."""
        lines = await run_in_threadpool(lambda: list(numbers()))
        return Response("\n".join(lines) + "\n", media_type=PROMETHEUS_TEXT)


def _metrics(
    queue: JobQueue, supervisor: Supervisor, cached: ResponseCache, streams: EventStreams, requests: Requests
) -> Iterator[str]:
    """Yield the lines of the metrics, in the text format of Prometheus."""
    counts = queue.counts().items()
    states: dict[Labels, float] = {(("state", str(state)),): count for state, count in counts}
    yield from family("studies", "gauge", "Submitted studies, by state.", states)
    for name, kind, text, value in (
        ("study_processes", "gauge", "Processes that are running a study.", supervisor.running),
        ("study_starts_total", "counter", "Processes that were started to run a study.", supervisor.started),
        ("study_crashes_total", "counter", "Processes that ended before their study did.", supervisor.crashed),
        ("answers_kept_total", "counter", "Queries answered from the cache.", cached.hits),
        ("answers_made_total", "counter", "Queries for which a study was read.", cached.misses),
        ("answers_bytes", "gauge", "Size of the cached responses in bytes.", cached.kept_bytes),
        ("event_streams", "gauge", "Open event streams.", streams.open),
        (
            "resident_bytes",
            "gauge",
            "Resident memory of the server's process in bytes.",
            psutil.Process().memory_info().rss,
        ),
    ):
        yield from family(name, kind, text, {(): value})
    yield from requests.lines()


def _add_problems(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def of_validation(_: Request, error: RequestValidationError) -> Response:
        errors = tuple({"line": None, "key": _place(each), "detail": _rule_and_value(each)} for each in error.errors())
        detail = "; ".join(f"{each['key']}: {each['detail']}" for each in errors)
        return problem_response(Problem(ProblemKind.INVALID, detail, errors))

    @app.exception_handler(HTTPException)
    async def of_http(request: Request, error: HTTPException) -> Response:
        named = {404: ProblemKind.NOT_FOUND, 405: ProblemKind.WRONG_METHOD}
        kind = named.get(error.status_code, ProblemKind.BAD_REQUEST)
        headers = error.headers
        detail = str(error.detail)
        if error.status_code == 405:
            methods = _methods_at(app, request.url.path)
            allowed = ", ".join(methods)
            headers = {"allow": allowed}
            detail = f"the method must be {' or '.join(allowed.rsplit(', ', 1))} here, but got {request.method}"
        elif error.status_code == 404 and detail == HTTPStatus.NOT_FOUND.phrase:  # no route has this address
            detail = (
                f"the service has nothing at {request.url.path:.{_SHOWN_CHARACTERS}}; /openapi.json lists all resources"
            )
        return problem_response(Problem(kind, detail, headers=headers, status=error.status_code))

    @app.exception_handler(Problem)
    @app.exception_handler(RunnerError)
    @app.exception_handler(ConfigError)
    @app.exception_handler(StudyError)
    @app.exception_handler(Exception)  # the framework raises these again afterwards, and `AccessControl` logs them
    async def of_any(_: Request, error: Exception) -> Response:
        return problem_response(problem_of(error))


def _place(error: Mapping[str, Any]) -> str:
    """Return where the wrong value is, such as `query.rate`. If a body is not JSON at all, the place is the body."""
    return "body" if error["type"] == "json_invalid" else ".".join(map(str, error["loc"]))


def _rule_and_value(error: Mapping[str, Any]) -> str:
    """Return what is wrong with a value of a request, worded as on the command line.

    Args:
        error: The framework's description of the error, with its message in `msg` and the value in `input`.
    """
    rule = re.sub(r"^(Input|String|Value) should", "must", str(error["msg"])).removeprefix("Value error, ")
    rule = rule.partition(", unable to parse")[0]
    wrong = error["input"]
    match error["type"]:
        case "missing":
            return "must be given"
        case "extra_forbidden":
            return "there is no such key; leave it out"
        case "json_invalid":
            return f"must be JSON, but: {error['ctx']['error']}"
        case "value_error":  # our own message, which has the value
            return rule
        case "model_attributes_type" | "dict_type":
            rule = "must be a JSON object"
        case "string_pattern_mismatch":
            rule = _PATTERNS.get(error["ctx"]["pattern"], rule)
    if isinstance(wrong, str | int | float):
        return f"{rule}, but got {wrong!r:.{_SHOWN_CHARACTERS}}"
    return f"{rule}, but got {_JSON_TYPES.get(type(wrong), 'another type')}"


def _methods_at(app: FastAPI, path: str) -> list[str]:
    """Return all methods of a resource.

    The framework has one route for each method, and would name only the methods of the first route.
    """
    resources = app.openapi()["paths"].items()
    methods = {method.upper() for each, own in resources if compile_path(each)[0].match(path) for method in own}
    # The pages are not in the OpenAPI document, and can only be read. Nor is HEAD, which every resource with GET has,
    # except the event streams (see `AccessControl`).
    methods = methods or {"GET"}
    return sorted(methods | {"HEAD"} if "GET" in methods and not is_event_stream(path) else methods)


def _add_schema(app: FastAPI) -> None:
    """Add the schema of study files and the use of tokens to the OpenAPI document, which the framework then reuses."""
    schema = app.openapi()
    parts = schema.setdefault("components", {})
    parts.setdefault("schemas", {}).update(study_schema())
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    schema["security"] = [{"token": []}]
    for path in ("/healthz", "/readyz"):
        schema["paths"][path]["get"]["security"] = []


def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document, for the reference documentation. No service is started and no file is opened."""
    nothing: Any = None
    app = FastAPI(title="kafka-tuner", docs_url=None, redoc_url=None)
    for router in _routers(nothing, nothing):
        app.include_router(router)
    _add_health(app, nothing, nothing, nothing, nothing)
    _add_schema(app)
    return app.openapi()
