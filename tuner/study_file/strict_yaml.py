"""Reads YAML strictly into plain values, notes the line of each value, and replaces environment variables.

The module reads the events of the YAML parser, so that YAML never constructs objects. Unquoted words follow the core
schema of YAML 1.2: `no`, `on`, `07:00`, `100:30` and `010` are texts, and `1e6` is a number. The module refuses
repeated keys, anchors and aliases, tags, a second document, and a depth or size that no study needs.

`${NAME}` and `${NAME:-default}` are replaced after YAML was read, so the value of a variable can't add keys or lists.
`$${` stands for `${`. Variables that hold secrets are not passed on to the processes that a study starts.

Source: the core schema in section 10.3 of YAML 1.2.2.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from itertools import takewhile
from typing import Any, Final

import yaml

from search_spaces.files.variables import VariableError, filled_in, names_in, with_defaults
from search_spaces.properties.catalogue import is_secret
from tuner.model.secrets_in_urls import secrets_in
from tuner.model.target import Target
from tuner.study_file.errors import KeyPath, Problems

MAX_BYTES: Final = 250_000
_MAX_DEPTH: Final = 16

Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]
"""A value read from YAML. Dates, sets and objects are not among them."""

_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]{0,29})")
_FLOAT: Final = re.compile(r"[-+]?((0|[1-9][0-9]{0,29})(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,4})?")


def read_yaml(text: str, problems: Problems) -> Plain:
    """Read a text that is one YAML document, and note the line of each value in `problems`.

    Raises:
        StudyFileError: The text is not YAML, or contains something that a study file must not contain.
    """
    value: Plain = None
    if len(text) > MAX_BYTES:
        raise problems.error_with((), f"the file must have at most {MAX_BYTES} bytes", line=0)
    try:
        value = _document(_events(text, problems), problems)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problems.add((), f"the file must be printable text, but character {error.position + 1} is not", line=line)
    except yaml.MarkedYAMLError as error:
        line, what = _explained(error, text)
        problems.add((), what, line=line)
    problems.stop_if_any()
    return value


def scalar(text: str) -> Plain:
    """Return what an unquoted word in YAML stands for: a number, a boolean, None, or the word itself."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text


def _events(text: str, problems: Problems) -> Iterator[yaml.Event]:
    loader = yaml.SafeLoader(text)
    try:
        while loader.check_event():
            yield loader.get_event()  # type: ignore[no-untyped-call]
    except (ValueError, OverflowError):  # the library does not check the numbers of escapes such as "\\UFFFFFFFF"
        what = "this is not YAML: an escape sequence in quotes is not valid"
        raise problems.error_with((), what, line=loader.line + 1) from None


def _document(events: Iterator[yaml.Event], problems: Problems) -> Plain:
    value: Plain = None
    documents = 0
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise problems.error_with((), "the file must be one YAML document", _line(event))
            value = _value(next(events), events, (), problems)
    return value


def _value(event: Any, events: Iterator[yaml.Event], key_path: KeyPath, problems: Problems) -> Plain:
    problems.lines.setdefault(key_path, _line(event))
    if len(key_path) > _MAX_DEPTH:
        raise problems.error_with(key_path[:1], f"values may be nested at most {_MAX_DEPTH} deep", _line(event))
    if len(problems.lines) > problems.most_values:
        what = f"the file must have at most {problems.most_values} values"
        raise problems.error_with(key_path[:1], what, _line(event))
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        problems.add(
            key_path,
            "anchors (&) and aliases (*) can't be used; write the value out, or in quotes if it begins with & or *",
        )
    if isinstance(event, yaml.AliasEvent):
        return None
    if event.tag is not None:
        problems.add(
            key_path, "tags (!) can't be used; write the value without a tag, or in quotes if it begins with !"
        )
    if isinstance(event, yaml.ScalarEvent):
        return scalar(event.value) if event.implicit[0] else event.value
    if isinstance(event, yaml.SequenceStartEvent):
        return _list(events, key_path, problems)
    return _mapping(events, key_path, problems)


def _list(events: Iterator[yaml.Event], key_path: KeyPath, problems: Problems) -> list[Plain]:
    inner = takewhile(lambda event: not isinstance(event, yaml.SequenceEndEvent), events)
    return [_value(event, events, (*key_path, number), problems) for number, event in enumerate(inner)]


