"""`tuner studies` lists the studies, `tuner trials` shows the trials of one study, and `tuner rm` removes studies."""

import sys
from contextlib import closing, suppress
from typing import Annotated

import typer

from tuner.api import load_study
from tuner.cli import options
from tuner.cli.output import Force
from tuner.cli.shown_studies import print_studies_here
from tuner.cli.shown_trials import Parquet, check_trials_output, show_trials
from tuner.cli.study_verb_options import ShownSize, Yes
from tuner.model.document import document
from tuner.model.errors import EXPECTED
from tuner.model.facts import IN_MLFLOW
from tuner.present.console import say
from tuner.storage.home import find_study, storage_at


def studies(as_json: options.Json = False, as_csv: options.Csv = False) -> None:
    """List your studies, newest first. Each line shows the state, the trials and the best proven gain.

    \b
    Examples:
        tuner studies
        tuner studies --csv > studies.csv
    """
    options.check_one_form(json=as_json, csv=as_csv)
    print_studies_here(as_json=as_json, as_csv=as_csv)


def trials(
    study: options.Study,
    record_bytes: ShownSize = None,
    as_json: options.Json = False,
    as_csv: options.Csv = False,
    parquet: Parquet = None,
    force: Force = False,
) -> None:
    """Show the trials of a study: kind, metrics and config of each.

    With --csv, --json and --parquet, each trial has all metrics, and one column for each property that any config sets.

    \b
    Examples:
        tuner trials overnight --record-bytes 1000
        tuner trials overnight --csv > trials.csv
        tuner trials overnight --parquet trials.parquet
    """
    check_trials_output(parquet, as_json=as_json, as_csv=as_csv, force=force)
    loaded = load_study(study)
    sizes = options.asked_sizes(loaded, record_bytes)
    # Imported here, because it imports pandas.
    from tuner.present.frames import trials_frame

    objectives, frame = [each.metric for each in loaded.results.objectives], trials_frame(sizes)
    show_trials(loaded.name, frame, objectives, parquet, as_json=as_json, as_csv=as_csv, force=force)


def rm(
    names: Annotated[list[str], typer.Argument(metavar="STUDY", help="Names of studies, or their folders.")],
    yes: Yes = False,
    as_json: options.Json = False,
) -> None:
    """Remove studies for good: their results, and their folders on this host.

    The command asks before it removes anything. A study that is running is not removed. What MLflow shows of a study
    stays there.

    \b
    Examples:
        tuner rm overnight
        tuner rm before after --yes
    """
    storage = storage_at()
    found = list(dict.fromkeys(find_study(name, storage=storage) for name in names))
    if not yes:
        shown = ", ".join(map(str, found))
        if not sys.stdin.isatty():
            raise typer.BadParameter(f"rm asks before it removes {shown}, but no terminal is there; add --yes")
        typer.confirm(f"remove for good: {shown}?", abort=True, err=True)
    for folder in found:
        in_mlflow = False
        with suppress(*EXPECTED), closing(storage.read(folder)) as store:
            in_mlflow = IN_MLFLOW in store.facts()
        storage.remove(folder, folder.name, say)
        say(f"removed {folder.name}")
        if in_mlflow:
            say(f"the runs of {folder.name} in MLflow stay; delete them on MLflow's pages, which `tuner ui` opens")
    if as_json:
        options.print_json(document("removed", removed=[folder.name for folder in found]))
