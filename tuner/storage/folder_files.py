"""Files in a study's folder: atomic writes, removal, and the progress file."""

import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from runners.host_processes import folders
from tuner.model.errors import ResultsUnwritable
from tuner.model.progress import Progress
from tuner.model.study_files import BESIDE_RESULTS, PROGRESS_FILE, RESULTS_FILE, SERVICE_FILES, STUDY_FILE
from tuner.storage import bodies


def size_name(record_bytes: str) -> str:
    """Return a record size, or a mix of sizes, as part of a file name, such as `100-0.7_1000-0.3`."""
    return record_bytes.replace(":", "-").replace(",", "_")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Run the block, which writes a file; if the system refuses, raise an error that names the file and what to do.

    Raises:
        ResultsUnwritable: The system refused to write the file.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, (NotADirectoryError, FileExistsError)):
            in_the_way = next((each for each in path.parents if each.exists() and not each.is_dir()), path)
            raise ResultsUnwritable(
                f"{path} must be in a folder, but a file is in the way: {in_the_way}; name another folder "
                "(KAFKA_TUNER_STUDIES) or move the file away"
            ) from None
        raise unwritable(path, error.strerror or str(error)) from None


def unwritable(path: Path, reason: str) -> ResultsUnwritable:
    """Return the error for a file of the results store that can't be written."""
    return ResultsUnwritable(
        f"{path} can't be written: {reason}; make room on the disk, correct the permissions "
        "or name another folder (KAFKA_TUNER_STUDIES), and run the same command again: a study continues after its "
        "last stored trial"
    )


def write_for_everybody(path: Path, data: bytes) -> None:
    """Write a file that everybody may read. Neither a reader nor a crash ever finds the file half-written."""
    folders.write_atomically(path, data, mode=0o644)


def remove_folder(folder: Path) -> None:
    """Remove the folder of a study, and a link that leads to it.

    The results go first: a folder without them is no study, even if this process is killed before the rest is gone.
    """
    (folder / RESULTS_FILE).unlink(missing_ok=True)
    shutil.rmtree(folder.resolve())
    if folder.is_symlink():
        folder.unlink()


@contextmanager
def removed_if_empty(folder: Path) -> Iterator[None]:
    """Run the block, and remove a folder that is new and still empty after it, such as that of all studies."""
    is_new = not folder.exists()
    try:
        yield
    finally:
        if is_new:
            with suppress(OSError):  # it has files, or was not created
                folder.rmdir()


def remove_files(folder: Path, names: Iterable[str]) -> None:
    """Remove files and folders of these names from the folder of a study, and the folder if nothing else is in it.

    A folder with results of its own is another study, which is stored on this host. Nothing in it is removed.

    Raises:
        ResultsUnwritable: The system refused to remove a file or a folder.
    """
    if not folder.is_dir() or (folder / RESULTS_FILE).exists():
        return
    with writing(folder):
        for name in names:
            if (folder / name).is_dir():
                shutil.rmtree(folder / name)
            else:
                (folder / name).unlink(missing_ok=True)
    with suppress(OSError):  # the folder has other files, which are not ours
        folder.resolve().rmdir()
        if folder.is_symlink():
            folder.unlink()


def remove_without_results(folder: Path, study_file: str) -> None:
    """Remove what the tuner has made in the folder of a study whose results are stored elsewhere.

    Args:
        folder: The folder.
        study_file: The stored study file. A file `study.yaml` with another text is not ours.

    Raises:
        ResultsUnwritable: The system refused to remove a file.
    """
    text = folder / STUDY_FILE
    copy = [STUDY_FILE] if text.is_file() and text.read_bytes() == study_file.encode() else []
    remove_files(folder, (*BESIDE_RESULTS, *SERVICE_FILES, *copy))


def write_progress(folder: Path, progress: Progress) -> None:
    """Write a progress report for `tuner status` in other terminals, without waiting for the disk."""
    path = folder / PROGRESS_FILE
    scratch = path.with_suffix(".new")
    with writing(path):
        scratch.write_text(json.dumps(progress.as_json()), encoding="utf-8")
        scratch.replace(path)


def read_progress(folder: Path) -> Progress | None:
    """Return the progress that was written last; None if the file is missing or can't be read."""
    try:
        body = (folder / PROGRESS_FILE).read_bytes()
    except OSError:
        return None
    return bodies.read_progress(body)
