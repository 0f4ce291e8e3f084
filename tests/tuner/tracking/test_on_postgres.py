"""MLflow's store in PostgreSQL, used without an MLflow server."""

import json
import logging
from pathlib import Path

import pytest

from tests.helpers.invented_studies import baseline, confirming, study, trial
from tests.helpers.postgres_server import PASSWORD, PostgresServer
from tests.helpers.shared_storage import storage_of
from tests.tuner.tracking.looking import runs
from tuner.model.goals import Goal
from tuner.model.spec import TrackingSpec
from tuner.present.export import recommendation_of
from tuner.storage.locations import ROOT_VARIABLE
from tuner.tracking import SyncOutcome, TrackingLocation, recommend_from_tracking, sync
from tuner.tracking.connection import connect

pytestmark = [
    pytest.mark.campaign,
    # These warnings come from SQLAlchemy's pools, when the engine that MLflow has made is garbage-collected.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("scheme", ["postgresql", pytest.param("postgresql+psycopg", marks=pytest.mark.long)])
def test_a_study_is_written_once_and_its_recommendation_read_back(
    tmp_path: Path,
    database: str,
    postgres: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    scheme: str,
) -> None:
    caplog.set_level(logging.DEBUG, "tuner")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", database.replace("postgresql", scheme, 1))
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    best = trial(1, 20.0, 10.0)
    store = study(tmp_path / "night", baseline(), best, *confirming(best, 2))
    store.close()
    first = sync(tmp_path / "night", TrackingSpec())
    assert (first.trials_behind, first.error) == (0, None)
    assert first.runs_written == 13
    postgres.kill()
    postgres.start()
    again = sync(tmp_path / "night", TrackingSpec())
    if again.error is not None:  # the connection pool may still hold a connection to the killed server
        again = sync(tmp_path / "night", TrackingSpec())
    assert (again.runs_written, again.trials_behind, again.error) == (0, 0, None)
    assert len(runs(connect(TrackingLocation.of(TrackingSpec(), tmp_path)))) == 13
    record = recommend_from_tracking(None, "night", "1000", Goal.THROUGHPUT)
    found = recommendation_of(record)
    assert (found.study, found.record_bytes, found.trial.values) == ("night", "1000", best.values)
    assert_no_password(tmp_path, caplog.text + str(capfd.readouterr()), first, again)


def test_a_study_stored_in_postgresql_is_mirrored_to_postgresql(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", database)
    local = study(tmp_path / "local" / "night", baseline(), trial(1, 12.0))
    with storage_of(database).drive(tmp_path / "night", "night", print) as store:
        for name, value in local.facts().items():
            store.set_fact(name, value)
        for _, each in local.trials():
            store.append(each)
        held = store.hold("mlflow-mirror")
        assert held is not None
        busy = sync(tmp_path / "night", TrackingSpec(), storage=storage_of(database))
        assert "only one process at a time may write night to MLflow" in str(busy.error)
        held.close()
    local.close()
    outcome = sync(tmp_path / "night", TrackingSpec(), storage=storage_of(database))
    assert (outcome.runs_written, outcome.trials_behind, outcome.error) == (3, 0, None)
    assert PASSWORD not in outcome.uri


def test_an_unreachable_server_is_named_without_its_password(
    tmp_path: Path, database: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", database.replace(f":{postgres.port}/", ":1/"))
    study(tmp_path / "night", baseline()).close()
    outcome = sync(tmp_path / "night", TrackingSpec())
    assert outcome.trials_behind == 1
    assert outcome.error
    assert_no_password(tmp_path, "", outcome)


def assert_no_password(folder: Path, told: str, *outcomes: SyncOutcome) -> None:
    told += json.dumps([(each.uri, each.error) for each in outcomes])
    assert PASSWORD not in told
    files = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert PASSWORD.encode() not in files
