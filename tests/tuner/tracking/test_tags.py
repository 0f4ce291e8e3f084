"""The names of all tags: MLflow keeps them, and users have them in filters and views of their own."""

from dataclasses import replace
from pathlib import Path

from tests.helpers.invented_studies import baseline, confirming, study, trial
from tests.helpers.small_experiment import run_small
from tests.helpers.stored_studies import failed
from tuner.results.study_results import load_results
from tuner.tracking.experiment_layout import experiment_run, measurement_run
from tuner.tracking.run_content import RUNNING
from tuner.tracking.study_layout import size_runs

OF_ALL = {"tuner.study_id", "tuner.key", "tuner.study", "tuner.kind", "tuner.client_version", "tuner.broker_version"}


def test_a_study_has_its_tags(tmp_path: Path) -> None:
    stopped, best = replace(trial(1, 12.0, 15.0), stopped_early="slow"), trial(2, 20.0, 10.0)
    study(tmp_path / "night", baseline(), stopped, best, *confirming(best, 3), failed(trial(13))).close()
    (runs,) = size_runs(load_results(tmp_path / "night"))
    parent = runs.parent(RUNNING).tags
    hosts = {name for name in parent if name.startswith(("tuner.host.", "tuner.cluster."))}
    assert {"tuner.host.processor", "tuner.cluster.cluster_id"} <= hosts
    assert parent.keys() - hosts == OF_ALL | {
        "tuner.record_bytes",
        "tuner.rate_records_per_s",
        "tuner.goals",
        "mlflow.note.content",
    }
    assert parent["tuner.kind"] == "study"
    usual = OF_ALL | {
        "tuner.record_bytes",
        "tuner.trial",
        "tuner.feasible",
        "tuner.flagged",
        "tuner.client",
        "tuner.guarantee",
        "tuner.fingerprint",
        "tuner.worker",
        "tuner.pareto",
        "tuner.recommended",
        "mlflow.parentRunId",
    }
    tags = {each.number: runs.child(each, "parent").tags for each in runs.size.trials}
    assert tags[1].keys() == usual | {"tuner.verdict", "tuner.changed", "tuner.stopped_early"}
    assert tags[3].keys() == usual | {"tuner.verdict", "tuner.changed", "tuner.config", "tuner.round"}
    assert tags[13].keys() == usual | {"tuner.error", "tuner.changed"}
    assert [tags[number]["tuner.kind"] for number in (0, 1, 3)] == ["baseline", "search", "confirm"]


def test_an_experiment_has_its_tags(tmp_path: Path) -> None:
    results = run_small(tmp_path / "small")
    whole, row = experiment_run(results, RUNNING).tags, results.rows[0]
    assert whole.keys() == OF_ALL | {"mlflow.note.content", "tuner.rounds"}
    assert (whole["tuner.kind"], whole["tuner.study"]) == ("experiment", "small")
    one = measurement_run(results, row, row.trials[0], "parent").tags
    assert one.keys() == OF_ALL | {
        "mlflow.parentRunId",
        "tuner.row",
        "tuner.record_bytes",
        "tuner.client",
        "tuner.verdict",
        "tuner.error",
        "tuner.round",
    }
    assert (one["tuner.kind"], one["tuner.row"]) == ("measurement", row.row.name)
