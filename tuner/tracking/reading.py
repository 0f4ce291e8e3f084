"""What was recommended, read from MLflow alone: nothing of ours is at hand but the tracking URI."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from objectives.scoring import Objective
from tuner.model.errors import NoFeasibleConfig, StudyError, StudyNotFound
from tuner.model.goals import goals_of
from tuner.model.spec import Goal, TrackingSpec
from tuner.storage.home import studies_root
from tuner.tracking.connection import PAGE, TrackingError, TrackingLocation, connect, reason, runs_of
from tuner.tracking.layout import PARENT_KIND
from tuner.tracking.writer import RECOMMENDED

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run


def recommend_from_tracking(uri: str | None, study: str, record_bytes: str, goal: Goal) -> dict[str, Any]:
    """The recommendation that a study left in MLflow, as `tuner.present.export.recommendation_record` writes it.

    Args:
        uri: Of MLflow; None takes MLFLOW_TRACKING_URI, else the file beside the studies.
        study: Its name; of several studies of that name the newest counts.
        record_bytes: The size or mix, as it was measured.
        goal: What the config is best at.

    Raises:
        StudyNotFound: MLflow holds no such study, or not that record size; the message names those that it holds.
        NoFeasibleConfig: Nothing was recommended for the goal.
        TrackingError: MLflow can't be read.
    """
    with _run_of(uri, study, record_bytes) as (client, run):
        kept = _kept(client, run)
        if str(goal) not in kept:
            raise NoFeasibleConfig(
                f"{study} must have left a recommendation for {goal} in MLflow, but has not; there are: "
                f"{', '.join(kept) or 'none'}"
            )
        return _recommended(client, run, goal)


def recommendations_from_tracking(uri: str | None, study: str, record_bytes: str) -> list[dict[str, Any]]:
    """The recommendations that a study left in MLflow, in the order in which they count where no goal is asked for.

    Args:
        uri: Of MLflow, as `recommend_from_tracking` takes it.
        study: Its name; of several studies of that name the newest counts.
        record_bytes: The size or mix, as it was measured.

    Raises:
        StudyNotFound: MLflow holds no such study, or not that record size; the message names those that it holds.
        NoFeasibleConfig: Nothing was recommended.
        TrackingError: MLflow can't be read.
    """
    with _run_of(uri, study, record_bytes) as (client, run):
        names = run.data.params.get("objectives", "")
        goals = goals_of([Objective(name) for name in names.split(", ") if name])
        kept = _kept(client, run)
        found = [_recommended(client, run, goal) for goal in goals if str(goal) in kept]
    if not found:
        raise NoFeasibleConfig(f"{study} must have left a recommendation in MLflow, but has not left any")
    return found


@contextmanager
def _run_of(uri: str | None, study: str, record_bytes: str) -> "Iterator[tuple[MlflowClient, Run]]":
    """The newest run of a study's record size, to be read in the block; whatever goes wrong there is told as ours."""
    place = TrackingLocation.of(TrackingSpec(uri=uri), studies_root())
    if place.sqlite_file is not None and not place.sqlite_file.is_file():
        raise TrackingError(f"MLflow's store must be there, but {place.shown} is not")
    try:
        client = connect(place)
        yield client, _newest(_parents(client), study, record_bytes, place)
    except StudyError:
        raise
    except Exception as error:  # MLflow, its database and the network have no common error
        raise TrackingError(f"MLflow at {place.shown} must be readable, but is not: {reason(error, place)}") from error


def _parents(client: "MlflowClient") -> "list[Run]":
    """The runs of studies, the newest first."""
    experiments = [each.experiment_id for each in client.search_experiments(max_results=PAGE)]
    if not experiments:
        return []
    return runs_of(client, experiments, f"tags.`tuner.kind` = '{PARENT_KIND}'", ["attributes.start_time DESC"])


def _newest(parents: "list[Run]", study: str, record_bytes: str, place: TrackingLocation) -> "Run":
    of_study = [run for run in parents if run.data.tags.get("tuner.study") == study]
    if not of_study:
        names = ", ".join(dict.fromkeys(run.data.tags.get("tuner.study", "") for run in parents)) or "none"
        raise StudyNotFound(
            f"MLflow at {place.shown} must hold the study, but does not hold {study!r}; there are: {names}"
        )
    for run in of_study:
        if run.data.tags.get("tuner.record_bytes") == record_bytes:
            return run
    sizes = ", ".join(dict.fromkeys(run.data.tags.get("tuner.record_bytes", "") for run in of_study))
    raise StudyNotFound(f"{study} must have measured the record size, but {record_bytes} B was not; there are: {sizes}")


def _kept(client: "MlflowClient", run: "Run") -> Sequence[str]:
    """The goals for which something is recommended there."""
    there = [Path(file.path) for file in client.list_artifacts(run.info.run_id, RECOMMENDED)]
    return [path.stem for path in there if path.suffix == ".json"]


def _recommended(client: "MlflowClient", run: "Run", goal: Goal) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="tuner-mlflow-") as folder:
        file = client.download_artifacts(run.info.run_id, f"{RECOMMENDED}/{goal}.json", folder)
        record: dict[str, Any] = json.loads(Path(file).read_text(encoding="utf-8"))
    return record
