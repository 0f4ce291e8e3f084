"""Locks among the processes of this host. The kernel gives one back when its holder ends, however it ends."""

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from runners.errors import EmbeddedBrokerError
from runners.places import state_root
from runners.reporting import Say, silent

_POLL_S: Final = 0.1
_NO_LIMIT: Final = -1.0


@contextmanager
def locked(path: Path, timeout_s: float, progress: Say = silent) -> Iterator[None]:
    """Hold a lock while Kafka is prepared.

    Args:
        path: The lock file; made if missing, never removed (a removed one could be locked twice).
        timeout_s: Seconds to wait for another holder.
        progress: Told once if there is one to wait for.

    Raises:
        EmbeddedBrokerError: It was not free in time.
    """
    lock = _file_lock(path)
    try:
        _acquire(lock, lambda: progress("waiting for another process that prepares Kafka"), timeout_s)
    except Timeout:
        raise EmbeddedBrokerError(
            f"The lock must be free within {timeout_s:.0f} s, but another process holds {path}. "
            "Wait for it to end, or end it."
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
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
    lock = _file_lock(path)
    _acquire(lock, lambda: on_wait(path.read_text(encoding="utf-8", errors="replace") or "another process"))
    try:
        path.write_text(f"{name or 'a study'} (process {os.getpid()})", encoding="utf-8")
        yield
    finally:
        os.truncate(path, 0)
        lock.release()


def _file_lock(path: Path) -> FileLock:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # What it would fall back to outlives a process that is killed.
    return FileLock(path, mode=0o600, poll_interval=_POLL_S, fallback_to_soft=False)


def _acquire(lock: FileLock, on_wait: Callable[[], None], timeout_s: float = _NO_LIMIT) -> None:
    with contextlib.suppress(Timeout):
        lock.acquire(blocking=False)
    if not lock.is_locked:
        on_wait()
        lock.acquire(timeout_s)
