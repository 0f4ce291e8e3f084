"""The config and the rate of a study from which predictions begin."""

from pathlib import Path

import pytest

from tests.helpers.small_experiment import run_small
from tests.helpers.stored_studies import study
from tuner.model.facts import FINISHED_AT, RATES
from tuner.prediction.changed_settings import ChangedSettings
from tuner.prediction.prediction_source import read_source, source_of_study
from tuner.prediction.question import PredictionRequest

SIZES = ("100", "1000", "100:0.1,1100:0.9")


@pytest.mark.parametrize(
    ("asked", "taken"),
    [
        (None, "100"),
        ("100", "100"),
        ("1000", "1000"),
        ("600", "1000"),
        ("900:1,1100:1", "1000"),
        ("100:10,1100:90", "100:0.1,1100:0.9"),
        ("90:9,120:1", "100"),
    ],
)
def test_the_measured_size_with_the_nearest_mean_is_taken(asked: str | None, taken: str, tmp_path: Path) -> None:
    rates = {size: 10_000.0 * place for place, size in enumerate(SIZES, 1)}
    source = source_of_study(study(tmp_path / "sizes", record_sizes=SIZES, facts={RATES: rates}), asked)
    assert (str(source.workload.record_sizes), source.workload.rate_records_per_s) == (taken, rates[taken])


def test_predictions_of_an_unfinished_study_say_so(tmp_path: Path) -> None:
    stopped = study(tmp_path / "night", facts={FINISHED_AT: None})
    assert source_of_study(stopped, None).warnings == (
        f"{stopped.name} is not finished, so its results may still change",
    )
    assert not source_of_study(study(tmp_path / "whole"), None).warnings


ROWS = """
about: What the model describes.
load: {record_bytes: 1000, warmup: 1s, measured: 2s}
rows:
  - {row: one value, payload: one}
  - {row: changed, linger.ms: 5}
control: {row: one value}
rounds: 1
"""


def test_an_experiment_begins_with_a_row_that_the_model_describes(tmp_path: Path) -> None:
    """The control sends the same value again and again, which compresses to almost nothing."""
    source = read_source(run_small(tmp_path / "small", text=ROWS).folder)
    assert (source.config_name, source.workload.one_payload) == ("changed", False)
    request = PredictionRequest.of(source, ChangedSettings(partitions=6), source.config)
    assert list(request.predictions(source.calibrated())) == ["changed (row)", "changed"]
