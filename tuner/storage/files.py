"""What lies in a study's folder: names, files that are there whole or not at all, and the progress in one of them."""

import json
from pathlib import Path
from typing import Final

from runners import places
from tuner.model.trial import Progress

RESULTS_FILE: Final = "results.db"
STUDY_FILE: Final = "study.yaml"
_PROGRESS: Final = "progress.json"


def size_name(record_bytes: str) -> str:
    """A record size or mix as part of a file's name: `100-0.7_1000-0.3`."""
    return record_bytes.replace(":", "-").replace(",", "_")


def write_atomically(path: Path, data: bytes) -> None:
    """Write a whole file that all may read, or none of it; whoever reads meanwhile sees the old one."""
    places.write_atomically(path, data, mode=0o644)


def write_progress(folder: Path, progress: Progress) -> None:
    """Tell other terminals what is being done now; not part of the record, so not awaited on disk."""
    path = folder / _PROGRESS
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps(progress.as_json()), encoding="utf-8")
    scratch.replace(path)


def read_progress(folder: Path) -> Progress | None:
    """What `write_progress` told last; None if nothing."""
    try:
        return Progress.from_json(json.loads((folder / _PROGRESS).read_text(encoding="utf-8")))
    except (OSError, KeyError, TypeError, ValueError):
        return None
