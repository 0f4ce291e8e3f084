"""Each run exists once in MLflow, however often a study is written and wherever the writing is interrupted."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.invented_studies import trial
from tests.tuner.tracking.looking import numbers, runs, synced
from tuner.model.spec import TrackingSpec
from tuner.results.study_results import load_results
from tuner.storage.sqlite import SqliteStore
from tuner.tracking import TrackingLocation, sync, tags
from tuner.tracking.connection import connect, runs_of
from tuner.tracking.mirror import CatchingUp
from tuner.tracking.run_content import MetricPoint, RunContent
from tuner.tracking.session import MirrorSession
from tuner.tracking.views import links_of
from tuner.tracking.writer import Writer

if TYPE_CHECKING:
    from mlflow import MlflowClient

HERE = TrackingSpec()


def test_a_second_sync_writes_nothing(night: Path, client: "MlflowClient") -> None:
    assert sync(night, HERE).runs_written == 4
    assert sync(night, HERE).runs_written == 0
    assert len(runs(client)) == 4


def test_a_new_trial_updates_only_its_parent_and_the_changed_front(night: Path, client: "MlflowClient") -> None:
    store = SqliteStore(night, create=False)
    work = CatchingUp(store, night, HERE, None)
    assert work.attempt(settle=False) is None
    work.written.clear()
    store.append(trial(3, 20.0, 14.0))
    assert work.attempt(settle=False) is None
    assert work.written == {f"id-of-night/1000{run}" for run in ("", "/1", "/3")}
    assert numbers(client, "tags.`tuner.pareto` = 'true'") == [2, 3]
    work.close()
    store.close()


@pytest.mark.parametrize(
    ("step", "call"),
    [
        ("log_batch", 1),
        ("log_batch", 2),
        ("set_terminated", 1),
        ("set_terminated", 2),
        ("log_artifact", 1),
        ("log_artifact", 3),
    ],
)
def test_a_sync_killed_at_any_step_is_completed_later(
    night: Path, client: "MlflowClient", monkeypatch: pytest.MonkeyPatch, step: str, call: int
) -> None:
    whole = getattr(type(client), step)
    calls = 0

    def dies(*args: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls >= call:
            raise KeyboardInterrupt
        return whole(*args, **named)

    with monkeypatch.context() as patch:
        patch.setattr(type(client), step, dies)
        with pytest.raises(KeyboardInterrupt):
            sync(night, HERE)
    assert len(synced(night, client)) == 4
    assert numbers(client, "attributes.status = 'FINISHED'") == [0, 1, 2]
    assert numbers(client, "tags.`tuner.pareto` = 'true'") == [1, 2]
    assert sync(night, HERE).runs_written == 0


def test_a_duplicate_of_a_run_is_deleted(night: Path, client: "MlflowClient") -> None:
    twin = synced(night, client)["night 1000 B trial 1"]
    tags = {name: text for name, text in twin.data.tags.items() if name.startswith("tuner.")}
    client.create_run(twin.info.experiment_id, tags=tags, run_name="night 1000 B trial 1")
    assert synced(night, client)["night 1000 B trial 1"].info.run_id == twin.info.run_id


def test_runs_that_an_earlier_release_named_get_the_new_names(night: Path, client: "MlflowClient") -> None:
    run_id = synced(night, client)["night 1000 B trial 1"].info.run_id
    client.update_run(run_id, name="trial-0001")
    assert synced(night, client)["night 1000 B trial 1"].info.run_id == run_id


def test_a_copy_of_an_earlier_form_gets_the_present_form(night: Path, client: "MlflowClient") -> None:
    found = synced(night, client)
    client.log_metric(found["night 1000 B trial 1"].info.run_id, "mb_per_s_gain", 2.45)
    client.log_param(found["night 1000 B"].info.run_id, "rate_records_per_s", "15616")
    client.delete_tag(found["night 1000 B"].info.run_id, "tuner.rate_records_per_s")
    client.update_run(found["night 1000 B"].info.run_id, status="RUNNING")
    outcome = sync(night, HERE)
    assert (outcome.runs_written, outcome.error) == (1, None)
    parent = runs(client)["night 1000 B"]
    assert (parent.info.status, parent.data.tags["tuner.rate_records_per_s"]) == ("KILLED", "20000")
    assert sync(night, HERE).runs_written == 0


def test_runs_deleted_in_mlflow_are_created_again(night: Path, client: "MlflowClient") -> None:
    sync(night, HERE)
    for name in ("night 1000 B trial 1", "night 1000 B"):
        client.delete_run(runs(client)[name].info.run_id)
    found = synced(night, client)
    assert len(found) == 4
    assert found["night 1000 B trial 2"].data.tags["mlflow.parentRunId"] == found["night 1000 B"].info.run_id


def test_a_run_deleted_during_a_session_is_created_again(night: Path, client: "MlflowClient") -> None:
    store = SqliteStore(night, create=False)
    work = CatchingUp(store, night, HERE, None)
    assert work.attempt(settle=False) is None
    client.delete_run(runs(client)["night 1000 B"].info.run_id)
    store.append(trial(3, 20.0, 14.0))
    assert work.attempt(settle=False) is not None
    assert work.attempt(settle=False) is None
    assert len(runs(client)) == 5
    work.close()
    store.close()


def test_the_error_for_a_deleted_experiment_says_how_to_restore_it(night: Path, client: "MlflowClient") -> None:
    sync(night, HERE)
    experiment = client.get_experiment_by_name("kafka-tuner/broker:9092")
    assert experiment is not None
    client.delete_experiment(experiment.experiment_id)
    error = sync(night, HERE).error
    assert error is not None
    assert f"mlflow experiments restore --experiment-id {experiment.experiment_id}" in error


def test_another_uri_or_experiment_gets_all_runs(
    night: Path, client: "MlflowClient", new_store: Callable[[str], str]
) -> None:
    sync(night, HERE)
    other = new_store("other")
    assert sync(night, TrackingSpec(uri=other)).runs_written == 4
    assert len(runs(connect(TrackingLocation(other, night)))) == 4
    assert sync(night, TrackingSpec(experiment="mine")).runs_written == 4
    assert client.get_experiment_by_name("mine") is not None


def test_a_study_that_moved_to_another_experiment_is_read_there(night: Path, client: "MlflowClient") -> None:
    def left_behind() -> list[str]:
        there = runs_of(client, [each.experiment_id for each in client.search_experiments()], "")
        names = {each.experiment_id: each.name for each in client.search_experiments()}
        return [names[run.info.experiment_id] for run in there if tags.MOVED_TO in run.data.tags]

    def linked() -> set[str]:
        links = links_of(load_results(night), TrackingLocation.of(HERE, night.parent), "http://mlflow.test").values()
        return {client.get_experiment(re.findall(r"experiments/(\d+)", link)[0]).name for link in links}

    sync(night, TrackingSpec(experiment="first"))
    sync(night, TrackingSpec(experiment="second"))
    assert (left_behind(), linked()) == (["first"], {"second"})
    sync(night, TrackingSpec(experiment="first"))
    assert (left_behind(), linked()) == (["second"], {"first"})


def test_a_copy_of_the_study_finds_the_same_runs(night: Path, root: Path, client: "MlflowClient") -> None:
    sync(night, HERE)
    shutil.copytree(night, root / "copy", ignore=shutil.ignore_patterns("mlflow*"))
    assert len(synced(root / "copy", client)) == 4


def test_two_sessions_do_not_write_at_once(night: Path) -> None:
    store = SqliteStore(night, create=False)
    session = MirrorSession(store, night, HERE, set())
    outcome = sync(night, HERE)
    assert outcome.error is not None
    assert "that process brings MLflow up to date" in outcome.error
    assert outcome.trials_behind == 3
    session.close()
    store.close()
    assert sync(night, HERE).error is None


def test_mlflow_s_limits_for_one_request_are_kept(root: Path, client: "MlflowClient") -> None:
    experiment = client.create_experiment("large", artifact_location=(root / "artifacts").as_uri())
    many = {f"name-{number}": "x" for number in range(150)}
    content = RunContent(
        key="id/1000",
        name="large",
        status="FINISHED",
        start_ms=1,
        end_ms=2,
        tags={"tuner.key": "id/1000", "tuner.study_id": "id", "tuner.kind": "study", **many},
        params=many,
        points=tuple(MetricPoint("hypervolume", 1.0, step, step) for step in range(1_200)),
    )
    Writer(client, experiment, "id", set()).write(content)
    run = runs(client)["large"]
    assert many.items() <= run.data.params.items()
    assert many.items() <= run.data.tags.items()
    assert len(client.get_metric_history(run.info.run_id, "hypervolume")) == 1_200
    again: set[str] = set()
    Writer(client, experiment, "id", again).write(content)
    assert not again


def test_runs_of_others_with_our_studys_id_are_kept(night: Path, client: "MlflowClient") -> None:
    assert sync(night, HERE).runs_written == 4
    experiment = runs(client)["night 1000 B"].info.experiment_id
    for number, key in enumerate(("", "", "my-key", "my-key", "id-of-night", "id-of-night")):
        tags = {"tuner.study_id": "id-of-night", **({"tuner.key": key} if key else {})}
        client.create_run(experiment, tags=tags, run_name=f"theirs {number}")
    assert sync(night, HERE).runs_written == 0
    assert len(runs(client)) == 10
