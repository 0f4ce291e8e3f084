"""`tuner trials` shows the trials of a study."""

from tuner.api import load_study
from tuner.cli.options import common_options
from tuner.cli.options.study_arguments import ShownSize
from tuner.cli.output import Force
from tuner.cli.printing.trials import Parquet, check_parquet, show_trials


def trials(
    study: common_options.Study,
    record_bytes: ShownSize = None,
    as_json: common_options.Json = False,
    as_csv: common_options.Csv = False,
    parquet: Parquet = None,
    force: Force = False,
) -> None:
    """Show the trials of a study: kind, metrics and config of each.

    With --csv, --json and --parquet, each trial has all metrics, and one column for each property that any config sets.

    \b
    Examples:
        tuner trials overnight --record-bytes 1000
        tuner trials overnight --csv > trials.csv
        tuner trials overnight --parquet trials.parquet
    """
    check_parquet(parquet, force=force)
    loaded = load_study(study)
    sizes = common_options.selected_sizes(loaded.results, record_bytes)
    # Imported here, because it imports pandas.
    from tuner.present.trial_tables.frames import trials_frame

    objectives, frame = [each.metric for each in loaded.results.objectives], trials_frame(sizes)
    show_trials(
        loaded.name,
        frame,
        objectives,
        parquet,
        simulated=loaded.results.simulated,
        as_json=as_json,
        as_csv=as_csv,
        force=force,
    )
