"""Runs a study or an experiment with its progress on the terminal."""

from pathlib import Path
from typing import Annotated

import typer

from tuner import api
from tuner.model.experiment import ExperimentSpec
from tuner.model.spec import StudySpec
from tuner.model.study_files import REPORT_FILE
from tuner.present.console import say, warn
from tuner.present.experiments.experiment_progress import ExperimentProgress
from tuner.present.studies.study_view import StudyView
from tuner.results.experiments.experiment_results import ExperimentResults
from tuner.storage.locations import study_folder

Mlflow = Annotated[bool, typer.Option("--mlflow/--no-mlflow", help="Also show the study in MLflow.")]


def run_study_with_progress(
    spec: StudySpec,
    text: str,
    folder: Path,
    *,
    mlflow: bool,
    silent: bool,
    mix_environments: bool,
    searching: bool = True,
) -> api.Study:
    """Run a study and show its progress on the terminal."""
    with StudyView(quiet=silent) as view:
        view.say(f"study {spec.name}: results in {folder}; Ctrl-C stops it, and the same command resumes it")
        return api.run_study(
            spec,
            text=text,
            folder=folder,
            reporter=view,
            warn=warn,
            mlflow=mlflow,
            searching=searching,
            mix_environments=mix_environments,
        )


def run_experiment_with_progress(
    spec: ExperimentSpec, text: str, *, silent: bool, mlflow: bool, mix_environments: bool, resumed: bool = True
) -> ExperimentResults:
    """Run an experiment with its progress on the screen, write its report, and return its results.

    Args:
        spec: The experiment.
        text: The text of the experiment's file.
        silent: Whether to show no progress.
        mlflow: Whether to write the experiment to MLflow, too.
        mix_environments: Whether to resume an experiment that was started in another environment.
        resumed: Whether the same command would resume this experiment, and not start a new one.
    """
    folder = study_folder(spec.name)
    with StudyView(quiet=silent) as searching:
        how = "stops it, and the same command resumes it" if resumed else "stops it"
        searching.say(f"experiment {spec.name}: results in {folder}; Ctrl-C {how}")
        spec = api.run_searches(spec, reporter=searching, warn=warn, mlflow=mlflow, mix_environments=mix_environments)
    with ExperimentProgress(quiet=silent) as view:
        results = api.run_experiment(
            spec, text=text, reporter=view, warn=warn, mlflow=mlflow, mix_environments=mix_environments
        )
    if not silent:
        say(f"report: {folder / REPORT_FILE}")
    return results
