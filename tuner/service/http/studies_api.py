"""The REST resources that change studies, or list and show them, as FastAPI routes.

docs/how-to/service.md shows how to use them.
"""

import os
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from tuner.model.document import document
from tuner.model.errors import ProblemKind
from tuner.model.goals import Goal
from tuner.service.http import examples
from tuner.service.http.requests_and_responses import (
    JsonOrText,
    Study,
    client_name,
    json_response,
    only_json,
    response_of,
    study_text,
)
from tuner.service.http.studies import CURSOR_PATTERN, NAME_PATTERN, Studies
from tuner.service.http.study_actions import StudyActions, VerificationRequest, confirm_options
from tuner.service.operator_limits import limited_json
from tuner.service.problems import Problem
from tuner.service.responses.query import TEXT, ResultQuery
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


def actions_router(studies: Studies) -> APIRouter:
    """Return the routes below `/v1` for confirmations, verifications, forks, removals, copies to MLflow and plans.

    Args:
        studies: The studies of the service.
    """
    api = APIRouter(prefix="/v1", responses=examples.PROBLEMS)
    actions = StudyActions(studies)

    @api.post("/studies/{study}/confirm", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def confirm(
        request: Request,
        study: Study,
        goal: Annotated[list[Goal] | None, Query(description="Goals whose winners are measured again.")] = None,
        rounds: Annotated[int | None, Query(ge=2, le=1000, description="Minimum number of rounds.")] = None,
        max_rounds: Annotated[int | None, Query(ge=2, le=1000, description="Maximum number of rounds.")] = None,
        width_ratio: Annotated[
            float | None,
            Query(
                ge=0.001,
                le=10,
                allow_inf_nan=False,
                description="Width of a gain's confidence interval, relative to the gain, at which no more rounds are "
                "added.",
            ),
        ] = None,
        undo_rounds: Annotated[
            int | None,
            Query(
                ge=0,
                le=100,
                description="Rounds that measure copies of a winner, each with one property at the baseline's value.",
            ),
        ] = None,
    ) -> Response:
        """Measure the best configs of a study and the baseline again, as `tuner confirm` does.

        The study must be complete, paused or failed. It goes back into the queue. Afterwards, a complete study is
        complete again, and any other is paused. Settings that are left out are those of the study file.
        """
        if await request.body():  # settings in a body would be ignored, and the load would run for hours without them
            raise Problem(ProblemKind.INVALID, "a confirmation takes no body: send its settings as query parameters")
        settings = confirm_options(goal, rounds, max_rounds, width_ratio, undo_rounds)
        return json_response(await actions.confirm(study, settings))

    @api.post("/studies/{study}/sync", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def sync(study: Study) -> Response:
        """Bring MLflow up to date with a study, as `tuner sync` does, for example after MLflow was down.

        The study must be complete, paused or failed. It goes back into the queue. Afterwards, a complete study is
        complete again, and any other is paused. A confirmation or a verification of the study that was paused or has
        failed must be resumed first.
        """
        return json_response(await actions.sync(study))

    @api.post("/studies/{study}/remove", response_class=Response, responses={200: examples.REMOVED}, tags=["studies"])
    async def remove(study: Study) -> Response:
        """Remove a study for good: its results, and its folder. A study that waits or runs must be cancelled first."""
        return json_response(await actions.remove(study))

    @api.post(
        "/studies/{study}/fork",
        status_code=201,
        response_class=Response,
        responses={201: examples.FORK},
        openapi_extra=examples.NEW_STUDY_FILE,
        tags=["studies"],
    )
    async def fork(
        request: Request,
        study: Study,
        name: Annotated[str, Query(pattern=NAME_PATTERN, description="Name of the new study.", examples=["orders-2"])],
    ) -> Response:
        """Begin a new study with the trials of another study that fit its settings, as `tuner fork` does.

        The body is the study file of the new study. Without a body, the new study has the settings of the other one.
        The new study is paused: nothing is measured until it is resumed.
        """
        text = await study_text(request) if await request.body() else None
        return json_response(await actions.fork(study, name, text, client_name(request)), status=201)

    @api.post(
        "/verifications",
        status_code=201,
        response_class=Response,
        responses={201: examples.NEW_VERIFICATION, 200: examples.VERIFICATION},
        openapi_extra=examples.VERIFIED,
        dependencies=[Depends(only_json)],
        tags=["studies"],
    )
    async def verify(request: Request, body: VerificationRequest) -> Response:
        """Measure a producer config alternating with the baseline, as `tuner verify` does.

        The measurements are a new study in the queue (status 201). When it is complete,
        `GET /v1/studies/NAME/verification` returns the judgement. A config whose guarantee is too weak is refused
        without any measurement, and its judgement is returned immediately (status 200).
        """
        shown, new = await actions.verify(body, client_name(request))
        return json_response(shown, status=201 if new else 200)

    @api.get(
        "/studies/{study}/verification",
        response_class=Response,
        responses={200: examples.VERIFICATION},
        tags=["results"],
    )
    async def verification(
        study: Study,
        form: JsonOrText = "json",
    ) -> Response:
        """Return the judgement of a verified config, in the form of `tuner verify --json`."""
        return response_of(await studies.responses.fresh(ResultQuery.of(study, "verification", form=form)))

    @api.post(
        "/plan",
        response_class=Response,
        responses={200: examples.PLAN},
        openapi_extra=examples.STUDY_FILE,
        tags=["studies"],
    )
    async def plan(
        request: Request,
        mb_per_s: Annotated[
            float,
            Query(
                ge=0.001, le=1e9, allow_inf_nan=False, description="Throughput that you expect at full speed, in MB/s."
            ),
        ] = 200.0,
        form: JsonOrText = "json",
    ) -> Response:
        """Return what a study would do here, without any traffic, in the form of `tuner plan --json`.

        The body is a study file, as for `POST /v1/studies`. Nothing is stored.
        """
        planned = await actions.plan(await study_text(request), mb_per_s, as_text=form == "text")
        return Response(planned, media_type=TEXT) if isinstance(planned, str) else json_response(planned)

    return api
