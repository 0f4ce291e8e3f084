"""The root of the command line: the table of its subcommands (verbs), and the exit codes and messages of errors."""

import errno
import importlib
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperGroup

from tuner.present.console import ERR, UNWRAPPED

VERBS: Final[Mapping[str, tuple[str, str]]] = {
    "run": ("run:run", "Search for the best producer configs, and confirm the winners against your current config."),
    "init": ("plan:init", "Write a new study file that lists the settings with their defaults and explains them."),
    "plan": (
        "plan:plan",
        "Show what a study would do, without any traffic: trials, time, bytes, search space, topics that it creates.",
    ),
    "schema": ("plan:schema", "Print the JSON Schema of study files, so that an editor can check and complete them."),
    "status": (
        "show:status",
        "Show the progress of a study: trials done, best results so far, time left, current step, failures.",
    ),
    "studies": (
        "studies:studies",
        "List your studies, newest first. Each line shows the state, the trials and the best proven gain.",
    ),
    "trials": ("studies:trials", "Show the trials of a study: kind, metrics and config of each."),
    "front": (
        "show:front",
        "Show the Pareto front of a study: the configs that no other config beats in every objective.",
    ),
    "grid": ("show:grid", "Show the tables of a grid search: each metric by the values of two knobs."),
    "recommend": (
        "recommend:recommend",
        "Show the config to use for each record size, with its measured gain, ready to paste.",
    ),
    "confirm": (
        "run:confirm",
        "Measure the best configs of a study again, alternating with the baseline, to find out which gains are real.",
    ),
    "verify": (
        "verify:verify",
        "Measure a properties file alternating with the baseline, and end with exit code 99 if the file is worse.",
    ),
    "lint": (
        "lint:lint",
        "Check a producer's properties file for mistakes and for lines that do nothing, and explain its values.",
    ),
    "translate": (
        "translate:translate",
        "Translate a producer's properties file from librdkafka to the Java client, or back.",
    ),
    "explain": (
        "recommend:explain",
        "Explain a recommendation: what each changed property brings, and which knobs mattered in the whole search.",
    ),
    "compare": (
        "show:compare",
        "Compare two studies: their Pareto fronts, and their best configs for each record size and goal.",
    ),
    "report": (
        "show:report",
        "Write the report of a study, with recommendations, fronts and all trials, as one HTML file.",
    ),
    "export": (
        "export:export",
        "Export a study to Optuna, for optuna-dashboard and optuna.visualization.",
    ),
    "experiment": (
        "experiment:app",
        "Measure a fixed list of configs and loads in rounds, or repeat the experiments of five papers.",
    ),
    "cost": (
        "cost:cost",
        "Compute what a terabyte costs with the baseline and with the recommended config, from unit prices of yours.",
    ),
    "calibrate": (
        "calibrate:calibrate",
        "Measure a few configs that calibrate the performance model, for tuner predict without a study.",
    ),
    "predict": (
        "predict:predict",
        "Predict what a config would do, from what a study has measured, without sending anything.",
    ),
    "fork": ("fork:fork", "Begin a new study with those trials of another study that fit the new settings."),
    "rm": ("studies:rm", "Remove studies for good: their results, and their folders on this host."),
    "ui": ("mlflow_verbs:ui", "Show your studies in the MLflow UI, on this machine, until Ctrl-C."),
    "sync": (
        "mlflow_verbs:sync_study",
        "Bring MLflow up to date with a study, for example after the MLflow server was down.",
    ),
    "bench": ("bench:bench", "Measure one producer config: its throughput, its latency, and what limited it."),
    "consume": (
        "consume:consume",
        "Read a topic with consumers, and show how fast that is, what limited it, and that no record was missed.",
    ),
    "doctor": (
        "doctor:doctor",
        "Check this host and your cluster, and measure how fast the load generator is on this host.",
    ),
    "sample": (
        "sample:sample",
        "Read some of a topic's newest records, and show their sizes, keys, compressibility and rate.",
    ),
    "inspect": (
        "inspect:inspect",
        "Read some of a topic's newest record batches, and say how its producers batch and compress today.",
    ),
    "cleanup": (
        "broker:cleanup",
        "List the topics that earlier tuner runs left on a cluster, and delete them with --remove.",
    ),
    "compare-tools": (
        "compare_tools:compare_tools",
        "Measure the same workload with the tuner's load generator and with Kafka's ProducerPerformance, in turn.",
    ),
    "compare-clients": (
        "compare_clients:compare_clients",
        "Measure the same workload with librdkafka and with the Java client, in turn, to see which is faster.",
    ),
    "serve": ("serve:app", "Run the HTTP service, which runs the studies you submit and returns recommendations."),
    "broker": ("broker:app", "Start and stop a real Kafka broker on this machine. It runs until you stop it."),
}
"""Each verb (subcommand of `tuner`) with `module:function`, which implements it, and the first sentence of its help.

The sentences are copies of those in the functions, so that `tuner --help` can print them without importing the modules.
"""
REMOTE_VERBS: Final[Mapping[str, tuple[str, str]]] = {
    "run": ("remote_run:run", "Submit a study to the service, and follow it until it ends."),
    "plan": (
        "remote_run:plan",
        "Show what a study would do on the service, without any traffic: trials, time, bytes, search space.",
    ),
    "status": ("remote:status", "Show the progress of a study on the service."),
    "trials": ("remote:trials", "Show the trials of a study on the service: kind, metrics and config of each."),
    "front": ("remote:front", "Show the Pareto front of a study on the service."),
    "grid": ("remote:grid", "Show the tables of a grid search on the service."),
    "recommend": ("remote:recommend", "Show the config to use, from a study on the service, ready to paste."),
    "report": ("remote:report", "Write the report of a study on the service as one HTML file."),
    "studies": (
        "remote:studies",
        "List the studies on the service, newest first, with their state, their trials and the best gain that is "
        "proven.",
    ),
    "explain": (
        "remote:explain",
        "Explain a recommendation of a study on the service: what each changed property brings, which knobs mattered.",
    ),
    "predict": (
        "remote:predict",
        "Predict what a config would do, from what a study on the service has measured, without sending anything.",
    ),
    "compare": (
        "remote:compare",
        "Compare two studies on the service: the fronts, and the best configs for each record size and goal.",
    ),
    "confirm": (
        "remote_work:confirm",
        "Have the service measure the best configs of a study again, alternating with the baseline.",
    ),
    "verify": (
        "remote_work:verify",
        "Have the service measure a properties file alternating with the baseline; exit code 99 if the file is worse.",
    ),
    "fork": (
        "remote_work:fork",
        "Have the service begin a new study with those trials of another study that fit the new settings.",
    ),
    "rm": (
        "remote_work:rm",
        "Remove studies from the service for good. The command asks before it removes anything.",
    ),
    "sync": (
        "remote_work:sync",
        "Have the service bring MLflow up to date with a study, for example after the MLflow server was down.",
    ),
    "pause": ("remote_run:pause", "Stop a study on the service until you resume it."),
    "resume": ("remote_run:resume", "Continue a study on the service that was paused or that failed."),
    "cancel": ("remote_run:cancel", "Stop a study on the service for good; its results are kept."),
}
"""The verbs that work on a service, in the form of `VERBS`. They replace local verbs if the user names a service."""
_DISK_ERRORS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
_SERVER: Final = "KAFKA_TUNER_SERVER"
_VALUES: Final = {"str": "TEXT", "path": "FILE", "int": "N", "int range": "N", "float": "X", "float range": "X"}
"""What the help calls the value of an option, by Typer's word for its type."""


