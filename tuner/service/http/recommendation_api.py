"""The REST resources that recommend a config and explain the recommendation, as FastAPI routes."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from runners.workload import RecordSizes
from tuner.model.goals import Goal
from tuner.present.export import Format
from tuner.service.answers.query import ResultQuery
from tuner.service.http import examples
from tuner.service.http.request_parameters import JsonOrText, RecordBytes, Study
from tuner.service.http.responses import answered
from tuner.service.http.studies import NAME_PATTERN, Studies


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
            what: What is asked: a key of `tuner.service.answers.responder.RESPONSES`.

        Raises:
            WorkloadRefused: `record_bytes` is no record size.
        """
        parameters = self.model_dump(mode="json", exclude={"study"})
        if self.record_bytes is not None:
            # The cache has one answer for all spellings of a size.
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


def add_explanation(api: APIRouter, studies: Studies) -> None:
    """Add the route for explanations of recommendations.

    Args:
        api: The router of what studies have found.
        studies: The studies of the service.
    """

    @api.get(
        "/studies/{study}/explanation", response_class=Response, responses={200: examples.EXPLANATION}, tags=["results"]
    )
    async def explanation(
        request: Request, study: Study, parameters: Annotated[ExplanationParameters, Query()]
    ) -> Response:
        """Explain a recommendation: what each changed property brings, and which knobs mattered in the search."""
        return await answered(request, studies, parameters.query(study, "explanation"))


def add_recommendation(api: APIRouter, studies: Studies) -> None:
    """Add the route for recommended configs.

    Args:
        api: The router of what studies have found.
        studies: The studies of the service.
    """

    @api.get("/recommendation", response_class=Response, responses={200: examples.RECOMMENDATION}, tags=["results"])
    async def recommendation(request: Request, parameters: Annotated[ConfigParameters, Query()]) -> Response:
        """Return the recommended config.

        To poll it, send the `ETag` of the last response as `If-None-Match`. The status is 304 while the response is
        still the same.
        """
        return await answered(request, studies, parameters.query(parameters.study, "recommendation"))
