"""`tuner export`: a study as Optuna's tools read it."""

from typing import Annotated

import typer

from tuner.api import load_study, optuna_study
from tuner.cli import options
from tuner.model.measurement_record import SCHEMA_VERSION
from tuner.present.console import OUT
from tuner.storage.url import masked_url


def export(
    study: options.Study,
    to: Annotated[
        str, typer.Option(metavar="URL", help="A storage of Optuna's, made if it is not there: sqlite:///optuna.db")
    ],
    record_bytes: Annotated[
        str | None, typer.Option(metavar="N|N:W,...", help="One record size or mix; all of them by default.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Write a study as studies of Optuna's, one per record size: for optuna-dashboard and optuna.visualization.

    Baselines and trials of the search are written, with params, values, constraints and what is known of them. What is
    there already is not written again, so a study that goes on can be exported again.

    \b
    Examples:
        tuner export overnight --to sqlite:///optuna.db
        optuna-dashboard sqlite:///optuna.db
    """
    loaded = load_study(study)
    try:
        sizes = loaded.results.sizes if record_bytes is None else (loaded.size(record_bytes),)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    written = [optuna_study(loaded, size.record_bytes, storage=to) for size in sizes]
    if as_json:
        studies = [{"name": each.study_name, "trials": len(each.get_trials(deepcopy=False))} for each in written]
        to_shown = masked_url(to)
        record = {"schema_version": SCHEMA_VERSION, "kind": "export", "study": loaded.name, "to": to_shown}
        options.print_json({**record, "studies": studies})
        return
    for each in written:
        count = len(each.get_trials(deepcopy=False))
        OUT.print(f"{each.study_name}: {count} trials in {masked_url(to)}", markup=False, soft_wrap=True)
