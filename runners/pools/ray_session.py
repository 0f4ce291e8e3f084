"""Starts Ray on this host, or connects to an existing Ray cluster, in a context that leaves nothing behind.

The Ray that we start prints little, sends no usage statistics, keeps its token in our folder and its files in a
temporary folder.
"""

import contextlib
import hashlib
import importlib
import logging
import os
import secrets
import signal
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import psutil

from runners.errors import GeneratorError
from runners.host_processes.clean_up import temporary_folder
from runners.pools.producer_process import host_and_pid
from runners.pools.ray_cluster import Code, RayCluster, packages
from runners.reporting import Say

_OBJECT_STORE_BYTES: Final = 100 * 1024 * 1024  # Ray takes no less than 75 MB
_LONGEST_FOLDER: Final = 18
_NAMESPACE: Final = "kafka-tuner"
_POLL_S: Final = 1.0
_CONNECT_S: Final = 10.0
_RECORD_KIND: Final = "ray"
_TOKEN_FILE: Final = "ray-token"
_QUIET: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_SCHEDULER_EVENTS": "0",
    # Ray prints messages about dead workers to our standard output; this setting makes it leave out those lines.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",
}
# Source: ray/_private/services.py of 2.60: without clusters, the address of a node is 127.0.0.1, and its servers listen
# there. Otherwise they listen on all interfaces. RAY_AUTH_MODE stays unset: then Ray turns its tokens on for a new
# cluster, even if this process has imported Ray in another mode.
_LOCAL: Final = {**_QUIET, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
NOT_SHIPPED: Final = ("**/__pycache__", "*.pyc", "*.csv")
"""Files of our packages that are not sent to the workers, because they don't need them."""
_SYSTEM: Final = {
    # With Ray's default of 15, every other process of the host would come before the load. Seen with Ray 2.60.
    "worker_niceness": 0,
    # The monitor kills workers when memory is nearly full. On a broker's host most of the memory is page cache, which
    # the kernel frees when it is needed.
    "memory_monitor_refresh_ms": 0,
    "enable_metrics_collection": False,
}


@contextlib.contextmanager
def own_ray(home: Path, workers: int) -> Iterator[Any]:
    """Start Ray on this host with room for `workers` workers, and stop it at the end.

    There may be more workers than cores. Ray listens only on loopback addresses and accepts only clients that have our
    token. The caller's RAY_ variables are ignored, because they could turn off both protections.

    Args:
        home: Our folder for the token file, which only its owner can read.
        workers: Number of worker processes, each of which takes 1 of Ray's `num_cpus`.

    Yields:
        The module `ray`.

    Raises:
        GeneratorError: Ray did not start.
    """
    with temporary_folder(_RECORD_KIND, "kt-ray-", _short_folder()) as place:
        # Ray lets every user write to its folder. So its folder lies inside ours, which only we may enter.
        inner = place / "r"
        inner.mkdir()
        folder = str(inner)
        options = {
            "address": "local",
            "num_cpus": workers,
            "num_gpus": 0,
            "include_dashboard": False,
            "object_store_memory": _OBJECT_STORE_BYTES,
            # Not /dev/shm, which is small in containers. The object store is hardly used, so a slower disk is enough.
            "_plasma_directory": folder,
            "_temp_dir": folder,
            "_system_config": _SYSTEM,
        }
        try:
            with _no_ray_variables(), _connected({**_LOCAL, "RAY_AUTH_TOKEN_PATH": str(_token(home))}, options) as ray:
                yield ray
        finally:
            _kill_rest(folder)


@contextlib.contextmanager
def running_ray(cluster: RayCluster, tell: Say) -> Iterator[Any]:
    """Connect to an existing Ray cluster.

    The token is read from the places where Ray itself looks for a token. If RAY_AUTH_MODE is not set, Ray 2.60 does not
    send the token to an address that was given explicitly. So we set RAY_AUTH_MODE whenever there is a token. Ray logs
    its runtime environment, so we put nothing about a job into the runtime environment.

    Args:
        cluster: The cluster's address, and which copy of our code its workers run.
        tell: Called with a warning if the cluster is used without a token.

    Yields:
        The module `ray`.

    Raises:
        GeneratorError: No Ray answers at the address, or it refuses the token.
    """
    options: dict[str, Any] = {"address": cluster.address, "namespace": _NAMESPACE}
    if cluster.code is Code.SHIP:
        options["runtime_env"] = {"py_modules": [str(folder) for folder in packages()], "excludes": list(NOT_SHIPPED)}
    token_file = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token")
    has_token = "RAY_AUTH_TOKEN" in os.environ or token_file.exists()
    mode = os.environ.get("RAY_AUTH_MODE") or ("token" if has_token else "disabled")
    # Ray only says that it could not connect, even if the token was refused.
    sent = "the token that was found here" if mode == "token" else "clients without a token, as none was found here"
    where = "RAY_AUTH_MODE, RAY_AUTH_TOKEN_PATH; docs/how-to/ray.md"
    advice = f"; check that Ray runs at this address and accepts {sent} ({where})"
    _check_answers(cluster.address)
    with _connected({**_QUIET, "RAY_AUTH_MODE": mode}, options, advice) as ray:
        if mode != "token":
            tell(
                f"the Ray cluster at {cluster.address} is used without a token: anybody who can reach it can run code "
                "on its nodes; start all its nodes with RAY_AUTH_MODE=token (docs/how-to/ray.md)"
            )
        yield ray


def _check_answers(address: str) -> None:
    """Check that something accepts connections at the address of a Ray cluster.

    Ray 2.60 itself tries for a quarter of an hour, and prints only its own log meanwhile.

    Raises:
        GeneratorError: Nothing accepts connections there.
    """
    host, colon, port = address.rpartition(":")
    if not colon:  # such as `auto`: Ray finds the address itself
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except (OSError, ValueError, OverflowError) as error:
        raise GeneratorError(
            f"no Ray answers at {address}: {error}; check the address, which is host:port, and that Ray runs there "
            "(docs/how-to/ray.md)"
        ) from error


def hold(ray: Any, target: str, on_wait: Say) -> Any:
    """Reserve a Kafka cluster for this process, as soon as no other pool on the Ray cluster uses it.

    Args:
        ray: The module `ray`, as `running_ray` yields it.
        target: Name of the Kafka cluster. Other users of the Ray cluster see only a hash of the name.
        on_wait: Called once if another pool has reserved the Kafka cluster, with its process as host/process id.

    Returns:
        A handle, which must be kept as long as the reservation is needed. The reservation ends with this process,
        however the process ends.
    """
    name = f"target-{hashlib.sha256(target.encode()).hexdigest()[:32]}"
    # The guard must be on our own node. On another node it would end with that node, while we still use the target.
    on_our_node = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    guard = ray.remote(_Guard).options(name=name, num_cpus=0, max_restarts=0, scheduling_strategy=on_our_node)
    waited = False
    while True:
        with contextlib.suppress(ValueError):  # the name is taken
            held = guard.remote(host_and_pid())
            ray.get(held.holder.remote())
            return held
        if not waited:
            with contextlib.suppress(ValueError, ray.exceptions.RayError):  # the holder has ended meanwhile
                on_wait(ray.get(ray.get_actor(name).holder.remote()))
                waited = True
        time.sleep(_POLL_S)


class _Guard:
    """A Ray actor that reserves a Kafka cluster while the actor lives. Ray allows only one actor with the same name."""

    def __init__(self, holder: str) -> None:
        self._holder = holder

    def holder(self) -> str:
        return self._holder


@contextlib.contextmanager
def _connected(variables: Mapping[str, str], options: Mapping[str, Any], advice: str = "") -> Iterator[Any]:
    with _environment(variables):
        with _own_sigterm():
            import ray  # takes seconds, and reads the environment
        _read_environment_again()
        try:
            with _own_sigterm():
                try:
                    ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
                except Exception as error:  # Ray raises a plain Exception if a busy host delays its start beyond 30 s
                    raise GeneratorError(f"Ray did not start or answer: {error}{advice}") from error
            yield ray
        finally:
            ray.shutdown(wait_for_processes=True)


def _kill_rest(folder: str) -> None:
    """Kill the processes that a failed start of Ray left behind. Their command lines contain `folder`."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if any(folder in word for word in process.cmdline()):
                process.kill()


def _short_folder() -> str:
    """Return a folder whose path is short enough for Ray's sockets.

    A socket's path may have 107 bytes (103 on macOS), and Ray itself needs 65 of them. Our two folders need 18.
    """
    folder = tempfile.gettempdir()
    return folder if len(folder) <= _LONGEST_FOLDER else "/tmp"


def _token(home: Path) -> Path:
    path = home / _TOKEN_FILE
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        # The file must appear complete, because another process may read it now, or may write one at the same time.
        descriptor, new = tempfile.mkstemp(dir=home)
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_hex(32))
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(new)
        finally:
            Path(new).unlink()
    return path


def _read_environment_again() -> None:
    """Let Ray read again what it reads once per process: the token, its mode, and whether it serves only this host."""
    # Ray declares no types for these.
    constants: Any = importlib.import_module("ray._private.ray_constants")
    compiled: Any = importlib.import_module("ray._raylet")
    constants.ENABLE_RAY_CLUSTER = constants.env_bool(
        constants.ENABLE_RAY_CLUSTERS_ENV_VAR, not constants.IS_WINDOWS_OR_OSX
    )
    compiled.Config.initialize("")
    compiled.AuthenticationTokenLoader.instance().reset_cache()


@contextlib.contextmanager
def _no_ray_variables() -> Iterator[None]:
    """Remove all environment variables whose names begin with RAY_, until the context ends."""
    with _environment({}):
        for name in [name for name in os.environ if name.startswith("RAY_")]:
            del os.environ[name]
        yield


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables. When the context ends, restore all variables whose names begin with RAY_."""
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
    """Restore our own SIGTERM handler when the context ends, because Ray replaces the handler in the meantime."""
    ours = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError, TypeError):  # not the main thread, or not set from Python
            signal.signal(signal.SIGTERM, ours)
