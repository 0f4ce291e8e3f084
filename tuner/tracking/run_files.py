"""The files that are stored with the runs in MLflow.

They contain enough to use a study's results without our results store.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from runners.host_processes.clean_up import temporary_folder
from tuner.model.study_files import RECOMMENDED, STUDY_FILE
from tuner.model.trial import PACED, SATURATED, Trial
from tuner.present.export import Format, export
from tuner.present.trial_tables.front_table import front_csv, front_json
from tuner.storage.protocols import ResultsStore
from tuner.tracking.connection import TEMPORARY_KIND
from tuner.tracking.study_layout import SizeRuns

if TYPE_CHECKING:
    from mlflow import MlflowClient

LATENCY_FILE: Final = "latency.hgrm.json"
_KEPT: Final = ("latency", "send_delay", "sample_ratio", "workload")
"""The parts of a phase's measurement that the file with its latencies has."""


def parent_files(runs: SizeRuns) -> dict[str, str]:
    """Return the files to store with the MLflow run for a record size, as a mapping from path to text."""
    files = {
        "front.json": json.dumps(front_json(runs.study, runs.size), indent=2),
        "front.csv": front_csv(runs.size),
    }
    if runs.study.study_file:
        files[STUDY_FILE] = runs.study.study_file
    for goal, recommendation in runs.by_goal.items():
        files[f"{RECOMMENDED}/{goal}.json"] = export(recommendation, Format.JSON)
        files[f"{RECOMMENDED}/{goal}.properties"] = export(recommendation, Format.PROPERTIES)
    return files


def latency_file(store: ResultsStore, trial: Trial) -> dict[str, str]:
    """Return the file with the latency histograms of a trial, as a mapping from its path to its text.

    The mapping is empty if no histograms are stored for the trial.
    """
    measured = {name: store.attachment(trial, name) for name in (SATURATED, PACED)}
    phases = {name: {part: each.get(part) for part in _KEPT} for name, each in measured.items() if each}
    return {LATENCY_FILE: json.dumps(phases)} if phases else {}


def digest(files: Mapping[str, str]) -> str:
    """Return a hash of the contents of files.

    The hash shows which files are unchanged, so that they are not sent again.
    """
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:16]


def upload(client: "MlflowClient", run_id: str, files: Mapping[str, str]) -> None:
    """Store files, given as a mapping from path to text, as artifacts of a run.

    An artifact that already has one of these paths is replaced.
    """
    # MLflow's own function for texts would leave a temporary folder behind if this process is killed meanwhile.
    with temporary_folder(TEMPORARY_KIND, "tuner-mlflow-") as folder:
        for path, text in files.items():
            artifact_path = PurePosixPath(path)
            (folder / artifact_path.name).write_text(text, encoding="utf-8")
            client.log_artifact(
                run_id,
                str(folder / artifact_path.name),
                str(artifact_path.parent) if artifact_path.parent.name else None,
            )


def upload_report(client: "MlflowClient", run_ids: Mapping[str, str], sizes: Collection[str], report: Path) -> None:
    """Store the files of a study's report as artifacts of the MLflow runs for its record sizes.

    Args:
        client: The client of MLflow.
        run_ids: The id of the MLflow run for each record size.
        sizes: All record sizes of the study.
        report: The folder of the report. A folder in it that is named like a record size belongs only to the run of
            that size. Everything else belongs to all runs.
    """
    for record_bytes, run_id in run_ids.items():
        for entry in sorted(report.iterdir()):
            if entry.name == record_bytes:
                client.log_artifacts(run_id, str(entry))
            elif entry.name not in sizes:
                client.log_artifact(run_id, str(entry))
