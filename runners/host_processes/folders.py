"""Folders and files that the tuner uses on this host."""

import os
import tempfile
from pathlib import Path
from typing import Final

HOME_VARIABLE: Final = "KAFKA_TUNER_HOME"


def cache_root() -> Path:
    """Return the folder for downloaded files, which may be deleted at any time.

    Returns:
        `$KAFKA_TUNER_CACHE`, or `$KAFKA_TUNER_HOME/cache`, or `kafka-tuner` below `$XDG_CACHE_HOME` or `~/.cache`.
    """
    return _root("KAFKA_TUNER_CACHE", "cache", "XDG_CACHE_HOME", ".cache")


def state_root() -> Path:
    """Return the folder for the logs of brokers, for locks, and for the files that describe running brokers.

    Returns:
        `$KAFKA_TUNER_HOME/state`, or `kafka-tuner` below `$XDG_STATE_HOME` or `~/.local/state`.
    """
    return _root(None, "state", "XDG_STATE_HOME", ".local/state")


def write_atomically(path: Path, content: str | bytes, mode: int = 0o600) -> None:
    """Write a file so that a reader sees either the old content or all of the new content, even after a crash.

    Args:
        path: The file. Its folder is created if it is missing.
        content: The new content. Text is encoded as UTF-8.
        mode: Permissions of the file; by default only its owner can read it.
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
    # Until the folder is on the disk too, a crash of the host may bring the old file back.
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _root(own_variable: str | None, below_home: str, xdg_variable: str, xdg_default: str) -> Path:
    if own_variable and (own := os.environ.get(own_variable)):
        return Path(own).expanduser().absolute()
    if home := os.environ.get(HOME_VARIABLE):
        return Path(home).expanduser().absolute() / below_home
    # The XDG specification says that relative paths must be ignored.
    xdg = Path(os.environ.get(xdg_variable, ""))
    return (xdg if xdg.is_absolute() else Path.home() / xdg_default) / "kafka-tuner"
