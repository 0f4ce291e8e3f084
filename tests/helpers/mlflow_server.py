"""A real MLflow server, as `tuner ui` starts it."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TIMEOUT_S = 120.0
_UI = "import typer; from tuner.cli.commands.ui import ui; typer.run(ui)"


@contextmanager
def server(root: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server of the MLflow store in `root`, until the block ends or the process is killed."""
    environment = {**os.environ, "KAFKA_TUNER_STUDIES": str(root)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # with compiled modules, it starts three times as fast
    with Path(root, "server.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", _UI, "--port", str(port)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            _await(process, port)
            yield process
        finally:
            kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the server and its worker processes."""
    if process.poll() is None:
        os.killpg(process.pid, 9)
    process.wait()


def _await(process: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < until:
        assert process.poll() is None, "the server has ended"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError("the server does not answer")
