"""Reports of a study: tables, pictures, pages, and the folder of artifacts. All are made from `StudyResults`."""

from pathlib import Path


def write_all_artifacts(folder: Path, out: Path) -> None:
    """Fill a folder with what stands beside a study's runs: a folder per record size that has trials.

    Args:
        folder: The study's.
        out: Where to write.
    """
    # Deferred: pictures need matplotlib, which takes its time to import.
    from tuner.present.report.bundle import write_artifacts
    from tuner.results.study_results import load_results

    study = load_results(folder)
    for size in study.sizes:
        if size.trials:
            write_artifacts(study, size, out / size.record_bytes)
