"""`tuner sync` writes a study to MLflow."""

from contextlib import closing
from dataclasses import asdict
from typing import Annotated

import typer
from rich.progress import Progress

from runners.reporting import counted
from tuner.cli.options import common_options
from tuner.cli.output import print_json
from tuner.model.document import document
from tuner.model.errors import ExitCode
from tuner.model.facts import EXPERIMENT
from tuner.present.console import ERR, OUT
from tuner.present.report import write_all_artifacts
from tuner.storage.locations import find_study, storage_at
from tuner.tracking import TrackingLocation, sync, tracking_of


def sync_study(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Name of a study, its folder, or its study file.")],
    tracking_uri: common_options.TrackingUri = None,
    as_json: common_options.Json = False,
    quiet: common_options.Quiet = False,
) -> None:
    """Bring MLflow up to date with a study, for example after the MLflow server was down.

    The command writes to MLflow the part of the study that is not there yet. With --tracking-uri, it copies the study
    to another MLflow server. The study's own results are not changed.

    \b
    Examples:
        tuner sync overnight
        tuner sync overnight --tracking-uri http://mlflow.example:5000
    """
    folder = find_study(study)
    with closing(storage_at().read(folder)) as store:
        facts, text = store.facts(), store.study_file()
    tracking = tracking_of(facts, tracking_uri, text)
    common_options.parse_tracking_uri(TrackingLocation.of(tracking, folder.parent).uri)
    with Progress(console=ERR, transient=True, disable=quiet or as_json or not ERR.is_terminal) as bar:
        task = bar.add_task("trials in MLflow", total=None)
        outcome = sync(
            folder,
            tracking,
            lambda shown, total: bar.update(task, completed=shown, total=total),
            extra_artifacts=None if EXPERIMENT in facts else write_all_artifacts,
        )
    if as_json:
        print_json(document("sync", study=folder.name, **asdict(outcome)))
    elif outcome.error is None and not quiet:
        OUT.show(
            f"MLflow at {outcome.uri} is up to date with {folder.name}: {counted(outcome.runs_written, 'run')} written"
        )
    if outcome.error is not None:
        ERR.show(f"error: {outcome.missing(folder.name)}", style="red")
        raise typer.Exit(ExitCode.FAILED)
