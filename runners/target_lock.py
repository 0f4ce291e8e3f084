"""One study at a time on one target, among the processes of this host."""

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from runners.places import state_root

_POLL_S: Final = 0.2


def _ignore(_: str) -> None:
    pass


class TargetLock:
    """An exclusive lock as a context; the kernel gives it back when its holder ends, however.

    The file stays when the lock is given back: a process that waits holds it open.
    """

    def __init__(
        self,
        key: str,
        name: str = "",
        root: Path | None = None,
        on_wait: Callable[[str], None] = _ignore,
    ) -> None:
        """Nothing is locked before the context is entered.

        Args:
            key: What is locked, such as the sorted bootstrap addresses; only its hash is written.
            name: Who locks it, told to those who wait: a study's name.
            root: Folder of the locks; `locks` below `state_root()` if not given.
            on_wait: Called once with the holder, as `name (process id)`, if there is one.
        """
        digest = hashlib.sha256(key.encode()).hexdigest()[:32]
        self._path = (state_root() / "locks" if root is None else root) / f"{digest}.lock"
        self._name = name
        self._on_wait = on_wait
        self._file = -1

    def __enter__(self) -> Self:
        """Wait until nobody else holds the lock; signals are served meanwhile.

        Raises:
            OSError: The folder or file can't be written.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._wait(file)
            os.ftruncate(file, 0)
            os.pwrite(file, f"{self._name or 'a study'} (process {os.getpid()})".encode(), 0)
        except BaseException:
            os.close(file)
            raise
        self._file = file
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the lock back."""
        os.ftruncate(self._file, 0)
        os.close(self._file)
        self._file = -1

    def _wait(self, file: int) -> None:
        told = False
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            if not told:
                self._on_wait(os.pread(file, 4096, 0).decode(errors="replace") or "another process")
                told = True
            time.sleep(_POLL_S)
