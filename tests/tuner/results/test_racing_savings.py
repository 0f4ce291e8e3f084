"""Every view of a study shows how much load racing has saved."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import typer
from typer.testing import CliRunner

from tests.helpers.stored_studies import study
from tests.helpers.trials import baseline, trial
from tuner.cli.commands.status import status
from tuner.model.trial import Trial, TrialKind
from tuner.present.report.page import report_page
from tuner.present.studies.status import status_of
from tuner.results.racing_savings import RacingSavings
from tuner.tracking.study_layout import size_runs

SENTENCE = "1 of 36 trials were stopped early (the baseline's not counted); this saved 16 s, 2 % of the search's load"


def with_one_stopped(each: Trial) -> Trial:
    if each.number != 3:
        return each
    return replace(each, stopped_early="after 2 of 10 s it was slow", saved_s=16.0, load_s=9.0)


def test_the_savings_are_one_sentence() -> None:
    trials = [
        baseline(0, load_s=25.0),
        trial(1, load_s=9.0, saved_s=16.0, stopped_early="it was slow"),
        trial(2, load_s=17.0, saved_s=8.0),
        trial(3, load_s=25.0),
        trial(4, load_s=25.0, kind=TrialKind.CONFIRM, round=0),
    ]
    raced = RacingSavings.of(trials)
    assert (raced.stopped, raced.searched, raced.saved_s, raced.load_s) == (1, 3, 24.0, 76.0)
    assert (
        str(raced)
        == "1 of 3 trials were stopped early (the baseline's not counted); this saved 24 s, 24 % of the search's load"
    )
    assert "saved 4 min, " in str(replace(raced, saved_s=250.0))
    assert "saved 2 h 05 min" in str(replace(raced, saved_s=7_500.0))


def test_without_savings_the_sentence_is_empty() -> None:
    assert str(RacingSavings.of([])) == ""
    assert str(RacingSavings.of([baseline(0, load_s=25.0)])) == ""


def test_the_status_shows_the_savings(studies: Path) -> None:
    found = status_of(study(studies / "overnight", change=with_one_stopped), None, datetime.now(UTC))
    assert str(found.sizes[0].raced) == SENTENCE
    assert json.loads(json.dumps(found.as_json()))["sizes"][0]["raced"]["saved_s"] == 16.0
    app = typer.Typer()
    app.command()(status)
    assert f"1000 B: {SENTENCE}" in " ".join(CliRunner().invoke(app, ["overnight"]).stdout.split())


def test_the_report_shows_the_savings(tmp_path: Path) -> None:
    page = report_page(study(tmp_path / "raced", change=with_one_stopped))
    assert SENTENCE in unescape(page)
    assert "<td>stopped early</td>" in page
    assert "were stopped early; this saved" not in report_page(study(tmp_path / "plain"))


def test_mlflow_shows_why_a_trial_was_stopped_early(tmp_path: Path) -> None:
    (runs,) = size_runs(study(tmp_path / "again", change=with_one_stopped))
    stopped, other = (runs.child(runs.size.trial(number), "parent") for number in (3, 4))
    assert stopped.tags["tuner.stopped_early"] == "after 2 of 10 s it was slow"
    assert {point.name: point.value for point in stopped.points}["saved_s"] == 16.0
    assert "tuner.stopped_early" not in other.tags
    assert "saved_s" not in {point.name for point in other.points}
