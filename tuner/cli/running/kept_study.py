"""The study file of a study that `tuner confirm` and `tuner verify --study` measure again."""

from pathlib import Path

from tuner.model.spec import StudySpec
from tuner.model.study_files import STUDY_FILE
from tuner.results.study_results import StudyResults
from tuner.study_file import parse_study, read_study_file


def kept_study(study: str, results: StudyResults, *, searched: bool = True) -> tuple[StudySpec, str]:
    """Return the spec of a study that has results, and the text of its study file.

    The text is read from the study file if the user named one, and else from the copy that is kept with the results.

    Args:
        study: The name, folder or study file that the user typed. Paths in a study file are relative to that file, and
            paths in the kept copy are relative to the working folder.
        results: The results of the study.
        searched: Whether the study is to search. If not, the settings that only a search needs may be missing.

    Raises:
        StudyFileError: The text is no valid study file.
    """
    path = Path(study)
    if path.is_file():
        return read_study_file(path, searched=searched)
    spec = parse_study(
        results.study_file,
        name=results.folder.name,
        folder=Path.cwd(),
        origin=str(results.folder / STUDY_FILE),
        searched=searched,
    )
    return spec, results.study_file
