"""Where studies lie: a folder each, below one root; on a shared storage that folder holds only what is made anew."""

from pathlib import Path
from typing import Final

from tuner.model.errors import StudyNotFound
from tuner.storage.chosen import storage_at
from tuner.storage.places import RESULTS_FILE, ROOT_VARIABLE, size_name, studies_root
from tuner.storage.protocols import Storage

__all__ = [
    "RESULTS_FILE",
    "ROOT_VARIABLE",
    "all_studies",
    "find_study",
    "size_name",
    "studies_root",
    "study_folder",
]

_NAMED: Final = 12
"""Studies that an error names: each `tuner verify` is one."""


def study_folder(name: str, root: Path | None = None) -> Path:
    """Where the study of that name lies, or will."""
    return (root or studies_root()) / name


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
    where = f"in {storage.shown}"
    if not storage.is_shared:
        where = f"below {root} (set {ROOT_VARIABLE} for another folder)"
    raise StudyNotFound(f"a study must lie {where}, but {name!r} does not; {there}")


def all_studies(root: Path | None = None, storage: Storage | None = None) -> list[str]:
    """Names of the studies, the newest first."""
    return (storage or storage_at()).names(root or studies_root())
