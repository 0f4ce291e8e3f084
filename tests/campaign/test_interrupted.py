"""Ctrl-C during `tuner run` and `tuner compare-clients`, and the errors of studies as users see them."""

import signal
import subprocess
import tempfile
from pathlib import Path

import psutil
import pytest

from runners.clusters.cluster import RunningCluster
from runners.host_processes.clean_up import clean_up_lists
from tests.campaign.brokers import our_topics
from tests.campaign.child import running_study, told
from tests.helpers.clients import CLIENTS, brokers_in, holders, left_by_java
from tests.helpers.command import arguments, tuner
from tests.helpers.studies import of_kind, on_record, simulated_study, state_told
from tests.helpers.waiting import eventually
from tuner.model.progress import StudyState
from tuner.model.trial import Trial, TrialKind
from tuner.results.study_results import load_results

STUDY = """\
study: night
{target}
client: {client}
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


def study_file(
    folder: Path,
    target: str = "",
    *,
    size: int = 1000,
    trials: int = 4,
    free: str = "100MB",
    client: str = "librdkafka",
) -> str:
    path = folder / "night.yaml"
    path.write_text(STUDY.format(target=target, size=size, trials=trials, free=free, client=client))
    return str(path)


def interrupted(
    *words: str, by: signal.Signals, after: str, own_broker: bool, client: str = "librdkafka"
) -> tuple[int, str, list[psutil.Process]]:
    """Run a command, and send it a signal during the trial after the first line of output that contains `after`.

    Returns:
        The exit code, the output, and the processes that the command had started.
    """
    command = arguments(*words)
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
            # The load of the next trial runs in a new process, so wait until that process exists.
            me = psutil.Process(run.pid)
            eventually(lambda: holders(client, me.children(recursive=True)))
            family = me.children(recursive=True)
            assert bool(brokers_in(family)) is own_broker
            run.send_signal(by)
            lines += run.stderr.readlines()
            return run.wait(), "".join(lines), family
        finally:
            run.kill()


def assert_gone(family: list[psutil.Process]) -> None:
    assert family
    eventually(lambda: not [process for process in family if process.is_running()])
    assert left_by_java() == []


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.parametrize("client", CLIENTS)
def test_ctrl_c_leaves_nothing_behind_and_the_same_command_resumes(
    tmp_path: Path, studies: Path, broker: RunningCluster, client: str
) -> None:
    file = study_file(tmp_path, f"target: {{bootstrap: '{broker.bootstrap}'}}", client=client)
    topics, states = our_topics(broker), {record.path for record in clean_up_lists("topics")}
    code, said, family = interrupted(
        "run", file, "--no-mlflow", by=signal.SIGINT, after="B  baseline", own_broker=False, client=client
    )
    assert code == 130, said
    assert "interrupted: no topic and no process is left behind; run the same command again" in said
    assert "Traceback" not in said
    assert_gone(family)
    assert our_topics(broker) == topics
    assert {record.path for record in clean_up_lists("topics")} == states
    before = on_record(studies / "night")
    assert before
    assert state_told(studies / "night") is StudyState.INTERRUPTED

    again = tuner("run", file, "--no-mlflow")
    assert again.code == 0, again.err
    assert f"already stored: {len(before)} trials; the study continues from there" in again.err
    after = on_record(studies / "night")
    assert after[: len(before)] == before
    assert len(of_kind(after, TrialKind.BASELINE, TrialKind.SEARCH)) == 4
    assert our_topics(broker) == topics
    assert left_by_java() == []


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.parametrize("client", CLIENTS)
def test_sigterm_also_ends_the_broker_that_the_study_started(tmp_path: Path, studies: Path, client: str) -> None:
    brokers = {record.path for record in clean_up_lists("broker")}
    file = study_file(tmp_path, client=client)
    code, said, family = interrupted(
        "run", file, "--no-mlflow", by=signal.SIGTERM, after="B  burn-in", own_broker=True, client=client
    )
    assert code == 130, said
    assert_gone(family)
    assert {record.path for record in clean_up_lists("broker")} == brokers
    assert on_record(studies / "night")


@pytest.mark.broker
@pytest.mark.long
def test_ctrl_c_while_clients_are_compared_leaves_no_topic_and_no_process(
    studies: Path, broker: RunningCluster
) -> None:
    topics = our_topics(broker)
    words = ("compare-clients", "--bootstrap", broker.bootstrap, "--seconds", "1", "--warmup", "0.3", "--rounds", "2")
    # A burn-in run of the Java client has ended then, so its process is kept while librdkafka is measured.
    code, said, family = interrupted(
        *words, by=signal.SIGINT, after="in turn, for 2 rounds", own_broker=False, client="java"
    )
    assert code == 130, said
    assert "Traceback" not in said
    assert_gone(family)
    assert our_topics(broker) == topics
    assert [study.name for study in studies.iterdir()] == ["compare-clients-1"]
    assert "what was measured is kept as compare-clients-1; the same command starts over" in said


@pytest.mark.broker
@pytest.mark.long
def test_ctrl_c_before_the_first_trial_of_a_calibration_leaves_none(studies: Path, broker: RunningCluster) -> None:
    words = ("calibrate", "--bootstrap", broker.bootstrap, "--probes", "4", "--rate", "2000")
    code, said, family = interrupted(*words, by=signal.SIGINT, after="results in", own_broker=False)
    assert code == 130, said
    assert "nothing that counts was measured yet, so calibration-1 is not kept; the same command starts over" in said
    assert_gone(family)
    assert list(studies.iterdir()) == []


@pytest.mark.long
@pytest.mark.broker
def test_a_full_disk_ends_a_study_with_exit_code_4_and_it_can_resume(
    tmp_path: Path, studies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())  # with TMPDIR set, the broker keeps its log on the disk
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
    with running_study(studies / "small", simulated_study(), 0.0, gate=studies / "never") as child:
        facts = told(child)
        next(fact for fact in facts if "trial" in fact)
        ended = tuner("run", "--name", "small", "--record-bytes", "100", "--executor", "simulated", "--no-mlflow")
    assert ended.code == 1
    assert (
        f"error: one process at a time may run the study small, but another run (process {child.pid}) does; "
        "see `tuner studies`\n"
    ) in ended.err
    assert "Traceback" not in ended.err


def test_a_study_with_changed_settings_does_not_resume(tmp_path: Path, studies: Path) -> None:
    def run(file: str) -> tuple[int, str, list[Trial]]:
        ended = tuner("run", file, "--executor", "simulated", "--no-mlflow", "--quiet")
        return ended.code, ended.err, on_record(studies / "night")

    code, _, before = run(study_file(tmp_path))
    assert code in (0, 5)
    file = study_file(tmp_path)
    Path(file).write_text(Path(file).read_text().replace("measured: 1s", "measured: 2s"))
    code, said, after = run(file)
    assert code == 2
    assert "the study night can only be resumed with the settings of its trials, but these differ:\n" in said
    assert "  workload.saturate.measured: 1s in the study, 2s now\n" in said
    assert "give the study another name" in said
    assert after == before
    code, _, after = run(study_file(tmp_path, size=2000))
    assert code in (0, 5), "a study may get other record sizes"
    assert after[: len(before)] == before
    assert {trial.record_bytes for trial in after} == {"1000", "2000"}
    assert [folder.name for folder in studies.iterdir()] == ["night"]
