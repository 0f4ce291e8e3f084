"""`tuner confirm` measures the best configs of a study again. It can be resumed."""

from dataclasses import asdict, replace
from typing import Annotated

import typer

from tuner import api
from tuner.cli.options import common_options
from tuner.cli.options.confirm_options import ConfirmOptions
from tuner.cli.options.options_from_dataclass import with_options
from tuner.cli.printing.recommendations import print_recommendations
from tuner.cli.running.kept_study import kept_study
from tuner.cli.running.with_progress import Mlflow, run_study_with_progress
from tuner.model.errors import NoFeasibleConfig, NothingMeasured
from tuner.model.study_files import REPORT_FILE
from tuner.present.console import say, warn
from tuner.results.recommendations.reasons import no_config_meets_constraints
from tuner.results.recommendations.recommend import recommendations


@with_options()
def confirm(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="Name of a study, its folder, or its study file. Give the study file if that refers to other files.",
        ),
    ],
    options: ConfirmOptions,
    mlflow: Mlflow = True,
    mix_environments: common_options.MixEnvironments = False,
    as_json: common_options.Json = False,
    quiet: common_options.Quiet = False,
) -> None:
    """Measure the best configs of a study again, alternating with the baseline, to see which gains are real.

    A study does this by itself when its search ends. Use this command to do it again on another day or with more
    rounds, or to confirm a study whose search you stopped early. It measures on the target of the study.

    \b
    Examples:
        tuner confirm overnight
        tuner confirm overnight --goal throughput --max-rounds 40 --width-ratio 0.05
        tuner confirm overnight.yaml                  if the study file refers to files beside it
    """
    common_options.check_round_options(options.rounds, options.max_rounds)
    results = api.load_study(study).results
    folder = results.folder
    spec, text = kept_study(study, results)
    settings = {**asdict(options), "goals": tuple(options.goals) if options.goals else None}
    spec = replace(spec, confirm=spec.confirm.changed({k: value for k, value in settings.items() if value is not None}))
    if not spec.confirm.rounds:
        raise typer.BadParameter(
            f"a confirmation needs rounds, but the study file of {spec.name} has confirm.rounds: 0; give --rounds"
        )
    silent = quiet or as_json
    confirmed = run_study_with_progress(
        spec, text, folder, mlflow=mlflow, silent=silent, mix_environments=mix_environments, searching=False
    )
    results = confirmed.results
    recommended = recommendations(results, options.goals, warn)
    print_recommendations(results.name, str(results.folder), recommended, as_json=as_json)
    if not silent:
        say(f"report: {folder / REPORT_FILE}")
    if not recommended:
        if all(size.baseline is None for size in results.sizes):
            raise NothingMeasured(
                f"a confirmation needs a measured baseline, but {spec.name} has none; continue the study"
            )
        raise NoFeasibleConfig(no_config_meets_constraints(spec.name))
