"""`tuner confirm`: measure a study's best configs again, in turn with the baseline."""

from dataclasses import replace
from typing import Annotated, Any

import typer

from tuner.cli import options
from tuner.cli.kept_study import kept_study
from tuner.cli.shown_run import recommendations, run_shown
from tuner.model.spec import Goal
from tuner.present.console import OUT, say, warn
from tuner.present.export import Format, export_all
from tuner.storage.home import find_study


def confirm(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Name of a study, its folder, or its study file.")],
    goals: Annotated[
        list[Goal] | None, typer.Option("--goal", help="Whose winners; may be repeated. The study file's without it.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=2, help="Rounds of baseline and winners, in any case.")] = None,
    max_rounds: Annotated[int | None, typer.Option(min=2, help="The most rounds.")] = None,
    width_ratio: Annotated[
        float | None, typer.Option(min=0.001, help="Intervals as narrow as this, relative to the gain, are enough.")
    ] = None,
    ablation_rounds: Annotated[
        int | None, typer.Option(min=0, help="Rounds in which each change of a winner is undone alone.")
    ] = None,
    mlflow: Annotated[bool, typer.Option("--mlflow/--no-mlflow", help="Mirror the study in MLflow.")] = True,
    quiet: options.Quiet = False,
) -> None:
    """Measure a study's best configs and the baseline again, in turn, and recommend what is better beyond doubt.

    A study does so by itself when its search ends. This does it anew, also for a study whose search was cut short: on
    another day, say, or with more rounds. The study's target is used again.

    \b
    Examples:
        tuner confirm overnight
        tuner confirm overnight --goal throughput --max-rounds 40 --width-ratio 0.05
        tuner confirm overnight.yaml                      where the study file names files beside it
    """
    folder = find_study(study)
    spec, text = kept_study(study, folder)
    asked: dict[str, Any] = {
        "rounds": rounds,
        "max_rounds": max_rounds,
        "width_ratio": width_ratio,
        "ablation_rounds": ablation_rounds,
        "goals": tuple(goals) if goals else None,
    }
    spec = replace(spec, confirm=replace(spec.confirm, **{k: value for k, value in asked.items() if value is not None}))
    if not spec.confirm.rounds:
        raise typer.BadParameter(f"the study file of {spec.name} asks for no rounds (confirm.rounds): give --rounds")
    results = run_shown(spec, text, folder, mlflow=mlflow, silent=quiet, searching=False)
    found = recommendations(results, goals)
    OUT.print(export_all(found, Format.TABLE), markup=False, soft_wrap=True, end="")
    if results.simulated:
        warn("simulated: nothing of this study was measured on Kafka")
    if not quiet:
        say(f"report: {folder / 'report.html'}")
