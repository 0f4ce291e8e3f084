"""Gives a command groups of options that are declared as the fields of dataclasses."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints


def with_options(*, without: frozenset[str] = frozenset()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command the options of all dataclasses that its parameters are annotated with.

    Typer reads the options of a command from the parameters of its function. The decorator replaces each parameter
    whose annotation is a dataclass by one option for each field of the dataclass. When the command is called, the
    parameter is an instance of the dataclass that holds what the user gave.

    Args:
        without: The options that the command does not have, by their names in Python.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        declared = inspect.signature(command).parameters.values()
        groups: dict[str, Any] = {own.name: own.annotation for own in declared if is_dataclass(own.annotation)}
        parameters = [
            option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for own in declared
            for option in (_options_of(own.annotation, without) if own.name in groups else [own])
        ]

        @functools.wraps(command)
        def called(**values: Any) -> None:
            dataclasses = {
                name: group(**{field.name: values.pop(field.name) for field in fields(group) if field.name in values})
                for name, group in groups.items()
            }
            command(**dataclasses, **values)

        # Typer reads the command line of a function from its signature and its annotations.
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called

    return decorated


def _options_of(group: type[Any], without: frozenset[str]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
        if field.name not in without
    ]
