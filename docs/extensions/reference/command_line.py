"""Makes the reference of the command line: the commands (such as `run`) with their arguments, options and examples."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import typer

from tuner.cli.app import app
from tuner.cli.command_table import COMMANDS, SERVICE_COMMANDS
from tuner.model.service_variables import SERVER_VARIABLE

from .markdown import code, entry, fenced, heading, prose, sentence, together

_EXAMPLES: Final = re.compile(r"\x08\nExamples?:\n(?P<lines>(?:[ ]{4}.*(?:\n|$))+)")
_FACTS: Final = re.compile(r"(?:^|\s+)\[(?P<facts>[^\[\]]+)\]$")


def commands() -> str:
    """Return the descriptions of all commands, in Markdown. Those that talk to a service come last."""
    root, context = _root()
    blocks = [heading(2, "tuner"), *_body(root, context)]
    for name in COMMANDS:
        blocks += _command(2, *_resolved(root, context, name))
    blocks += [
        heading(2, "tuner --server"),
        f"With {code('--server URL')}, or the variable {code(SERVER_VARIABLE)}, these commands talk to a service that "
        f"{code('tuner serve')} runs.",
    ]
    with _a_server_named():
        for name in SERVICE_COMMANDS:
            blocks += _command(3, *_resolved(root, context, name), under="tuner --server URL")
    return together(*blocks)


def _root() -> tuple[Any, Any]:
    root: Any = typer.main.get_command(app)
    return root, root.make_context("tuner", [], resilient_parsing=True)


def _resolved(root: Any, context: Any, name: str) -> tuple[Any, Any]:
    _, command, _ = root.resolve_command(context, [name])
    return command, command.make_context(name, [], parent=context, resilient_parsing=True)


@contextmanager
def _a_server_named() -> Iterator[None]:
    """Set the variable with the address of a service, so that the program offers the commands that talk to it."""
    before = os.environ.get(SERVER_VARIABLE)
    os.environ[SERVER_VARIABLE] = "http://127.0.0.1:8080"
    try:
        yield
    finally:
        del os.environ[SERVER_VARIABLE]
        if before is not None:
            os.environ[SERVER_VARIABLE] = before


def _command(level: int, command: Any, context: Any, under: str = "") -> Iterator[str]:
    """Yield the heading and the description of a command, and then those of its subcommands."""
    path = f"{under} {command.name}" if under else context.command_path
    yield heading(level, path)
    yield from _body(command, context, path)
    for inner in getattr(command, "commands", {}).values():
        if not inner.hidden:
            opened = inner.make_context(inner.name, [], parent=context, resilient_parsing=True)
            yield from _command(level + 1 if level == 2 else level, inner, opened)


def _body(command: Any, context: Any, path: str = "tuner") -> Iterator[str]:
    text = command.help or ""
    yield from (prose(paragraph) for paragraph in _EXAMPLES.sub("", text).split("\n\n") if paragraph.strip())
    usage = re.sub("[{}]", "", " ".join(command.collect_usage_pieces(context)))
    yield fenced("text", f"{path} {usage}")
    if found := _EXAMPLES.search(text):
        yield fenced("console", "\n".join(_example(line.strip()) for line in found["lines"].splitlines() if line))
    panels: dict[str, list[str]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and "--help" not in parameter.opts:
            title = parameter.rich_help_panel or ("Options" if parameter.param_type_name == "option" else "Arguments")
            panels.setdefault(title, []).append(_parameter(path, parameter, *record))
    for title in sorted(panels, key=lambda title: (title != "Arguments", title == "Options")):
        yield f"**{title}**"
        yield from panels[title]


def _example(line: str) -> str:
    """Return an example as a terminal shows it.

    A remark that follows the command after several blanks is shown as a comment above the command.
    """
    command, _, remark = re.sub(r"\s{2,}", "\0", line).partition("\0")
    return f"# {remark}\n$ {command}" if remark else f"$ {command}"


def _parameter(path: str, parameter: Any, shown: str, told: str) -> str:
    """Return the description of an argument or an option: its spelling, its meaning, its range and its default."""
    found = _FACTS.search(told)
    meaning = told[: found.start()] if found else told
    if not meaning:
        raise ValueError(f"every parameter needs a help text, but {shown} of `{path}` has none")
    facts = [_fact(fact) for fact in found["facts"].split("; ")] if found else []
    shown = re.sub(r" <[^<>]+>", "", shown)  # Typer's word for the type of an argument
    anchor = f"{path.replace(' ', '-')}-{parameter.opts[0].lstrip('-')}" if shown.startswith("-") else ""
    return entry(shown.strip(), sentence(meaning), " ".join(facts), anchor=anchor)


def _fact(fact: str) -> str:
    """Return a sentence for one remark that Typer's help shows in brackets, such as `default: 5`."""
    name, _, value = fact.partition(": ")
    if name == "default":
        in_words = value.startswith("(") and value.endswith(")")
        return f"Default: {prose(value[1:-1]) if in_words else code(value)}."
    if name == "env var":
        return f"Environment variable: {code(value)}."
    if fact == "required":
        return "Required."
    if found := re.fullmatch(r"(?:(?P<low>\S+?)<=)?x(?:<=(?P<high>\S+)|>=(?P<least>\S+))?", fact):
        least = found["low"] or found["least"]
        return f"From {least} to {found['high']}." if found["high"] and least else f"At least {least}."
    return sentence(fact)
