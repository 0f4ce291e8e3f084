"""What `tuner cost` says about parts that were not measured."""

from pathlib import Path

from tests.helpers.stored_studies import study
from tuner.present.recommendations.cost_view import cost_lines
from tuner.results.cost import Cost
from tuner.results.recommendations.recommend import recommend
from tuner.study_file.prices import Prices

PRICES = Prices(core_hour=0.04, network_gb=0.01)


def test_totals_are_compared_only_if_they_have_the_same_parts(tmp_path: Path) -> None:
    found = recommend(study(tmp_path / "overnight"), "1000")
    recommended = Cost(1.0, 1.0, None)
    same = cost_lines([(found, {"baseline": Cost(2.0, 2.0, None), "recommended": recommended})], PRICES)
    assert "the recommended config costs 0.50 times as much as the baseline" in same
    other = cost_lines([(found, {"baseline": Cost(None, 2.0, None), "recommended": recommended})], PRICES)
    assert "brokers' CPU: not measured for the baseline config, so the two totals can't be compared" in other
    assert not any("times as much as the baseline" in line for line in other)
    assert "no price given, so not counted: disk" in other


def test_the_cost_of_the_disk_names_how_long_records_are_kept(tmp_path: Path) -> None:
    found = recommend(study(tmp_path / "overnight"), "1000")
    lines = cost_lines([(found, {"baseline": Cost(None, None, 3.0)})], Prices(disk_gb_month=0.1))
    assert any(line.startswith("disk (retention_days: 7)") for line in lines), "the file does not say it"
