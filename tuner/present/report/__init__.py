"""Reports of a study: tables, pictures, pages and the folder of artifacts, all made from `StudyResults`."""

from pathlib import Path


def write_all_artifacts(folder: Path, out: Path) -> None:
    """Write the artifacts of each record size that has trials into a folder of its own.

    Args:
        folder: The study's folder.
        out: The folder to write to; made if it does not exist.
    """
    # Imported here because the pictures need matplotlib, which takes seconds to import.
    from tuner.present.report.bundle import write_artifacts
    from tuner.results.study_results import load_results

    study = load_results(folder)
    for size in study.sizes:
        if size.trials:
            write_artifacts(study, size, out / size.record_bytes)
