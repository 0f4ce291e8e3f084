"""The functions that read a study file, and the messages for keys and values that its sections do not accept."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from search_spaces.client import Client, client_of, librdkafka
from search_spaces.errors import UnknownClient
from tuner.model.spec import StudySpec
from tuner.study_file.building import Builder
from tuner.study_file.errors import KeyPath, Problem, Problems, Refusal, Refused, StudyFileError, did_you_mean, key_path
from tuner.study_file.properties import Files
from tuner.study_file.sections import STUDY_NAME, Section, StudyFile
from tuner.study_file.strict_yaml import MAX_BYTES, Plain, fill_in, read_yaml, refuse_passwords

_EXAMPLE: Final = "the shortest study file is `workload: {record_bytes: [100, 1000]}`"


def read_study_file(
    path: Path, environ: Mapping[str, str] = os.environ, *, searched: bool = True
) -> tuple[StudySpec, str]:
    """Read a study file.

    Args:
        path: The file. Paths in it are relative to its folder. If the file gives no name, the study is named after
            the file, without the extension.
        environ: Environment variables for `${NAME}`.
        searched: Whether the study is to search. If not, the settings that only a search needs may be missing.

    Returns:
        The study, and the text of the file, in which variables are not replaced by their values.

    Raises:
        StudyFileError: The file can't be read, or is no valid study; the message names every problem.
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
        text: The text, in YAML.
        name: Name of the study if the text gives none.
        folder: Folder to which paths are relative; None if the text must not name local files.
        origin: Name of the text in messages.
        environ: Environment variables for `${NAME}`.
        searched: Whether the study is to search. If not, the settings that only a search needs may be missing.

    Raises:
        StudyFileError: The text is no valid study; the message names every problem.
    """
    problems = Problems(origin)
    written = read_yaml(text, problems)
    refuse_passwords(written, problems)
    value = fill_in(written, environ, problems)
    file = check(value, problems)
    if file.study.name is None:
        try:
            STUDY_NAME.read(name)
        except ValueError as error:
            problems.add(
                ("study",), f"{error}, but got {name!r}; give the study a name, such as `study: orders`", line=1
            )
    return Builder(file, name, Files(folder, problems), problems, searched).study()


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StudyFileError(str(path), [Problem(0, "", f"a study file must be readable: {reason}")]) from None
    if len(data) > MAX_BYTES:
        raise StudyFileError(str(path), [Problem(0, "", f"a study file must have at most {MAX_BYTES} bytes")])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise StudyFileError(str(path), [Problem(line, "", "a study file must be UTF-8 text")]) from None


def check(value: Plain, problems: Problems) -> StudyFile:
    """Check the content of a study file against the sections and their keys, and return the sections.

    Args:
        value: The content of the file.
        problems: The problems that were found so far, to which new ones are added.

    Raises:
        StudyFileError: A key is unknown or missing, a value is refused, or the content is not a mapping.
    """
    try:
        if isinstance(value, dict):
            return StudyFile.model_validate(value, context=_client(value))
        what = "is empty" if value is None else "holds no sections"
        problems.add((), f"a study file must hold sections with keys, but this one {what}; {_EXAMPLE}")
    except ValidationError as error:
        for misfit in error.errors(include_url=False):
            _note(misfit, problems)
    raise problems.error()


def _client(value: Mapping[str, Any]) -> Client:
    """Return the client of a study, which decides how its properties are read. A wrong one is refused with its key."""
    try:
        return client_of(value.get("client", "librdkafka"))
    except UnknownClient:
        return librdkafka()


def _note(misfit: ErrorDetails, problems: Problems) -> None:
    place: KeyPath = tuple(misfit["loc"])
    match misfit["type"]:
        case "value_error":
            refusal: Refused = misfit["ctx"]["error"]
            for each in refusal.refusals:
                problems.refuse(place, each, _inside(misfit["input"], each.within))
        case "extra_forbidden":
            problems.add(place, _unknown(place))
        case "missing":
            problems.add(place, f"this key is required; {_EXAMPLE}")
        case "too_short":
            problems.refuse(place, Refusal("the list must have at least one entry"), misfit["input"])
        case "too_long":
            problems.refuse(
                place, Refusal(f"the list must have at most {misfit['ctx']['max_length']} entries"), misfit["input"]
            )
        case "list_type":
            problems.refuse(place, Refusal("must be a list, such as [a, b]"), misfit["input"])
        case _:
            advice = f"put a blank after each colon; the keys are {', '.join(_keys(place))}"
            problems.refuse(place, Refusal("must be a section of `key: value` lines", advice), misfit["input"])


def _unknown(place: KeyPath) -> str:
    """Return the message for a key that its section does not have.

    The message does not show the value of the key: if the key is misspelt, the value may be a secret.
    """
    section, name = place[:-1], str(place[-1])
    keys = _keys(section)
    where = key_path(section) or "a study file"
    advice = did_you_mean(name, keys)
    if not advice:
        elsewhere = [
            f"{key_path(other)}" for other, known in _sections(StudyFile) if name in known and other != section
        ]
        advice = f"it belongs in {elsewhere[0]}" if elsewhere and elsewhere[0] else ""
    ended = advice if advice.endswith("?") else f"{advice or 'leave it out'}."
    return f"{where} has no such key; {ended} Its keys: {', '.join(keys)}"


def _keys(section: KeyPath) -> list[str]:
    named = tuple(part for part in section if isinstance(part, str))
    named = ("target", *named[1:]) if named[:1] == ("targets",) else named
    return next((keys for place, keys in _sections(StudyFile) if place == named), [])


def _sections(model: type[BaseModel], place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield the key path and the keys of each section, with outer sections before inner ones."""
    yield place, list(model.model_fields)
    for name, field in model.model_fields.items():
        inner: Any = field.annotation
        if isinstance(inner, type) and issubclass(inner, Section):
            yield from _sections(inner, (*place, name))


def _inside(value: Any, place: KeyPath) -> Any:
    for part in place:
        value = value[part]
    return value
