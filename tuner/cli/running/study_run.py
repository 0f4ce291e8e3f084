"""Runs a study on a terminal and prints its recommendations at the end, for `tuner run` and `tuner confirm`."""

from pathlib import Path
from typing import Annotated

import typer

from tuner import api
from tuner.cli.output import print_json
from tuner.model.spec import StudySpec
from tuner.present.console import OUT, warn, warn_of_each
from tuner.present.export import Format, export_all, study_json
from tuner.present.studies.study_view import StudyView
from tuner.results.recommendations.recommendation import Recommendation
from tuner.results.study_results import SIMULATED, StudyResults

Mlflow = Annotated[bool, typer.Option("--mlflow/--no-mlflow", help="Also show the study in MLflow.")]


def run_with_view(
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


def print_recommendations(results: StudyResults, recommendations: list[Recommendation], *, as_json: bool) -> None:
    """Print the recommendations, and warnings to read before using a config, without repeated warnings."""
    if as_json:
        print_json(study_json(results.name, str(results.folder), recommendations))
    else:
        OUT.show(export_all(recommendations, Format.TABLE), end="")
    simulated = [SIMULATED] if results.simulated else []
    warn_of_each([*simulated, *(warning for each in recommendations for warning in each.warnings)])
