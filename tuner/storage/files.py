"""Files that are there whole or not at all, and the progress of a study in one of them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from runners import places

_PROGRESS: Final = "progress.json"


def write_atomically(path: Path, data: bytes) -> None:
    """Write a whole file that all may read, or none of it; whoever reads meanwhile sees the old one."""
    places.write_atomically(path, data, mode=0o644)


def write_progress(folder: Path, progress: Mapping[str, Any]) -> None:
    """Tell other terminals what is being done now; not part of the record, so not awaited on disk."""
    path = folder / _PROGRESS
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps(progress), encoding="utf-8")
    scratch.replace(path)


def read_progress(folder: Path) -> dict[str, Any]:
    """What `write_progress` told last; empty if nothing."""
    try:
        told: dict[str, Any] = json.loads((folder / _PROGRESS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told
