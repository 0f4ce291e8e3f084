"""`tuner rm` removes studies."""

from contextlib import closing, suppress
from typing import Annotated

import typer

from tuner.cli.ask_before_removing import user_agrees
from tuner.cli.options import common_options
from tuner.cli.options.study_arguments import Yes
from tuner.cli.output import print_json
from tuner.model.document import document
from tuner.model.errors import EXPECTED
from tuner.model.facts import IN_MLFLOW
from tuner.present.console import say
from tuner.storage.locations import find_study, storage_at


def rm(
    names: Annotated[list[str], typer.Argument(metavar="STUDY", help="Names of studies, or their folders.")],
    yes: Yes = False,
    as_json: common_options.Json = False,
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
    # Removing is final, so the user must name the study itself; the name of a study file is not enough.
    folders = list(dict.fromkeys(find_study(name, storage=storage, by_study_file=False) for name in names))
    shown = ", ".join(map(str, folders))
    if not yes and not user_agrees(f"remove for good: {shown}?", f"rm asks before it removes {shown}"):
        raise typer.Abort
    for folder in folders:
        in_mlflow = False
        with suppress(*EXPECTED), closing(storage.read(folder)) as store:
            in_mlflow = IN_MLFLOW in store.facts()
        storage.remove(folder, folder.name, say)
        say(f"removed {folder.name}")
        if in_mlflow:
            say(f"the runs of {folder.name} in MLflow stay; delete them on MLflow's pages, which `tuner ui` opens")
    if as_json:
        print_json(document("removed", removed=[folder.name for folder in folders]))
