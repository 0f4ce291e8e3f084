"""Checks what is stored of an experiment against its rows, and estimates what it still has to measure."""

from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from tuner.execution.experiments.experiment_steps import burn_ins_before, steps_left, with_stored_rounds
from tuner.model.errors import StudyNotFound
from tuner.model.experiment import ExperimentSpec
from tuner.model.identity import check_same_rows
from tuner.storage.locations import storage_at, study_folder


@dataclass(frozen=True, slots=True)
class WorkLeft:
    """What is left to measure of an experiment.

    Attributes:
        searches: Whether the searches of the experiment have still to run.
        measurements: Number of measurements, without the burn-in runs.
        seconds: Seconds until the end of the experiment, including its searches and burn-in runs.
        most_bytes: The largest number of bytes that the experiment may still send.
    """

    searches: bool
    measurements: int
    seconds: float
    most_bytes: float


def work_left(spec: ExperimentSpec) -> WorkLeft:
    """Return what is left to measure of an experiment.

    Raises:
        StudyChanged: The stored measurements belong to an experiment with other rows, or to a study.
        RayUnfit: A row names zones of a Ray cluster, but the experiment names no Ray cluster.
    """
    spec.check_zones()
    folder, stored = study_folder(spec.name), []
    check_rows_unchanged(spec, folder)
    with suppress(StudyNotFound), closing(storage_at().read(folder)) as store:
        stored = store.trials()
    spec = with_stored_rounds(spec, stored)
    if not stored:
        return WorkLeft(bool(spec.searches), spec.measurements, spec.planned_s, spec.most_bytes)
    left = steps_left(spec, stored)
    rows = [*burn_ins_before(spec, left), *(step.row for step in left)]
    return WorkLeft(False, len(left), sum(row.planned_s for row in rows), sum(map(spec.most_bytes_of, rows)))


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
