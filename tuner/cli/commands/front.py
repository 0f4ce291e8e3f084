"""`tuner front` shows the Pareto front of a study."""

from tuner.api import load_study
from tuner.cli.options import common_options
from tuner.cli.options.study_arguments import ShownSize
from tuner.cli.output import print_result
from tuner.cli.printing.warnings import warn_about_front
from tuner.present.console import OUT
from tuner.present.trial_tables.front_table import front_csv, fronts_json, print_fronts


def front(
    study: common_options.Study,
    record_bytes: ShownSize = None,
    as_json: common_options.Json = False,
    as_csv: common_options.Csv = False,
) -> None:
    """Show the Pareto front of a study: the configs that no other config dominates.

    A config dominates another one if it is at least as good in every objective and better in one. Each config is shown
    with its ratio to the baseline, its guarantee and its verdict. If no config meets every constraint, the command
    shows how near the trials came to each constraint.

    \b
    Examples:
        tuner front overnight
        tuner front overnight --record-bytes 1000 --json
        tuner front overnight --csv > front.csv
    """
    loaded = load_study(study)
    results, sizes = loaded.results, common_options.selected_sizes(loaded.results, record_bytes)
    record = fronts_json(results, sizes)
    print_result(
        record,
        lambda: print_fronts(results, sizes, OUT),
        lambda: front_csv(*sizes),
        as_json=as_json,
        as_csv=as_csv,
    )
    if not as_json:
        warn_about_front(record, as_csv=as_csv)
