"""Two loads on one target run one after the other, and a killed load does not keep the other waiting."""

import os
import pwd
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runners.host_processes.locks import target_lock

HOLD = """
import os, signal, sys
from runners.host_processes.locks import target_lock
if sys.argv[2]:
    os.setuid(int(sys.argv[2]))
with target_lock(sys.argv[1], "nightly"):
    print("held", flush=True)
    signal.pause()
"""


@pytest.fixture
def key() -> str:
    """Return a key that no other test uses, since the locks are those of the whole host."""
    return f"cluster {uuid.uuid4().hex}"


@contextmanager
def holder(key: str, user: str = "", **environment: str) -> Iterator["subprocess.Popen[str]"]:
    words = [sys.executable, "-c", HOLD, key, user]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def assert_waits_for(other: "subprocess.Popen[str]", key: str) -> None:
    told: list[str] = []

    def on_wait(who: str) -> None:
        told.append(who)
        other.kill()

    with target_lock(key, on_wait=on_wait):
        assert other.wait() == -signal.SIGKILL
    assert told == [f"nightly (process {other.pid})"]


def test_a_study_waits_for_another_and_prints_its_name_once(key: str) -> None:
    with holder(key) as other:
        assert_waits_for(other, key)


def test_a_study_waits_for_one_with_another_home_folder(key: str) -> None:
    with holder(key, KAFKA_TUNER_HOME="/nowhere", HOME="/nowhere", TMPDIR="/nowhere") as other:
        assert_waits_for(other, key)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a process as another user")
def test_a_study_waits_for_that_of_another_user(key: str) -> None:
    with holder(key, user=str(pwd.getpwnam("nobody").pw_uid)) as other:
        assert_waits_for(other, key)


def test_a_long_name_is_cut_and_the_process_is_still_named(key: str) -> None:
    told: list[str] = []

    def interrupt(who: str) -> None:
        told.append(who)
        raise KeyboardInterrupt

    with target_lock(key, "n" * 200), pytest.raises(KeyboardInterrupt), target_lock(key, on_wait=interrupt):
        pass
    assert told[0].startswith("nnnnnnnn")
    assert told[0].endswith(f"n (process {os.getpid()})")


def test_studies_on_different_targets_do_not_wait(key: str) -> None:
    with holder(key), target_lock(f"{key} and more", on_wait=pytest.fail):
        pass


def test_a_signal_ends_the_wait_and_no_lock_is_held(key: str) -> None:
    def interrupt(_: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with holder(key), pytest.raises(KeyboardInterrupt), target_lock(key, on_wait=interrupt):
        pass
    with target_lock(key, on_wait=pytest.fail):
        pass


def test_the_target_is_free_again_after_an_error(key: str) -> None:
    with pytest.raises(RuntimeError), target_lock(key):
        raise RuntimeError
    with target_lock(key, on_wait=pytest.fail):
        pass


def test_other_users_see_a_hash_of_the_key_only() -> None:
    with target_lock("secret.example:9092", "nightly"):
        sockets = Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace")
    assert f"nightly (process {os.getpid()})" in sockets
    assert "secret.example" not in sockets
