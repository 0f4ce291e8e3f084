"""Starts a Ray of our own on this host, or connects to one that runs; as a context that leaves nothing behind.

Our own Ray is quiet, reports nothing to anybody, keeps its token in a folder of ours and its files in a temporary one.
"""

import contextlib
import hashlib
import logging
import os
import secrets
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import psutil

from runners.errors import GeneratorError
from runners.places import write_atomically
from runners.pool import whoami
from runners.ray_cluster import Code, RayCluster, packages
from runners.reporting import Say

_OBJECT_STORE_BYTES: Final = 100 * 1024 * 1024  # Ray takes no less than 75 MB
_LONGEST_FOLDER: Final = 20
_NAMESPACE: Final = "kafka-tuner"
_POLL_S: Final = 1.0
_TOKEN_FILE: Final = "ray-token"
_QUIET: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_SCHEDULER_EVENTS": "0",
    # Ray prints what it thinks of dead workers to our standard output; this is its way to leave lines out.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",
}
NOT_SHIPPED: Final = ("**/__pycache__", "*.pyc", "*.csv")
"""Of our packages: what workers have no need of."""
_SYSTEM: Final = {
    # Ray's 15 would let every other process of the host come before the load. Seen with Ray 2.60.
    "worker_niceness": 0,
    # Kills workers where memory is nearly full; on a broker's host that is page cache, and the kernel's business.
    "memory_monitor_refresh_ms": 0,
    "enable_metrics_collection": False,
}


@contextlib.contextmanager
def own_ray(home: Path, workers: int) -> Iterator[Any]:
    """A Ray on this host with room for the workers given, however many cores there are; stopped at the end.

    Ray's token authentication is on where it is Ray's default (2.59 and later).

    Args:
        home: Folder of ours; the token is kept there, readable by its owner alone.
        workers: Processes that take one `num_cpus` each.

    Yields:
        The module `ray`.

    Raises:
        GeneratorError: Ray did not start.
    """
    with tempfile.TemporaryDirectory(prefix="kt-ray-", dir=_short_folder(), ignore_cleanup_errors=True) as folder:
        options = {
            "address": "local",
            "num_cpus": workers,
            "num_gpus": 0,
            "include_dashboard": False,
            "object_store_memory": _OBJECT_STORE_BYTES,
            # Not /dev/shm, which is small in containers: next to nothing goes through the object store.
            "_plasma_directory": folder,
            "_temp_dir": folder,
            "_system_config": _SYSTEM,
        }
        try:
            with _connected({**_QUIET, "RAY_AUTH_TOKEN_PATH": str(_same_token(_token(home)))}, options) as ray:
                yield ray
        finally:
            _kill_rest(folder)


@contextlib.contextmanager
def running_ray(cluster: RayCluster, tell: Say) -> Iterator[Any]:
    """A connection to a Ray cluster that runs.

    Its token is found where Ray looks for one. Ray itself would not send it to an address that was given (2.60) unless
    RAY_AUTH_MODE says so; we do wherever there is one. What a job is measured with never stands in the runtime
    environment, which Ray logs.

    Args:
        cluster: Where it runs, and whose code its workers run.
        tell: Told when the cluster asks nobody for a token.

    Yields:
        The module `ray`.

    Raises:
        GeneratorError: No Ray answers there, or not to us.
    """
    options: dict[str, Any] = {"address": cluster.address, "namespace": _NAMESPACE}
    if cluster.code is Code.SHIP:
        options["runtime_env"] = {"py_modules": [str(folder) for folder in packages()], "excludes": list(NOT_SHIPPED)}
    token_file = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token")
    has_token = "RAY_AUTH_TOKEN" in os.environ or token_file.exists()
    mode = os.environ.get("RAY_AUTH_MODE") or ("token" if has_token else "disabled")
    # Ray says no more than that it could not connect, also where the token was refused.
    sent = "the token that was found" if mode == "token" else "no token, as none was found"
    advice = f"; it must run there and accept {sent} (RAY_AUTH_MODE, RAY_AUTH_TOKEN_PATH; docs/how-to/ray.md)"
    with _connected({**_QUIET, "RAY_AUTH_MODE": mode}, options, advice) as ray:
        if mode != "token":
            tell(
                f"the Ray cluster at {cluster.address} asks nobody for a token: whoever reaches it runs code on its "
                "nodes; start all of it with RAY_AUTH_MODE=token (docs/how-to/ray.md)"
            )
        yield ray


