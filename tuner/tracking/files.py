"""The files that stand beside the runs in MLflow: enough to use what was found without our record."""

import hashlib
import json
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tuner.model.trial import Trial
from tuner.present.export import Format, export
from tuner.present.report.front_table import front_csv, front_record
from tuner.storage.files import STUDY_FILE
from tuner.storage.protocols import ResultsStore
from tuner.tracking.layout import SizeView

if TYPE_CHECKING:
    from mlflow import MlflowClient

RECOMMENDED: Final = "recommended"
LATENCY_FILE: Final = "latency.hgrm.json"
_PHASES: Final = ("saturated", "paced")
_KEPT: Final = ("latency", "send_delay", "sample_ratio", "workload")


def parent_files(view: SizeView) -> dict[str, str]:
    """Texts by path, for the run of a record size."""
    files = {
        "front.json": json.dumps(front_record(view.study, view.size), indent=2),
        "front.csv": front_csv(view.size),
    }
    if view.study.study_file:
        files[STUDY_FILE] = view.study.study_file
    for goal, pick in view.picks.items():
        files[f"{RECOMMENDED}/{goal}.json"] = export(pick, Format.JSON)
        files[f"{RECOMMENDED}/{goal}.properties"] = export(pick, Format.PROPERTIES)
    return files


def latency_file(store: ResultsStore, trial: Trial) -> dict[str, str]:
    """The latency histograms of a trial's phases; nothing where none were kept."""
    phases: dict[str, Any] = {}
    for name in _PHASES:
        kept = store.attachment(trial, name)
        if kept:
            phases[name] = {part: kept.get(part) for part in _KEPT}
    return {LATENCY_FILE: json.dumps(phases)} if phases else {}


def digest(files: Mapping[str, str]) -> str:
    """Names the contents, so that they are not sent again unchanged."""
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:16]


def upload(client: "MlflowClient", run_id: str, files: Mapping[str, str]) -> None:
    """Put texts beside a run, instead of what stood under their paths."""
    with tempfile.TemporaryDirectory(prefix="tuner-mlflow-") as folder:
        for path, text in files.items():
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        client.log_artifacts(run_id, folder)


def upload_report(client: "MlflowClient", run_ids: Mapping[str, str], sizes: Collection[str], report: Path) -> None:
    """Put a report's files beside the runs of a study.

    Args:
        client: MLflow's.
        run_ids: Parent runs by record size, of those that have one.
        sizes: All record sizes of the study.
        report: A folder; what lies in a folder of it that is named as a record size goes to that size's run alone, all
            else to every one.
    """
    for record_bytes, run_id in run_ids.items():
        for entry in sorted(report.iterdir()):
            if entry.name == record_bytes:
                client.log_artifacts(run_id, str(entry))
            elif entry.name not in sizes:
                client.log_artifact(run_id, str(entry))