def _verbs() -> Mapping[str, tuple[str, str]]:
    """Return the verbs (subcommands) that this call of `tuner` offers.

    With `--server`, only the verbs that work on the service are offered. If only the environment variable
    KAFKA_TUNER_SERVER names the service, the verbs of the service replace the local verbs of the same name, and the
    other local verbs stay.
    """
    if any(word == "--server" or word.startswith("--server=") for word in sys.argv[1:]):
        return REMOTE_VERBS
    return {**VERBS, **REMOTE_VERBS} if os.environ.get(_SERVER) else VERBS


class _Verbs(TyperGroup):
    """The group of all verbs. It imports the module of a verb only when that verb is called, to keep `--help` quick."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Replace the placeholder of the called verb with the function that implements the verb."""
        verbs = _verbs()
        called = args[0]
        if called in verbs:
            module, _, name = verbs[called][0].partition(":")
            verb = getattr(importlib.import_module(f"tuner.cli.{module}"), name)
            alone = typer.Typer(rich_markup_mode=app.rich_markup_mode)
            if isinstance(verb, typer.Typer):
                alone.add_typer(verb, name=called)
            else:
                alone.command(called)(verb)
            self.commands[called] = typer.main.get_group(alone).commands[called]
            _name_values(self.commands[called], ctx)
        elif called in VERBS:
            raise typer.BadParameter(
                f"with --server, a command must be one of {', '.join(verbs)}, but got {called}, which the service does "
                "not offer; run it without --server, where the studies are kept"
            )
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the called verb. If an option has a wrong value, the error also shows this value."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if error.__cause__ is not None and hasattr(error.__cause__, "errors"):  # pydantic's error
                wrong = str(error.__cause__.errors()[0]["input"])
                rule = error.message.removeprefix("Value error, ").replace("Input should", "must").rstrip(".")
                error.message = rule if wrong in rule else f"{rule}, but got {wrong}"
            raise


