"""`tuner status`, `front`, `grid` and `report` show the results of a study; `tuner compare` shows two studies."""

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.live import Live

from tuner.api import load_study
from tuner.cli import options
from tuner.cli.output import Force, check_output, check_picture, write_output, write_picture
from tuner.cli.printing import check_one_form, print_csv, print_json, print_written
from tuner.cli.shown_studies import print_studies_here
from tuner.cli.shown_warnings import warn_about_front, warn_about_grid
from tuner.cli.study_arguments import ShownSize, StudyOrAll, Watch, check_named
from tuner.model.study_files import REPORT_FILE
from tuner.present.comparison_view import comparison_csv, print_comparison
from tuner.present.console import OUT, say, warn
from tuner.present.front_table import front_csv, fronts_json
from tuner.present.front_view import print_front
from tuner.present.grid_view import grid_csv, grid_json, print_grid
from tuner.present.status import Status, status_of
from tuner.present.status_view import status_text
from tuner.results.comparison import StudyComparison
from tuner.results.comparison import compare as comparison
from tuner.results.grid_tables import grid_tables
from tuner.results.reasons import SIMULATED
from tuner.results.study_results import StudyResults, results_of
from tuner.storage.home import find_study, storage_at
from tuner.storage.protocols import ResultsStore

_POLL_S: Final = 2.0


def status(
    study: StudyOrAll = None,
    watch: Watch = False,
    as_json: options.Json = False,
) -> None:
    """Show the progress of a study: trials done, best results so far, time left, current step, failures.

    Once the winners of a record size are confirmed, the command shows the recommended configs instead of the best
    results so far. Without a study, the command lists all studies, as `tuner studies` does.

    \b
    Examples:
        tuner status
        tuner status overnight
        tuner status overnight --watch
        tuner status overnight --json
    """
    if study is None:
        check_named(watch=watch)
        print_studies_here(as_json=as_json, as_csv=False)
        return
    folder = find_study(study)
    seen = _statuses(folder) if watch else iter([next(_statuses(folder))])
    if as_json:
        for found in seen:
            # With --watch, each change is one JSON document on one line.
            print_json(found.as_json(), indent=None if watch else 2)
    elif watch and OUT.is_terminal:
        with Live(console=OUT, auto_refresh=False) as live:
            for found in seen:
                live.update(status_text(found), refresh=True)
    else:
        for found in seen:
            OUT.print(status_text(found))


def _statuses(folder: Path) -> Iterator[Status]:
    """Yield the status of a study now, and again at every change until the study no longer runs.

    The trials are read again only when a new trial has ended, because frequent reading could disturb the measurements.
    """
    with closing(storage_at().read(folder)) as store:
        results = results_of(store, folder)
        last, shown = _last_sequence(store, sum(len(size.trials) for size in results.sizes)), None
        while True:
            found = status_of(results, store.progress(), datetime.now(UTC))
            if found != shown:
                yield found
            if not found.running:
                return
            shown = found
            time.sleep(_POLL_S)
            newest = _last_sequence(store, last)
            if newest != last:
                results, last = results_of(store, folder), newest


def _last_sequence(store: ResultsStore, after: int) -> int:
    return max((sequence for sequence, _ in store.trials(after)), default=after)


def front(
    study: options.Study,
    record_bytes: ShownSize = None,
    as_json: options.Json = False,
    as_csv: options.Csv = False,
) -> None:
    """Show the Pareto front of a study: the configs that no other config dominates.

    Each config is shown with its ratio to the baseline, its guarantee and its verdict. If no config keeps every
    constraint, the command shows how near the trials came to each constraint.

    \b
    Examples:
        tuner front overnight
        tuner front overnight --record-bytes 1000 --json
        tuner front overnight --csv > front.csv
    """
    check_one_form(json=as_json, csv=as_csv)
    loaded = load_study(study)
    results, sizes = loaded.results, options.asked_sizes(loaded.results, record_bytes)
    record = fronts_json(results, sizes)
    if as_json:
        print_json(record)
        return
    if as_csv:
        print_csv(front_csv(*sizes))
    else:
        for size in sizes:
            print_front(results, size, OUT)
    fronts = [] if as_csv else record["fronts"]
    warn_about_front(fronts, simulated=results.simulated, finished=results.finished)


def grid(
    study: options.Study,
    record_bytes: ShownSize = None,
    as_json: options.Json = False,
    as_csv: options.Csv = False,
) -> None:
    """Show the tables of a grid search: each metric by the values of two knobs.

    There is a table for each pair of knobs. If the grid has more than two knobs, each cell is the mean over the values
    of the other knobs. In a terminal, better cells are greener.

    \b
    Examples:
        tuner grid lingers
        tuner grid lingers --record-bytes 1000 --csv > grid.csv
    """
    check_one_form(json=as_json, csv=as_csv)
    loaded = load_study(study)
    results, sizes = loaded.results, options.asked_sizes(loaded.results, record_bytes)
    tables = {size.record_bytes: grid_tables(results, size) for size in sizes}
    record = grid_json(results.name, tables, simulated=results.simulated)
    if as_json:
        print_json(record)
    elif as_csv:
        print_csv(grid_csv(tables))
    else:
        for size, found in tables.items():
            print_grid(results.name, size, found, OUT)
    warn_about_grid(record)


def report(
    study: options.Study,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write.", show_default=f"{REPORT_FILE} in the study's folder"),
    ] = None,
    force: Force = False,
    as_json: options.Json = False,
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
    # Imported here, because they import matplotlib, plotly and Optuna.
    from tuner.present.report.bundle import write_report
    from tuner.present.report.page import report_page

    if output is None:
        output = write_report(results, results.folder / REPORT_FILE)
    else:
        write_output(output, report_page(results), force=force)
    print_written(output, as_json=as_json)


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
    as_json: options.Json = False,
    as_csv: options.Csv = False,
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
    check_one_form(json=as_json, csv=as_csv)
    check_output(html, force=force)
    check_picture(png, force=force)
    studies = (load_study(first).results, load_study(second).results)
    found = comparison(*studies)
    if as_json:
        print_json(found.as_json())
    elif as_csv:
        print_csv(comparison_csv(found.as_json()))
    else:
        print_comparison(found, OUT)
    if found.simulated:
        warn(SIMULATED)
    for difference in found.differences:
        warn(difference)
    _draw(studies, found, html, png, force=force)


def _draw(
    studies: tuple[StudyResults, StudyResults],
    found: StudyComparison,
    html: Path | None,
    png: Path | None,
    *,
    force: bool,
) -> None:
    if html is None and png is None:
        return
    if not found.sizes:
        warn("nothing is drawn, because the studies have no record size in common")
        return
    if studies[0].objectives != studies[1].objectives:
        warn("nothing is drawn, because the studies have different objectives and so no common axes")
        return
    # Imported here, because they import matplotlib and plotly.
    from tuner.present.report.page import fronts_html
    from tuner.present.report.pictures import draw_fronts
    from tuner.present.report.view import pictures_to_compare

    views = pictures_to_compare(studies, found)
    if html is not None:
        write_output(html, fronts_html(found, views), force=force)
        say(f"page written to {html}")
    if png is not None:
        write_picture(png, partial(draw_fronts, views), force=force)
        say(f"picture written to {png}")
