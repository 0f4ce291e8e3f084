"""The root of the command line: its verbs, and how errors end it."""

import importlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Annotated, Final

import typer

from runners.errors import RunnerError
from search_spaces.errors import ConfigError
from tuner.cli.console import ERR
from tuner.model.errors import StudyError
from tuner.model.exit_codes import ExitCode, exit_code_of
from tuner.model.version import version
from tuner.storage.home import STORAGE_VARIABLE

app = typer.Typer(
    help="Finds the best Apache Kafka producer configuration for each record size, by measuring it.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
_VERBS: Final = {
    "run": "run:run",
    "init": "plan:init",
    "plan": "plan:plan",
    "schema": "plan:schema",
    "status": "status:status",
    "front": "front:front",
    "recommend": "recommend:recommend",
    "confirm": "confirm:confirm",
    "verify": "verify:verify",
    "explain": "explain:explain",
    "compare": "compare:compare",
    "report": "report:report",
    "ui": "ui:ui",
    "serve": "serve:app",
    "sync": "sync:sync_study",
    "bench": "bench:bench",
    "broker": "broker:app",
    "doctor": "doctor:doctor",
    "cleanup": "cleanup:cleanup",
    "compare-tools": "compare_tools:compare_tools",
}
"""Each verb with its module here and what it is called there."""
_REMOTE: Final = {
    **{verb: f"remote:{verb}" for verb in ("run", "status", "front", "recommend", "report")},
    **{verb: f"remote:{verb}" for verb in ("studies", "pause", "resume", "cancel")},
}
"""Verbs against a service."""
_SERVER: Final = "KAFKA_TUNER_SERVER"


def _register(words: Sequence[str]) -> None:
    """Register the verb that is called, or all where none is: importing all of them takes half a second."""
    verbs = _verbs(words)
    called = next((word for word in words if word in verbs), None)
    for verb in [called] if called else verbs:
        module, _, name = verbs[verb].partition(":")
        found = getattr(importlib.import_module(f"tuner.cli.{module}"), name)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=verb)
        else:
            app.command(verb)(found)


def _verbs(words: Sequence[str]) -> Mapping[str, str]:
    """The verbs; where a service is named, those that it knows are its own."""
    named = any(word == "--server" or word.startswith("--server=") for word in words)
    if named:
        return _REMOTE
    return {**_VERBS, **_REMOTE} if os.environ.get(_SERVER) else _VERBS


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version())
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print versions and exit.")
    ] = False,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where studies are recorded: postgresql://USER@HOST/DATABASE, shared by hosts, in place of folders "
            "here (KAFKA_TUNER_STORAGE). Passwords belong into ~/.pgpass or PGPASSWORD.",
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Speak to the service there instead of running and reading studies here (KAFKA_TUNER_SERVER). "
            "Its token stands in KAFKA_TUNER_TOKEN, or in the file that KAFKA_TUNER_TOKEN_FILE names.",
        ),
    ] = None,
) -> None:
    """Take options that stand before any verb."""
    if server is not None:
        os.environ[_SERVER] = server
    if storage is not None:
        os.environ[STORAGE_VARIABLE] = storage  # for processes that we start, too


class _Interrupted(BaseException):
    """Ctrl-C or SIGTERM; not KeyboardInterrupt, which the command-line library would swallow."""


def _on_signal(number: int, _: FrameType | None) -> None:
    # A second one leaves at once: whatever clean-up hangs, the user gets out.
    signal.signal(number, signal.SIG_DFL)
    raise _Interrupted


def start() -> None:
    """Run the command line; every error that we expect ends as one message and its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _on_signal)
    try:
        _register(sys.argv[1:])
        app()
    except _Interrupted:
        _end_interrupted()
    except (RunnerError, ConfigError, StudyError) as error:
        _end(f"error: {error}", exit_code_of(error), "red")
    except SystemError as error:
        # Libraries written in C wrap what a signal's handler raised while they were running.
        if not isinstance(error.__cause__, _Interrupted):
            raise
        _end_interrupted()


def _end_interrupted() -> None:
    _end("interrupted: nothing is left behind; run the same command again", ExitCode.INTERRUPTED, "yellow")


def _end(message: str, code: ExitCode, style: str) -> None:
    ERR.print(message, style=style, markup=False, soft_wrap=True)
    sys.exit(code)