def _name_values(command: Any, ctx: Any) -> None:
    """Give the value of each option a short name in the help, such as `N` instead of Typer's `<int range>`."""
    for parameter in command.params:
        named = parameter.param_type_name != "option" or parameter.metavar is not None
        if not named and (shown := parameter.display_type_rich(ctx)):
            kind = shown.removeprefix("<").removesuffix(">").removeprefix("list[").removesuffix("]")
            parameter.metavar = _VALUES.get(kind, kind)
    for inner in getattr(command, "commands", {}).values():
        _name_values(inner, ctx)


_SETTINGS: Final[dict[str, Any]] = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    cls=_Verbs,
    help="Find the best Apache Kafka producer config for each of your record sizes, by measuring. "
    "Begin with `tuner run`, which needs no cluster and no study file; `tuner COMMAND --help` shows examples.",
    no_args_is_help=True,
    context_settings=_SETTINGS,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _placeholder() -> None:
    """Stand in for the function that implements a verb, until the verb is called."""


def _print_version(wanted: bool) -> None:
    if wanted:
        from tuner.model.version import version

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
            help="PostgreSQL database that keeps the studies of several hosts: postgresql://USER@HOST/DATABASE. "
            "Without it, studies are kept in folders on this host. Put the password into ~/.pgpass or PGPASSWORD. "
            "Environment variable: KAFKA_TUNER_STORAGE.",
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Address of a service, such as https://tuner.example, that runs and keeps the studies instead of this "
            "host. Its token is read from KAFKA_TUNER_TOKEN, or from the file that KAFKA_TUNER_TOKEN_FILE names. "
            "Environment variable: KAFKA_TUNER_SERVER.",
        ),
    ] = None,
) -> None:
    """Apply the options that come before the verb."""
    if server is not None:
        os.environ[_SERVER] = server
    if storage is not None:
        from tuner.storage.home import STORAGE_VARIABLE

        os.environ[STORAGE_VARIABLE] = storage  # the processes that we start read it there, too


class Interrupted(BaseException):
    """Raised on Ctrl-C, on SIGTERM, and on SIGHUP, as when an SSH session is closed.

    It is no KeyboardInterrupt, which the command-line library would catch. Its text, if it has one, says what the
    command leaves running.
    """


