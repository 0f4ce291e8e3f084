"""The root of the command line: its verbs, and how errors end it."""

import importlib
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Annotated, Final

import typer

from runners.errors import RunnerError
from search_spaces.errors import ConfigError
from tuner.cli.console import ERR
from tuner.exit_codes import ExitCode, exit_code_of
from tuner.study.errors import StudyError
from tuner.version import version

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
    "compare": "compare:compare",
    "report": "report:report",
    "ui": "ui:ui",
    "sync": "sync:sync_study",
    "bench": "bench:bench",
    "broker": "broker:app",
    "doctor": "doctor:doctor",
    "cleanup": "cleanup:cleanup",
    "compare-tools": "compare_tools:compare_tools",
}
"""Each verb with its module here and what it is called there."""


def _register(words: Sequence[str]) -> None:
    """Register the verb that is called, or all where none is: importing all of them takes half a second."""
    called = next((word for word in words if word in _VERBS), None)
    for verb in [called] if called else _VERBS:
        module, _, name = _VERBS[verb].partition(":")
        found = getattr(importlib.import_module(f"tuner.cli.{module}"), name)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=verb)
        else:
            app.command(verb)(found)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version())
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print versions and exit.")
    ] = False,
) -> None:
    """Take options that stand before any verb."""


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
