"""Folders and files of ours on this host, and locks among its processes.

The kernel gives a lock back when its holder ends, however it ends.
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from runners.errors import EmbeddedBrokerError
from runners.reporting import Say, silent

_POLL_S: Final = 0.1
_NO_LIMIT: Final = -1.0


def cache_root() -> Path:
    """Where fetched files lie that may be deleted at any time.

    Returns:
        `$KAFKA_TUNER_CACHE`; else `$KAFKA_TUNER_HOME/cache`; else `kafka-tuner` below `$XDG_CACHE_HOME` or
        `~/.cache`.
    """
    return _root("KAFKA_TUNER_CACHE", "cache", "XDG_CACHE_HOME", ".cache")


def state_root() -> Path:
    """Where broker logs and the records of live runs lie.

    Returns:
        `$KAFKA_TUNER_HOME/state`; else `kafka-tuner` below `$XDG_STATE_HOME` or `~/.local/state`.
    """
    return _root(None, "state", "XDG_STATE_HOME", ".local/state")


def write_atomically(path: Path, content: str | bytes, mode: int = 0o600) -> None:
    """Write a file so that a reader, or a crash, sees the old content or the new one and nothing between.

    Args:
        path: The file; its folder is made.
        content: What it shall hold; text becomes UTF-8.
        mode: Who may read it; only its owner by default.
    """
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _root(own_variable: str | None, below_home: str, xdg_variable: str, xdg_default: str) -> Path:
    if own_variable and (own := os.environ.get(own_variable)):
        return Path(own).expanduser().absolute()
    if home := os.environ.get("KAFKA_TUNER_HOME"):
        return Path(home).expanduser().absolute() / below_home
    # The XDG specification has relative paths ignored.
    xdg = Path(os.environ.get(xdg_variable, ""))
    return (xdg if xdg.is_absolute() else Path.home() / xdg_default) / "kafka-tuner"


@contextlib.contextmanager
def locked(path: Path, timeout_s: float, progress: Say = silent) -> Iterator[None]:
    """Hold a lock while Kafka is prepared.

    Args:
        path: The lock file; made if missing, never removed (a removed one could be locked twice).
        timeout_s: Seconds to wait for another holder.
        progress: Told once if there is one to wait for.

    Raises:
        EmbeddedBrokerError: It was not free in time.
    """
    from filelock import Timeout

    try:
        held = _acquired(path, lambda: progress("waiting for another process that prepares Kafka"), timeout_s)
    except Timeout:
        raise EmbeddedBrokerError(
            f"The lock must be free within {timeout_s:.0f} s, but another process holds {path}. "
            "Wait for it to end, or end it."
        ) from None
    with held:
        yield


@contextlib.contextmanager
def target_lock(key: str, name: str = "", root: Path | None = None, on_wait: Say = silent) -> Iterator[None]:
    """Hold a target for one study, waiting until nobody else does; signals are served meanwhile.

    Args:
        key: What is locked, such as the sorted bootstrap addresses; only its hash is written.
        name: Who locks it, told to those who wait: a study's name.
        root: Folder of the locks; `locks` below `state_root()` if not given.
        on_wait: Called once with the holder, as `name (process id)`, if there is one.

    Raises:
        OSError: The folder or file can't be written.
    """
    digest = hashlib.sha256(key.encode()).hexdigest()[:32]
    path = (state_root() / "locks" if root is None else root) / f"{digest}.lock"
    with _acquired(path, lambda: on_wait(path.read_text(encoding="utf-8", errors="replace") or "another process")):
        try:
            path.write_text(f"{name or 'a study'} (process {os.getpid()})", encoding="utf-8")
            yield
        finally:
            os.truncate(path, 0)


def _acquired(
    path: Path, on_wait: Callable[[], None], timeout_s: float = _NO_LIMIT
) -> contextlib.AbstractContextManager[object]:
    """A lock that is held, and given back when this context is left."""
    # Deferred: whoever only asks for a folder does not wait for it.
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # What it would fall back to outlives a process that is killed.
    lock = FileLock(path, mode=0o600, poll_interval=_POLL_S, fallback_to_soft=False)
    try:
        return lock.acquire(blocking=False)
    except Timeout:
        on_wait()
        return lock.acquire(timeout_s)
