"""Files that several processes share: written whole, or locked."""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runners.errors import EmbeddedBrokerError
from runners.reporting import Say, silent

_LOCK_POLL_S = 0.1


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


@contextmanager
def locked(path: Path, timeout_s: float, progress: Say = silent) -> Iterator[None]:
    """Hold a lock that ends with this process, however it ends.

    Args:
        path: The lock file; made if missing, never removed (a removed one could be locked twice).
        timeout_s: Seconds to wait for another holder.
        progress: Told once if there is one to wait for.

    Raises:
        EmbeddedBrokerError: It was not free in time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + timeout_s
    with path.open("a") as file:
        waiting = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise EmbeddedBrokerError(
                        f"The lock must be free within {timeout_s:.0f} s, but another process holds {path}. "
                        "Wait for it to end, or end it."
                    ) from None
                if not waiting:
                    progress("waiting for another process that prepares Kafka")
                    waiting = True
                time.sleep(_LOCK_POLL_S)
        yield
