"""The page of a study."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from search_spaces.client import Client, java, librdkafka
from tests.helpers.stored_studies import study
from tuner.model.progress import Progress, StudyState
from tuner.present.export import offered
from tuner.present.studies.status import status_of
from tuner.service.http.pages import list_page, study_page, submit_page


def page(
    folder: Path,
    mlflow: tuple[str | None, dict[str, str]] = (None, {}),
    ended: Progress | None = None,
    note: str = "",
    **options: Any,
) -> str:
    progress = json.loads(json.dumps(status_of(study(folder, **options), ended, datetime.now(UTC)).as_json()))
    links = {
        "trials": "/v1/studies/overnight/trials",
        "report": "/v1/studies/overnight/report",
        "front": "/v1/studies/overnight/front",
    }
    view: dict[str, Any] = {
        "name": "overnight",
        "state": "recorded",
        "note": note,
        "targets": [],
        "submitted_at": None,
        "links": links,
    }
    return study_page({**view, "progress": progress}, {}, *mlflow)


def test_a_confirmed_record_size_shows_its_recommendations(tmp_path: Path) -> None:
    shown = page(tmp_path)
    assert re.findall(r"<h3>(.+?)</h3>", shown) == ["Goal: balanced", "Goal: throughput", "Goal: latency"]
    assert "&times;</b> better throughput <span" in shown
    assert shown.count(">trial 7</p>") == 3
    assert "best so far" not in shown


@pytest.mark.parametrize("client", [librdkafka(), java("4.3.1")], ids=["librdkafka", "java"])
def test_a_recommendation_is_offered_in_each_format_of_the_client(client: Client, tmp_path: Path) -> None:
    shown = page(tmp_path, change=lambda trial: replace(trial, client=client.identity))
    assert re.findall(r'/recommendation\?[^"]*format=([a-z-]+)"', shown) == [str(form) for form in offered(client)]


def test_a_time_names_its_zone_and_tells_it_to_the_script() -> None:
    queued: dict[str, Any] = {"name": "first", "state": "queued", "note": "", "targets": [], "links": {}}
    shown = study_page({**queued, "submitted_at": "2026-03-01T20:00:00.000+00:00", "progress": None}, {}, None, {})
    assert 'submitted <time datetime="2026-03-01T20:00:00.000+00:00">2026-03-01 20:00 UTC</time>' in shown


def test_the_error_that_ended_a_study_is_shown_once(tmp_path: Path) -> None:
    ended = Progress(StudyState.FAILED, message="the disk is full <5 GB>")
    unfinished: dict[str, Any] = {"ended": ended, "facts": {"finished_at": None}}
    assert "an error ended it: the disk is full &lt;5 GB&gt;" in page(tmp_path / "recorded", **unfinished)
    queued = page(tmp_path / "queued", note="error: the disk is full <5 GB>", **unfinished)
    assert queued.count("the disk is full") == 1


def test_an_unconfirmed_record_size_shows_its_best_trials(tmp_path: Path) -> None:
    shown = page(tmp_path, rounds=0, facts={"finished_at": None})
    assert "Goal: " not in shown
    (line,) = [part for part in shown.split("<p>") if part.startswith("best so far: throughput, MB/s ")]
    assert line.count("(trial ") == 2
    assert line.count("; baseline ") == 2


def test_a_best_value_of_the_baseline_is_said_to_be_the_baseline_s(tmp_path: Path) -> None:
    found = study(tmp_path, rounds=0, facts={"finished_at": None})
    progress = json.loads(json.dumps(status_of(found, None, datetime.now(UTC)).as_json()))
    first, second = progress["sizes"][0]["best"]
    first["value"] = first["baseline"]
    view: dict[str, Any] = {"name": "overnight", "state": "recorded", "note": "", "targets": [], "submitted_at": None}
    shown = study_page({**view, "links": {}, "progress": progress}, {}, None, {})
    (line,) = [part for part in shown.split("<p>") if part.startswith("best so far: throughput, MB/s ")]
    assert line.count(" (the baseline);") == 1
    assert line.count(f"(trial {second['trial']}; baseline ") == 1


@pytest.mark.parametrize("measured_again", [False, True])
def test_a_recommendation_without_a_proven_gain_is_not_called_the_best(measured_again: bool, tmp_path: Path) -> None:
    """A config in the rounds may be recommended without a proven gain if the baseline breaks a constraint."""
    progress = json.loads(json.dumps(status_of(study(tmp_path), None, datetime.now(UTC)).as_json()))
    gains = progress["sizes"][0]["recommended"][0]["gains"] if measured_again else {}
    unproven = {"goal": "throughput", "trial": 7, "is_baseline": False, "gains": gains, "in_short": ""}
    progress["sizes"] = [{**progress["sizes"][0], "recommended": [unproven]}]
    view: dict[str, Any] = {"name": "overnight", "state": "recorded", "note": "", "targets": [], "submitted_at": None}
    shown = study_page({**view, "links": {}, "progress": progress}, {}, None, {})
    assert "<h3>Goal: throughput</h3>" in shown
    assert f">throughput: trial 7, {'gain' if measured_again else 'not confirmed against the baseline'}" in shown
    assert ">trial 7</p>" not in shown, "the sentence names it"


def test_the_list_says_how_long_a_study_takes_if_that_is_known() -> None:
    queued: dict[str, Any] = {"name": "first", "state": "queued", "targets": [], "submitted_at": None, "summary": None}
    summary = {
        "trials": 40,
        "search_trials": 24,
        "totals": {"1000": 24},
        "record_sizes": ["1000"],
        "doing": "round 2",
        "left_s": 720.0,
    }
    running = {**queued, "name": "second", "state": "running", "summary": summary}
    shown = list_page([queued, running], None, {"queued": 1, "running": 1}, None)
    assert "round 2, about 12 min left" in shown
    assert shown.count(" left") == 1
    assert '<progress max="24"></progress>' in shown, "the bar is not full while the study confirms"


def test_a_simulated_study_is_listed_as_simulated() -> None:
    summary = {"trials": 0, "target": "embedded", "simulated": True, "started_at": "2026-03-01T21:00:00+01:00"}
    recorded: dict[str, Any] = {"name": "first", "state": "recorded", "targets": [], "summary": summary}
    shown = list_page([recorded], None, {"running": 1}, None)
    assert '<td data-heading="target">simulated</td>' in shown
    begun = '<time datetime="2026-03-01T21:00:00+01:00">2026-03-01 20:00 UTC</time>'
    assert f'<td data-heading="begun" class="when">{begun}</td>' in shown, "it was not submitted"
    assert "submitted: 1 running" in shown


def test_an_experiment_in_the_list_has_no_picture_and_is_not_compared() -> None:
    summary = {"trials": 12, "record_sizes": ["100"], "experiment": None}
    recorded: dict[str, Any] = {"state": "recorded", "targets": [], "submitted_at": None}
    studies = [{**recorded, "name": name, "summary": summary} for name in ("before", "after")]
    experiment = {**recorded, "name": "measured", "summary": {**summary, "experiment": {"name": "measured"}}}
    shown = list_page([*studies, experiment], None, {}, None)
    assert [name in shown for name in ("front of before", "front of after", "front of measured")] == [True, True, False]
    assert [f"<option>{name}</option>" in shown for name in ("before", "measured")] == [True, False]


def test_an_empty_list_says_so_once() -> None:
    shown = list_page([], None, {}, None)
    assert "There are no studies yet." in shown
    assert "no study has been submitted yet" not in shown


def test_the_bar_of_the_list_leaves_out_the_confirmation() -> None:
    sizes = {"totals": {"100": 24, "1000": 24}, "record_sizes": ["100", "1000"]}
    summary = {"trials": 41, "search_trials": 24, **sizes, "doing": "100 B, round 2", "left_s": None}
    running: dict[str, Any] = {"name": "second", "state": "running", "targets": [], "submitted_at": None}
    shown = list_page([{**running, "summary": summary}], None, {"running": 1}, None)
    assert '<progress max="48" value="24"></progress>' in shown
    assert "41 measurements" in shown
    begun = {**running, "summary": {**summary, "trials": 1, "search_trials": 1}}
    assert "1 measurement<" in list_page([begun], None, {"running": 1}, None)


def test_the_form_explains_the_targets_that_are_no_clusters() -> None:
    shown = submit_page(["embedded", "simulated"], needs_token=False)
    assert "starts a Kafka broker" in shown
    assert "a model computes the numbers" in shown
    assert "a model" not in submit_page(["lab"], needs_token=False)


def test_only_studies_with_measurements_can_be_compared() -> None:
    names = (("queued", 0), ("first", 9), ("second", 7))
    known: dict[str, Any] = {"state": "complete", "targets": [], "submitted_at": None}
    studies = [{**known, "name": name, "summary": {"trials": trials} if trials else None} for name, trials in names]
    offered_names = re.findall(r"<option(?: selected)?>(\w+)<", list_page(studies, None, {}, None))
    assert offered_names == ["first", "second"] * 2


def test_only_pages_that_show_studies_reload() -> None:
    queued: dict[str, Any] = {"name": "first", "state": "queued", "targets": [], "submitted_at": None, "summary": None}
    assert '<body data-live="yes">' in list_page([queued], None, {"queued": 1}, None)
    assert '<body data-live="no">' in list_page([{**queued, "state": "complete"}], None, {"complete": 1}, None)
    assert "<body>" in submit_page(["lab"], needs_token=False), "what the user types must stay"
