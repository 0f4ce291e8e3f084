"""`${NAME}` and `${NAME:-default}` in texts of a study file.

Filled in after YAML was read, so a variable's value can't become keys or lists. `$${` stands for `${`.
Variables that stand for secrets are not handed on to the processes that a study starts.
"""

import re
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Final

from search_spaces.roles import is_secret
from tuner.study_file.errors import KeyPath, Problems
from tuner.study_file.strict_yaml import Plain, read_yaml

_REFERENCE: Final = re.compile(r"\$\$\{|\$\{(?P<inside>[^}]*)(?P<end>\}?)")
_INSIDE: Final = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(:-(?P<default>.*))?", re.DOTALL)


def fill_in(value: Plain, environ: Mapping[str, str], problems: Problems, place: KeyPath = ()) -> Plain:
    """The value with every reference in its texts replaced; keys stay as they are.

    What the file has at such a place is noted in `problems.written`, to be shown in place of the value. Variables that
    are missing are noted as problems, and an empty text stands for them.

    Args:
        value: As read from the file.
        environ: Variables.
        problems: Of the file.
        place: Of the value.
    """
    match value:
        case dict():
            return {key: fill_in(inner, environ, problems, (*place, key)) for key, inner in value.items()}
        case list():
            return [fill_in(inner, environ, problems, (*place, number)) for number, inner in enumerate(value)]
        case str():
            return _filled(value, environ, problems, place)
        case _:
            return value


def names_in(text: str) -> list[str]:
    """The variables that a text refers to."""
    inside = (_INSIDE.fullmatch(reference["inside"] or "") for reference in _REFERENCE.finditer(text))
    return [found["name"] for found in inside if found is not None]


def escaped(text: str) -> str:
    """The text as a study file has it when nothing in it is a reference."""
    return text.replace("${", "$${")


def _filled(text: str, environ: Mapping[str, str], problems: Problems, place: KeyPath) -> str:
    def replacement(reference: re.Match[str]) -> str:
        if reference[0] == "$${":
            return "${"
        inside = _INSIDE.fullmatch(reference["inside"])
        if inside is None or not reference["end"]:
            problems.add(place, "a variable reads ${NAME} or ${NAME:-default}; write $${ for the characters ${")
            return ""
        found = environ.get(inside["name"])
        if inside["default"] is not None and not found:
            return inside["default"]
        if found is None:
            name = inside["name"]
            problems.add(place, f"the environment variable {name} is not set; export it, or write ${{{name}:-default}}")
            return ""
        problems.written[place] = text
        return found

    return _REFERENCE.sub(replacement, text)


def drop_used_secrets(text: str, environ: MutableMapping[str, str]) -> None:
    """Remove the variables that stand for secrets of the targets; the study has their values.

    Every process of the same user can read a process's environment, and Ray and MLflow start many. What the shell gave
    to this process itself stays readable there.

    Args:
        text: A study file that was read.
        environ: This process's variables, changed in place.
    """
    for value in _secrets(read_yaml(text, Problems(""))):
        for name in names_in(value):
            environ.pop(name, None)


def _secrets(value: Plain, key: str = "") -> Iterator[str]:
    match value:
        case dict():
            for name, inner in value.items():
                # The tracking server's own password is MLflow's, which reads it from there again and again.
                if name != "tracking":
                    yield from _secrets(inner, name)
        case list():
            for inner in value:
                yield from _secrets(inner, key)
        case str() if is_secret(key):
            yield value
