"""`tuner ui` opens MLflow's pages."""

import errno
import os
import socket
import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from tuner.api import load_study
from tuner.cli.options import common_options
from tuner.cli.output import print_json
from tuner.model.document import document
from tuner.model.errors import StudyNotFound
from tuner.model.spec import TrackingSpec
from tuner.present.console import OUT, say
from tuner.results.study_results import StudyResults
from tuner.storage.locations import studies_root
from tuner.tracking import TrackingError, TrackingLocation, links_of, tracking_of
from tuner.tracking.connection import QUIET


def ui(
    study: Annotated[
        str | None,
        typer.Argument(
            metavar="STUDY",
            help="Name of a study, or its folder. The command prints links to its front, trials and charts in MLflow.",
            show_default="the MLflow of the studies folder",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port to listen on. If it is taken, a free port is used.")
    ] = 5000,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on. Everybody who can reach it sees the studies, without a password."),
    ] = "127.0.0.1",
    tracking_uri: common_options.TrackingUri = None,
    as_json: common_options.Json = False,
) -> None:
    """Show your studies in the MLflow UI, on this machine, until Ctrl-C.

    If the studies are written to an MLflow server, the command only prints the address of that server. With --json, the
    address and the links are printed as one JSON document before MLflow starts.

    \b
    Examples:
        tuner ui
        tuner ui overnight
        tuner ui overnight --port 8080
    """
    results = load_study(study).results if study is not None else None
    if results is None:
        place = TrackingLocation.of(TrackingSpec(uri=tracking_uri), studies_root())
    else:
        place = TrackingLocation.of(tracking_of(results.facts, tracking_uri, results.study_file), results.folder.parent)
    common_options.parse_tracking_uri(place.uri)
    if place.is_web:
        _print_place(results, place, None, as_json=as_json)
        return
    if place.sqlite_file is not None and not place.sqlite_file.is_file():
        raise StudyNotFound(
            f"MLflow's database {place.sqlite_file} does not exist yet; `tuner run` or `tuner sync` creates it"
        )
    chosen = _free_port(host, port)
    if chosen != port:
        say(f"port {port} is taken, so MLflow listens on {chosen}")
    address = f"http://[{host}]:{chosen}" if ":" in host else f"http://{host}:{chosen}"
    _print_place(results, place, address, as_json=as_json)
    _serve(place, host, chosen)


def _print_place(results: StudyResults | None, place: TrackingLocation, address: str | None, *, as_json: bool) -> None:
    """Print where MLflow is, and one line for each view of a study there, or why there are none.

    Args:
        results: The results of the study; None if the user named none.
        place: The MLflow server or the files that MLflow shows.
        address: The address at which a server on this machine will show the files; None for an MLflow server.
        as_json: Whether to print one JSON document.
    """
    links: Mapping[str, str] = {}
    if results is not None:
        try:
            links = links_of(results, place, address)
        except TrackingError as error:
            say(f"no links to the study: {error}")
    if as_json:
        study = None if results is None else results.name
        shown = {"study": study, "address": address or place.shown, "shows": place.shown, "links": dict(links)}
        print_json(document("ui", **shown))
        return
    if address is not None:
        OUT.show(f"MLflow at {address} shows {place.shown}; Ctrl-C stops it")
    elif not links:
        OUT.show(place.shown)
    OUT.show(*(f"{name}: {link}" for name, link in links.items()))


def _free_port(host: str, port: int) -> int:
    """Return `port`, or a free port if another program already listens on `port`.

    Raises:
        typer.BadParameter: This is no address of this machine, or the system does not allow the port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in (port, 0):
        try:
            with socket.socket(family) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, wanted))
                return int(probe.getsockname()[1])
        except PermissionError:
            raise typer.BadParameter(
                f"--port must be one that you may open, but the system does not allow {port}; give a port from 1024 on"
            ) from None
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                break
    raise typer.BadParameter(f"--host must be an address of this machine, but got {host}")


def _serve(place: TrackingLocation, host: str, port: int) -> None:
    """Replace this process with an MLflow server."""
    settings = {
        **QUIET,
        # The URI may hold a password, and every user of the machine can read the command line.
        "MLFLOW_BACKEND_STORE_URI": place.uri,
        "PYTHONWARNINGS": "ignore",
        # MLflow's background jobs are for language models. Without this, their processes would be started for nothing.
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    }
    words = [
        *("server", "--host", host, "--port", str(port), "--workers", "1"),
        # With uvicorn's lifespan, Ctrl-C prints a traceback. MLflow needs it only for its assistant.
        *("--artifacts-destination", str(place.artifacts), "--uvicorn-opts", "--log-level warning --lifespan off"),
    ]
    OUT.file.flush()
    os.execve(sys.executable, [sys.executable, "-m", "mlflow", *words], {**os.environ, **settings})
