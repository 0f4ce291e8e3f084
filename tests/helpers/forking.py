"""A process that has imported most of the tuner, and forks a copy of itself for each command that a test runs.

Starting Python and importing takes most of the time of a short command. The copy behaves like a new process: it has its
own exit code and output. When it ends, it waits for its threads and runs the functions that are registered for the
exit, but it leaves out the interpreter's clean-up of modules. That would copy all their memory, which takes longer than
most commands.
"""

import atexit
import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NoReturn

from tests.helpers.repository import ROOT

_PROGRAM: Final = "from tests.helpers.forking import become_each_command; become_each_command()"
_IMPORTED_FIRST: Final = (
    "tuner.cli.commands.run",
    "tuner.cli.commands.verify",
    "tuner.cli.commands.compare",
    "tuner.cli.commands.front",
    "tuner.cli.commands.grid",
    "tuner.cli.commands.status",
    "tuner.present.report.bundle",
    # Commands import these packages only when they need them.
    "optuna",
    "pandas",
    "plotly.offline",
    "scipy.optimize",
    "sklearn.ensemble",
)


class ForkingProcess:
    """The process, as seen by the tests. It ends with the process that started it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            cwd=ROOT,  # where `tests` can be imported from
            # Tests find the processes of their studies by these variables.
            env={name: value for name, value in os.environ.items() if not name.startswith("KAFKA_TUNER_")},
        )

    def begin(self, words: Sequence[str], out: str, err: str) -> int:
        """Start `tuner` with these arguments, and return its process id.

        The command runs in the current folder, and sees the environment variables as they are now.

        Args:
            words: The arguments of `tuner`.
            out: A file for its standard output.
            err: A file for its standard error.
        """
        self._write([words, out, err, str(Path.cwd()), dict(os.environ)])
        return int(self._read())

    def exit_code(self) -> int:
        """Wait until the command has ended, and return its exit code: below 0 if a signal ended it."""
        return os.waitstatus_to_exitcode(int(self._read()))

    def _write(self, request: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


def become_each_command() -> None:
    """Fork a copy for each request, and become that command in the copy. This is what the process runs."""
    for module in _IMPORTED_FIRST:
        __import__(module)
    from tuner.cli import main

    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        words, out, err, folder, environment = json.loads(line)
        pid = os.fork()
        if pid == 0:
            break
        _answer(pid)
        _answer(os.waitpid(pid, 0)[1])
    else:
        return
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for descriptor, path in ((0, os.devnull), (1, out), (2, err)):
        opened = os.open(path, os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_TRUNC)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdin = os.fdopen(0)
    sys.argv[1:] = words
    _run_to_the_end(main)


def _run_to_the_end(command: Callable[[], None]) -> NoReturn:
    """Run a command, and end the process with the command's exit code."""
    code = 0
    try:
        command()
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:  # noqa: BLE001 - shown as the interpreter shows it
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _answer(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()
