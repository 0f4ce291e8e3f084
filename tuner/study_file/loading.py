"""The entry to this package: `read_study_file`, `parse_study` and `parse_stored_study` return a `StudySpec`."""

import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tuner.model.spec import StudySpec
from tuner.study_file.building import StudyBuilder
from tuner.study_file.checking import FileKind
from tuner.study_file.errors import FileProblem, Problems, StudyFileError
from tuner.study_file.properties import BASELINE_CLIENT, Files
from tuner.study_file.sections import STUDY_NAME, StudyFile
from tuner.study_file.strict_yaml import MAX_BYTES, fill_in, read_yaml, refuse_passwords
from tuner.study_file.writing import name_in

_STREAMS: Final = ("/dev/stdin", "/dev/fd/", "/proc/")
_MOST_STORED_VALUES: Final = 10_000
STUDY_FILE_KIND: Final = FileKind(
    StudyFile, "a study file", "the shortest study file is `workload: {record_bytes: [100, 1000]}`"
)


def read_study_file(
    path: Path, environ: Mapping[str, str] = os.environ, *, searched: bool = True
) -> tuple[StudySpec, str]:
    """Read a study file.

    Args:
        path: The file. If it gives no name, the study gets the name of `place_of`, and paths in it are relative to the
            folder of `place_of`.
        environ: Environment variables for `${NAME}`.
        searched: Whether the study is to search. If not, the settings that only a search needs may be missing.

    Returns:
        The study, and the text of the file, in which variables are not replaced by their values.

    Raises:
        StudyFileError: The file can't be read, or is not a valid study; the message names every problem.
    """
    text = text_of(path, "a study file")
    name, folder = place_of(path)
    spec = parse_study(text, name=name, folder=folder, origin=str(path), environ=environ, searched=searched)
    return spec, text


def place_of(path: Path) -> tuple[str, Path]:
    """Return what the path of a study file or an experiment file says: a name, and the folder of the paths in the file.

    The name is that of the file without its extension. A stream, such as /dev/stdin or `<(...)` of a shell, gives no
    name (an empty one), and paths in it are relative to the working folder.
    """
    if str(path.absolute()).startswith(_STREAMS):
        return "", Path.cwd()
    return path.stem, path.parent


def check_name(name: str, key: str, problems: Problems) -> None:
    """Note a problem if the name that `place_of` gives is no name for a study or an experiment.

    Args:
        name: The name.
        key: The key of the file that gives another name: `study` or `experiment`.
        problems: Receives the problem.
    """
    try:
        STUDY_NAME.read(name)
    except ValueError as error:
        rule = f"{error}, but got {name!r}" if name else "this must be given in a file that is read from a pipe"
        problems.add((key,), f"{rule}; give the {key} a name, such as `{key}: orders`", line=1)


def parse_study(
    text: str,
    *,
    name: str,
    folder: Path | None,
    origin: str,
    environ: Mapping[str, str] = os.environ,
    searched: bool = True,
    advice: str = BASELINE_CLIENT,
) -> StudySpec:
    """Read the text of a study file.

    Args:
        text: The text, in YAML.
        name: Name of the study if the text gives none.
        folder: Folder to which paths are relative; None if the text must not name local files.
        origin: Name of the text in messages.
        environ: Environment variables for `${NAME}`.
        searched: Whether the study is to search. If not, the settings that only a search needs may be missing.
        advice: How the user can say that the baseline's file is for Java, for a note; empty if there is no way.

    Raises:
        StudyFileError: The text is no valid study; the message names every problem.
    """
    problems = Problems(origin)
    written = read_yaml(text, problems)
    refuse_passwords(written, problems)
    value = fill_in(written, environ, problems)
    file = STUDY_FILE_KIND.check(value, problems)
    if file.study.name is None:
        check_name(name, "study", problems)
    return StudyBuilder(file, name, Files(folder, problems, environ, advice), problems, searched).study()


def parse_stored_study(text: str, *, name: str, origin: str) -> StudySpec:
    """Read the study file that was stored with results, for settings that do not depend on connections and secrets.

    Args:
        text: The text, in YAML.
        name: Name of the study if the text gives none.
        origin: Name of the text in messages.

    Raises:
        StudyFileError: The text is no valid study file; the message names every problem.
    """

    def parsed(environ: Mapping[str, str]) -> StudySpec:
        return parse_study(text, name=name, folder=Path.cwd(), origin=origin, environ=environ)

    try:
        return parsed(os.environ)
    except StudyFileError as error:
        # Variables usually hold addresses and secrets, which are not needed here. So a variable that is not set gets
        # any value.
        try:
            return parsed(defaultdict(lambda: "1", os.environ))
        except StudyFileError:
            raise error from None


def name_in_file(path: Path) -> str | None:
    """Return the name of the study in a study file, which may have mistakes elsewhere.

    Args:
        path: The file. If it gives no name, the study gets the name of `place_of`.

    Returns:
        The name; None if this is no study file, because it has no sections.

    Raises:
        StudyFileError: The file can't be read, is no YAML, or a variable in the name is not set.
    """
    return name_in(text_of(path, "a study file"), place_of(path)[0], str(path), os.environ)


def tracking_uri_in(text: str) -> str | None:
    """Return MLflow's address in the file of a study or experiment that was stored with results; None if it has none.

    Raises:
        StudyFileError: A variable in the address is not set.
    """
    problems = Problems("the stored study file", _MOST_STORED_VALUES)
    value = read_yaml(text, problems)
    tracking = value.get("tracking") if isinstance(value, dict) else None
    key_path = ("tracking", "uri")
    uri = fill_in(tracking.get("uri") if isinstance(tracking, dict) else None, os.environ, problems, key_path)
    problems.stop_if_any()
    return uri if isinstance(uri, str) else None


def text_of(path: Path, what: str) -> str:
    """Return the text of a file.

    Args:
        path: The file.
        what: What messages call such a file, such as `a study file`.

    Raises:
        StudyFileError: The file can't be read, is too large, or is not UTF-8 text.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StudyFileError(str(path), [FileProblem(0, "", f"{what} must be readable: {reason}")]) from None
    if len(data) > MAX_BYTES:
        raise StudyFileError(str(path), [FileProblem(0, "", f"{what} must have at most {MAX_BYTES} bytes")])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise StudyFileError(str(path), [FileProblem(line, "", f"{what} must be UTF-8 text")]) from None
