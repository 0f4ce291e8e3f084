"""Removing a study takes only what the service has made, and a study that can't be removed stays in the queue."""

import json
from pathlib import Path

import pytest

from tests.helpers.service_in_process import Service
from tests.helpers.serving import Response, study_file
from tests.helpers.stored_studies import write_study
from tuner.service.queue.job import JobState
from tuner.storage.folder_files import remove_files
from tuner.storage.sqlite import FolderStorage

OURS = (
    "submitted.yaml",
    "service-process.json",
    "service-outcome.json",
    "service-task.json",
    "service.log",
    "service.old.log",
)


def paused(service: Service, name: str) -> None:
    """Submit a study, and pause it before it begins."""
    kind = {"content-type": "application/yaml"}
    made = service.ask("POST", "/v1/studies", body=study_file(name).encode(), headers=kind)
    assert made.status == 201, made.text
    assert service.ask("POST", f"/v1/studies/{name}/pause").status == 200


def removed(service: Service, name: str) -> Response:
    return service.ask("POST", f"/v1/studies/{name}/remove")


@pytest.mark.parametrize("others", [(), ("dump.sql",)], ids=["only our files", "files of the operator"])
def test_only_the_files_of_the_service_are_removed_if_there_are_no_results(
    service: Service, others: tuple[str, ...]
) -> None:
    folder = service.root / "backup"

    paused(service, "backup")
    folder.mkdir()
    for name in (*OURS, *others):
        (folder / name).write_text("kept")
    assert removed(service, "backup").status == 200
    assert service.queue.names() == set()
    assert folder.exists() is bool(others)
    assert [path.name for path in folder.glob("*")] == [*others]


def test_a_folder_with_results_is_not_touched(tmp_path: Path) -> None:
    for name in ("results.db", *OURS):
        (tmp_path / name).touch()
    remove_files(tmp_path, OURS)
    assert {path.name for path in tmp_path.iterdir()} == {"results.db", *OURS}


@pytest.mark.parametrize("mark", [None, "results.db", "study.yaml", "submitted.yaml"])
def test_a_study_gets_no_folder_with_files_of_others(service: Service, mark: str | None) -> None:
    folder = service.root / "backup"
    folder.mkdir()
    kind, body = {"content-type": "application/yaml"}, study_file("backup").encode()

    (folder / "lock").mkdir()  # a process that has just begun has made only this
    accepted = service.ask("POST", "/v1/plan", body=body, headers=kind)
    assert accepted.status == 200, accepted.text
    (folder / "dump.sql").touch()
    if mark is not None:
        (folder / mark).touch()
    answer = service.ask("POST", "/v1/plan", body=body, headers=kind)
    assert answer.status == (422 if mark is None else 200), answer.text
    if mark is None:
        assert "a file or folder that is not a study has the name backup already" in answer.text


def test_a_study_that_cannot_be_removed_stays_in_the_queue(service: Service) -> None:
    paused(service, "orders")
    write_study(service.root / "orders")
    with FolderStorage().drive(service.root / "orders", "orders", print):
        refused = removed(service, "orders")
    assert refused.status == 409, refused.text
    assert service.queue.find("orders").state is JobState.PAUSED
    assert removed(service, "orders").status == 200
    assert service.queue.names() == set()
    assert not (service.root / "orders").exists()


def test_a_study_without_results_is_not_named_with_its_folder(service: Service) -> None:
    asked = {"file": "a.properties", "config": {"linger.ms": 20}, "study": "orders"}
    kind = {"content-type": "application/json"}

    paused(service, "orders")
    for path, query, body in (
        ("studies/orders/fork", b"name=next", b""),
        ("verifications", b"", json.dumps(asked).encode()),
    ):
        refused = service.ask("POST", f"/v1/{path}", query, body, kind)
        assert refused.status == 404, refused.text
        assert refused.json["detail"] == "there is no study orders, or it has no results yet"
