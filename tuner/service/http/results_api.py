"""The REST resources that show the results of studies: trials, fronts, recommendations, reports, events and others.

Predictions have a module of their own.
"""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel

from runners.workload import RecordSizes
from tuner.model.errors import ProblemKind, RequestRefused
from tuner.model.goals import Goal
from tuner.present.export import Format
from tuner.service.http import examples
from tuner.service.http.event_streams import EventStreams
from tuner.service.http.prediction_api import add_prediction
from tuner.service.http.problem_pages import prefers_html
from tuner.service.http.requests_and_responses import (
    JsonCsvOrText,
    JsonOrText,
    RecordBytes,
    Study,
    conditional_response,
    response_of,
)
from tuner.service.http.studies import NAME_PATTERN, Studies
from tuner.service.problems import Problem
from tuner.service.responses.query import ResultQuery

EVENT_ID_PATTERN: Final = r"^[0-9]{1,15}$"
"""The id of an event of a stream."""
SANDBOX: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"
)
"""The content security policy of pages that contain scripts.

Because of the sandbox, the browser does not treat these scripts as scripts of the service. So they can't call its API.
"""
MOST_STREAMS: Final = 200
"""How many event streams may be open at the same time. Each event stream keeps a connection open."""


class RecommendationParameters(BaseModel):
    """The query parameters of a request for a recommendation. Those that limit it are fields of `Conditions`, too."""

    record_bytes: RecordBytes = None
    goal: Annotated[
        Goal | None,
        Query(
            description="What the config is best for. Default: balanced if a config is proven better for it, otherwise "
            "the proven config with the greatest mean gain."
        ),
    ] = None
    max_p99_ms: Annotated[
        float | None,
        Query(
            ge=0,
            allow_inf_nan=False,
            description="Choose only among configs whose p99 latency, in milliseconds, is at most this value.",
        ),
    ] = None
    min_mb_per_s: Annotated[
        float | None,
        Query(
            ge=0,
            allow_inf_nan=False,
            description="Choose only among configs whose throughput, in MB/s, is at least this value.",
        ),
    ] = None
    allow_loss: Annotated[
        float | None,
        Query(
            ge=0,
            le=1,
            allow_inf_nan=False,
            description="The part of any objective that a balanced config may give up: 0.1 is 10 %. Default: "
            "`confirm.allow_loss` of the study.",
        ),
    ] = None

    def query(self, study: str, what: str) -> ResultQuery:
        """Return the query for this recommendation, or for something about it.

        Args:
            study: The study's name.
            what: What is asked: a key of `tuner.service.responses.responder.RESPONSES`.

        Raises:
            WorkloadRefused: `record_bytes` is no record size.
        """
        parameters = self.model_dump(mode="json", exclude={"study"})
        if self.record_bytes is not None:
            # The cache has one response for all spellings of a size.
            parameters["record_bytes"] = str(RecordSizes.parse(self.record_bytes))
        return ResultQuery.of(study, what, **parameters)


class ExplanationParameters(RecommendationParameters):
    """Which recommendation is explained, and in which form."""

    form: JsonOrText = "json"


class _StudyParameter(BaseModel):
    study: Annotated[str, Query(pattern=NAME_PATTERN, description="Name of the study.", examples=["orders"])]


# The fields of the last base come first, so the description of the API begins with the study.
class ConfigParameters(RecommendationParameters, _StudyParameter):
    """Which recommended config is returned, and in which form."""

    form: Annotated[Format, Query(alias="format", description="Format of the response.")] = Format.JSON
    everything: Annotated[
        bool, Query(alias="all", description="Whether to include properties that have the client's default value.")
    ] = False


