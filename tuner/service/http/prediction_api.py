"""The REST resource that predicts what another config or load would do, as a FastAPI route."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, StringConstraints

from runners.workload import MOST_COMPRESSIBLE, MOST_PARTITIONS, MOST_PRODUCERS, MOST_RATE_RECORDS_PER_S, MOST_REPLICAS
from tuner.prediction.changed_settings import LOAD_SETTINGS
from tuner.service.http import examples
from tuner.service.http.requests_and_responses import JsonOrText, RecordBytes, Study, conditional_response
from tuner.service.http.studies import Studies
from tuner.service.problems import Problem
from tuner.service.responses.query import ResultQuery

SETTING_PATTERN: Final = r"^[a-z][a-z0-9._-]{0,100}=.{0,200}$"
"""A property and its value, as the parameter `set` takes them."""
_Setting = Annotated[str, StringConstraints(pattern=SETTING_PATTERN)]


class PredictionParameters(BaseModel):
    """The settings of a prediction that differ from those of the study, and the values to predict."""

    properties: Annotated[
        list[_Setting] | None,
        Query(
            alias="set",
            max_length=50,
            description="Producer property to change, such as `linger.ms=20`. It may be repeated for other properties.",
        ),
    ] = None
    record_bytes: RecordBytes = None
    rate: Annotated[
        float | None,
        Query(
            ge=1,
            le=MOST_RATE_RECORDS_PER_S,
            allow_inf_nan=False,
            description="Records per second, for the latency and the stored bytes.",
        ),
    ] = None
    partitions: Annotated[int | None, Query(ge=1, le=MOST_PARTITIONS, description="Partitions of the topic.")] = None
    replication: Annotated[int | None, Query(ge=1, le=MOST_REPLICAS, description="Replicas of each partition.")] = None
    producers: Annotated[int | None, Query(ge=1, le=MOST_PRODUCERS, description="Producers that share the load.")] = (
        None
    )
    compressibility: Annotated[
        float | None,
        Query(
            ge=0,
            le=MOST_COMPRESSIBLE,
            allow_inf_nan=False,
            description="Share of each value that compression can remove.",
        ),
    ] = None
    begin: Annotated[
        Literal["study", "defaults"],
        Query(description="The config that `set` changes: the study's, or the client's defaults."),
    ] = "study"
    sweep: Annotated[
        str | None,
        Query(max_length=2_000, description="A setting and its values, each of which is predicted: `linger.ms=0,5`."),
    ] = None
    disk_bytes: Annotated[
        int | None,
        Query(ge=1, le=10**18, description="Size of a broker's disk, to learn after how long it is full."),
    ] = None
    brokers: Annotated[int | None, Query(ge=1, le=10_000, description="Number of brokers that share the replicas.")] = (
        None
    )
    retention_s: Annotated[
        float | None,
        Query(ge=1, le=10**10, allow_inf_nan=False, description="The topic's retention.ms, in seconds."),
    ] = None
    retention_bytes: Annotated[
        int | None, Query(ge=1, le=10**18, description="The topic's retention.bytes, of each partition.")
    ] = None
    form: JsonOrText = "json"

    def query(self, study: str) -> ResultQuery:
        """Return the query for this prediction from a study.

        Raises:
            Problem: `set` names a setting of the load, or a property twice.
        """
        pairs = [each.split("=", 1) for each in self.properties or ()]
        changes = dict(pairs)
        if wrong := sorted(changes.keys() & set(LOAD_SETTINGS)):
            raise Problem.of_value(
                "query.set", f"must change producer properties, but got {wrong[0]}; use the parameter {wrong[0]}"
            )
        if len(changes) < len(pairs):
            names = [name for name, _ in pairs]
            repeated = next(name for name in names if names.count(name) > 1)
            raise Problem.of_value("query.set", f"must name a property only once, but got {repeated} twice")
        load = self.model_dump(include=set(LOAD_SETTINGS), exclude_none=True)
        return prediction_query(
            study,
            changes | {name: str(value) for name, value in load.items()},
            self.form,
            **self.model_dump(exclude={*LOAD_SETTINGS, "properties", "form"}),
        )


def add_prediction(api: APIRouter, studies: Studies) -> None:
    """Add the route for predictions.

    Args:
        api: The router for the results of studies.
        studies: The studies of the service.
    """

    @api.get(
        "/studies/{study}/prediction", response_class=Response, responses={200: examples.PREDICTION}, tags=["results"]
    )
    async def prediction(
        request: Request, study: Study, parameters: Annotated[PredictionParameters, Query()]
    ) -> Response:
        """Predict what another config or load would do, from what the study has measured, without sending anything.

        Without parameters, it predicts the config that the study recommends, or the baseline if it recommends none.
        Each number has an interval, in which about 9 of 10 single measurements lie. If the study has measured nothing
        similar, there are no numbers, and `outside` says why.
        """
        return await conditional_response(request, studies, parameters.query(study))


def prediction_query(study: str, changes: Mapping[str, str], form: str, **more: str | float | None) -> ResultQuery:
    """Return the query for a prediction.

    Args:
        study: The study's name.
        changes: The settings that differ from those of the study, with their values.
        form: `json`, `text`, or `page` for the content of the what-if page.
        more: The other parameters of the operation.
    """
    return ResultQuery.of(study, "prediction", changes=tuple(sorted(changes.items())), form=form, **more)
