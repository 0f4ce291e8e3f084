"""`tuner sync`: make MLflow show what a study's record holds."""

import json
from typing import Annotated

import typer
from rich.progress import Progress

from tuner.cli import options
from tuner.model.exit_codes import ExitCode
from tuner.model.measurement_record import SCHEMA_VERSION
from tuner.present.console import ERR, OUT
from tuner.present.report import write_all_artifacts
from tuner.storage.chosen import storage_at
from tuner.storage.home import find_study
from tuner.tracking import SyncOutcome, sync, tracking_of

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
    folder = find_study(study)
    store = storage_at().read(folder)
    try:
        tracking = tracking_of(store.facts(), tracking_uri)
    finally:
        store.close()
    with Progress(console=ERR, transient=True, disable=quiet or as_json) as bar:
        task = bar.add_task("trials in MLflow", total=None)
        outcome = sync(
            folder,
            tracking,
            lambda shown, total: bar.update(task, completed=shown, total=total),
            extra_artifacts=write_all_artifacts,
        )
    if as_json:
        typer.echo(json.dumps(_record(folder.name, outcome), indent=2))
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


def _record(study: str, outcome: SyncOutcome) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "sync",
        "study": study,
        "uri": outcome.uri,
        "runs_written": outcome.runs_written,
        "trials_behind": outcome.trials_behind,
        "error": outcome.error,
    }
