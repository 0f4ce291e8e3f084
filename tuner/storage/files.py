"""Files in a study's folder: their names, atomic writes, and the progress file."""

import json
from pathlib import Path
from typing import Final

from runners import places
from tuner.model.trial import Progress

RESULTS_FILE: Final = "results.db"
STUDY_FILE: Final = "study.yaml"
_PROGRESS: Final = "progress.json"


def size_name(record_bytes: str) -> str:
    """Return a record size, or a mix of sizes, as part of a file name, such as `100-0.7_1000-0.3`."""
    return record_bytes.replace(":", "-").replace(",", "_")


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file that everybody may read. Neither a reader nor a crash ever finds the file half-written."""
    places.write_atomically(path, data, mode=0o644)


def write_progress(folder: Path, progress: Progress) -> None:
    """Write what the study is doing now, for `tuner status` in other terminals, without waiting for the disk."""
    path = folder / _PROGRESS
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps(progress.as_json()), encoding="utf-8")
    scratch.replace(path)


def read_progress(folder: Path) -> Progress | None:
    """Return the progress that was written last; None if the file is missing or can't be read."""
    try:
        return Progress.from_json(json.loads((folder / _PROGRESS).read_text(encoding="utf-8")))
    except (OSError, KeyError, TypeError, ValueError):
        return None
