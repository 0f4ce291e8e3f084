"""The root of the command line: its verbs, and how errors end it."""

import signal
import sys
from types import FrameType
from typing import Annotated

import typer

from runners.errors import RunnerError
from search_spaces.errors import ConfigError
from tuner.cli import (
    bench,
    broker,
    cleanup,
    compare,
    compare_tools,
    doctor,
    front,
    plan,
    recommend,
    report,
    run,
    status,
    sync,
    ui,
)
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
app.command("run")(run.run)
app.command("init")(plan.init)
app.command("plan")(plan.plan)
app.command("schema")(plan.schema)
app.command("status")(status.status)
app.command("front")(front.front)
app.command("recommend")(recommend.recommend)
app.command("compare")(compare.compare)
app.command("report")(report.report)
app.command("ui")(ui.ui)
app.command("sync")(sync.sync_study)
app.command("bench")(bench.bench)
app.add_typer(broker.app, name="broker")
app.command("doctor")(doctor.doctor)
app.command("cleanup")(cleanup.cleanup)
app.command("compare-tools")(compare_tools.compare_tools)


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
        app()
    except _Interrupted:
        _end("interrupted: nothing is left behind; run the same command again", ExitCode.INTERRUPTED, "yellow")
    except (RunnerError, ConfigError, StudyError) as error:
        _end(f"error: {error}", exit_code_of(error), "red")


def _end(message: str, code: ExitCode, style: str) -> None:
    ERR.print(message, style=style, markup=False, soft_wrap=True)
    sys.exit(code)
