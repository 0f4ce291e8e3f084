"""A broker that outlives the command that started it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from runners.clusters.admin_connection import AdminConnection
from runners.clusters.brokers.persistent import persistent_status, start_persistent, stop_persistent
from runners.errors import EmbeddedBrokerError
from runners.host_processes.clean_up import CleanUpList, clean_up_lists
from runners.host_processes.processes import ProcessIdentity
from tests.helpers.waiting import eventually


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_TUNER_HOME", str(tmp_path / "state"))
    return tmp_path


def test_no_persistent_broker_runs_before_one_is_started() -> None:
    assert persistent_status() is None
    assert stop_persistent() is None


@pytest.mark.broker
def test_a_persistent_broker_outlives_its_starter_and_can_be_found_and_stopped() -> None:
    start = "from runners.clusters.brokers.persistent import start_persistent; start_persistent()"
    subprocess.run([sys.executable, "-c", start], check=True)
    running = persistent_status()
    try:
        assert running is not None
        assert len(AdminConnection({"bootstrap.servers": running.bootstrap}).metadata(10.0).brokers) == 1
        assert all(log.exists() for log in running.logs)
        with pytest.raises(EmbeddedBrokerError, match=f"{running.bootstrap} is running already"):
            start_persistent()
    finally:
        stopped = stop_persistent()
    assert stopped == running
    assert not any(psutil.pid_exists(pid) for pid in running.pids)
    assert not any(folder.exists() for folder in running.folders)
    assert persistent_status() is None


@pytest.mark.campaign
@pytest.mark.broker
def test_a_persistent_broker_stops_if_its_keeper_is_killed_and_can_be_started_again() -> None:
    first = start_persistent()
    try:
        (record,) = clean_up_lists("persistent")
        broker = ProcessIdentity.of(first.pids[0])
        os.kill(record.owner.pid, signal.SIGKILL)
        eventually(lambda: broker.process() is None)
        assert persistent_status() is None
        second = start_persistent()
        assert second.pids != first.pids
        assert not any(folder.exists() for folder in first.folders)
    finally:
        stop_persistent()
    assert persistent_status() is None


@pytest.mark.broker
def test_a_damaged_record_is_named_with_what_to_do() -> None:
    running = start_persistent()
    (record,) = clean_up_lists("persistent")
    whole = record.path.read_text()
    said = f"{record.path}, which says where the broker of `tuner broker start` runs, is damaged; "
    for damaged in ("{", json.dumps({**json.loads(whole), "facts": {}})):
        record.path.write_text(damaged)
        for asked in (persistent_status, stop_persistent, start_persistent):
            with pytest.raises(EmbeddedBrokerError, match=f"{said}.* `kill {record.owner.pid}`"):
                asked()
    record.path.write_text(whole)
    assert stop_persistent() == running
    record.path.write_text("{")
    with pytest.raises(EmbeddedBrokerError, match=f"{said}no such broker runs on this host any more, so remove"):
        persistent_status()


def test_a_record_with_a_reused_process_id_is_removed() -> None:
    me = ProcessIdentity.of()
    CleanUpList("persistent", "broker", ProcessIdentity(me.pid, f"{me.started}0"), {"folders": ["x"]}).save()
    assert persistent_status() is None
    assert stop_persistent() is None
    assert list(clean_up_lists("persistent")) == []
