"""Finds the storage and the folders of studies: the database that the user names, or folders on this host.

Every study also has a folder on this host, below one root folder. If the results are in a database, the folder holds
only files that can be made again, such as the report.
"""

import difflib
import os
from pathlib import Path
from typing import Final, Literal

from runners.host_processes.folders import HOME_VARIABLE, state_root
from tuner.model.errors import StorageMisnamed, StudyNotFound
from tuner.model.study_files import RESULTS_FILE
from tuner.storage.postgres_url import PostgresUrl
from tuner.storage.protocols import Storage
from tuner.storage.sqlite import FolderStorage

ROOT_VARIABLE: Final = "KAFKA_TUNER_STUDIES"
STORAGE_VARIABLE: Final = "KAFKA_TUNER_STORAGE"
_STUDY_FILES: Final = (".yaml", ".yml", ".json")
"""The suffixes of study files. Any other text after a dot is a part of the study's name, as in `v1.2`."""
_MOST_NAMED: Final = 12
"""How many studies an error message lists at most. There may be many, because every `tuner verify` makes one."""
_MOST_NAME_BYTES: Final = 255
"""The longest name of a file, on the usual file systems."""
_SHOWN: Final = 40
"""How many characters of a name that is too long an error message shows."""


def studies_root() -> Path:
    """Return the folder of all studies: `$KAFKA_TUNER_STUDIES`, or `studies` in the working directory."""
    return Path(os.environ.get(ROOT_VARIABLE) or "studies").expanduser().absolute()


def study_folder(name: str) -> Path:
    """Return the folder of the study with this name, whether it exists or not."""
    return studies_root() / name


def unusable_file(error: OSError) -> str:
    """Return what a message says about a file or a disk that can't be read or written, and what the user can do."""
    what, advice = "the disk, or the file that the output goes to", ""
    if error.filename is not None:
        what, path, state = error.filename, Path(str(error.filename)), state_root()
        if studies_root() in (path, *path.parents):
            advice = f"; set {ROOT_VARIABLE} to a folder for studies that can be written to"
        elif state in (path, *path.parents) or path in state.parents:  # the first missing folder of the path is named
            advice = f"; set {HOME_VARIABLE} to a folder for the tuner's files that can be written to"
    return f"{what} can't be read or written: {error.strerror}{advice}"


def shared_url(url: str | None = None) -> PostgresUrl | None:
    """Return the address of the database that stores the studies; None if they are stored in folders.

    Args:
        url: The address as a URL. None means the URL in `$KAFKA_TUNER_STORAGE`.

    Raises:
        StorageMisnamed: The text is not the address of a PostgreSQL database.
    """
    if url:
        return PostgresUrl.parse(url)
    named = os.environ.get(STORAGE_VARIABLE)
    try:
        return PostgresUrl.parse(named) if named else None
    except StorageMisnamed as error:
        raise StorageMisnamed(f"{error}; --storage or {STORAGE_VARIABLE} gives the address") from None


def storage_at(url: str | None = None) -> Storage:
    """Return the storage at an address, without connecting to it.

    Args:
        url: The address, as `postgresql://USER@HOST:PORT/DATABASE`. None means `$KAFKA_TUNER_STORAGE`, or folders on
            this host if that is not set.

    Raises:
        StorageMisnamed: The text is not the address of a PostgreSQL database. The message shows no password.
    """
    parsed = shared_url(url)
    if parsed is None:
        return FolderStorage()
    # Imported here, because the PostgreSQL driver is an optional dependency.
    from tuner.storage.postgres import PostgresStorage

    return PostgresStorage(parsed)


def find_study(
    name: str,
    storage: Storage | None = None,
    *,
    by_study_file: bool = True,
    what: Literal["study", "experiment"] = "study",
) -> Path:
    """Find a study or an experiment by its name, and return its folder.

    Args:
        name: The study's name, its folder, the file of its results or its study file.
        storage: The storage to look in; by default that of `storage_at`.
        by_study_file: Whether the name may be that of a study file.
        what: What the message calls it if there is none. Studies and experiments are stored alike.

    Raises:
        StudyNotFound: There is no such study, and the message names the newest ones. Or the name is too long.
        StudyFileError: The study file can't be read, or is not valid YAML.
        StorageUnreachable: The storage's server does not answer.
    """
    root, storage = studies_root(), storage or storage_at()
    path = Path(name)
    if len(os.fsencode(path.name)) > _MOST_NAME_BYTES:
        # Imported here, because the code that reads study files takes long to import.
        from tuner.study_file.sections import NAME_RULE

        raise StudyNotFound(f"there is no {what} {path.name[:_SHOWN]!r}...: {NAME_RULE}, but this one is longer")
    folder = storage.find(name, root)
    if folder is None and path.name == RESULTS_FILE:
        folder = storage.find(str(path.absolute().parent), root)
    if folder is not None:
        return folder
    named = _named_in(path) if by_study_file else None
    if named is not None and storage.has(root / named):
        return (root / named).absolute()
    names = storage.names(root)
    more = f" and {len(names) - _MOST_NAMED} older ones" if len(names) > _MOST_NAMED else ""
    run = "tuner run" if what == "study" else "tuner experiment run"
    hint = f"there are: {', '.join(names[:_MOST_NAMED])}{more}" if names else f"none has begun yet; `{run}` begins one"
    by_file = named is not None and path.is_file()
    near = [] if by_file else difflib.get_close_matches(name, names, n=1)
    guess = f"did you mean {near[0]}? " if near else ""
    shown = f"{named!r}, which {name} names," if by_file else repr(name)
    raise StudyNotFound(f"there is no {what} {shown} {studies_location_text(storage, root)}; {guess}{hint}")


def _named_in(file: Path) -> str | None:
    """Return the name of the study in a study file; None if the file can't be a study file.

    If the study file is missing, because it is on another host or was removed, the study has the name of the file.
    """
    may_be_study_file = file.suffix in _STUDY_FILES
    if not file.is_file():
        return file.stem if may_be_study_file else None
    # Imported here, because the code that reads study files takes long to import.
    from tuner.study_file.errors import StudyFileError
    from tuner.study_file.loading import name_in_file

    try:
        return name_in_file(file)
    except StudyFileError:
        if may_be_study_file:
            raise
        return None  # another kind of file


def studies_location_text(storage: Storage, root: Path) -> str:
    """Return the place where studies are stored, as part of a sentence that says that no study is there."""
    below = f"below {root} (set {ROOT_VARIABLE} for another folder)"
    return f"in {storage.shown}" if storage.is_shared else below
