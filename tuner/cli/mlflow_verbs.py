"""`tuner sync` and `tuner ui`: a study in MLflow."""

import os
import socket
import sys
from dataclasses import asdict
from typing import Annotated

import typer
from rich.progress import Progress

from tuner.api import load_study
from tuner.cli import options
from tuner.model.errors import ExitCode, StudyNotFound
from tuner.model.measurement_record import SCHEMA_VERSION
from tuner.model.spec import TrackingSpec
from tuner.present.console import ERR, OUT, say
from tuner.present.report import write_all_artifacts
from tuner.storage.home import studies_root
from tuner.tracking import TrackingLocation, sync, tracking_of
from tuner.tracking.connection import QUIET

TrackingUri = Annotated[
    str | None,
    typer.Option(
        metavar="URI", help="MLflow to use instead of the study's own, MLFLOW_TRACKING_URI, or the file beside it."
    ),
]


def sync_study(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Name, folder or file of a study that was run.")],
    tracking_uri: TrackingUri = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Bring MLflow up to date with a study: after its server was away, or to fill another one.

    What is there already is not written again. The study's record is only read.

    \b
    Examples:
        tuner sync overnight
        tuner sync overnight --tracking-uri http://mlflow.example:5000
    """
    results = load_study(study).results
    folder = results.folder
    with Progress(console=ERR, transient=True, disable=quiet or as_json) as bar:
        task = bar.add_task("trials in MLflow", total=None)
        outcome = sync(
            folder,
            tracking_of(results.facts, tracking_uri),
            lambda shown, total: bar.update(task, completed=shown, total=total),
            extra_artifacts=write_all_artifacts,
        )
    if as_json:
        options.print_json({"schema_version": SCHEMA_VERSION, "kind": "sync", "study": folder.name, **asdict(outcome)})
    elif outcome.error is None and not quiet:
        OUT.print(f"MLflow at {outcome.uri} shows {folder.name}: {outcome.runs_written} runs written", markup=False)
    if outcome.error is not None:
        ERR.print(
            f"error: MLflow at {outcome.uri} must show {folder.name}, but {outcome.trials_behind} trials are not known "
            f"to be there: {outcome.error}",
            style="red",
            markup=False,
            soft_wrap=True,
        )
        raise typer.Exit(ExitCode.FAILED)


def ui(
    study: Annotated[
        str | None, typer.Argument(metavar="STUDY", help="Whose MLflow to show; without it, the one of this folder.")
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on; a free one if it is taken.")] = 5000,
    host: Annotated[str, typer.Option(help="Address to listen on. MLflow asks nobody for a password.")] = "127.0.0.1",
    tracking_uri: TrackingUri = None,
) -> None:
    """Show studies in MLflow's own pages, on this machine, until Ctrl-C.

    Where studies are mirrored to a server, its address is printed and nothing is started.

    \b
    Examples:
        tuner ui
        tuner ui overnight --port 8080
    """
    place = _place(study, tracking_uri)
    if place.is_web:
        OUT.print(place.shown, markup=False, soft_wrap=True)
        return
    if place.sqlite_file is not None and not place.sqlite_file.is_file():
        raise StudyNotFound(
            f"MLflow's store must be there, but {place.sqlite_file} is not: `tuner run` or `tuner sync` makes it"
        )
    chosen = _free(host, port)
    if chosen != port:
        say(f"port {port} is taken, so it is {chosen}")
    OUT.print(f"MLflow at http://{host}:{chosen} shows {place.shown}; Ctrl-C ends it", markup=False, soft_wrap=True)
    _serve(place, host, chosen)


def _place(study: str | None, uri: str | None) -> TrackingLocation:
    if study is None:
        return TrackingLocation.of(TrackingSpec(uri=uri), studies_root())
    results = load_study(study).results
    return TrackingLocation.of(tracking_of(results.facts, uri), results.folder.parent)


def _free(host: str, port: int) -> int:
    """The port, or a free one if somebody listens on it."""
    for wanted in (port, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, wanted))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise typer.BadParameter(f"an address of this machine is needed to listen on, but {host} is none")


def _serve(place: TrackingLocation, host: str, port: int) -> None:
    """Become MLflow's server."""
    settings = {
        **QUIET,
        # Here and not on the command line, which every user of the machine can read: it may hold a password.
        "MLFLOW_BACKEND_STORE_URI": place.uri,
        "PYTHONWARNINGS": "ignore",
        # Runs of language models and the like, which are not what this shows: processes that nobody needs.
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    }
    words = [
        *("server", "--host", host, "--port", str(port), "--workers", "1"),
        *("--artifacts-destination", str(place.artifacts), "--uvicorn-opts", "--log-level warning"),
    ]
    OUT.file.flush()
    os.execve(sys.executable, [sys.executable, "-m", "mlflow", *words], {**os.environ, **settings})
