"""A study file as a study: the way in, and every misfit with the sections in our words."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tuner.model.spec import StudySpec
from tuner.study_file.building import Builder
from tuner.study_file.errors import KeyPath, Problem, Problems, Refusal, Refused, StudyFileError, did_you_mean, key_path
from tuner.study_file.properties import Files
from tuner.study_file.sections import NAME, Section, StudyFile
from tuner.study_file.strict_yaml import MAX_BYTES, Plain, fill_in, read_yaml

_EXAMPLE: Final = "the least study file is `workload: {record_bytes: [100, 1000]}`"


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
    if file.study.name is None:
        try:
            NAME.read(name)
        except ValueError as error:
            problems.add(("study",), f"{error}, and {name!r} is none; give the study one: `study: orders`", line=1)
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


def check(value: Plain, problems: Problems) -> StudyFile:
    """The sections of a file.

    Raises:
        StudyFileError: Something does not fit, or was wrong before.
    """
    try:
        if isinstance(value, dict):
            return StudyFile.model_validate(value)
        what = "is empty" if value is None else "holds no sections"
        problems.add((), f"a study file names sections, each with its keys, and this one {what}; {_EXAMPLE}")
    except ValidationError as error:
        for misfit in error.errors(include_url=False):
            _note(misfit, problems)
    raise problems.error()


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
            problems.add(place, f"this key must be there; {_EXAMPLE}")
        case "too_short":
            problems.refuse(place, Refusal("a list has at least one entry"), misfit["input"])
        case "too_long":
            problems.refuse(
                place, Refusal(f"a list has at most {misfit['ctx']['max_length']} entries"), misfit["input"]
            )
        case "list_type":
            problems.refuse(place, Refusal("this is a list, such as [a, b]"), misfit["input"])
        case _:
            advice = f"its keys are {', '.join(_keys(place))}; a blank follows the colon"
            problems.refuse(place, Refusal("a section has keys with values", advice), misfit["input"])


def _unknown(place: KeyPath) -> str:
    """What to say of a key that its section does not have; its value may be anything and is not shown."""
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
    """Every section's place and keys, outer ones first."""
    yield place, list(model.model_fields)
    for name, field in model.model_fields.items():
        inner: Any = field.annotation
        if isinstance(inner, type) and issubclass(inner, Section):
            yield from _sections(inner, (*place, name))


def _inside(value: Any, place: KeyPath) -> Any:
    for part in place:
        value = value[part]
    return value
