"""`tuner compare` compares two studies."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tuner.api import load_study
from tuner.cli.options import common_options
from tuner.cli.options.study_arguments import check_two_studies
from tuner.cli.output import (
    Force,
    check_file,
    check_picture,
    print_result,
    write_output,
    write_picture,
)
from tuner.present.comparisons.comparison_view import comparison_csv, print_comparison
from tuner.present.console import OUT, say, warn, warn_of_each
from tuner.results.comparisons.comparison import StudyComparison
from tuner.results.comparisons.comparison import compare as comparison
from tuner.results.study_results import SIMULATED, StudyResults
from tuner.storage.locations import find_study


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="Name of the first study, or its folder.")],
    second: Annotated[
        str,
        typer.Argument(
            metavar="B", help="Name of the second study, or its folder. Give folders if both have the same name."
        ),
    ],
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also draw both fronts as an HTML page that shows each config on hovering."),
    ] = None,
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw both fronts as a PNG picture.")] = None,
    force: Force = False,
    as_json: common_options.Json = False,
    as_csv: common_options.Csv = False,
) -> None:
    """Compare the Pareto fronts of two studies, and their best configs for each record size and goal.

    A warning names each difference in client, brokers, host or workload, because the numbers may differ for that
    reason alone.

    \b
    Examples:
        tuner compare before after
        tuner compare studies/overnight /mnt/other/overnight --html fronts.html
        tuner compare before after --csv > compared.csv
    """
    check_file(html, force=force)
    check_picture(png, force=force)
    check_two_studies(first, second, same=find_study(first) == find_study(second))
    studies = (load_study(first).results, load_study(second).results)
    compared = comparison(*studies)
    print_result(
        compared.as_json(),
        lambda: print_comparison(compared, OUT),
        lambda: comparison_csv(compared.as_json()),
        as_json=as_json,
        as_csv=as_csv,
    )
    if compared.simulated:
        warn(SIMULATED)
    warn_of_each(compared.differences)
    _draw(studies, compared, html, png, force=force)


def _draw(
    studies: tuple[StudyResults, StudyResults],
    study_comparison: StudyComparison,
    html: Path | None,
    png: Path | None,
    *,
    force: bool,
) -> None:
    if html is None and png is None:
        return
    if not study_comparison.sizes:
        warn("nothing is drawn, because the studies have no record size in common")
        return
    if studies[0].objectives != studies[1].objectives:
        warn("nothing is drawn, because the studies have different objectives and so no common axes")
        return
    # Imported here, because they import matplotlib and plotly.
    from tuner.present.report.page import fronts_html
    from tuner.present.report.study_pictures import draw_fronts
    from tuner.present.report.study_points import front_charts

    views = front_charts(studies, study_comparison)
    if html is not None:
        write_output(html, fronts_html(study_comparison, views), force=force)
        say(f"page written to {html}")
    if png is not None:
        write_picture(png, partial(draw_fronts, views), force=force)
        say(f"picture written to {png}")