def _mapping(events: Iterator[yaml.Event], key_path: KeyPath, problems: Problems) -> dict[str, Plain]:
    entries: dict[str, Plain] = {}
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            break
        if not isinstance(event, yaml.ScalarEvent) or event.anchor is not None or event.tag is not None:
            raise problems.error_with(key_path, "a key must be a plain word", _line(event))
        inner = (*key_path, event.value)
        if event.value in entries:
            again = f"this key is given twice, here and in line {problems.lines[inner]}; leave one of them out"
            problems.add(inner, again, line=_line(event))
        problems.lines.setdefault(inner, _line(event))
        entries[event.value] = _value(next(events), events, inner, problems)
    return entries


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _explained(error: yaml.MarkedYAMLError, text: str) -> tuple[int, str]:
    """Return the line of a YAML error, and a message. For frequent mistakes, the message says what to do."""
    mark = error.problem_mark
    number = 1 if mark is None else mark.line + 1
    lines = text.splitlines()
    line = lines[number - 1] if number <= len(lines) else ""
    problem = error.problem or "it can't be read"
    if "\t" in line:
        return number, f"YAML allows only spaces here, but this line has a tab; replace it ({problem})"
    if "${" in line and ("{" in line.replace("${", "") or "[" in line):
        return number, f'between {{ }} or [ ], ${{NAME}} must be in quotes: "${{NAME}}" ({problem})'
    if "mapping values are not allowed" in problem:
        return number, f"put a value with `: ` in quotes, and indent the keys of a section alike ({problem})"
    return number, f"this is not YAML: {problem}"


def fill_in(value: Plain, environ: Mapping[str, str], problems: Problems, key_path: KeyPath = ()) -> Plain:
    """Return the value with each `${NAME}` in its texts replaced by the value of the environment variable NAME.

    The keys of mappings are not changed. The original text of a replaced value is noted in `problems.written`, so that
    messages show this text instead of the value. A variable that is not set is noted as a problem and replaced by an
    empty text.

    Args:
        value: The value as read from the file.
        environ: The environment variables.
        problems: The problems of the file.
        key_path: Key path of the value.
    """
    match value:
        case dict():
            return {key: fill_in(inner, environ, problems, (*key_path, key)) for key, inner in value.items()}
        case list():
            return [fill_in(inner, environ, problems, (*key_path, number)) for number, inner in enumerate(value)]
        case str():
            return _filled(value, environ, problems, key_path)
        case _:
            return value


def refuse_passwords(value: Plain, problems: Problems, key_path: KeyPath = ()) -> None:
    """Note a problem for each URL in which a password is written out, because the file is kept with the results.

    Args:
        value: The value as read from the file, before its variables are replaced.
        problems: The problems of the file, to which new ones are added.
        key_path: Key path of the value.
    """
    match value:
        case dict() | list():
            for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
                refuse_passwords(inner, problems, (*key_path, key))
        case str() if secrets_in(with_defaults(value)):
            problems.add(
                key_path,
                "a password must not be written into a study file; write ${NAME} in its place to take it from an "
                "environment variable",
            )


def escaped(text: str) -> str:
    """Return the text with every `${` escaped, so that a study file reads it back unchanged."""
    return text.replace("${", "$${")


def _filled(text: str, environ: Mapping[str, str], problems: Problems, key_path: KeyPath) -> str:
    try:
        filled, used = filled_in(text, environ, MAX_BYTES)
    except VariableError as error:
        problems.add(key_path, str(error))
        return ""
    if used:
        problems.written[key_path] = text
    return filled


def drop_used_secrets(text: str, targets: Iterable[Target], environ: MutableMapping[str, str]) -> None:
    """Remove the environment variables from which a study took secrets of its targets, such as passwords.

    The study already holds the values of these variables. All processes of a user can read each other's environment,
    and Ray and MLflow start many processes, which inherit our environment. The environment that the shell gave to this
    process stays readable.

    Args:
        text: The text of the study file that was read.
        targets: The targets of the study, whose connection files may name variables, too.
        environ: The environment variables of this process, which are changed in place.
    """
    in_files = [name for target in targets for name in target.secret_variables]
    for name in (*secret_variables(read_yaml(text, Problems(""))), *in_files):
        environ.pop(name, None)


def secret_variables(value: Plain) -> list[str]:
    """Return the names of the environment variables from which a file takes secrets of targets, such as passwords."""
    return [name for text in _secrets(value) for name in names_in(text)]


def _secrets(value: Plain, key: str = "") -> Iterator[str]:
    match value:
        case dict():
            for name, inner in value.items():
                # MLflow reads the password of its server from the environment again and again, so it must stay there.
                if name != "tracking":
                    yield from _secrets(inner, name)
        case list():
            for inner in value:
                yield from _secrets(inner, key)
        case str() if is_secret(key):
            yield value