def results_router(studies: Studies, streams: EventStreams) -> APIRouter:
    """Return the routes below `/v1` that show the results of studies.

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
            return await conditional_response(request, studies, query)
        query = ResultQuery.of(study, "trials_table", record_bytes=record_bytes, form=form)
        return await conditional_response(request, studies, query)

    @api.get("/studies/{study}/front", response_class=Response, responses={200: examples.FRONT}, tags=["results"])
    async def front(
        request: Request,
        study: Study,
        record_bytes: RecordBytes = None,
        form: JsonCsvOrText = "json",
    ) -> Response:
        """Show the Pareto front of each record size: the configs that no other config dominates."""
        return await conditional_response(
            request, studies, ResultQuery.of(study, "front", record_bytes=record_bytes, form=form)
        )

    @api.get("/studies/{study}/grid", response_class=Response, responses={200: examples.GRID}, tags=["results"])
    async def grid(
        request: Request,
        study: Study,
        record_bytes: RecordBytes = None,
        form: JsonCsvOrText = "json",
    ) -> Response:
        """Show the tables of a grid search: each metric by the values of two knobs; empty for another search."""
        return await conditional_response(
            request, studies, ResultQuery.of(study, "grid", record_bytes=record_bytes, form=form)
        )

    @api.get(
        "/studies/{study}/explanation", response_class=Response, responses={200: examples.EXPLANATION}, tags=["results"]
    )
    async def explanation(
        request: Request, study: Study, parameters: Annotated[ExplanationParameters, Query()]
    ) -> Response:
        """Explain a recommendation: what each changed property brings, and which knobs mattered in the search."""
        return await conditional_response(request, studies, parameters.query(study, "explanation"))

    add_prediction(api, studies)

    @api.get("/studies/{study}/status", response_class=Response, responses={200: examples.STATUS}, tags=["results"])
    async def status(
        study: Study,
        form: JsonOrText = "json",
    ) -> Response:
        """Show the progress of a study, as `tuner status` does."""
        shown = await studies.show(study)
        return response_of(await studies.status(study, shown["state"], form))

    @api.get("/studies/{study}/report", response_class=Response, responses={200: examples.REPORT}, tags=["results"])
    async def report(request: Request, study: Study) -> Response:
        """Show the report of a study as one HTML page, which loads nothing from the network."""
        response = await conditional_response(request, studies, ResultQuery.of(study, "report"))
        response.headers["content-security-policy"] = SANDBOX
        return response

    @api.get("/studies/{study}/events", response_class=Response, responses={200: examples.EVENTS}, tags=["results"])
    async def follow(
        study: Study,
        last_event_id: Annotated[
            str | None,
            Header(
                pattern=EVENT_ID_PATTERN,
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
                ProblemKind.TOO_MANY_STREAMS,
                f"at most {MOST_STREAMS} event streams may be open at the same time; poll the study instead",
            )
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        events = streams.follow(study, int(last_event_id or after))
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)

    @api.get("/comparison", response_class=Response, responses={200: examples.COMPARISON}, tags=["results"])
    async def comparison(
        request: Request,
        first: Annotated[str, Query(pattern=NAME_PATTERN, description="Name of a study.", examples=["before"])],
        second: Annotated[str, Query(pattern=NAME_PATTERN, description="Name of another study.", examples=["after"])],
        form: Annotated[
            Literal["json", "html", "text"], Query(alias="format", description="Format of the response.")
        ] = "json",
    ) -> Response:
        """Compare two studies: their recommended configs for each record size and goal, and their fronts."""
        if first == second:
            raise RequestRefused(f"must be another study than first, but both are {first}", "second")
        # A program stores the page as a file, in which a link to the list of studies leads nowhere.
        served = form == "html" and prefers_html(request.headers.get("accept", ""))
        query = ResultQuery.of(first, "comparison", second=second, form=form, served=served)
        headers = {"content-security-policy": SANDBOX, "vary": "accept"} if form == "html" else None
        return response_of(await studies.responses.fresh(query), headers)

    @api.get("/recommendation", response_class=Response, responses={200: examples.RECOMMENDATION}, tags=["results"])
    async def recommendation(request: Request, parameters: Annotated[ConfigParameters, Query()]) -> Response:
        """Return the recommended config.

        To poll it, send the `ETag` of the last response as `If-None-Match`. The status is 304 while the response is
        still the same.
        """
        return await conditional_response(request, studies, parameters.query(parameters.study, "recommendation"))

    return api
