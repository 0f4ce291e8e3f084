"""The explanation of a config in the report, and among the artifacts of MLflow runs."""

from pathlib import Path

from tests.helpers.stored_studies import study, taken_apart, write_study
from tests.tuner.present.report.test_page import read
from tuner.present.report.bundle import write_artifacts
from tuner.present.report.page import report_page

LINGER = "linger.ms=2 instead of 5"


def test_the_report_has_a_table_and_a_picture_of_the_effects(tmp_path: Path) -> None:
    page = report_page(taken_apart(write_study(tmp_path / "overnight", trials=30)))
    words = " ".join(read(page).text.split())
    assert "Why these configs" in words
    assert LINGER in words
    assert "Trial 7, recommended for throughput" in words
    assert 'id="effects-0-0"' in page
    bare = report_page(study(tmp_path / "bare", trials=12))
    assert 'id="effects-0-0"' not in bare
    assert "not measured one by one" in read(bare).text


def test_the_explanation_is_among_the_artifacts(tmp_path: Path) -> None:
    results = taken_apart(write_study(tmp_path / "study", trials=30))
    write_artifacts(results, results.sizes[0], tmp_path / "out")
    page = (tmp_path / "out" / "why.md").read_text()
    assert page.startswith("# overnight: 1000 B records")
    assert LINGER in page
