"""`tuner grid` shows the tables of a grid search."""

from tuner.api import load_study
from tuner.cli.options import common_options
from tuner.cli.options.study_arguments import ShownSize
from tuner.cli.output import print_result
from tuner.cli.printing.warnings import warn_about_grid
from tuner.present.console import OUT
from tuner.present.trial_tables.grid_view import grid_csv, grid_json, print_grids
from tuner.results.grid_tables import grid_tables


def grid(
    study: common_options.Study,
    record_bytes: ShownSize = None,
    as_json: common_options.Json = False,
    as_csv: common_options.Csv = False,
) -> None:
    """Show the tables of a grid search: each metric by the values of two knobs.

    There is a table for each pair of knobs. If the grid has more than two knobs, each cell is the mean over the values
    of the other knobs. In a terminal, better cells are greener.

    \b
    Examples:
        tuner grid lingers
        tuner grid lingers --record-bytes 1000 --csv > grid.csv
    """
    loaded = load_study(study)
    results, sizes = loaded.results, common_options.selected_sizes(loaded.results, record_bytes)
    tables = {size.record_bytes: grid_tables(results, size) for size in sizes}
    record = grid_json(results.name, tables, simulated=results.simulated)
    print_result(
        record,
        lambda: print_grids(results.name, tables, OUT),
        lambda: grid_csv(tables),
        as_json=as_json,
        as_csv=as_csv,
    )
    warn_about_grid(record)
