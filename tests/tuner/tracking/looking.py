"""Reads runs and artifacts from MLflow, for tests."""

from pathlib import Path
from typing import TYPE_CHECKING

from tuner.model.spec import TrackingSpec
from tuner.tracking import sync

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run


def runs(client: "MlflowClient", condition: str = "") -> "dict[str, Run]":
    """Return all runs that match a condition, by name. Fail if two runs have the same name."""
    experiments = [each.experiment_id for each in client.search_experiments()]
    found = list(client.search_runs(experiments, condition, max_results=1_000))
    by_name = {run.info.run_name: run for run in found}
    assert len(by_name) == len(found), sorted(run.info.run_name for run in found)
    return by_name


def synced(folder: Path, client: "MlflowClient", condition: str = "") -> "dict[str, Run]":
    """Copy a study to MLflow, and return all runs that match a condition, by name."""
    assert sync(folder, TrackingSpec()).error is None
    return runs(client, condition)


def numbers(client: "MlflowClient", condition: str) -> list[int]:
    """Return the numbers of the trials that match a condition."""
    return sorted(int(run.data.tags["tuner.trial"]) for run in runs(client, condition).values())


def files(client: "MlflowClient", run: "Run", path: str | None = None) -> set[str]:
    """Return the paths of a run's artifacts."""
    found: set[str] = set()
    for each in client.list_artifacts(run.info.run_id, path):
        found |= files(client, run, each.path) if each.is_dir else {each.path}
    return found
