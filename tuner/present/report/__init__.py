"""Reports of a study: tables, pictures, pages and folders of result files, all made from `StudyResults`."""

import logging
from pathlib import Path

# If the home can't be written to, matplotlib says that its cache is in a temporary folder. Nobody needs to know that.
logging.getLogger("matplotlib").setLevel(logging.ERROR)


def write_all_artifacts(folder: Path, out: Path) -> None:
    """Write the tables, pictures and configs of a study into one folder per record size.

    Record sizes without trials are left out.
    """
    # Imported here, because it imports plotly, which takes a fifth of a second.
    from tuner.present.report.bundle import write_artifacts
    from tuner.results.study_results import load_results

    study = load_results(folder)
    for size in study.sizes:
        if size.trials:
            write_artifacts(study, size, out / size.record_bytes)
