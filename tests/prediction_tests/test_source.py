"""The config and the rate of a study from which predictions begin."""

from pathlib import Path

import pytest

from tests.helpers.stored_studies import study
from tuner.model.facts import RATES
from tuner.prediction.source import source_of

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
    source = source_of(study(tmp_path / "sizes", record_sizes=SIZES, facts={RATES: rates}), asked)
    assert (str(source.workload.record_sizes), source.workload.rate_records_per_s) == (taken, rates[taken])
