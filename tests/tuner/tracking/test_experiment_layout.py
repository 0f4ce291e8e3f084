"""The status of an experiment's run in MLflow."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.small_experiment import ToldOfExperiment, run_small
from tests.tuner.tracking.looking import runs, synced
from tuner.model.facts import FINISHED_AT
from tuner.model.progress import Progress, StudyState
from tuner.model.spec import TrackingSpec
from tuner.storage.sqlite import SqliteStore
from tuner.tracking import sync

if TYPE_CHECKING:
    from mlflow import MlflowClient

HERE = TrackingSpec()
ITS_RUN = "tags.`tuner.kind` = 'experiment'"


def test_an_experiment_that_ended_in_its_burn_in_has_no_run(root: Path, client: "MlflowClient") -> None:
    (root / "small").mkdir()  # otherwise, the experiment would not be kept
    with pytest.raises(KeyboardInterrupt):
        run_small(root / "small", ToldOfExperiment(stop_after=1))
    outcome = sync(root / "small", HERE)
    assert (outcome.error, outcome.trials_behind, outcome.runs_written) == (None, 0, 0)
    assert runs(client, ITS_RUN) == {}


def test_an_experiment_that_failed_has_failed_in_mlflow(root: Path, client: "MlflowClient") -> None:
    run_small(root / "small", ToldOfExperiment())
    store = SqliteStore(root / "small", create=False)
    finished_at = store.facts()[FINISHED_AT]
    store.set_fact(FINISHED_AT, None)
    store.set_progress(Progress(StudyState.FAILED))
    assert synced(root / "small", client, ITS_RUN)["small"].info.status == "FAILED"
    store.set_fact(FINISHED_AT, finished_at)
    store.close()
    assert synced(root / "small", client, ITS_RUN)["small"].info.status == "FINISHED"
