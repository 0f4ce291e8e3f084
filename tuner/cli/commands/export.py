"""`tuner export` writes a study into an Optuna storage."""

from typing import Annotated

import typer

from runners.reporting import counted
from tuner.api import load_study, optuna_study
from tuner.cli.options import common_options
from tuner.cli.options.recommend_options import RecordBytes
from tuner.cli.output import print_result
from tuner.model.document import document
from tuner.model.secrets_in_urls import masked_url
from tuner.present.console import OUT


def export(
    study: common_options.Study,
    to: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Optuna storage to write to, such as sqlite:///optuna.db. It is created if it does not exist.",
        ),
    ],
    record_bytes: RecordBytes = None,
    as_json: common_options.Json = False,
) -> None:
    """Export a study to Optuna, for optuna-dashboard and optuna.visualization.

    Each record size becomes one Optuna study. It holds the measurements of the baseline and the trials of the
    search, with their parameters, values, constraints and user attributes. You can export a running study again: no
    trial is written twice.

    \b
    Examples:
        tuner export overnight --to sqlite:///optuna.db
        optuna-dashboard sqlite:///optuna.db
    """
    loaded = load_study(study)
    sizes = common_options.selected_sizes(loaded.results, record_bytes)
    written = [optuna_study(loaded, size.record_bytes, storage=to) for size in sizes]
    trials = {each.study_name: len(each.get_trials(deepcopy=False)) for each in written}
    studies = [{"name": name, "trials": count} for name, count in trials.items()]
    print_result(
        document("export", study=loaded.name, to=masked_url(to), studies=studies),
        lambda: OUT.show(*(f"{name}: {counted(count, 'trial')} in {masked_url(to)}" for name, count in trials.items())),
        as_json=as_json,
    )
