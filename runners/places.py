"""Where we keep files on this host: caches that can be thrown away, and state that outlives a command."""

import os
import tempfile
from pathlib import Path


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