_TERMINALS: Final[list[int]] = []
"""Those of the file descriptors 0 to 2 that are a terminal when the command line starts."""


_INTERRUPTIONS: Final[list[Interrupted]] = []
"""What `_on_signal` has raised. An error of the clean-up may lack it as its context, because of `ExitStack.close`."""


def _on_signal(number: int, _: FrameType | None) -> None:
    # The same signal again ends the process at once, so that the user can leave even if the clean-up hangs. But a shell
    # and the kernel both send SIGHUP if a session is closed, and systemd sends SIGTERM as well.
    signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if _INTERRUPTIONS:
        return
    _leave_closed_terminals(hung_up=number == signal.SIGHUP)
    interruption = Interrupted()
    _INTERRUPTIONS.append(interruption)
    raise interruption


def _leave_closed_terminals(*, hung_up: bool) -> None:
    """Write to nowhere in place of a closed terminal, because an error of writing would end the clean-up.

    Args:
        hung_up: Whether all terminals are known to be closed, or about to be.
    """
    for descriptor in _TERMINALS:
        if hung_up or not os.isatty(descriptor):
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


def interruption_before(error: BaseException) -> Interrupted | None:
    """Return the interruption that an error is, or that was before it; None if there was none."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, Interrupted):
        # A library written in C wraps the exception that a signal handler raises while the library runs.
        seen = seen.__context__
    return seen or next(iter(_INTERRUPTIONS), None)


def start() -> None:
    """Run the command line, and turn every expected error into one message and its exit code."""
    _TERMINALS[:] = [descriptor for descriptor in range(3) if os.isatty(descriptor)]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _on_signal)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores it
        signal.signal(signal.SIGHUP, _on_signal)
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        # Typer's boxes have 80 columns on a pipe, and break the examples and the values in error messages.
        app.rich_markup_mode = None
        _SETTINGS["terminal_width"] = UNWRAPPED
    try:
        for verb, (_, sentence) in _verbs().items():
            app.command(verb, help=sentence)(_placeholder)
        app()
    except (Exception, Interrupted) as error:
        # Imported here, so that `tuner --help` does not wait for the import.
        from tuner.model.errors import EXPECTED, ExitCode, exit_code_of

        if isinstance(error, OSError) and error.errno == errno.EIO and not all(map(os.isatty, _TERMINALS)):
            error = Interrupted()  # the terminal is closed, and SIGHUP has not come yet
            _leave_closed_terminals(hung_up=True)
        interruption = interruption_before(error)
        if interruption is not None and isinstance(error, (Interrupted, SystemError, *EXPECTED)):
            left = str(interruption) or "nothing is left behind; run the same command again"
            if isinstance(error, EXPECTED):  # the clean-up failed
                ERR.print(f"warning: {error}", style="yellow", markup=False, soft_wrap=True)
                left = str(interruption) or "run the same command again, which also deletes what is left"
            _end(f"interrupted: {left}", ExitCode.INTERRUPTED, "yellow")
        if isinstance(error, OSError) and (error.filename is not None or error.errno in _DISK_ERRORS):
            _end(f"error: {_file_error(error)}", ExitCode.FAILED, "red")
        if not isinstance(error, EXPECTED):
            raise
        _end(f"error: {error}", exit_code_of(error), "red")


def _file_error(error: OSError) -> str:
    from tuner.storage.home import ROOT_VARIABLE, studies_root

    what = "the disk" if error.filename is None else error.filename
    studies = error.filename is not None and studies_root() in (path := Path(str(error.filename)), *path.parents)
    advice = f"; set {ROOT_VARIABLE} to a folder for studies that can be written to" if studies else ""
    return f"the files that the tuner needs must be readable and writable, but {what} is not: {error.strerror}{advice}"


def _end(message: str, code: int, style: str) -> NoReturn:
    ERR.print(message, style=style, markup=False, soft_wrap=True)
    sys.exit(code)
