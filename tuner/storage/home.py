"""Where studies lie: in a database that is named, else in folders of this host.

Each has a folder here in any case, below one root; beside a database it holds only what is made anew.
"""

import os
from pathlib import Path
from typing import Final

from tuner.model.errors import StudyNotFound
from tuner.storage.protocols import Storage
from tuner.storage.sqlite import FolderStorage
from tuner.storage.url import StorageUrl

ROOT_VARIABLE: Final = "KAFKA_TUNER_STUDIES"
STORAGE_VARIABLE: Final = "KAFKA_TUNER_STORAGE"
_NAMED: Final = 12
"""Studies that an error names: each `tuner verify` is one."""


def studies_root() -> Path:
    """The folder of all studies: `$KAFKA_TUNER_STUDIES`, else `studies` below the working directory."""
    return Path(os.environ.get(ROOT_VARIABLE) or "studies").expanduser().absolute()


def study_folder(name: str, root: Path | None = None) -> Path:
    """Where the study of that name lies, or will."""
    return (root or studies_root()) / name


def shared_url(url: str | None = None) -> StorageUrl | None:
    """The database that is named, else the environment's; None where studies lie in folders.

    Raises:
        StorageMisnamed: It is no such address.
    """
    named = url or os.environ.get(STORAGE_VARIABLE)
    return StorageUrl.parse(named) if named else None


def storage_at(url: str | None = None) -> Storage:
    """The storage at an address; connects to nothing yet.

    Args:
        url: `postgresql://USER@HOST:PORT/DATABASE`; by default `$KAFKA_TUNER_STORAGE`, and without that the studies'
            folders on this host.

    Raises:
        StorageMisnamed: It is no such address, or the driver is not installed; the message shows no password.
    """
    parsed = shared_url(url)
    if parsed is None:
        return FolderStorage()
    # Deferred: it is an extra, which studies in folders do without.
    from tuner.storage.postgres import PostgresStorage

    return PostgresStorage(parsed)


def find_study(name: str, root: Path | None = None, storage: Storage | None = None) -> Path:
    """The folder of a study that was run, by its name, its folder or its study file.

    Args:
        name: One of these.
        root: The folder of all studies.
        storage: Where they are recorded; the one in force by default.

    Raises:
        StudyNotFound: There is none; the message names those that there are.
        StorageUnreachable: The storage's server does not answer.
    """
    root, storage = root or studies_root(), storage or storage_at()
    folder = storage.find(name, root)
    if folder is not None:
        return folder
    known = storage.names(root)
    more = f" and {len(known) - _NAMED} older ones" if len(known) > _NAMED else ""
    there = f"there are: {', '.join(known[:_NAMED])}{more}" if known else "there is none yet; `tuner run` makes one"
    below = f"below {root} (set {ROOT_VARIABLE} for another folder)"
    where = f"in {storage.shown}" if storage.is_shared else below
    raise StudyNotFound(f"a study must lie {where}, but {name!r} does not; {there}")
