"""Reads a command line as the program would, and does nothing else."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from tuner.cli.app import app
from tuner.cli.command_table import COMMANDS, SERVICE_COMMANDS

_SERVER = "KAFKA_TUNER_SERVER"
_SOME_SERVICE = "http://127.0.0.1:8080"


def read(words: Sequence[str], server: str | None = None) -> list[str]:
    """Read the words after `tuner`.

    Args:
        words: These words.
        server: The service that the environment names.

    Returns:
        The arguments of the command that are neither options nor files.

    Raises:
        Exception: The program's own, where there is no such command, argument or option, or it does not take the value.
    """
    root: Any = typer.main.get_command(app)
    context = root.make_context("tuner", list(words))
    with _server(context.params["server"] or server):
        while rest := [*getattr(context, "_protected_args", ()), *context.args]:
            name, command, after = context.command.resolve_command(context, rest)
            context = command.make_context(name, after, parent=context)
    given = (
        context.params[parameter.name]
        for parameter in context.command.params
        if parameter.param_type_name == "argument"
    )
    return [value for value in given if isinstance(value, str)]


def options_of(words: Sequence[str]) -> set[str]:
    """Return the options that a command and its subcommands take, here or at a service; the words name it."""
    with _server(None):
        known = set() if words[0] in set(SERVICE_COMMANDS) - set(COMMANDS) else _options_of(words)
    if words[0] in SERVICE_COMMANDS:
        with _server(_SOME_SERVICE):
            known |= _options_of(words)
    return known


def options_of_service(words: Sequence[str]) -> set[str]:
    """Return the options of a command with `--server`. The words are the command, such as `experiment run`."""
    with _server(_SOME_SERVICE):
        return _options_of(words)


def _options_of(words: Sequence[str]) -> set[str]:
    root: Any = typer.main.get_command(app)
    context = root.make_context("tuner", [], resilient_parsing=True)
    known = _names(root, context)
    rest = list(words)
    while rest and hasattr(context.command, "resolve_command") and not rest[0].startswith("-"):
        name, command, rest = context.command.resolve_command(context, rest)
        context = command.make_context(name, [], parent=context, resilient_parsing=True)
        known |= _names(command, context)
    return known


def examples() -> Iterator[str]:
    """Yield the examples in the help of every command."""
    root: Any = typer.main.get_command(app)
    context = root.make_context("tuner", [], resilient_parsing=True)
    for commands, server in ((COMMANDS, None), (SERVICE_COMMANDS, _SOME_SERVICE)):
        with _server(server):
            for name in commands:
                yield from _examples_of(context.command.resolve_command(context, [name])[1])


def _examples_of(command: Any) -> Iterator[str]:
    yield from (found.strip() for found in re.findall(r"^ +(tuner .*)$", command.help or "", re.MULTILINE))
    for inner in getattr(command, "commands", {}).values():
        yield from _examples_of(inner)


def _names(command: Any, context: Any) -> set[str]:
    return {name for parameter in command.get_params(context) for name in (*parameter.opts, *parameter.secondary_opts)}


@contextmanager
def _server(address: str | None) -> Iterator[None]:
    """Have the program offer the commands of a service, where the command names one."""
    if address is not None:
        os.environ[_SERVER] = address
    try:
        yield
    finally:
        if address is not None:
            del os.environ[_SERVER]
