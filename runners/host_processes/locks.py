"""Locks between the processes of one host.

The kernel releases a lock when the process that holds it ends, even if that process is killed.
"""

import contextlib
import errno
import hashlib
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from runners.errors import EmbeddedBrokerError
from runners.reporting import Say, silent

_POLL_S: Final = 0.1
_NO_LIMIT: Final = -1.0
_ADDRESS_BYTES: Final = 108
"""The longest name of a Unix socket in Linux, in bytes."""


@contextlib.contextmanager
def locked(path: Path, timeout_s: float, progress: Say = silent) -> Iterator[None]:
    """Hold a lock while the context is open, so that only one process at a time prepares Kafka.

    Args:
        path: The lock file. It is created if missing. It is never removed, because a process could still hold the lock
            of the removed file while another process locks a new file.
        timeout_s: Seconds to wait if another process holds the lock.
        progress: Called once if another process holds the lock.

    Raises:
        EmbeddedBrokerError: The lock was not free in time.
    """
    from filelock import Timeout

    try:
        held = _acquired(path, lambda: progress("waiting for another process that is preparing Kafka"), timeout_s)
    except Timeout:
        raise EmbeddedBrokerError(
            f"another process has held the lock {path} for {timeout_s:.0f} s, and preparing Kafka needs it; wait until "
            "that process ends, or end it, and try again"
        ) from None
    with held:
        yield


@contextlib.contextmanager
def target_lock(key: str, name: str = "", on_wait: Say = silent) -> Iterator[None]:
    """Hold the lock of a target cluster (a Kafka cluster to be measured) while the context is open.

    The lock lets only one load on this host use the cluster at a time, whichever user runs it. If another process holds
    the lock, the call waits. Signals are still handled during the wait.

    The lock is the name of a Unix socket in the abstract namespace, which lies in no folder: every user can take it, no
    file stays behind or can be exchanged for a link, and the kernel frees it when the process ends. Containers with a
    network namespace of their own have locks of their own, and so have processes with different values of the
    environment variable `KAFKA_TUNER_LOCKS`.

    Args:
        key: Identifies the cluster, such as its cluster id. Other users of the host see only a hash of the key.
        name: Name of the study that takes the lock, shown to those that wait for it. All users of the host can read it.
        on_wait: Called once if another process holds the lock, with the holder as `name (process 1234)`.
    """
    group = os.environ.get("KAFKA_TUNER_LOCKS", "")
    address = f"kafka-tuner target {hashlib.sha256(f'{key}{group}'.encode()).hexdigest()[:16]}"
    with socket.socket(socket.AF_UNIX) as lock, socket.socket(socket.AF_UNIX) as label:
        waited = False
        while True:
            try:
                lock.bind(f"\0{address}")
                break
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            if not waited:
                on_wait(_target_holder(address))
                waited = True
            time.sleep(_POLL_S)
        holder = f" (process {os.getpid()})".encode()
        shown = f"\0{address} {name or 'a run'}".encode()[: _ADDRESS_BYTES - len(holder)]
        with contextlib.suppress(OSError):  # only the message to others lacks the name then
            label.bind(shown + holder)
        yield


def _target_holder(address: str) -> str:
    """Return who holds the lock of a target, from the name of the second socket that the holder has bound."""
    try:
        sockets = Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace")
    except OSError:
        sockets = ""
    holder = sockets.partition(f"@{address} ")[2].partition("\n")[0]
    # Any user of the host can bind such a name, with any characters in it.
    return "".join(character for character in holder if character.isprintable()) or "another process"


@contextlib.contextmanager
def file_lock(path: Path, name: str, on_wait: Say) -> Iterator[None]:
    """Hold the lock of a file while the context is open. If another process holds the lock, wait for it.

    To lock a folder, lock a file inside it: then all paths that lead to the folder lead to the same lock.

    Args:
        path: The lock file. It is created if missing, and never removed.
        name: What takes the lock, such as the name of a study, shown to those that wait for it.
        on_wait: Called once if another process holds the lock, with the holder as `name (process 1234)`.

    Raises:
        OSError: The lock file can't be written.
    """
    with _acquired(path, lambda: on_wait(path.read_text(encoding="utf-8", errors="replace") or "another process")):
        try:
            path.write_text(f"{name} (process {os.getpid()})", encoding="utf-8")
            yield
        finally:
            with contextlib.suppress(FileNotFoundError):  # its folder may have been removed in the meantime
                os.truncate(path, 0)


def _acquired(
    path: Path, on_wait: Callable[[], None], timeout_s: float = _NO_LIMIT
) -> contextlib.AbstractContextManager[object]:
    """Acquire a lock, and return it as a context manager that releases it at the end."""
    # Imported here, so that callers who only need a folder do not load filelock.
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # The fallback is a plain lock file, which would stay behind if this process were killed.
    lock = FileLock(path, mode=0o600, poll_interval=_POLL_S, fallback_to_soft=False)
    try:
        return lock.acquire(blocking=False)
    except Timeout:
        on_wait()
        return lock.acquire(timeout_s)
