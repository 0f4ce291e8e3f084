"""Studies can be paused, resumed and cancelled, and survive a restart or a crash of the service."""

import signal
from pathlib import Path

import pytest

from tests.helpers.serving import Serving, at_work, ended, has_ended, of_studies, serving, state_of, study_file
from tests.helpers.studies import of_kind, on_record
from tests.helpers.waiting import eventually
from tuner.model.trial import TrialKind
from tuner.results.study_results import load_results

pytestmark = pytest.mark.campaign

LONG = 100_000
"""A number of trials large enough that the study is still running when the test stops it."""


def trials_of(served: Serving, name: str) -> int:
    progress = served.client.study(name)["progress"]
    return 0 if progress is None else sum(size["done"] for size in progress["sizes"])


def begun(served: Serving, name: str) -> None:
    eventually(lambda: trials_of(served, name) > 0)


@pytest.mark.long
def test_limits_and_constraints_change_when_the_file_is_submitted_again(tmp_path: Path) -> None:
    root = tmp_path / "studies"
    with serving(root) as served:
        assert served.submit(study_file("first")).status == 201
        assert ended(served, "first") == "complete"
        before = on_record(root / "first")
        longer = served.submit(study_file("first", trials=6) + "constraints: [latency_p99_ms <= 0.001]\n")
        assert (longer.status, longer.json["state"]) == (200, "queued")
        assert ended(served, "first") == "complete"
        assert "no config of first meets every constraint" in served.client.study("first")["note"]
        after = on_record(root / "first")
        assert after[: len(before)] == before
        assert len(of_kind(after, TrialKind.BASELINE, TrialKind.SEARCH)) == 6

        served.submit(study_file("first", trials=LONG))
        eventually(lambda: state_of(served, "first") == "running")
        refused = served.submit(study_file("first", trials=7))
        assert refused.status == 409
        assert "first is running; pause the study before" in refused.json["detail"]
        served.client.cancel("first")


def test_studies_pause_resume_and_end_and_the_service_stops_gracefully(tmp_path: Path) -> None:
    root = tmp_path / "studies"
    with serving(root) as served:
        client = served.client
        client.submit(study_file("long", trials=LONG))
        client.submit(study_file("waiting", trials=LONG))
        begun(served, "long")
        assert state_of(served, "waiting") == "queued"

        assert client.pause("waiting")["state"] == "paused"
        assert client.pause("long")["state"] in ("pausing", "paused")
        assert ended(served, "long") == "paused"
        assert client.pause("long")["state"] == "paused"
        kept = len(on_record(root / "long"))
        assert kept > 0
        assert not at_work(root)

        assert client.resume("long")["state"] == "queued"
        eventually(lambda: len(on_record(root / "long")) > kept)
        assert client.cancel("waiting")["state"] == "cancelled"

        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(60) == 0
        eventually(lambda: not of_studies(root))
        assert not load_results(root / "long").finished

    kept = len(on_record(root / "long"))
    with serving(root) as served:
        eventually(lambda: len(on_record(root / "long")) > kept)
        assert ended(served, "waiting") == "cancelled"
        assert served.client.cancel("long")["state"] in ("cancelling", "cancelled")
        assert ended(served, "long") == "cancelled"


@pytest.mark.long
def test_a_study_keeps_running_while_the_service_is_dead(tmp_path: Path) -> None:
    root = tmp_path / "studies"
    with serving(root) as served:
        served.client.submit(study_file("first", trials=LONG))
        begun(served, "first")
        served.kill()
        (left,) = eventually(lambda: at_work(root))
        kept = len(on_record(root / "first"))
        eventually(lambda: len(on_record(root / "first")) > kept)
    # Leaving `serving` kills the study's process, so the next service has to start a new one.
    eventually(lambda: has_ended(left))
    with serving(root) as served:
        begun(served, "first")
        served.kill()
        (left,) = eventually(lambda: at_work(root))
        log = served.log
        before = len(log.read_text())
        with serving(root) as again:
            eventually(lambda: f"its process {left.pid} was found again" in log.read_text()[before:])
            assert left.is_running()
            assert again.client.cancel("first")["state"] in ("cancelling", "cancelled")
            assert ended(again, "first") == "cancelled"
            eventually(lambda: has_ended(left))


def test_a_study_that_cannot_run_fails_with_a_reason(tmp_path: Path) -> None:
    root = tmp_path / "studies"
    root.mkdir()
    (root / "broken").mkdir()
    (root / "broken" / "results.db").write_text("no rows are here" * 100)
    with serving(root) as served:
        served.client.submit(study_file("broken"))
        assert ended(served, "broken") == "failed"
        assert "results.db" in served.client.study("broken")["note"]
        (root / "broken" / "results.db").unlink()
        assert served.client.resume("broken")["state"] == "queued"
        assert ended(served, "broken") == "complete"
