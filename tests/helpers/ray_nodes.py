"""A Ray cluster with several nodes on this host.

Each node has its own raylet and folder and, if the kernel allows it, its own host name. Then the monotonic clock of
node b is also over an hour ahead, because each host has its own. Token authentication is on.
Nodes are started with `ray start`, as an operator would do it.
"""

import contextlib
import json
import os
import secrets
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import psutil

from runners.host_processes.folders import cache_root
from tests.helpers.ports import free_port

AHEAD_S: Final = 5_000
_CLOCK: Final = ("--time", "--monotonic", str(AHEAD_S), "--fork")
_ATTEMPTS: Final = 3
_POLL_S: Final = 0.1
_STARTED: Final = "This command will now block forever"
_QUIET: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_enable_metrics_collection": "false",
    "RAY_prestart_worker_first_driver": "0",
    "PYTHONDONTWRITEBYTECODE": "",
    "PYTHONPYCACHEPREFIX": str(cache_root() / "bytecode"),
}


class Nodes:
    """A head node without cores, on which drivers run, and nodes with cores that measure.

    Args:
        folder: Folder for all files. Its path must be short, because sockets lie in it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.token = secrets.token_hex(32)
        self.token_file = folder / "token"
        self.token_file.write_text(self.token)
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self.clocks_differ = _allows(*_CLOCK)
        self.address = f"127.0.0.1:{free_port()}"

    @property
    def environ(self) -> dict[str, str]:
        """Environment variables that a process needs to be accepted by the cluster."""
        rest = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        # A node that was killed leaves temporary files, which only its own next start would remove.
        own = {"TMPDIR": str(self.folder), "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(self.token_file)}
        return {**rest, **_QUIET, **own}

    def start(self, *names: str, environ: Mapping[str, str] | None = None) -> None:
        """Start nodes with two cores, each in the zone of its name. The first node must be `head`."""
        for name in names:
            # On a busy machine Ray gives up after 30 s, and its message says that we may try again.
            assert any(self._came_up(name, environ or {}) for _ in range(_ATTEMPTS)), self._log(name).read_text()

    def _came_up(self, name: str, environ: Mapping[str, str]) -> bool:
        place = ["--head", f"--port={self.address.rpartition(':')[2]}", "--include-dashboard=false"]
        if name != "head":
            place = [f"--address={self.address}", "--resources", json.dumps({f"zone:{name}": 1})]
        command = [
            *(str(Path(sys.executable).parent / "ray"), "start", "--block", *place),
            *("--num-cpus", "0" if name == "head" else "2", "--temp-dir", str(self.folder / name)),
            *("--dashboard-agent-listen-port=0", "--include-log-monitor=false", "--disable-usage-stats"),
            *("--object-store-memory=80000000", f"--plasma-directory={self.folder}"),
        ]
        with self._log(name).open("wb") as log:
            started = self._started[name] = subprocess.Popen(
                _named(name, command),
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**self.environ, **environ},
                cwd=self.folder,
                start_new_session=True,
            )
        # No deadline is needed here, because Ray itself gives up after a while.
        while started.poll() is None:
            if _STARTED in self._log(name).read_text():
                return True
            time.sleep(_POLL_S)
        _end(started)
        return False

    def kill_raylet(self, name: str) -> None:
        """Kill the raylet of a node, like a node that loses its power and sends no message."""
        for process in psutil.Process(self._started[name].pid).children(recursive=True):
            if process.name() == "raylet":
                process.kill()

    def revive(self, name: str) -> None:
        """Start a node again if its raylet was killed."""
        started = self._started[name]
        if started.poll() is not None or not any(
            process.name() == "raylet" for process in psutil.Process(started.pid).children(recursive=True)
        ):
            _end(started)
            self.start(name)

    def leave(self, name: str) -> None:
        """Shut down a node properly. When this returns, the cluster no longer lists the node."""
        started = self._started.pop(name)
        started.terminate()
        started.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)

    def stop(self) -> None:
        """End all nodes and all processes that they have started."""
        for process in self._started.values():
            _end(process)

    def files_with(self, *words: str) -> list[Path]:
        """Return the files of the nodes that contain one of `words`, without the token file."""
        found = []
        for path in self.folder.rglob("*"):
            if path.is_file() and not path.is_symlink() and path != self.token_file:
                content = path.read_bytes()
                if any(word.encode() in content for word in words):
                    found.append(path)
        return found

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"


@contextlib.contextmanager
def running_nodes() -> Iterator[Nodes]:
    """Run a head node and two nodes, in the zones a and b."""
    with tempfile.TemporaryDirectory(prefix="k", dir="/tmp", ignore_cleanup_errors=True) as folder:
        nodes = Nodes(Path(folder))
        try:
            nodes.start("head")
            nodes.start("a", "b")
            yield nodes
        finally:
            nodes.stop()


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _allows(*options: str) -> bool:
    """Return whether the kernel allows a process with these namespaces of its own."""
    try:
        return subprocess.run(["unshare", *options, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _named(name: str, command: list[str]) -> list[str]:
    """Return the command, run under its own host name and with its own clock if the kernel allows that."""
    if not _allows("--uts"):
        return command
    clock = _CLOCK if name == "b" and _allows(*_CLOCK) else ()
    return ["unshare", "--uts", *clock, "sh", "-c", f"hostname node-{name} && exec {shlex.join(command)}"]
