"""The parameters of the resource that predicts, and what `tuner --server URL predict` sends to it."""

import pytest

from tuner.cli.options.predict_options import PredictOptions
from tuner.prediction.changed_settings import LOAD_SETTINGS
from tuner.service.http.prediction_api import PredictionParameters


@pytest.mark.parametrize("name", LOAD_SETTINGS)
def test_each_setting_of_a_load_changes_the_question(name: str) -> None:
    value = "0.5" if name == "compressibility" else "7"
    query = PredictionParameters.model_validate({name: value}).query("overnight")
    ((changed, text),) = dict(query.parameters)["changes"]
    assert (changed, float(text)) == (name, float(value))


def test_the_resource_has_all_parameters_that_the_command_sends() -> None:
    assert PredictOptions().as_query().keys() <= PredictionParameters.model_fields.keys()
