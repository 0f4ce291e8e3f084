"""The benchmark of cold starts reads its table and its goals from the results of a study."""

import shutil
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.cold_starts import Found, found_in, goals, table
from tests.helpers.repository import KEPT_STUDIES
from tuner.model.trial import CONFIRMING_KINDS
from tuner.results.study_results import StudyResults, load_results

KEPT = KEPT_STUDIES / "quickstart-35028fe"
GOOD = (
    Found("100", 230.0, 240.0, True, "at least 2 times better latency p95", 200.0),
    Found("1000", 400.0, 410.0, True, "at least 1.2 times better throughput", 400.0),
)


@pytest.fixture
def results(tmp_path: Path) -> StudyResults:
    """The quick-start study of an earlier release."""
    return load_results(shutil.copytree(KEPT, tmp_path / "quickstart"))


def test_the_rows_of_a_start_hold_what_its_study_stored(results: StudyResults) -> None:
    began = datetime.fromisoformat(results.sizes[0].trials[0].started_at) - timedelta(seconds=10)
    small, large = found_in(results, began)
    assert (small.record_bytes, large.record_bytes) == ("100", "1000")
    for each, size in zip((small, large), results.sizes, strict=True):
        assert size.baseline is not None
        assert each.first_mb_per_s == size.baseline.metrics["mb_per_s"]
        assert 0.5 < each.ratio < 2
        last = [trial for trial in size.trials if trial.kind in CONFIRMING_KINDS][-1]
        after_s = (datetime.fromisoformat(last.started_at) - began).total_seconds()
        assert each.known_s == pytest.approx(after_s + last.duration_s)
    assert small.known_s < large.known_s
    assert [row.split(" | ")[:2] for row in table(3, [small, large])] == [["| 3", "100"], ["| 3", "1000"]]


def test_two_starts_of_ten_may_have_no_proven_config_at_100_b() -> None:
    unproven = (replace(GOOD[0], proven=False), GOOD[1])
    assert all(goal.met for goal in goals([GOOD] * 8 + [unproven] * 2))
    missed = [str(goal) for goal in goals([GOOD] * 7 + [unproven] * 3) if not goal.met]
    assert missed == ["100 B: recommends a config that is proven better: 7 of 10 (goal: 80 %, **missed**)"]


@pytest.mark.parametrize(
    ("size", "changed", "missed"),
    [
        (1, {"proven": False}, "1000 B: recommends"),
        (0, {"known_s": 241.0}, "first recommendation"),
        (1, {"known_s": 421.0}, "all recommendations"),
    ],
)
def test_goals_other_than_the_first_baseline_must_be_met_by_every_start(
    size: int, changed: dict[str, object], missed: str
) -> None:
    bad = [*GOOD]
    bad[size] = replace(bad[size], **changed)  # type: ignore[arg-type]
    assert [goal.what.startswith(missed) for goal in goals([GOOD] * 9 + [bad]) if not goal.met] == [True]


def test_one_start_of_ten_may_begin_with_a_cold_baseline() -> None:
    cold = (replace(GOOD[0], first_mb_per_s=120.0), GOOD[1])
    assert all(goal.met for goal in goals([GOOD] * 9 + [cold]))
    assert not all(goal.met for goal in goals([GOOD] * 8 + [cold] * 2))


def test_a_study_that_failed_counts_as_a_miss_of_all_goals() -> None:
    assert not any(goal.met for goal in goals([[]]))
    assert "the study failed" in table(0, [])[0]