def hold(ray: Any, target: str, on_wait: Say) -> Any:
    """Wait until nobody else on a cluster holds a target, then hold it.

    Args:
        ray: As `running_ray` gave it.
        target: What is held; only its hash is seen by others.
        on_wait: Called once with the holder, as host/process id, where there is one.

    Returns:
        What must be kept as long as the target is held; it ends with this process, however that ends.
    """
    name = f"target-{hashlib.sha256(target.encode()).hexdigest()[:32]}"
    # On our own node: a guard on another would end with that one, and the target would be free while we use it.
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    guard = ray.remote(_Guard).options(name=name, num_cpus=0, max_restarts=0, scheduling_strategy=here)
    told = False
    while True:
        with contextlib.suppress(ValueError):  # the name is taken
            held = guard.remote(whoami())
            ray.get(held.holder.remote())
            return held
        if not told:
            with contextlib.suppress(ValueError, ray.exceptions.RayError):  # gone meanwhile
                on_wait(ray.get(ray.get_actor(name).holder.remote()))
                told = True
        time.sleep(_POLL_S)


class _Guard:
    """Holds a target on a shared cluster by being there: Ray lets one actor have a name."""

    def __init__(self, holder: str) -> None:
        self._holder = holder

    def holder(self) -> str:
        return self._holder


@contextlib.contextmanager
def _connected(variables: Mapping[str, str], options: Mapping[str, Any], advice: str = "") -> Iterator[Any]:
    with _environment(variables):
        with _own_sigterm():
            import ray  # takes seconds, and reads the environment
        try:
            with _own_sigterm():
                try:
                    ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
                except Exception as error:  # Ray raises no less, when a busy host keeps it from starting in 30 s
                    raise GeneratorError(f"Ray must be usable, but did not start or answer: {error}{advice}") from error
            yield ray
        finally:
            ray.shutdown(wait_for_processes=True)


def _kill_rest(folder: str) -> None:
    """A start that failed half-way leaves processes behind, all with our folder in their command."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if any(folder in word for word in process.cmdline()):
                process.kill()


def _short_folder() -> str:
    """Where Ray's sockets may lie: their paths may have 107 bytes (103 on macOS), and Ray itself needs 65 of them."""
    folder = tempfile.gettempdir()
    return folder if len(folder) <= _LONGEST_FOLDER else "/tmp"


_read_by_ray: list[str] = []


def _token(home: Path) -> Path:
    path = home / _TOKEN_FILE
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        # Whole or not at all: another process may be about to read it, or to write one too.
        descriptor, new = tempfile.mkstemp(dir=home)
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_hex(32))
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(new)
        finally:
            Path(new).unlink()
    return path


def _same_token(path: Path) -> Path:
    """The token file, with the token that Ray read first in this process: it never reads another."""
    token = path.read_text(encoding="ascii")
    if not _read_by_ray:
        _read_by_ray.append(token)
    elif _read_by_ray[0] != token:
        write_atomically(path, _read_by_ray[0])
    return path


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables; at the end those that Ray reads are as they were, what it set itself included."""
    before = {name: value for name, value in os.environ.items() if name.startswith("RAY_")}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in [name for name in os.environ if name.startswith("RAY_")]:
            del os.environ[name]
        os.environ.update(before)


@contextlib.contextmanager
def _own_sigterm() -> Iterator[None]:
    """Ray takes SIGTERM for itself; give it back."""
    ours = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError, TypeError):  # not the main thread, or not set from Python
            signal.signal(signal.SIGTERM, ours)
