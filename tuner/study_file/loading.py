"""A study file as a study: the way in."""

import os
from collections.abc import Mapping
from pathlib import Path

from tuner.model.spec import StudySpec
from tuner.study_file.building import Builder
from tuner.study_file.checking import check
from tuner.study_file.environment import fill_in
from tuner.study_file.errors import Problem, Problems, StudyFileError
from tuner.study_file.files import Files
from tuner.study_file.reading import MAX_BYTES, read_yaml
from tuner.study_file.sections import NAME


def load_study(path: Path, environ: Mapping[str, str] = os.environ, *, searched: bool = True) -> tuple[StudySpec, str]:
    """Read a study file.

    Args:
        path: The file; paths in it are relative to its folder, and its stem is the study's name if it gives none.
        environ: Variables for `${NAME}`.
        searched: Whether the study is to search; else it is only about how to measure.

    Returns:
        The study, and the file's text as it stands, without the values of variables.

    Raises:
        StudyFileError: The file can't be read, or says what can't be done; every problem is named.
    """
    text = _text(path)
    spec = parse_study(text, name=path.stem, folder=path.parent, origin=str(path), environ=environ, searched=searched)
    return spec, text


def parse_study(
    text: str,
    *,
    name: str,
    folder: Path | None,
    origin: str,
    environ: Mapping[str, str],
    searched: bool = True,
) -> StudySpec:
    """Read the text of a study file.

    Args:
        text: YAML.
        name: Of the study, when the text gives none.
        folder: Where relative paths begin; None when no local file may be read or named.
        origin: What errors call the text.
        environ: Variables for `${NAME}`.
        searched: Whether the study is to search; else it is only about how to measure.

    Raises:
        StudyFileError: The text says what can't be done; every problem is named.
    """
    problems = Problems(origin)
    value = fill_in(read_yaml(text, problems), environ, problems)
    file = check(value, problems)
    if file is not None and file.study.name is None:
        try:
            NAME.read(name)
        except ValueError as error:
            problems.add(("study",), f"{error}, and {name!r} is none; give the study one: `study: orders`", line=1)
    if file is None:
        problems.stop_if_any()
        raise AssertionError("a file that does not fit the sections has problems")
    return Builder(file, name, Files(folder, problems), problems, searched).study()


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StudyFileError(str(path), [Problem(0, "", f"a study file must be readable: {reason}")]) from None
    if len(data) > MAX_BYTES:
        raise StudyFileError(str(path), [Problem(0, "", f"a study file has at most {MAX_BYTES} bytes")])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise StudyFileError(str(path), [Problem(line, "", "a study file is UTF-8 text")]) from None
