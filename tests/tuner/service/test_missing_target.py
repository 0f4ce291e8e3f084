"""A study on a cluster that the service does not have waits in a shared queue, and its status says so."""

from pathlib import Path

import pytest

from tests.helpers.service_in_process import in_process
from tuner.service.queue.job import Submission

EVERYWHERE = Submission("everywhere", "1", "study: everywhere", ("embedded", "lab-2"))


def note(root: Path, path: str) -> str:
    with in_process(root) as service:
        service.queue.submit(EVERYWHERE)
        found = service.ask("GET", path).json
        return str(found["studies"][0]["note"] if "studies" in found else found["note"])


@pytest.mark.parametrize("path", ["/v1/studies/everywhere", "/v1/studies"])
def test_a_missing_target_is_named(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("KAFKA_TUNER_STORAGE", database)
    assert "this service does not have lab-2; start a service" in note(tmp_path, path)


def test_a_service_with_its_own_queue_runs_every_study(tmp_path: Path) -> None:
    assert note(tmp_path, "/v1/studies/everywhere") == ""
