"""The REST resources of the service, as FastAPI routes. docs/how-to/service.md shows how to use them."""

import json
import os
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from tuner.service.cache.query import JSON
from tuner.service.http import examples
from tuner.service.http.results_api import results_router
from tuner.service.http.studies import EventStreams, Studies
from tuner.service.http.tokens import Token
from tuner.service.http.work_api import Study, work_router
from tuner.service.problems import Problem
from tuner.service.submission import submission_of, text_of_body, text_of_json

_YAML_TYPES: Final = frozenset({"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"})


def routers(studies: Studies, streams: EventStreams) -> tuple[APIRouter, ...]:
    """Return all routes below `/v1`.

    They are not one inside the other, because the metrics of the service would then name a route without `/v1`.

    Args:
        studies: The studies of the service.
        streams: The event streams of the studies.
    """
    return studies_router(studies), results_router(studies, streams), work_router(studies, study_text)


def studies_router(studies: Studies) -> APIRouter:
    """Return the routes below `/v1` that submit, list, show, pause, resume and cancel studies.

    Args:
        studies: The studies of the service.
    """
    api = APIRouter(prefix="/v1", responses=examples.PROBLEMS)

    @api.post(
        "/studies",
        status_code=201,
        response_class=Response,
        responses={201: examples.NEW_STUDY, 200: examples.SAME_STUDY, 409: examples.PROBLEMS[409]},
        openapi_extra=examples.STUDY_FILE,
        tags=["studies"],
    )
    async def submit(request: Request) -> Response:
        """Submit a study.

        The body is a study file as `tuner run` takes it, in YAML or JSON. Its target is the name of a cluster that the
        service's config file defines. Submitting the same study again changes nothing and returns the existing study.
        If limits, constraints or other settings on which no trial depends have changed, a study that is not running
        gets the new study file and goes back into the queue.
        `limited` lists the values that the service has changed, because its operator limits them.
        """
        text = await study_text(request)
        token: Token | None = request.state.token
        asked, changes = await run_in_threadpool(
            submission_of, text, studies.config, os.environ, token.name if token is not None else ""
        )
        view, new = await studies.submit(asked)
        headers = {"location": view["links"]["self"]}
        view["limited"] = [{"key": change.key, "detail": change.detail} for change in changes]
        return _json(view, status=201 if new else 200, headers=headers)

    @api.get("/studies", response_class=Response, responses={200: examples.STUDIES}, tags=["studies"])
    async def listed(
        limit: Annotated[int, Query(ge=1, le=100, description="Largest number of studies to return.")] = 50,
        cursor: Annotated[
            str | None,
            Query(
                pattern=r"^([0-9]{1,15}|~[A-Za-z0-9_.-]{0,100})$",
                description="The value of `next` on the previous page.",
            ),
        ] = None,
    ) -> Response:
        """List the studies, the newest first.

        `next` is the `cursor` of the next page, or null on the last page.
        """
        found, following = await studies.listed(limit, cursor)
        return _json({"schema_version": 1, "kind": "studies", "studies": found, "next": following})

    @api.get("/studies/{study}", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def show(study: Study) -> Response:
        """Show the state and the progress of a study."""
        return _json(await studies.show(study))

    @api.delete("/studies/{study}", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def delete(study: Study) -> Response:
        """Cancel a study, like `POST .../cancel`. The study's results are kept."""
        return _json(await studies.cancel(study))

    @api.post("/studies/{study}/cancel", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def cancel(study: Study) -> Response:
        """Stop a study for good, after its current measurement window. Its results are kept."""
        return _json(await studies.cancel(study))

    @api.post("/studies/{study}/pause", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def pause(study: Study) -> Response:
        """Stop a study after its current measurement window, until it is resumed."""
        return _json(await studies.pause(study))

    @api.post("/studies/{study}/resume", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def resume(study: Study) -> Response:
        """Put a study that is paused or failed back into the queue, so that it continues."""
        return _json(await studies.resume(study))

    return api


async def study_text(request: Request) -> str:
    """Return the study file in a request, as text that the YAML reader understands.

    Raises:
        Problem: The media type is not YAML or JSON.
        StudyFileError: The body is not UTF-8, or the Content-Type is JSON, but the body is not JSON.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON and kind not in _YAML_TYPES:
        raise Problem(
            415,
            "wrong-type",
            f"the Content-Type of a study file must be application/yaml or application/json, but got {kind[:60]!r}",
        )
    text = text_of_body(await request.body())
    return await run_in_threadpool(text_of_json, text) if kind == JSON else text


def _json(body: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(json.dumps(body, ensure_ascii=False), status, headers, JSON)
