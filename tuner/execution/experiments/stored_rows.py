"""Checks that the stored measurements of an experiment belong to its rows."""

from contextlib import closing, suppress
from pathlib import Path

from tuner.model.errors import StudyNotFound
from tuner.model.experiment import ExperimentSpec
from tuner.model.experiment_identity import check_same_rows
from tuner.storage.locations import storage_at


def check_rows_unchanged(spec: ExperimentSpec, folder: Path) -> None:
    """Check that the stored measurements belong to this experiment's rows.

    Rows may still lack the config that their search has found.

    Raises:
        StudyChanged: The measurements belong to other rows, or to a study.
    """
    searched = {f"row {row.name}" for row in spec.rows if row.best_of is not None}
    with suppress(StudyNotFound), closing(storage_at().read(folder)) as store:
        if store.trials():
            check_same_rows(spec, store.facts(), searched)
