"""Runs `tuner` as a user does, in a separate process, and gives its exit code and output."""

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

_TIMEOUT_S = 120.0


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
    """Run `tuner` with these arguments to its end."""
    ran = subprocess.run(
        arguments(*words), capture_output=True, text=True, timeout=timeout_s, stdin=subprocess.DEVNULL, check=False
    )
    return Ended(ran.returncode, ran.stdout, ran.stderr)
