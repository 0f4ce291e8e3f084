"""Files in a study's folder: their names, atomic writes, and the progress file."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from runners import places
from tuner.model.errors import RecordUnwritable
from tuner.model.trial import Progress
from tuner.storage import bodies

RESULTS_FILE: Final = "results.db"
STUDY_FILE: Final = "study.yaml"
SUBMITTED_FILE: Final = "submitted.yaml"
"""The study file as a client of the service submitted it."""
_PROGRESS: Final = "progress.json"


def size_name(record_bytes: str) -> str:
    """Return a record size, or a mix of sizes, as part of a file name, such as `100-0.7_1000-0.3`."""
    return record_bytes.replace(":", "-").replace(",", "_")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Run the block, which writes a file; if the system refuses, raise an error that names the file and what to do.

    Raises:
        RecordUnwritable: The system refused to write the file.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, (NotADirectoryError, FileExistsError)):
            raise RecordUnwritable(
                f"{path} must be in a folder, but a file is in the way: {error.filename or path}; name another folder "
                "(KAFKA_TUNER_STUDIES) or move the file away"
            ) from None
        raise unwritable(path, error.strerror or str(error)) from None


def unwritable(path: Path, reason: str) -> RecordUnwritable:
    """Return the error for a file of the results store that can't be written."""
    return RecordUnwritable(
        f"{path} must be writable, but the system says: {reason}; make room on the disk or correct the permissions, "
        "and run the same command again: a study continues after its last stored trial"
    )


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file that everybody may read. Neither a reader nor a crash ever finds the file half-written."""
    places.write_atomically(path, data, mode=0o644)


def remove_folder(folder: Path) -> None:
    """Remove the folder of a study, and a link that leads to it.

    The results go first: a folder without them is no study, even if this process is killed before the rest is gone.
    """
    (folder / RESULTS_FILE).unlink(missing_ok=True)
    shutil.rmtree(folder.resolve())
    if folder.is_symlink():
        folder.unlink()


def write_progress(folder: Path, progress: Progress) -> None:
    """Write what the study is doing now, for `tuner status` in other terminals, without waiting for the disk."""
    path = folder / _PROGRESS
    scratch = path.with_suffix(".new")
    with writing(path):
        scratch.write_text(json.dumps(progress.as_json()), encoding="utf-8")
        scratch.replace(path)


def read_progress(folder: Path) -> Progress | None:
    """Return the progress that was written last; None if the file is missing or can't be read."""
    try:
        body = (folder / _PROGRESS).read_bytes()
    except OSError:
        return None
    return bodies.read_progress(body)
