"""The prepared views of a study in MLflow, and the links that open them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.helpers.invented_studies import baseline, study, trial
from tuner.model.spec import TrackingSpec
from tuner.results.study_results import load_results
from tuner.tracking import TrackingError, TrackingLocation, links_of, sync
from tuner.tracking.description import with_section
from tuner.tracking.tags import NOTE, VIEW

if TYPE_CHECKING:
    from mlflow import MlflowClient

HERE = TrackingSpec()
ADDRESS = "http://mlflow.example:5000"


def tags(client: "MlflowClient") -> dict[str, str]:
    """Return the tags of the experiment that hold views."""
    experiment = client.get_experiment_by_name("kafka-tuner/broker:9092")
    assert experiment is not None
    return {name: text for name, text in experiment.tags.items() if name.startswith(VIEW)}


def links(folder: Path) -> dict[str, str]:
    """Return the links to the views of a study."""
    return links_of(load_results(folder), TrackingLocation.of(HERE, folder.parent), ADDRESS)


def query(link: str) -> dict[str, list[str]]:
    """Return the query of a link, which is behind the hash sign."""
    return parse_qs(urlsplit(link).fragment.partition("?")[2])


def test_each_link_names_a_view_that_the_experiment_holds(night: Path, client: "MlflowClient") -> None:
    sync(night, HERE)
    found = links(night)
    assert list(found) == [
        "night 1000 B: front",
        "night 1000 B: charts",
        "night: all trials",
        "night: confirmations",
        "Studies side by side (mb_per_s, latency_p99_ms)",
    ]
    keys = {name: query(link)["viewStateShareKey"][0] for name, link in found.items()}
    assert {VIEW + key: name for name, key in keys.items()} == {
        tag: json.loads(text)["name"] for tag, text in tags(client).items()
    }
    for link in found.values():
        assert link.startswith(f"{ADDRESS}/#/experiments/1/runs?")
        assert query(link)["workflowType"] == ["machine_learning"]


def test_a_view_finds_its_runs_and_has_the_changed_knobs(night: Path, client: "MlflowClient") -> None:
    sync(night, HERE)
    view = json.loads(tags(client)[f"{VIEW}tuner-id-of-night-front-1000"])
    state = json.loads(view["state"])
    assert numbers_of(client, state) == ["1", "2"]
    assert state["orderByKey"] == "metrics.`mb_per_s`"
    assert "params.`linger.ms`" in state["selectedColumns"]


def test_the_views_name_no_gain_of_a_trial(night: Path, client: "MlflowClient") -> None:
    sync(night, HERE)
    for view in ("front-1000", "trials"):
        columns = json.loads(json.loads(tags(client)[f"{VIEW}tuner-id-of-night-{view}"])["state"])["selectedColumns"]
        assert "metrics.`mb_per_s_x_baseline`" in columns
        assert not [column for column in columns if "_gain" in column]


def numbers_of(client: "MlflowClient", state: dict[str, Any]) -> Sequence[str]:
    """Return the numbers of the trials that a view shows."""
    return sorted(run.data.tags["tuner.trial"] for run in client.search_runs(["1"], state["searchFilter"]))


def test_views_of_users_and_unchanged_views_are_left_alone(night: Path, client: "MlflowClient") -> None:
    sync(night, HERE)
    client.set_experiment_tag("1", f"{VIEW}mine", "my own view")
    before = tags(client)
    sync(night, HERE)
    assert tags(client) == before


def test_a_view_that_a_user_changed_is_written_again(night: Path, client: "MlflowClient") -> None:
    sync(night, HERE)
    before = tags(client)
    (front,) = [tag for tag in before if "-front-" in tag]
    for text in ("no JSON", json.dumps({**json.loads(before[front]), "state": "{}"})):
        client.set_experiment_tag("1", front, text)
        sync(night, HERE)
        assert json.loads(tags(client)[front])["state"] == json.loads(before[front])["state"]


def test_a_link_has_the_filter_if_mlflow_refuses_views(
    night: Path, client: "MlflowClient", monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow.exceptions import MlflowException

    def refuse(*_: object) -> None:
        raise MlflowException("no such right")

    monkeypatch.setattr(type(client), "set_experiment_tag", refuse)
    assert sync(night, HERE).error is None
    found = query(links(night)["night 1000 B: front"])
    assert "viewStateShareKey" not in found
    assert numbers_of(client, {"searchFilter": found["searchFilter"][0]}) == ["1", "2"]
    assert found["orderByKey"] == ["metrics.`mb_per_s`"]


def test_the_error_for_a_study_that_mlflow_lacks_says_what_to_do(night: Path) -> None:
    with pytest.raises(TrackingError, match="`tuner sync night` writes it there"):
        links(night)


def test_the_experiment_describes_its_studies_and_keeps_text_of_users(night: Path, client: "MlflowClient") -> None:
    study(night.parent / "day", baseline(), trial(1, 12.0, 15.0)).close()
    for _ in range(2):
        sync(night, HERE)
        client.set_experiment_tag("1", NOTE, client.get_experiment("1").tags[NOTE] + "\nOurs.")
        sync(night.parent / "day", HERE)
    told = client.get_experiment("1").tags[NOTE]
    assert told.count("### Study night") == told.count("### Study day") == 1
    assert told.count("Ours.") == 2
    assert "`tuner recommend night` prints the configs to paste." in told
    assert told.startswith("### Study "), "MLflow's list of experiments shows the beginning as it is"


def test_the_section_of_an_earlier_release_is_replaced() -> None:
    before = "<!-- kafka-tuner 1 -->\n### Study night\nold\n<!-- end of 1 -->\n\nOurs."
    section = "### Study night <!-- kafka-tuner 1 -->\nnew\n<!-- end of 1 -->\n"
    assert with_section(before, section) == f"{section}\nOurs."


def test_a_description_has_room_for_the_newest_studies() -> None:
    def section(number: int) -> str:
        return f"<!-- kafka-tuner {number} -->\n{number} {'x' * 1_000}\n![front](x)\n<!-- end of {number} -->\n"

    told = "a note"
    for number in range(9):
        told = with_section(told, section(number))
    assert told.startswith(section(8))
    assert told.endswith("a note")
    assert told.count("![front]") == 1
    assert len(told) <= 5_000
    assert "kafka-tuner 6" in told
    assert "kafka-tuner 1" not in told
