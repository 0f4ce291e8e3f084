"""The mirror in the background: it never delays the study, and it catches up after any failure."""

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.invented_studies import baseline, confirming, plan, study, trial
from tests.helpers.mlflow_server import kill, server
from tests.helpers.ports import free_port
from tests.helpers.waiting import PATIENCE_S, eventually
from tests.tuner.tracking.looking import numbers, runs
from tuner.model.facts import CONFIRMING, IN_MLFLOW
from tuner.model.goals import Goal
from tuner.model.progress import StudyState
from tuner.model.spec import TrackingSpec
from tuner.present.export import recommendation_of
from tuner.tracking import MlflowMirror, SyncOutcome, recommend_from_tracking, sync
from tuner.tracking.connection import QUIET
from tuner.tracking.session import MirrorSession

if TYPE_CHECKING:
    from mlflow import MlflowClient

HERE = TrackingSpec()

pytestmark = pytest.mark.campaign


def ignore(_: str) -> None:
    """Ignore a warning."""


def test_trials_are_shown_while_the_study_runs(root: Path, client: "MlflowClient") -> None:
    warnings: list[str] = []
    store = study(root / "night", baseline())
    mirror = MlflowMirror(root / "night", HERE, warnings.append)
    mirror.start(store.set_fact)
    for number in (1, 2):
        store.append(trial(number, 12.0 + number))
        mirror.poke()
        eventually(lambda number=number: number in numbers(client, "attributes.status = 'FINISHED'"))  # type: ignore[misc]
    assert runs(client)["night 1000 B"].info.status == "RUNNING"
    experiment = runs(client)["night 1000 B"].info.experiment_id
    assert store.facts()[IN_MLFLOW] == {"experiment_id": experiment, "views": True}
    store.set_fact("finished_at", "2025-03-01T23:00:00+00:00")
    outcome = mirror.finish(PATIENCE_S)
    store.close()
    assert mirror.behind(3) == 0
    assert (outcome.trials_behind, outcome.error) == (0, None)
    assert outcome.runs_written == 4
    assert runs(client)["night 1000 B"].info.status == "FINISHED"
    assert not warnings


@pytest.mark.parametrize(("state", "status"), [(StudyState.FAILED, "FAILED"), (StudyState.INTERRUPTED, "KILLED")])
def test_a_study_that_ends_early_has_ended_in_mlflow_and_runs_again_when_it_is_resumed(
    root: Path, client: "MlflowClient", state: StudyState, status: str
) -> None:
    store = study(root / "night", baseline())
    mirror = MlflowMirror(root / "night", HERE, ignore)
    mirror.start()
    assert mirror.finish(PATIENCE_S, state).error is None
    assert runs(client)["night 1000 B"].info.status == status
    resumed = MlflowMirror(root / "night", HERE, ignore)
    resumed.start()
    eventually(lambda: runs(client)["night 1000 B"].info.status == "RUNNING")
    store.set_fact("finished_at", "2025-03-01T23:00:00+00:00")
    store.close()
    assert resumed.finish(PATIENCE_S).error is None
    assert runs(client)["night 1000 B"].info.status == "FINISHED"


def test_a_study_that_ends_before_its_first_trial_is_not_in_mlflow(root: Path, client: "MlflowClient") -> None:
    study(root / "night").close()
    mirror = MlflowMirror(root / "night", HERE, ignore)
    mirror.start()
    outcome = mirror.finish(PATIENCE_S, StudyState.INTERRUPTED)
    assert (outcome.runs_written, outcome.error) == (0, None)
    assert not runs(client)


