"""The service's resources, as a FastAPI application; see docs/how-to/service.md."""

import json
import os
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from runners.workload import RecordSizes
from tuner.model.spec import Goal
from tuner.present.export import Format
from tuner.service.cache.query import JSON, CachedResponse, ResultQuery
from tuner.service.http import examples
from tuner.service.http.problems import Problem
from tuner.service.http.studies import EventStreams, Studies
from tuner.service.http.submission import submission_of, text_of_json
from tuner.service.http.tokens import Token

NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
MOST_STREAMS: Final = 200
"""Event streams at a time; each holds a connection."""
_YAML_TYPES: Final = frozenset({"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"})

Study = Annotated[str, Path(pattern=NAME_PATTERN, description="Name of a study.", examples=["orders"])]
RecordBytes = Annotated[
    str | None,
    Query(max_length=500, description="Record size, or a mix such as `100:70,1000:30`.", examples=["1000"]),
]


def router(studies: Studies, streams: EventStreams) -> APIRouter:
    """The routes below `/v1`.

    Args:
        studies: Shows and changes studies.
        streams: Follows them.
    """
    api = APIRouter(prefix="/v1", responses=examples.PROBLEMS)

    @api.post(
        "/studies",
        status_code=201,
        response_class=Response,
        responses={201: examples.STUDY, 200: examples.SAME_STUDY, 409: examples.PROBLEMS[409]},
        openapi_extra=examples.STUDY_FILE,
        tags=["studies"],
    )
    async def submit(request: Request) -> Response:
        """Submit a study: the file that `tuner run` takes, as YAML or JSON; of its target, it says the name alone.

        The same study again is the same study: sent twice, it is there once.
        """
        text = await _study_text(request)
        token: Token | None = request.state.token
        asked = await run_in_threadpool(
            submission_of, text, studies.config, os.environ, token.name if token is not None else ""
        )
        view, new = await studies.submit(asked)
        headers = {"location": view["links"]["self"]}
        return _json(view, status=201 if new else 200, headers=headers)

    @api.get("/studies", response_class=Response, responses={200: examples.STUDIES}, tags=["studies"])
    async def listed(
        limit: Annotated[int, Query(ge=1, le=100, description="At most so many.")] = 50,
        cursor: Annotated[
            str | None, Query(pattern=r"^([0-9]{1,15}|~[A-Za-z0-9_.-]{0,100})$", description="`next` of a page.")
        ] = None,
    ) -> Response:
        """List studies, the newest first; `next` is the cursor of the following page."""
        found, following = await studies.listed(limit, cursor)
        return _json({"schema_version": 1, "kind": "studies", "studies": found, "next": following})

    @api.get("/studies/{study}", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def show(study: Study) -> Response:
        """Show a study: where it stands in the queue, and how far it is."""
        return _json(await studies.show(study))

    @api.delete("/studies/{study}", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def delete(study: Study) -> Response:
        """Cancel a study, as `cancel` does: what it found is kept."""
        return _json(await studies.cancel(study))

    @api.post("/studies/{study}/cancel", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def cancel(study: Study) -> Response:
        """Stop a study for good, after the window that it measures; what it found is kept."""
        return _json(await studies.cancel(study))

    @api.post("/studies/{study}/pause", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def pause(study: Study) -> Response:
        """Stop a study after the window that it measures, until it is resumed."""
        return _json(await studies.pause(study))

    @api.post("/studies/{study}/resume", response_class=Response, responses={200: examples.STUDY}, tags=["studies"])
    async def resume(study: Study) -> Response:
        """Go on with a study that was paused, or that failed."""
        return _json(await studies.resume(study))

    @api.get("/studies/{study}/trials", response_class=Response, responses={200: examples.TRIALS}, tags=["results"])
    async def trials(
        request: Request,
        study: Study,
        after: Annotated[int, Query(ge=0, le=2**53, description="Sequence number of the last one known.")] = 0,
        limit: Annotated[int, Query(ge=1, le=500, description="At most so many.")] = 100,
    ) -> Response:
        """Trials in the order in which they ended; `next_after` is `after` of the following page."""
        return await answered(request, studies, ResultQuery.of(study, "trials", after=after, limit=limit))

    @api.get("/studies/{study}/front", response_class=Response, responses={200: examples.FRONT}, tags=["results"])
    async def front(
        request: Request,
        study: Study,
        record_bytes: RecordBytes = None,
        form: Annotated[
            Literal["json", "csv", "text"], Query(alias="format", description="How it is written.")
        ] = "json",
    ) -> Response:
        """Show the Pareto front of each record size: what no other config beats in all objectives."""
        return await answered(request, studies, ResultQuery.of(study, "front", record_bytes=record_bytes, form=form))

    @api.get("/studies/{study}/status", response_class=Response, responses={200: examples.STATUS}, tags=["results"])
    async def status(
        study: Study,
        form: Annotated[Literal["json", "text"], Query(alias="format", description="How it is written.")] = "json",
    ) -> Response:
        """Show how far a study is, as `tuner status` does."""
        await studies.show(study)
        return _response(await studies.answers.fresh(ResultQuery.of(study, "status", form=form)))

    @api.get("/studies/{study}/report", response_class=Response, responses={200: examples.REPORT}, tags=["results"])
    async def report(request: Request, study: Study) -> Response:
        """Show the whole study as one HTML page that needs no network."""
        answer = await answered(request, studies, ResultQuery.of(study, "report"))
        # Its scripts are in the page. In a sandbox they have an origin of their own, and none of ours to speak to.
        answer.headers["content-security-policy"] = (
            "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
            "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"
        )
        return answer

    @api.get("/studies/{study}/events", response_class=Response, responses={200: examples.EVENTS}, tags=["results"])
    async def follow(
        study: Study,
        last_event_id: Annotated[
            str | None, Header(pattern=r"^[0-9]{1,15}$", description="Sent by clients that connect again.")
        ] = None,
    ) -> Response:
        """Follow a study live: `status`, `trial` and `end` events."""
        await studies.show(study)
        if streams.open >= MOST_STREAMS:
            raise Problem(
                503, "too-many-streams", f"at most {MOST_STREAMS} event streams are open at a time; poll instead"
            )
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        events = streams.follow(study, int(last_event_id or 0))
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)

    @api.get("/recommendation", response_class=Response, responses={200: examples.RECOMMENDATION}, tags=["results"])
    async def recommendation(
        request: Request,
        study: Annotated[str, Query(pattern=NAME_PATTERN, description="Name of a study.", examples=["orders"])],
        record_bytes: RecordBytes = None,
        goal: Annotated[
            Goal | None,
            Query(
                description="What the config is to be best at; without it the first for which one is better than the "
                "baseline: balanced, throughput, latency."
            ),
        ] = None,
        max_p99_ms: Annotated[
            float | None, Query(ge=0, allow_inf_nan=False, description="Only configs whose p99 latency stays below.")
        ] = None,
        min_mb_per_s: Annotated[
            float | None, Query(ge=0, allow_inf_nan=False, description="Only configs that carry as much.")
        ] = None,
        form: Annotated[Format, Query(alias="format", description="How it is written.")] = Format.JSON,
    ) -> Response:
        """Name the config to use. Poll it with `If-None-Match`: 304 as long as it is the same."""
        query = ResultQuery.of(
            study,
            "recommendation",
            record_bytes=None if record_bytes is None else str(RecordSizes.parse(record_bytes)),
            goal=goal and str(goal),
            max_p99_ms=max_p99_ms,
            min_mb_per_s=min_mb_per_s,
            form=str(form),
        )
        return await answered(request, studies, query)

    return api


async def _study_text(request: Request) -> str:
    """The study file in a request, as the reader of study files takes it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON and kind not in _YAML_TYPES:
        raise Problem(
            415, "wrong-type", f"a study file is sent as application/yaml or application/json, but got {kind[:60]!r}"
        )
    try:
        text = (await request.body()).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Problem(422, "study-file", "a study file is UTF-8 text") from None
    return await run_in_threadpool(text_of_json, text) if kind == JSON else text


async def answered(request: Request, studies: Studies, query: ResultQuery) -> Response:
    """The answer to a question about a record, or that it is still the same."""
    answer = await studies.answers.get(query)
    if answer.status != 200:
        return _response(answer)
    # Kept by nobody without asking whether it is still the same.
    headers = {"etag": answer.etag, "cache-control": "private, no-cache"}
    # Source: RFC 9110, section 13.1.2: weakly compared.
    named = [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]
    if "*" in named or answer.etag in named:
        return Response(status_code=304, headers=headers)
    return _response(answer, headers)


def _response(answer: CachedResponse, headers: dict[str, str] | None = None) -> Response:
    return Response(answer.body, answer.status, headers, answer.media_type)


def _json(body: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(json.dumps(body, ensure_ascii=False), status, headers, JSON)
