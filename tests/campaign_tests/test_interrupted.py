"""Ctrl-C at `tuner run`, and errors of studies as users see them."""

import signal
import subprocess
import tempfile
from pathlib import Path

import psutil
import pytest

from runners.clusters.cluster import RunningCluster
from runners.clusters.processes import records
from tests.builders.studies import of_kind, on_record, simulated_study, state_told
from tests.campaign_tests.brokers import our_topics
from tests.campaign_tests.child import running_study, told
from tests.cli_tests.command import arguments, tuner
from tests.clusters_tests.waiting import eventually
from tuner.model.trial import Kind, StudyState, Trial
from tuner.results.study_results import load_results

STUDY = """\
study: night
{target}
workload:
  record_bytes: {size}
  partitions: 1
  saturate: {{warmup: 0.3s, measured: 1s}}
objectives: throughput
search: {{trials: {trials}}}
confirm: {{rounds: 1}}
safety: {{min_free_disk: {free}}}
executor: {{kind: local}}
"""


@pytest.fixture
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(tmp_path / "studies"))
    return tmp_path / "studies"


def study_file(folder: Path, target: str = "", *, size: int = 1000, trials: int = 4, free: str = "100MB") -> str:
    path = folder / "night.yaml"
    path.write_text(STUDY.format(target=target, size=size, trials=trials, free=free))
    return str(path)


def interrupted(
    file: str, number: signal.Signals, *, after: str, own_broker: bool
) -> tuple[int, str, list[psutil.Process]]:
    """Start a study, and send it a signal in the trial that follows a line which holds `after`.

    Returns:
        Its exit code, what it said, and the processes that it had.
    """
    command = arguments("run", file, "--no-mlflow")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        try:
            assert run.stderr is not None
            lines = []
            for line in run.stderr:
                lines.append(line)
                if after in line:
                    break
            else:
                raise AssertionError("".join(lines))
            # The next trial's load has a process of its own.
            me = psutil.Process(run.pid)
            assert eventually(lambda: any("spawn_main" in " ".join(p.cmdline()) for p in me.children(recursive=True)))
            family = me.children(recursive=True)
            javas = [process for process in family if process.name() == "java"]
            assert bool(javas) is own_broker
            run.send_signal(number)
            lines += run.stderr.readlines()
            return run.wait(), "".join(lines), family
        finally:
            run.kill()


def assert_gone(family: list[psutil.Process]) -> None:
    assert family
    assert eventually(lambda: not [process for process in family if process.is_running()]), family


@pytest.mark.broker
def test_ctrl_c_leaves_nothing_behind_and_the_same_command_goes_on(
    tmp_path: Path, studies: Path, broker: RunningCluster
) -> None:
    file = study_file(tmp_path, f"target: {{bootstrap: '{broker.bootstrap}'}}")
    topics, states = our_topics(broker), {record.path for record in records("topics")}
    code, said, family = interrupted(file, signal.SIGINT, after="B  baseline", own_broker=False)
    assert code == 130, said
    assert "interrupted: nothing is left behind; run the same command again" in said
    assert "Traceback" not in said
    assert_gone(family)
    assert our_topics(broker) == topics
    assert {record.path for record in records("topics")} == states
    before = on_record(studies / "night")
    assert before
    assert state_told(studies / "night") is StudyState.INTERRUPTED

    again = tuner("run", file, "--no-mlflow")
    assert again.code == 0, again.err
    assert f"{len(before)} trials are stored already; continuing after them" in again.err
    after = on_record(studies / "night")
    assert after[: len(before)] == before
    assert len(of_kind(after, Kind.BASELINE, Kind.SEARCH)) == 4
    assert our_topics(broker) == topics


@pytest.mark.broker
def test_a_study_with_a_broker_of_its_own_takes_it_along_when_it_is_told_to_end(tmp_path: Path, studies: Path) -> None:
    brokers = {record.path for record in records("broker")}
    code, said, family = interrupted(study_file(tmp_path), signal.SIGTERM, after="B  burn-in", own_broker=True)
    assert code == 130, said
    assert_gone(family)
    assert {record.path for record in records("broker")} == brokers
    assert on_record(studies / "night")


@pytest.mark.broker
def test_a_disk_that_must_not_fill_up_ends_a_study_with_4_and_it_can_be_gone_on_with(
    tmp_path: Path, studies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())  # named, it keeps the log of a broker of ours out of memory
    ended = tuner("run", study_file(tmp_path, trials=2, free="900TB"), "--no-mlflow")
    assert ended.code == 4, ended.err
    assert "disk" in ended.err
    (failed,) = on_record(studies / "night")
    assert failed.error
    again = tuner("run", study_file(tmp_path, trials=2), "--no-mlflow")
    assert again.code == 0, again.err
    assert load_results(studies / "night").finished


def test_a_study_that_runs_already_is_not_started_again(studies: Path) -> None:
    studies.mkdir()
    spec = simulated_study()
    with running_study(studies / "small", spec, 0.1) as child:
        facts = told(child)
        next(fact for fact in facts if "trial" in fact)
        ended = tuner("run", "--name", "small", "--record-bytes", "100", "--executor", "simulated", "--no-mlflow")
    assert ended.code == 1
    assert (
        f"error: one process at a time may run the study small, but small (process {child.pid}) does; "
        "`tuner status small`\n"
    ) in ended.err
    assert "Traceback" not in ended.err


def test_a_study_that_asks_another_question_is_not_gone_on_with(tmp_path: Path, studies: Path) -> None:
    def run(file: str) -> tuple[int, str, list[Trial]]:
        ended = tuner("run", file, "--executor", "simulated", "--no-mlflow", "--quiet")
        return ended.code, ended.err, on_record(studies / "night")

    code, _, before = run(study_file(tmp_path))
    assert code in (0, 5)
    file = study_file(tmp_path)
    Path(file).write_text(Path(file).read_text().replace("measured: 1s", "measured: 2s"))
    code, said, after = run(file)
    assert code == 2
    assert "the study night can only go on with the question it began with, but workload is" in said
    assert "give the study another name" in said
    assert after == before
    code, _, after = run(study_file(tmp_path, size=2000))
    assert code in (0, 5), "another record size is no other question"
    assert after[: len(before)] == before
    assert {trial.record_bytes for trial in after} == {"1000", "2000"}
    assert [folder.name for folder in studies.iterdir()] == ["night"]
