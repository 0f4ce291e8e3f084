"""Runs `tuner` as a user does, in a separate process, and gives its exit code and output."""

import json
import os
import signal
import sys
import tempfile
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.helpers.forking import ForkingProcess

_TIMEOUT_S = 120.0
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, slots=True)
class Ended:
    """Exit code and output of a command that has ended."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """Standard error in one line, without the box around usage errors."""
        return " ".join(self.err.replace("│", " ").split())

    @property
    def json(self) -> Any:
        """Standard output, read as one JSON document."""
        return json.loads(self.out)


def arguments(*words: str) -> list[str]:
    """Return the command line of `tuner` with these arguments."""
    return [sys.executable, "-c", "from tuner.cli import main; main()", *words]


def tuner(*words: str, timeout_s: float = _TIMEOUT_S) -> Ended:
    """Run `tuner` with these arguments, and wait until it ends; kill it after `timeout_s`."""
    with tempfile.TemporaryDirectory(prefix="tuner-output-") as folder, _ONE_AT_A_TIME:
        out, err = Path(folder, "out"), Path(folder, "err")
        out.touch()
        err.touch()
        pid = _process().begin(words, str(out), str(err))
        killer = threading.Timer(timeout_s, os.kill, (pid, signal.SIGKILL))
        killer.start()
        code = _process().exit_code()
        killer.cancel()
        return Ended(code, out.read_text(), err.read_text())


@cache
def _process() -> ForkingProcess:
    """The process that all commands of this test session are copies of."""
    return ForkingProcess()
