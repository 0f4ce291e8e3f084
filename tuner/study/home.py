"""Where studies lie: a folder each, below one root."""

import os
from pathlib import Path
from typing import Final

from tuner.study.errors import StudyNotFound

ROOT_VARIABLE: Final = "KAFKA_TUNER_STUDIES"
RESULTS_FILE: Final = "results.db"


def studies_root() -> Path:
    """The folder of all studies: `$KAFKA_TUNER_STUDIES`, else `studies` below the working directory."""
    return Path(os.environ.get(ROOT_VARIABLE) or "studies").expanduser().absolute()


def study_folder(name: str, root: Path | None = None) -> Path:
    """Where the study of that name lies, or will."""
    return (root or studies_root()) / name


def find_study(name: str, root: Path | None = None) -> Path:
    """The folder of a study that was run, by its name, its folder or its study file.

    Raises:
        StudyNotFound: There is none; the message names those that there are.
    """
    root = root or studies_root()
    given = Path(name)
    for folder in (given, root / name, root / given.stem):
        if (folder / RESULTS_FILE).is_file():
            return folder.absolute()
    known = all_studies(root)
    there = f"there are: {', '.join(known)}" if known else "there is none yet; `tuner run` makes one"
    raise StudyNotFound(
        f"a study must lie below {root} (set {ROOT_VARIABLE} for another folder), but {name!r} does not; {there}"
    )


def all_studies(root: Path | None = None) -> list[str]:
    """Names of the studies below the root, the newest first."""
    found = list((root or studies_root()).glob(f"*/{RESULTS_FILE}"))
    found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    return [path.parent.name for path in found]
