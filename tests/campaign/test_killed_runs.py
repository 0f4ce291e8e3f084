"""Killed runs of `tuner run` leave nothing behind once the study has been run to its end."""

import os
import secrets
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from runners.clusters.brokers.memory import ROOT
from runners.host_processes.folders import cache_root
from tests.campaign.invariants import RUN_VARIABLE, left_by
from tests.helpers.command import arguments
from tests.helpers.studies import on_record
from tests.helpers.waiting import eventually
from tuner.results.study_results import load_results

KILLS = {"librdkafka": 10, "java": 6}
LATEST_KILL_S = {"librdkafka": 16.0, "java": 28.0}
"""By then a run usually measures. Its broker, Ray and MLflow start before, in 5 to 12 s on 2 cores.

A Java process starts after them, and is warmed up for 4 to 12 s.
"""
SEED = 20261124
STUDY = """\
study: killed
workload:
  record_bytes: 1000
  partitions: 1
  saturate: {warmup: 0.3s, measured: 1s}
objectives: throughput
search: {trials: 1000, burn_in_max: 1, baseline_every: 4}
confirm:
  {rounds: 1, max_rounds: 1, goals: [throughput], nominees: 1, nominee_repeats: 0, undo_rounds: 0, new_broker: never}
safety: {min_free_disk: 100MB}
"""


@pytest.fixture
def temporary() -> Iterator[Path]:
    """An empty folder for temporary files, with a short path for Ray's sockets."""
    with tempfile.TemporaryDirectory(prefix="k", dir="/tmp", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.mark.alone
@pytest.mark.broker
@pytest.mark.long
@pytest.mark.parametrize("client", KILLS)
def test_killed_runs_and_a_complete_run_leave_nothing(tmp_path: Path, temporary: Path, client: str) -> None:
    study, home, run = tmp_path / "killed.yaml", tmp_path / "home", secrets.token_hex(8)
    study.write_text(f"client: {client}\n{STUDY}")
    # TEMP and not TMPDIR: with TMPDIR set, a broker keeps its partitions there and not in memory.
    environment = {name: value for name, value in os.environ.items() if name != "TMPDIR"} | {
        "TEMP": str(temporary),
        "KAFKA_TUNER_HOME": str(home),
        "KAFKA_TUNER_CACHE": str(cache_root()),
        "KAFKA_TUNER_STUDIES": str(tmp_path / "studies"),
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(cache_root() / "bytecode"),
        RUN_VARIABLE: run,
    }
    in_memory, chance = set(ROOT.iterdir()), Random(SEED)

    def started(*words: str) -> "subprocess.Popen[str]":
        command = arguments("run", str(study), *words)
        return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)

    def left() -> list[str]:
        return [*left_by(run, temporary, home), *(str(path) for path in set(ROOT.iterdir()) - in_memory)]

    seen: set[str] = set()
    for _ in range(KILLS[client]):
        with started() as killed:
            time.sleep(chance.uniform(0.0, LATEST_KILL_S[client]))
            seen |= {each.rpartition("-")[0] for each in left()}
            assert killed.poll() is None, killed.stderr and killed.stderr.read()
            killed.kill()
    with started("--trials", "4") as last:
        _, said = last.communicate()
    assert last.returncode == 0, said
    assert load_results(tmp_path / "studies" / "killed").finished
    assert on_record(tmp_path / "studies" / "killed")
    ray, brokers = "the temporary file kt-ray", "the temporary file kafka-tuner-broker"
    assert {ray, brokers} <= seen, "no kill came while Ray and a broker ran"
    assert ("the temporary file tuner-java" in seen) is (client == "java"), "no kill came while a Java client ran"
    eventually(lambda: not left())
