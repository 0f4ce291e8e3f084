"""The REST resources that submit, list, show, pause, resume and cancel studies, as FastAPI routes.

docs/how-to/service.md shows how to use them.
"""

import os
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from tuner.model.document import document
from tuner.service.http import examples
from tuner.service.http.request_parameters import Study, client_name, study_text
from tuner.service.http.responses import json_response
from tuner.service.http.studies import CURSOR_PATTERN, Studies
from tuner.service.operator_limits import limited_json
from tuner.service.submission import submission_of


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
        With the header `If-None-Match: *`, a study whose trials depend on other settings, or that is running, keeps its
        study file (status 409): the client wants a new study, and can choose another name.
        `limited` lists the values that the service has changed, because its operator limits them.
        """
        text = await study_text(request)
        submission, changes = await run_in_threadpool(
            submission_of, text, studies.config, os.environ, client_name(request)
        )
        may_change = request.headers.get("if-none-match", "").strip() != "*"
        view, new = await studies.submit(submission, may_change=may_change)
        headers = {"location": view["links"]["self"]}
        view["limited"] = limited_json(changes)
        return json_response(view, status=201 if new else 200, headers=headers)

    @api.get("/studies", response_class=Response, responses={200: examples.STUDIES}, tags=["studies"])
    async def listed(
        limit: Annotated[int, Query(ge=1, le=100, description="Largest number of studies to return.")] = 50,
        cursor: Annotated[
            str | None,
            Query(
                pattern=CURSOR_PATTERN,
                description="The value of `next` on the previous page.",
            ),
        ] = None,
    ) -> Response:
        """List the studies, the newest first.

        An experiment in the service's folder is listed too, and its `summary` has what `tuner studies` shows of it.
        `next` is the `cursor` of the next page, or null on the last page.
        """
        views, following = await studies.listed(limit, cursor)
        return json_response(document("studies", studies=views, next=following))

    @api.get("/studies/{study}", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def show(study: Study) -> Response:
        """Show the state and the progress of a study."""
        return json_response(await studies.show(study))

    @api.delete("/studies/{study}", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def delete(study: Study) -> Response:
        """Cancel a study, like `POST .../cancel`. The study's results are kept."""
        return json_response(await studies.cancel(study))

    @api.post("/studies/{study}/cancel", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def cancel(study: Study) -> Response:
        """Stop a study for good, after its current measurement window. Its results are kept.

        If the study was complete, paused or failed before `POST .../confirm` or `POST .../sync`, only that is stopped:
        a complete study is then complete again, and any other is paused.
        """
        return json_response(await studies.cancel(study))

    @api.post("/studies/{study}/pause", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def pause(study: Study) -> Response:
        """Stop a study after its current measurement window, until it is resumed."""
        return json_response(await studies.pause(study))

    @api.post("/studies/{study}/resume", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def resume(study: Study) -> Response:
        """Put a study that is paused or failed back into the queue, so that it continues."""
        return json_response(await studies.resume(study))

    return api
