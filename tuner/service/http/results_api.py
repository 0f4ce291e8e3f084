"""The REST resources that show what studies have found: trials, fronts, recommendations, predictions, reports."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import StringConstraints

from runners.workload import MOST_RATE_RECORDS_PER_S, RecordSizes
from tuner.model.spec import Goal
from tuner.present.export import Format
from tuner.service.cache.query import CachedResponse, ResultQuery
from tuner.service.http import examples
from tuner.service.http.studies import NAME_PATTERN, EventStreams, Studies
from tuner.service.http.work_api import Study
from tuner.service.problems import Problem

SANDBOX: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"
)
"""The content security policy of pages that contain scripts.

Because of the sandbox, the browser does not treat these scripts as scripts of the service. So they can't call its API.
"""
MOST_STREAMS: Final = 200
"""How many event streams may be open at the same time. Each event stream keeps a connection open."""
_RECORD_BYTES: Final[Any] = Query(
    max_length=500,
    description="Record size in bytes, or a mix of sizes with their weights, such as `100:70,1000:30`.",
    examples=["1000"],
)
RecordSize = Annotated[str, _RECORD_BYTES]
RecordBytes = Annotated[str | None, _RECORD_BYTES]
AskedGoal = Annotated[
    Goal | None,
    Query(
        description="What the config is best for. Default: the first of balanced, throughput and latency for "
        "which a config is better than the baseline."
    ),
]
MaxP99Ms = Annotated[
    float | None,
    Query(
        ge=0,
        allow_inf_nan=False,
        description="Choose only among configs whose p99 latency, in milliseconds, is at most this value.",
    ),
]
MinMbPerS = Annotated[
    float | None,
    Query(
        ge=0,
        allow_inf_nan=False,
        description="Choose only among configs whose throughput, in MB/s, is at least this value.",
    ),
]
AllowLoss = Annotated[
    float | None,
    Query(
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="The part of any objective that a balanced config may give up: 0.1 is 10 %. Default: "
        "`confirm.allow_loss` of the study.",
    ),
]


def results_router(studies: Studies, streams: EventStreams) -> APIRouter:
    """Return the routes below `/v1` that show what studies have found.

    Args:
        studies: The studies of the service.
        streams: The event streams of the studies.
    """
    api = APIRouter(prefix="/v1", responses=examples.PROBLEMS)

    @api.get("/studies/{study}/trials", response_class=Response, responses={200: examples.TRIALS}, tags=["results"])
    async def trials(
        request: Request,
        study: Study,
        after: Annotated[
            int, Query(ge=0, le=2**53, description="Sequence number of the last trial that you have.")
        ] = 0,
        limit: Annotated[int, Query(ge=1, le=500, description="Largest number of trials to return.")] = 100,
        record_bytes: RecordBytes = None,
        form: Annotated[
            Literal["json", "table", "csv"],
            Query(
                alias="format",
                description="Format of the response. `json`: pages of trials. `table` (JSON) and `csv`: all trials at "
                "once, with a column for each property and each metric.",
            ),
        ] = "json",
    ) -> Response:
        """List the trials of a study in the order in which they ended.

        `metrics` and `objectives` have the values of `tuner front`: corrected for drift, and the mean of all
        measurements of the config. Later trials may change them. The values as measured are named `raw_mb_per_s` and so
        on.
        `next_after` is the value of `after` for the next page, or null on the last page. With `record_bytes`, any page
        may have fewer trials than `limit`, or none.
        """
        if form == "json":
            query = ResultQuery.of(study, "trials", after=after, limit=limit, record_bytes=record_bytes)
            return await answered(request, studies, query)
        query = ResultQuery.of(study, "trials_table", record_bytes=record_bytes, form=form)
        return await answered(request, studies, query)

    @api.get("/studies/{study}/front", response_class=Response, responses={200: examples.FRONT}, tags=["results"])
    async def front(
        request: Request,
        study: Study,
        record_bytes: RecordBytes = None,
        form: Annotated[
            Literal["json", "csv", "text"], Query(alias="format", description="Format of the response.")
        ] = "json",
    ) -> Response:
        """Show the Pareto front of each record size: the configs that no other config beats in every objective."""
        return await answered(request, studies, ResultQuery.of(study, "front", record_bytes=record_bytes, form=form))

    @api.get("/studies/{study}/grid", response_class=Response, responses={200: examples.GRID}, tags=["results"])
    async def grid(
        request: Request,
        study: Study,
        record_bytes: RecordBytes = None,
        form: Annotated[
            Literal["json", "csv", "text"], Query(alias="format", description="Format of the response.")
        ] = "json",
    ) -> Response:
        """Show the tables of a grid search: each metric by the values of two knobs; empty for another search."""
        return await answered(request, studies, ResultQuery.of(study, "grid", record_bytes=record_bytes, form=form))

    @api.get(
        "/studies/{study}/explanation", response_class=Response, responses={200: examples.EXPLANATION}, tags=["results"]
    )
    async def explanation(
        request: Request,
        study: Study,
        record_bytes: RecordBytes = None,
        goal: AskedGoal = None,
        max_p99_ms: MaxP99Ms = None,
        min_mb_per_s: MinMbPerS = None,
        allow_loss: AllowLoss = None,
        form: Annotated[Literal["json", "text"], Query(alias="format", description="Format of the response.")] = "json",
    ) -> Response:
        """Explain a recommendation: what each changed property brings, and which knobs mattered in the search."""
        query = ResultQuery.of(
            study,
            "explanation",
            record_bytes=record_bytes,
            goal=goal and str(goal),
            max_p99_ms=max_p99_ms,
            min_mb_per_s=min_mb_per_s,
            allow_loss=allow_loss,
            form=form,
        )
        return await answered(request, studies, query)

    @api.get(
        "/studies/{study}/prediction", response_class=Response, responses={200: examples.PREDICTION}, tags=["results"]
    )
    async def prediction(
        request: Request,
        study: Study,
        properties: Annotated[
            list[Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9._-]{0,100}=.{0,200}$")]] | None,
            Query(
                alias="set",
                max_length=50,
                description="Producer property to change, such as `linger.ms=20`. It may be repeated.",
            ),
        ] = None,
        record_bytes: RecordBytes = None,
        rate: Annotated[
            float | None,
            Query(
                ge=1,
                le=MOST_RATE_RECORDS_PER_S,
                allow_inf_nan=False,
                description="Records per second at which the latencies hold.",
            ),
        ] = None,
        partitions: Annotated[int | None, Query(ge=1, le=10_000, description="Partitions of the topic.")] = None,
        replication: Annotated[int | None, Query(ge=1, le=100, description="Replicas of each partition.")] = None,
        producers: Annotated[int | None, Query(ge=1, le=1_000, description="Producers that share the load.")] = None,
        compressibility: Annotated[
            float | None,
            Query(ge=0, le=0.99, allow_inf_nan=False, description="Share of each value that compression can remove."),
        ] = None,
        begin: Annotated[
            Literal["study", "defaults"],
            Query(description="The config that `set` changes: the study's, or the client's defaults."),
        ] = "study",
        sweep: Annotated[
            str | None,
            Query(
                max_length=2_000, description="A setting and its values, each of which is predicted: `linger.ms=0,5`."
            ),
        ] = None,
        disk_bytes: Annotated[
            int | None,
            Query(ge=1, le=10**18, description="Size of a broker's disk, to learn after how long it is full."),
        ] = None,
        brokers: Annotated[
            int | None, Query(ge=1, le=10_000, description="Number of brokers that share the replicas.")
        ] = None,
        retention_s: Annotated[
            float | None,
            Query(ge=1, le=10**10, allow_inf_nan=False, description="The topic's retention.ms, in seconds."),
        ] = None,
        retention_bytes: Annotated[
            int | None, Query(ge=1, le=10**18, description="The topic's retention.bytes, of each partition.")
        ] = None,
        form: Annotated[Literal["json", "text"], Query(alias="format", description="Format of the response.")] = "json",
    ) -> Response:
        """Predict what another config or load would do, from what the study has measured, without sending anything.

        Without parameters, it predicts the config that the study recommends, or the baseline if it recommends none.
        Each number has an interval, in which about 9 of 10 single measurements lie. If the study has measured nothing
        similar, there are no numbers, and `outside` says why.
        """
        load = {
            "record_bytes": record_bytes,
            "rate": rate,
            "partitions": partitions,
            "replication": replication,
            "producers": producers,
            "compressibility": compressibility,
        }
        changes = dict(each.split("=", 1) for each in properties or ())
        changes |= {name: str(value) for name, value in load.items() if value is not None}
        query = prediction_query(
            study,
            changes,
            form,
            begin=begin,
            sweep=sweep,
            disk_bytes=disk_bytes,
            brokers=brokers,
            retention_s=retention_s,
            retention_bytes=retention_bytes,
        )
        return await answered(request, studies, query)

    @api.get("/studies/{study}/status", response_class=Response, responses={200: examples.STATUS}, tags=["results"])
    async def status(
        study: Study,
        form: Annotated[Literal["json", "text"], Query(alias="format", description="Format of the response.")] = "json",
    ) -> Response:
        """Show the progress of a study, as `tuner status` does."""
        await studies.show(study)
        return _response(await studies.answers.fresh(ResultQuery.of(study, "status", form=form)))

    @api.get("/studies/{study}/report", response_class=Response, responses={200: examples.REPORT}, tags=["results"])
    async def report(request: Request, study: Study) -> Response:
        """Show the report of a study as one HTML page, which loads nothing from the network."""
        answer = await answered(request, studies, ResultQuery.of(study, "report"))
        answer.headers["content-security-policy"] = SANDBOX
        return answer

    @api.get("/studies/{study}/events", response_class=Response, responses={200: examples.EVENTS}, tags=["results"])
    async def follow(
        study: Study,
        last_event_id: Annotated[
            str | None,
            Header(
                pattern=r"^[0-9]{1,15}$",
                description="Id of the last event received. Clients send it when they reconnect.",
            ),
        ] = None,
        after: Annotated[
            int, Query(ge=0, le=2**53, description="Sequence number of the last trial that you have.")
        ] = 0,
    ) -> Response:
        """Follow a study live, as server-sent events named `status`, `trial` and `end`.

        A trial has the values that the list of trials has at that moment.
        """
        await studies.show(study)
        if streams.open >= MOST_STREAMS:
            raise Problem(
                503,
                "too-many-streams",
                f"at most {MOST_STREAMS} event streams may be open at the same time; poll the study instead",
            )
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        events = streams.follow(study, int(last_event_id or after))
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)

    @api.get("/comparison", response_class=Response, responses={200: examples.COMPARISON}, tags=["results"])
    async def comparison(
        first: Annotated[str, Query(pattern=NAME_PATTERN, description="Name of a study.", examples=["before"])],
        second: Annotated[str, Query(pattern=NAME_PATTERN, description="Name of another study.", examples=["after"])],
        form: Annotated[
            Literal["json", "html", "text"], Query(alias="format", description="Format of the response.")
        ] = "json",
    ) -> Response:
        """Compare two studies: their recommended configs for each record size and goal, and their fronts."""
        if first == second:
            raise Problem(422, "bad-request", f"second must be another study than first, but both are {first}")
        answer = await studies.answers.fresh(ResultQuery.of(first, "comparison", second=second, form=form))
        return _response(answer, {"content-security-policy": SANDBOX} if form == "html" else None)

    @api.get("/recommendation", response_class=Response, responses={200: examples.RECOMMENDATION}, tags=["results"])
    async def recommendation(
        request: Request,
        study: Annotated[str, Query(pattern=NAME_PATTERN, description="Name of the study.", examples=["orders"])],
        record_bytes: RecordBytes = None,
        goal: AskedGoal = None,
        max_p99_ms: MaxP99Ms = None,
        min_mb_per_s: MinMbPerS = None,
        allow_loss: AllowLoss = None,
        form: Annotated[Format, Query(alias="format", description="Format of the response.")] = Format.JSON,
        everything: Annotated[
            bool,
            Query(alias="all", description="Whether formats to paste also hold properties with the client's default."),
        ] = False,
    ) -> Response:
        """Return the recommended config.

        To poll it, send the `ETag` of the last response as `If-None-Match`. The status is 304 while the response is
        still the same.
        """
        query = ResultQuery.of(
            study,
            "recommendation",
            record_bytes=None if record_bytes is None else str(RecordSizes.parse(record_bytes)),
            goal=goal and str(goal),
            max_p99_ms=max_p99_ms,
            min_mb_per_s=min_mb_per_s,
            allow_loss=allow_loss,
            form=str(form),
            everything=everything or None,
        )
        return await answered(request, studies, query)

    return api


def prediction_query(study: str, changes: Mapping[str, str], form: str, **more: str | float | None) -> ResultQuery:
    """Return the query for a prediction.

    Args:
        study: The study's name.
        changes: The settings that differ from those of the study, with their values.
        form: `json`, `text`, or `page` for what the page needs.
        more: The other parameters of the operation.
    """
    return ResultQuery.of(study, "prediction", changes=tuple(sorted(changes.items())), form=form, **more)


async def answered(request: Request, studies: Studies, query: ResultQuery) -> Response:
    """Return the response to a query, or status 304 if the client has this response already."""
    answer = await studies.answers.get(query)
    if answer.status != 200:
        return _response(answer)
    # Caches may store the response, but must ask each time whether it is still valid.
    headers = {"etag": answer.etag, "cache-control": "private, no-cache"}
    # Source: RFC 9110, section 13.1.2: If-None-Match uses the weak comparison.
    named = [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]
    if "*" in named or answer.etag in named:
        return Response(status_code=304, headers=headers)
    return _response(answer, headers)


def _response(answer: CachedResponse, headers: dict[str, str] | None = None) -> Response:
    return Response(answer.body, answer.status, headers, answer.media_type)
