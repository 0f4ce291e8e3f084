"""Reads the recommendations of a study from MLflow, for callers that have the tracking URI but no results store."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from objectives.scoring import Objective
from runners.workload import RecordSizes
from tuner.model.errors import NoFeasibleConfig, StudyNotFound
from tuner.model.goals import Goal, goals_of
from tuner.model.spec import TrackingSpec
from tuner.model.study_files import RECOMMENDED
from tuner.storage.locations import studies_root
from tuner.tracking import tags
from tuner.tracking.connection import PAGE, TrackingError, TrackingLocation, read_from, runs_of

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run


def recommend_from_tracking(uri: str | None, study: str, record_bytes: str, goal: Goal) -> dict[str, Any]:
    """Read a study's recommendation for a goal from MLflow, in the format of `export.recommendation_json`.

    Args:
        uri: The tracking URI. None: MLFLOW_TRACKING_URI, or else the SQLite file beside the studies.
        study: Name of the study. If several studies have this name, the newest is read.
        record_bytes: The record size or mix of sizes.
        goal: The goal of the recommendation.

    Raises:
        StudyNotFound: MLflow does not hold this study, or not this record size. The message names those that it holds.
        NoFeasibleConfig: MLflow holds no recommendation for this goal.
        TrackingError: MLflow can't be read.
    """
    with _run_of(uri, study, record_bytes) as (client, run):
        kept = _goals_of(client, run)
        if str(goal) not in kept:
            raise NoFeasibleConfig(
                f"MLflow holds no recommendation of {study} for the goal {goal}; goals with a recommendation: "
                f"{', '.join(kept) or 'none'}"
            )
        return _recommended(client, run, goal)


def recommendations_from_tracking(uri: str | None, study: str, record_bytes: str) -> list[dict[str, Any]]:
    """Read the recommendations of a study from MLflow: one for each goal, if MLflow has a recommendation for it.

    The first one is the recommendation to use if the user names no goal.

    Args:
        uri: The tracking URI, as for `recommend_from_tracking`.
        study: Name of the study. If several studies have this name, the newest is read.
        record_bytes: The record size or mix of sizes.

    Raises:
        StudyNotFound: MLflow does not hold this study, or not this record size. The message names those that it holds.
        NoFeasibleConfig: MLflow holds no recommendation of this study for the record size.
        TrackingError: MLflow can't be read.
    """
    with _run_of(uri, study, record_bytes) as (client, run):
        names = run.data.params.get("objectives", "")
        goals = goals_of([Objective(name) for name in names.split(", ") if name])
        kept = _goals_of(client, run)
        records = [_recommended(client, run, goal) for goal in goals if str(goal) in kept]
    if not records:
        raise NoFeasibleConfig(f"MLflow holds no recommendation of {study}; `tuner sync {study}` writes it there")
    return records


@contextmanager
def _run_of(uri: str | None, study: str, record_bytes: str) -> "Iterator[tuple[MlflowClient, Run]]":
    """Yield an MLflow client and the newest run for a record size of a study.

    Errors that MLflow raises are raised again as `TrackingError`.
    """
    record_bytes = str(RecordSizes.parse(record_bytes))  # MLflow's tag has this text
    location = TrackingLocation.of(TrackingSpec(uri=uri), studies_root())
    if location.sqlite_file is not None and not location.sqlite_file.is_file():
        raise TrackingError(
            f"MLflow's store {location.shown} does not exist; check the URI, or let `tuner sync` create it"
        )
    with read_from(location) as client:
        yield client, _newest(_parents(client), study, record_bytes, location)


def _parents(client: "MlflowClient") -> "list[Run]":
    """Return the MLflow runs for the record sizes of all studies, newest first.

    Left out are the runs for trials, and the runs that a study left behind in another experiment.
    """
    experiments = [each.experiment_id for each in client.search_experiments(max_results=PAGE)]
    if not experiments:
        return []
    runs = runs_of(client, experiments, f"tags.`{tags.KIND}` = '{tags.STUDY_KIND}'", ["attributes.start_time DESC"])
    return [run for run in runs if tags.MOVED_TO not in run.data.tags]


def _newest(parents: "list[Run]", study: str, record_bytes: str, location: TrackingLocation) -> "Run":
    of_study = [run for run in parents if run.data.tags.get(tags.STUDY) == study]
    if not of_study:
        names = ", ".join(dict.fromkeys(run.data.tags.get(tags.STUDY, "") for run in parents)) or "none"
        raise StudyNotFound(f"MLflow at {location.shown} does not hold the study {study!r}; it holds: {names}")
    for run in of_study:
        if run.data.tags.get(tags.RECORD_BYTES) == record_bytes:
            return run
    sizes = ", ".join(dict.fromkeys(run.data.tags.get(tags.RECORD_BYTES, "") for run in of_study))
    raise StudyNotFound(
        f"the record size must be one that {study} has measured, but got {record_bytes} B; it has measured: {sizes}"
    )


def _goals_of(client: "MlflowClient", run: "Run") -> Sequence[str]:
    """Return the goals for which a run in MLflow holds a recommendation, such as `latency`."""
    there = [Path(file.path) for file in client.list_artifacts(run.info.run_id, RECOMMENDED)]
    goals = [path.stem for path in there if path.suffix == ".json"]
    # Runs of older releases do not have the tag.
    return [goal for goal in goals if goal in run.data.tags.get(tags.GOALS, goal).split()]


def _recommended(client: "MlflowClient", run: "Run", goal: Goal) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="tuner-mlflow-") as folder:
        file = client.download_artifacts(run.info.run_id, f"{RECOMMENDED}/{goal}.json", folder)
        record: dict[str, Any] = json.loads(Path(file).read_text(encoding="utf-8"))
    return record
