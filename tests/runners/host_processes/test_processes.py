"""A process is identified by its id and its start, whatever happens to the clock of the host."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from runners.clusters.brokers.keeper_control import remove_dead_brokers
from runners.host_processes.clean_up import CleanUpList, clean_up_lists
from runners.host_processes.processes import ProcessIdentity, this_host


@pytest.fixture(autouse=True)
def own_state(own_places: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the records of each test in its own folder."""
    monkeypatch.setenv("KAFKA_TUNER_HOME", str(tmp_path / "home"))


@pytest.fixture
def clock_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that shows psutil what the kernel shows after the clock was set: another time of the boot."""

    def set_clock(seconds: int) -> None:
        proc = tmp_path / "proc"
        proc.mkdir()
        text = Path("/proc/stat").read_text(encoding="ascii")
        moved = re.sub(r"(?<=btime )\d+", lambda match: str(int(match[0]) + seconds), text)
        (proc / "stat").write_text(moved, encoding="ascii")
        (proc / str(os.getpid())).symlink_to(f"/proc/{os.getpid()}")
        before = psutil.Process().create_time()
        monkeypatch.setattr(psutil, "PROCFS_PATH", str(proc))
        assert psutil.Process().create_time() == pytest.approx(before + seconds)

    return set_clock


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_process_still_lives_after_the_clock_was_set(clock_set: Callable[[int], None], seconds: int) -> None:
    CleanUpList("broker", "3", ProcessIdentity.of(), {"folders": []}).save()
    clock_set(seconds)
    remove_dead_brokers()
    assert [record.state for record in clean_up_lists("broker")] == ["live"]


def test_a_reused_process_id_is_recognised_as_another_process() -> None:
    me = ProcessIdentity.of()
    assert me.process() is not None
    assert ProcessIdentity(me.pid, f"{me.started}0").process() is None


def test_a_process_that_has_ended_but_was_not_reaped_counts_as_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        identity = ProcessIdentity.of(child.pid)
        assert identity.process() is not None
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert identity.process() is None
        with pytest.raises(psutil.NoSuchProcess):
            ProcessIdentity.of(child.pid)


def test_records_of_earlier_releases_which_hold_times_are_read() -> None:
    record = CleanUpList("broker", "4", ProcessIdentity.of(), {})
    record.save()
    for started_s, state in ((psutil.Process().create_time(), "live"), (psutil.Process().create_time() - 9, "dead")):
        old = {"owner": [os.getpid(), started_s], "host": this_host(), "facts": {}}
        record.path.write_text(json.dumps(old), encoding="utf-8")
        assert [record.state for record in clean_up_lists("broker")] == [state]
