"""The parameters of the resources that recommend a config and explain it."""

from inspect import signature
from pathlib import Path

import pytest

from tests.helpers.stored_studies import write_study
from tuner.cli.options.recommend_options import ExplainOptions
from tuner.client import Client
from tuner.results.recommendations.recommendation import CONDITIONS
from tuner.service.http.results_api import ConfigParameters, ExplanationParameters, RecommendationParameters
from tuner.service.responses.query import EVERY_RECOMMENDATION, ResultQuery
from tuner.service.responses.responder import Responder
from tuner.storage.locations import storage_at


def asked(**given: str) -> ResultQuery:
    return ConfigParameters.model_validate({"study": "overnight", **given}).query("overnight", "recommendation")


@pytest.mark.parametrize("given", [{}, {"record_bytes": "01000"}, {"goal": "latency"}, {"format": "java"}])
def test_what_clients_poll_is_computed_with_all_recommendations(tmp_path: Path, given: dict[str, str]) -> None:
    write_study(tmp_path / "overnight")
    every = Responder(storage_at(), tmp_path).responses(ResultQuery.of("overnight", EVERY_RECOMMENDATION))
    assert every[asked(**given)].status == 200


@pytest.mark.parametrize("model", [ConfigParameters, ExplanationParameters])
@pytest.mark.parametrize(
    ("text", "same"), [("01000", "1000"), (" 1000", "1000"), ("1000:30,100:70", "100:70,1000:30.0")]
)
def test_all_spellings_of_a_record_size_are_one_query(
    model: type[RecommendationParameters], text: str, same: str
) -> None:
    first, second = (
        model.model_validate({"study": "overnight", "record_bytes": size}).query("overnight", "anything")
        for size in (text, same)
    )
    assert first == second


def test_the_command_the_client_and_the_resources_have_all_conditions() -> None:
    assert set(CONDITIONS) <= ExplainOptions.__dataclass_fields__.keys()
    assert set(CONDITIONS) <= signature(Client.recommend).parameters.keys()
    assert set(CONDITIONS) <= RecommendationParameters.model_fields.keys()