def test_a_study_continues_while_the_mirror_is_stuck(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck, free = threading.Event(), threading.Event()

    def catch_up(self: MirrorSession, **_: object) -> None:
        stuck.set()
        assert free.wait(PATIENCE_S)

    monkeypatch.setattr(MirrorSession, "catch_up", catch_up)
    store = study(root / "night", baseline())
    mirror = MlflowMirror(root / "night", HERE, ignore)
    mirror.start()
    assert stuck.wait(PATIENCE_S)
    for number in (1, 2, 3):  # the mirror is stuck until all of this is done
        store.append(trial(number))
        mirror.poke()
    assert mirror.behind(4) == 4
    outcome = mirror.finish(0.05)
    free.set()
    store.close()
    assert outcome == SyncOutcome(0, 4, outcome.uri, "MLflow was not brought up to date within 0.05 s")
    eventually(lambda: not any(thread.name == "mlflow-mirror" for thread in threading.enumerate()))


def test_a_mirror_that_was_not_started_has_nothing_to_finish(root: Path) -> None:
    mirror = MlflowMirror(root / "night", HERE, ignore)
    mirror.poke()
    assert mirror.behind(1) == 0
    assert mirror.finish(PATIENCE_S).error is None
    assert not any(thread.name == "mlflow-mirror" for thread in threading.enumerate())


def test_an_unreadable_study_gives_one_warning(root: Path) -> None:
    warnings: list[str] = []
    mirror = MlflowMirror(root / "nothing", HERE, warnings.append)
    mirror.start()
    eventually(lambda: bool(warnings))
    assert len(warnings) == 1


def test_the_mirror_catches_up_with_a_server_that_comes_and_goes(
    root: Path, client: "MlflowClient", caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "tuner.tracking")
    monkeypatch.setattr("tuner.tracking.mirror._LAST_RETRY_S", 1.0)
    port = free_port()
    uri = f"http://someone:hunter2secret@127.0.0.1:{port}"
    best = trial(2, 20.0, 10.0)
    warnings: list[str] = []
    store = study(root / "night", baseline())
    mirror = MlflowMirror(root / "night", TrackingSpec(uri=uri), warnings.append)
    mirror.start()
    eventually(lambda: bool(warnings))
    store.append(trial(1, 12.0))
    mirror.poke()
    with server(root, port) as process:
        eventually(lambda: "is back" in caplog.text)
        assert numbers(client, "attributes.status = 'FINISHED'") == [0, 1]
        kill(process)
        store.append(best)
        mirror.poke()
    behind = sync(root / "night", TrackingSpec(uri=uri))
    assert behind.error is not None
    assert "hunter2secret" not in f"{behind}"
    again = list(confirming(best, 3))
    store.set_fact(CONFIRMING, {"1000": plan(again)})
    for each in again:
        store.append(each)
    with server(root, port):
        outcome = mirror.finish(PATIENCE_S)
        assert (outcome.trials_behind, outcome.error) == (0, None)
        assert recommend_from_tracking(uri, "night", "1000", Goal.BALANCED)["trial"]["number"] == 2
    store.close()

    assert len(runs(client)) == 14
    assert warnings == [
        f"MLflow at http://someone:***@127.0.0.1:{port} can't be written to (the server does not answer): no "
        "results are lost, and the study continues; if MLflow stays behind, `tuner sync night` updates it"
    ]
    assert "hunter2secret" not in caplog.text
    written = [path for path in root.rglob("*") if path.is_file()]
    assert any(path.name == "balanced.json" for path in written)
    assert not [path for path in written if b"hunter2secret" in path.read_bytes()]


def test_a_recommendation_can_be_read_from_mlflow_alone(root: Path, new_store: Callable[[str], str]) -> None:
    best = trial(1, 20.0, 10.0)
    store = study(root / "night", baseline(), best, *confirming(best, 2))
    uri = new_store("shared")
    assert sync(root / "night", TrackingSpec(uri=uri)).error is None
    store.close()
    for path in sorted((root / "night").rglob("*"), reverse=True):
        path.unlink()
    record = recommend_from_tracking(uri, "night", "1000", Goal.THROUGHPUT)
    assert record["config"]["values"] == {"linger.ms": "1"}
    assert record["confirmed"]
    assert recommendation_of(record).proven
    gain = record["gains"]["mb_per_s"]
    assert 1.9 < gain["low"] < 2.02 < gain["high"]
    json.dumps(record)


def test_importing_the_mirror_does_not_import_mlflow() -> None:
    code = (
        "import sys, tuner.tracking, tuner.cli.commands.sync, tuner.cli.commands.ui\n"
        "print([name for name in ('mlflow', 'pandas', 'sqlalchemy', 'plotly', 'optuna', 'ray') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    assert ran.stdout.strip() == "[]"


def test_nothing_is_printed(root: Path, creation_output: str, capfd: pytest.CaptureFixture[str]) -> None:
    study(root / "night", baseline()).close()
    assert sync(root / "night", HERE).error is None
    assert tuple(capfd.readouterr()) == ("", "")
    assert creation_output == ""


def test_a_mirror_that_creates_mlflow_s_file_prints_nothing(root: Path) -> None:
    (root / "mlflow.db").unlink()
    study(root / "night", baseline()).close()
    code = (
        "import sys\nfrom pathlib import Path\nfrom tuner.model.spec import TrackingSpec\n"
        "from tuner.tracking import MlflowMirror\n"
        "mirror = MlflowMirror(Path(sys.argv[1]), TrackingSpec(), print)\nmirror.start()\nmirror.finish(60)"
    )
    words = [sys.executable, "-c", code, str(root / "night")]
    fresh = {name: value for name, value in os.environ.items() if name not in QUIET}
    ran = subprocess.run(words, env=fresh, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    assert ran.stdout == ""
    assert (root / "mlflow.db").is_file()
