"""The keeper: starts broker processes, and stops them when their owner ends, even if the owner is killed.

The owner is the process that uses the brokers, such as `tuner run`. It starts this file as a program in a new session,
so that a Ctrl-C in the owner's terminal does not reach the brokers before it reaches the owner. The program needs only
the standard library and is run with `python -I -S`. It therefore starts in milliseconds, and does not depend on the
owner's working folder or import path.

The standard input of this program is a pipe, and the owner holds the writing end. The kernel closes the pipe when the
owner ends, even by SIGKILL. At the end of file on the pipe, the keeper stops the brokers.

    keeper.py SPEC.json        SPEC: {"owned": true, "folders": ["..."], "record": "...",
                                      "brokers": [{"command": ["java", ...], "log": "..."}]}

If `owned` is false, there is no pipe and no owner: the keeper detaches itself and runs until it gets SIGTERM. In
both cases it writes one line to standard output: the process ids of the keeper and of the brokers, as JSON. Before it
ends, it removes the folders and the record, which is the file that lists what has to be cleaned up. It ends with status
0 after a request to stop, and with status 3 if all brokers have ended by themselves.
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

_ALL_BROKERS_ENDED = 3
GRACE_S = 2.0
"""Seconds that a broker may take to shut down cleanly. This is short, because its data is deleted anyway."""

_POLL_S = 0.2
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1


class _Stop(Exception):
    """Raised when this program gets a signal to stop the brokers."""


def main(spec_path: str) -> int:
    """Start the brokers that a JSON file describes, run them until they have to stop, and clean up.

    Args:
        spec_path: Path of the JSON file that the module docstring describes.

    Returns:
        The exit status.
    """
    spec = json.loads(Path(spec_path).read_text(encoding="utf-8"))
    owner = os.getppid() if spec["owned"] else None
    if owner is None and os.fork():
        os._exit(0)  # the caller waits for this process; its child is the keeper and runs on alone
    for number in _STOP_SIGNALS:
        signal.signal(number, _raise_stop)
    brokers: list[subprocess.Popen[bytes]] = []
    status = 0
    try:
        for broker in spec["brokers"]:
            brokers.append(_start(broker))
        _write_pids([os.getpid(), *(broker.pid for broker in brokers)])
        status = _watch(brokers, owner)
    except (_Stop, BrokenPipeError):
        pass
    finally:
        for number in _STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        _end(brokers)
        for folder in spec["folders"]:
            shutil.rmtree(folder, ignore_errors=True)
        Path(spec["record"]).unlink(missing_ok=True)
    return status


def _write_pids(pids: list[int]) -> None:
    """Write the process ids as one line to standard output, which is a pipe to the caller, then close that pipe."""
    os.write(sys.stdout.fileno(), f"{json.dumps(pids)}\n".encode())
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _raise_stop(_signal: int, _frame: FrameType | None) -> None:
    raise _Stop


def _start(broker: dict[str, Any]) -> subprocess.Popen[bytes]:
    with Path(broker["log"]).open("ab") as log:
        return subprocess.Popen(
            broker["command"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )


def _die_with_parent() -> None:
    """Make the kernel kill this child process when the keeper ends, even if the keeper is killed."""
    keeper = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != keeper:  # the keeper ended just before the call
        os._exit(1)


def _watch(brokers: list[subprocess.Popen[bytes]], owner: int | None) -> int:
    lifeline = [] if owner is None else [sys.stdin]
    while sum(broker.poll() is None for broker in brokers):  # not `any`: asking each one also reaps those that ended
        if select.select(lifeline, [], [], _POLL_S)[0] and not os.read(sys.stdin.fileno(), 4096):
            return 0
        # The owner may have ended although the pipe is still open: a child that it forked may hold the writing end.
        if owner is not None and os.getppid() != owner:
            return 0
    return _ALL_BROKERS_ENDED


def _end(brokers: list[subprocess.Popen[bytes]]) -> None:
    for broker in brokers:
        with contextlib.suppress(ProcessLookupError):
            broker.terminate()
    deadline = time.monotonic() + GRACE_S
    for broker in brokers:
        with contextlib.suppress(subprocess.TimeoutExpired):
            broker.wait(max(0.0, deadline - time.monotonic()))
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(broker.pid, signal.SIGKILL)
        broker.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
