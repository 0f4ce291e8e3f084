"""Two studies on one target take turns, and a killed study does not keep the other one waiting."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runners.places import state_root, target_lock

HOLD = """
import signal, sys
from pathlib import Path
from runners.places import target_lock
with target_lock("broker:9092", "nightly", Path(sys.argv[1])):
    print("held", flush=True)
    signal.pause()
"""


@contextmanager
def holder(root: Path) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(root)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_a_study_waits_for_another_and_is_told_its_name_once(tmp_path: Path) -> None:
    told: list[str] = []
    with holder(tmp_path) as other:

        def on_wait(who: str) -> None:
            told.append(who)
            other.kill()

        with target_lock("broker:9092", root=tmp_path, on_wait=on_wait):
            assert other.wait() == -signal.SIGKILL
    assert told == [f"nightly (process {other.pid})"]


def test_studies_on_different_targets_do_not_wait(tmp_path: Path) -> None:
    with holder(tmp_path), target_lock("other:9092", root=tmp_path, on_wait=pytest.fail):
        pass


def test_a_signal_ends_the_wait_and_no_lock_is_held(tmp_path: Path) -> None:
    def interrupt(_: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with (
        holder(tmp_path),
        pytest.raises(KeyboardInterrupt),
        target_lock("broker:9092", root=tmp_path, on_wait=interrupt),
    ):
        pass
    with target_lock("broker:9092", root=tmp_path, on_wait=pytest.fail):
        pass


def test_the_target_is_free_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), target_lock("broker:9092", root=tmp_path):
        raise RuntimeError
    with target_lock("broker:9092", root=tmp_path, on_wait=pytest.fail):
        pass


def test_lock_files_name_no_host_and_lie_below_our_state(own_places: None) -> None:
    with target_lock("secret.example:9092"):
        (file,) = (state_root() / "locks").iterdir()
        assert "secret" not in file.name + file.read_text()
        assert file.read_text() == f"a study (process {os.getpid()})"
