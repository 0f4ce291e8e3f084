"""What a study on record asks for."""

import os
from pathlib import Path

from tuner.model.spec import StudySpec
from tuner.storage.files import STUDY_FILE
from tuner.storage.home import storage_at
from tuner.study_file import load_study, parse_study


def kept_study(study: str, folder: Path, *, searched: bool = True) -> tuple[StudySpec, str]:
    """A study and its text: of the study file given, or else as it was kept.

    Args:
        study: As the user named it; a study file's paths are relative to it, a kept text's to the working folder.
        folder: The study's.
        searched: Whether its configs are asked for; else only how it measured.

    Raises:
        StudyFileError: The text says what can't be done.
        StorageUnreachable: The shared storage does not answer.
    """
    given = Path(study)
    if given.is_file():
        return load_study(given, searched=searched)
    store = storage_at().read(folder)
    try:
        text = store.study_file()
    finally:
        store.close()
    origin = str(folder / STUDY_FILE)
    spec = parse_study(text, name=folder.name, folder=Path.cwd(), origin=origin, environ=os.environ, searched=searched)
    return spec, text
