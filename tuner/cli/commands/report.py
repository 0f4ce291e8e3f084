"""`tuner report` writes the report of a study."""

from pathlib import Path
from typing import Annotated

import typer

from tuner.api import load_study
from tuner.cli.options import common_options
from tuner.cli.output import Force, check_output, print_written, write_output
from tuner.model.study_files import REPORT_FILE


def report(
    study: common_options.Study,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write.", show_default=f"{REPORT_FILE} in the study's folder"),
    ] = None,
    force: Force = False,
    as_json: common_options.Json = False,
) -> None:
    """Write the report of a study, with recommendations, fronts and all trials, as one HTML file.

    The file contains everything that it shows, so it can be sent by mail and read without a network.

    \b
    Examples:
        tuner report overnight
        tuner report overnight --output overnight.html
    """
    check_output(output, force=force)
    results = load_study(study).results
    # Imported here, because they import plotly and Optuna.
    from tuner.present.report.bundle import write_report
    from tuner.present.report.page import report_page

    if output is None:
        output = write_report(results, results.folder / REPORT_FILE)
    else:
        write_output(output, report_page(results), force=force)
    print_written(output, as_json=as_json)
