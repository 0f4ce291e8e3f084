"""The root of the command line: its verbs, and how errors end it."""

import importlib
import os
import signal
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperGroup

from tuner.present.console import ERR

VERBS: Final[Mapping[str, tuple[str, str]]] = {
    "run": ("run:run", "Search for the best producer configs, and measure the winners against what you have."),
    "init": ("plan:init", "Write a study file to begin with: every section with its defaults, explained."),
    "plan": (
        "plan:plan",
        "Say what a study would do: trials, time, bytes, search space, and what is created on the cluster. No traffic.",
    ),
    "schema": ("plan:schema", "Print the JSON Schema of study files, for editors that check and complete YAML."),
    "status": (
        "show:status",
        "Show how far a study is: trials done, the best so far, time left, what it does now, what failed.",
    ),
    "front": (
        "show:front",
        "Show a study's Pareto front: every config that none other beats in all objectives, beside the baseline.",
    ),
    "recommend": (
        "recommend:recommend",
        "Name the config to use for a record size, with what is known of its gain, ready to paste.",
    ),
    "confirm": (
        "run:confirm",
        "Measure a study's best configs and the baseline again, in turn, and recommend what is better beyond doubt.",
    ),
    "verify": ("verify:verify", "Measure a properties file in turn with the baseline; exit code 99 if it is worse."),
    "explain": (
        "recommend:explain",
        "Say why a config is recommended: what each of its changes brings, and what mattered over the whole search.",
    ),
    "compare": (
        "show:compare",
        "Compare two studies: their fronts, and the best config of each for each record size and goal.",
    ),
    "report": (
        "show:report",
        "Write a study as one HTML file: recommendations, fronts, every trial; it needs no network to be read.",
    ),
    "export": (
        "export:export",
        "Write a study as studies of Optuna's, one per record size: for optuna-dashboard and optuna.visualization.",
    ),
    "ui": ("mlflow_verbs:ui", "Show studies in MLflow's own pages, on this machine, until Ctrl-C."),
    "sync": (
        "mlflow_verbs:sync_study",
        "Bring MLflow up to date with a study: after its server was away, or to fill another one.",
    ),
    "bench": ("bench:bench", "Measure one producer config: how fast, how late, and what bound it."),
    "doctor": (
        "doctor:doctor",
        "Say what was found: client, Java, Docker, clock, disk, cluster and rights, and the generator's ceiling here.",
    ),
    "cleanup": ("broker:cleanup", "List topics that runs of ours left on a cluster, and remove them."),
    "compare-tools": (
        "bench:compare_tools",
        "Measure the same workload with our generator and with Kafka's ProducerPerformance, in turn.",
    ),
    "serve": ("serve:app", "Run the service: studies submitted over HTTP, recommendations fetched by URL."),
    "broker": ("broker:app", "A real Kafka broker on this machine that stays until it is stopped."),
}
"""Each verb with its module here, what it is called there, and the first sentence of its help."""
REMOTE_VERBS: Final[Mapping[str, tuple[str, str]]] = {
    "run": ("remote:run", "Submit a study to the service, and follow it to its end."),
    "status": ("remote:status", "Show how far a study on the service is."),
    "front": ("remote:front", "Show the Pareto front of a study on the service."),
    "recommend": ("remote:recommend", "Name the config to use, from a study on the service, ready to paste."),
    "report": ("remote:report", "Write a study on the service as one HTML file."),
    "studies": ("remote:studies", "List the studies of the service, the newest first."),
    "pause": ("remote:pause", "Stop a study on the service until it is resumed."),
    "resume": ("remote:resume", "Go on with a study that was paused, or failed."),
    "cancel": ("remote:cancel", "Stop a study on the service for good; what it found is kept."),
}
"""Verbs against a service."""
_SERVER: Final = "KAFKA_TUNER_SERVER"


def _verbs() -> Mapping[str, tuple[str, str]]:
    """The verbs; where a service is named, those that it knows are its own."""
    if any(word == "--server" or word.startswith("--server=") for word in sys.argv[1:]):
        return REMOTE_VERBS
    return {**VERBS, **REMOTE_VERBS} if os.environ.get(_SERVER) else VERBS


class _Verbs(TyperGroup):
    """Imports a verb when it is called: the list of them is shown without any."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Put the verb in the place of its sentence."""
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
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Verbs,
    help="Finds the best Apache Kafka producer configuration for each record size, by measuring it.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _not_imported() -> None:
    """Stands for a verb until it is called."""


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
        from tuner.storage.home import STORAGE_VARIABLE

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
        for verb, (_, sentence) in _verbs().items():
            app.command(verb, help=sentence)(_not_imported)
        app()
    except (Exception, _Interrupted) as error:
        # Deferred: whoever asks for help should not wait for these.
        from tuner.model.errors import EXPECTED, ExitCode, exit_code_of

        # Libraries written in C wrap what a signal's handler raised while they were running.
        raised = error.__cause__ if isinstance(error, SystemError) else error
        if isinstance(raised, _Interrupted):
            _end("interrupted: nothing is left behind; run the same command again", ExitCode.INTERRUPTED, "yellow")
        if not isinstance(error, EXPECTED):
            raise
        _end(f"error: {error}", exit_code_of(error), "red")


def _end(message: str, code: int, style: str) -> NoReturn:
    ERR.print(message, style=style, markup=False, soft_wrap=True)
    sys.exit(code)
