"""A study's process can be found from its first moment on, and a host that can't start it does not count as a crash."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from runners.host_processes.processes import ProcessIdentity
from tests.helpers.command import arguments
from tests.helpers.serving import ended, serving, study_file
from tests.helpers.waiting import eventually
from tuner.model.study_files import LOG_FILE, OUTCOME_FILE, PROCESS_FILE
from tuner.service.config import ServiceConfig, load_config
from tuner.service.queue.job import JobState
from tuner.service.queue.job_queue import JobQueue, open_queue
from tuner.service.submission import submission_of
from tuner.service.worker.study_process import StudyProcess, last_sequence
from tuner.service.worker.supervisor import Supervisor

LONG = 100_000


@contextmanager
def supervised(root: Path, said: list[str]) -> Iterator[tuple[ServiceConfig, JobQueue, Supervisor]]:
    config = replace(load_config(None), root=root)
    with closing(open_queue(root)) as queue:
        supervisor = Supervisor(config, queue, None, said.append)
        supervisor.start()
        try:
            yield config, queue, supervisor
        finally:
            supervisor.stop()


def test_a_process_is_on_record_before_it_begins(tmp_path: Path) -> None:
    folder = tmp_path / "first"
    folder.mkdir()
    process = StudyProcess.start(tmp_path, "first", study_file("first", trials=LONG), None)
    try:
        found = StudyProcess.adopt(folder)
        assert found is not None
        assert (found.identity, found.attempt) == (process.identity, process.attempt)
        assert found.running
        eventually(lambda: last_sequence(folder))
    finally:
        process.kill()


def test_a_process_that_is_not_on_record_does_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "first"
    folder.mkdir()
    (folder / "submitted.yaml").write_text(study_file("first"))
    words = arguments("serve", "study", "first", "--attempt", "of-a-killed-service")
    subprocess.run(
        words, stdin=subprocess.DEVNULL, check=True, env={**os.environ, "KAFKA_TUNER_STUDIES": str(tmp_path)}
    )
    assert [file.name for file in folder.iterdir()] == ["submitted.yaml"]


def test_a_process_that_ends_at_once_makes_no_progress(tmp_path: Path) -> None:
    folder = tmp_path / "first"
    folder.mkdir()
    process = StudyProcess.start(tmp_path, "first", study_file("first", trials=LONG), None)
    try:
        eventually(lambda: last_sequence(folder))
    finally:
        process.kill()
    config = tmp_path / "service.yaml"
    config.write_text("unknown: 1\n")
    process = StudyProcess.start(tmp_path, "first", study_file("first", trials=LONG), config)
    eventually(lambda: not process.running)
    assert process.outcome is None
    assert "unknown" in (folder / LOG_FILE).read_text()
    assert process.last_sequence_before == last_sequence(folder)


def test_a_host_that_cannot_start_a_process_is_no_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.service.worker.supervisor._HOST_DELAY_S", 0.5)
    said: list[str] = []
    with supervised(tmp_path, said) as (config, queue, supervisor):
        (tmp_path / "first").write_text("a file in place of the folder, so that the process can't be started")
        submission, _ = submission_of(study_file("second", trials=LONG), config, {})
        queue.submit(replace(submission, name="first"))
        supervisor.wake()
        eventually(lambda: queue.find("first").note)
        job = queue.find("first")
        assert job.state in (JobState.QUEUED, JobState.RUNNING)
        assert "could not start the study's process" in job.note
        assert (job.crashes, supervisor.crashed) == (0, 0)
        (tmp_path / "first").unlink()
        eventually(lambda: supervisor.started == 1)
    assert any("could not start the study's process" in line for line in said)


def test_a_study_whose_files_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    said: list[str] = []
    with supervised(tmp_path, said) as (config, queue, supervisor):
        (tmp_path / "first" / PROCESS_FILE).mkdir(parents=True)
        queue.submit(replace(submission_of(study_file("second"), config, {})[0], name="first"))
        queue.submit(submission_of(study_file("second"), config, {})[0])
        supervisor.wake()
        eventually(lambda: queue.find("second").state is JobState.COMPLETE)
        note = eventually(lambda: queue.find("first").note)
        assert "the files of the study can't be read or written: [Errno 21]" in note
        assert str(tmp_path / "first" / PROCESS_FILE) in note
        assert queue.find("first").state in (JobState.QUEUED, JobState.RUNNING)
        assert queue.find("first").crashes == 0
        (tmp_path / "first" / PROCESS_FILE).rmdir()
        eventually(lambda: supervisor.started == 2)
    logged = [line for line in said if line.startswith("first: queued: the files of the study can't be")]
    assert logged
    assert logged[0].endswith("it is tried again (in 5 s)")


def test_that_files_cannot_be_read_is_logged_whenever_it_begins(tmp_path: Path) -> None:
    said: list[str] = []
    with supervised(tmp_path, said) as (config, queue, supervisor):
        queue.submit(submission_of(study_file("first", trials=LONG), config, {})[0])
        supervisor.wake()
        for time in (1, 2):
            eventually(lambda: supervisor.started == time)  # noqa: B023 - called in this turn
            (tmp_path / "first" / OUTCOME_FILE).mkdir()
            process = StudyProcess.adopt(tmp_path / "first")
            assert process is not None
            process.kill()
            eventually(lambda: sum("files of the study can't be" in line for line in said) == time)  # noqa: B023
            (tmp_path / "first" / OUTCOME_FILE).rmdir()


@pytest.mark.long
def test_descriptors_are_kept_for_the_studies(tmp_path: Path) -> None:
    with serving(tmp_path / "studies", "--no-access-log", descriptors=120) as served:
        words = [sys.executable, "-m", "benchmarks.idle_connections", str(served.port), "160"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as idle:
            assert idle.stdout is not None
            assert idle.stdout.readline() == "160 idle connections\n"
            served.client.submit(study_file("first"))
            assert ended(served, "first") == "complete"
            idle.communicate()
        assert served.client.study("first")["crashes"] == 0
        assert "ended before the study did" not in served.said()


@pytest.mark.parametrize("text", ["", "[]", "null", '{"attempt": "a1"}', '{"attempt": "a1", "code": "x", "after": []}'])
def test_damaged_notes_of_a_process_count_as_missing(tmp_path: Path, text: str) -> None:
    process = StudyProcess(tmp_path, "a1", ProcessIdentity.of(), None)
    for name in ("service-process.json", "service-outcome.json"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert process.outcome is None
    assert process.last_sequence_before == 0
    assert StudyProcess.adopt(tmp_path) is None


@pytest.mark.parametrize("form", ["now", "earlier"])
def test_a_process_that_another_service_started_is_recognised(tmp_path: Path, form: str) -> None:
    own = ProcessIdentity.of()
    now = {"attempt": "a1", "pid": os.getpid(), "started": own.started, "after": 3}
    earlier = {"attempt": "a1", "pid": os.getpid(), "started_s": psutil.Process().create_time(), "after": 3}
    told = now if form == "now" else earlier
    (tmp_path / "service-process.json").write_text(json.dumps(told), encoding="utf-8")
    adopted = StudyProcess.adopt(tmp_path)
    assert adopted is not None
    assert (adopted.running, adopted.last_sequence_before) == (True, 3)
    (tmp_path / "service-process.json").write_text(json.dumps({**told, "started": f"{own.started}0"}), encoding="utf-8")
    adopted = StudyProcess.adopt(tmp_path)
    assert adopted is not None
    assert not adopted.running
