"""Gives a command the options that are declared as the fields of a dataclass, which several commands share."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, Final, get_type_hints

_ASKED: Final = "asked"


def with_options(
    declared: type[Any], *, without: frozenset[str] = frozenset()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command one option for each field of a dataclass.

    Typer reads the options of a command from the parameters of its function. The options of the dataclass take the
    place of the function's parameter `asked`. When the command is called, `asked` is an instance of the dataclass that
    holds what the user gave.

    Args:
        declared: The dataclass. Each field is an argument or an option, annotated as Typer needs it.
        without: The options that the command does not have, by their names in Python.
    """
    hints = get_type_hints(declared, include_extras=True)
    shared = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(declared)
        if field.name not in without
    ]

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        parameters: list[inspect.Parameter] = []
        for own in inspect.signature(command).parameters.values():
            parameters += shared if own.name == _ASKED else [own]

        @functools.wraps(command)
        def called(**values: Any) -> None:
            given = {each.name: values.pop(each.name) for each in shared}
            command(**{_ASKED: declared(**given)}, **values)

        # Typer reads the command line of a function from its signature and its annotations.
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called

    return decorated
