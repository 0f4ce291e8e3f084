"""`tuner report`: a study as one page."""

from pathlib import Path
from typing import Annotated

import typer

from tuner.results.study_results import load_results
from tuner.storage.home import find_study


def report(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Name of a study, or its folder.")],
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write it; by default report.html in its folder.")
    ] = None,
) -> None:
    """Write a study as one HTML file: recommendations, fronts, every trial; it needs no network to be read.

    \b
    Examples:
        tuner report overnight
        tuner report overnight --output overnight.html
    """
    if output is not None and not output.absolute().parent.is_dir():
        raise typer.BadParameter(f"the file's folder must exist, but {output.absolute().parent} does not")
    results = load_results(find_study(study))
    # Deferred: it imports matplotlib, plotly and Optuna.
    from tuner.present.report.bundle import REPORT_FILE, write_report

    typer.echo(write_report(results, output or results.folder / REPORT_FILE))
