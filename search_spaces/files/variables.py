"""Replaces `${NAME}` and `${NAME:-default}` in texts by environment variables; `$${` stands for `${`."""

import re
from collections.abc import Mapping
from typing import Final

_REFERENCE: Final = re.compile(r"\$\$\{|\$\{(?P<inside>[^}]*)(?P<end>\}?)")
_INSIDE: Final = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(:-(?P<default>.*))?", re.DOTALL)


class VariableError(ValueError):
    """A reference can't be replaced. The message is the rule, and never contains the value of a variable.

    Attributes:
        name: The name of the variable that is not set; empty if a reference has the wrong form.
    """

    def __init__(self, rule: str, name: str = "") -> None:
        self.name = name
        super().__init__(rule)


def filled_in(text: str, environ: Mapping[str, str], longest: int) -> tuple[str, bool]:
    """Return a text with each reference replaced, and whether the value of a variable is in it.

    Args:
        text: The text as it was written.
        environ: The environment variables.
        longest: The most characters that the text and the values may have together.

    Raises:
        VariableError: A variable is not set, a reference has the wrong form, or the text becomes too long.
    """
    length, used = len(text), False

    def replacement(reference: re.Match[str]) -> str:
        nonlocal length, used
        if reference[0] == "$${":
            return "${"
        inside = _INSIDE.fullmatch(reference["inside"])
        if inside is None or not reference["end"]:
            raise VariableError("a variable must read ${NAME} or ${NAME:-default}; write $${ for the characters ${")
        name, default = inside["name"], inside["default"]
        try:
            value = environ[name]
        except KeyError:
            value = ""
            if default is None:
                rule = f"the environment variable {name} is not set; export it, or write ${{{name}:-default}}"
                raise VariableError(rule, name) from None
        if default is not None and not value:
            return str(default)
        used = True
        length += len(value)
        if length > longest:
            raise VariableError(f"a text must have at most {longest} characters with its variables filled in")
        return value

    return _REFERENCE.sub(replacement, text), used


def names_in(text: str) -> list[str]:
    """Return the names of the environment variables that a text refers to as `${NAME}`."""
    inside = (_INSIDE.fullmatch(reference["inside"] or "") for reference in _REFERENCE.finditer(text))
    return [found["name"] for found in inside if found is not None]


def with_defaults(text: str) -> str:
    """Return a text with each reference replaced by its default, as if no variable were set."""
    return _REFERENCE.sub(_default, text)


def _default(reference: re.Match[str]) -> str:
    inside = _INSIDE.fullmatch(reference["inside"] or "")
    return reference[0] if inside is None else inside["default"] or ""
