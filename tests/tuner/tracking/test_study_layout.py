"""The content of a study's runs in MLflow."""

import json
from math import isnan, log
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from objectives.scoring import Constraint
from runners.host_processes.processes import ProcessIdentity
from tests.helpers.invented_studies import BEGAN, baseline, confirming, plan, study, trial
from tests.helpers.stored_studies import ENVIRONMENT, failed
from tests.tuner.tracking.looking import files, numbers, runs, synced
from tuner.model.errors import NoFeasibleConfig
from tuner.model.facts import CLUSTER, CONFIRMING, CONSTRAINTS, FINISHED_AT, HOST, RATES
from tuner.model.progress import Progress, StudyState
from tuner.model.spec import TrackingSpec
from tuner.model.trial import TrialKind
from tuner.present.trial_tables.front_table import front_json
from tuner.results.study_results import load_results
from tuner.tracking import TrackingLocation, sync
from tuner.tracking.mirror import CatchingUp
from tuner.tracking.recommendations_in_mlflow import recommendations_from_tracking
from tuner.tracking.study_layout import may_be_withdrawn

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

HERE = TrackingSpec()


@pytest.mark.campaign
def test_the_experiment_is_the_one_that_was_chosen_when_the_study_began(root: Path, client: "MlflowClient") -> None:
    study(root / "night", baseline(), default_experiment="kafka-tuner/embedded on build-7").close()
    assert sync(root / "night", HERE).error is None
    assert client.get_experiment_by_name("kafka-tuner/embedded on build-7") is not None
    assert client.get_experiment_by_name("kafka-tuner/broker:9092") is None


def test_the_experiment_of_a_study_of_an_older_release_is_named_after_its_target(
    root: Path, client: "MlflowClient"
) -> None:
    study(root / "night", baseline(), default_experiment=None, target="embedded").close()
    assert sync(root / "night", HERE).error is None
    assert client.get_experiment_by_name("kafka-tuner/embedded") is not None


def test_each_record_size_is_a_run_and_each_trial_a_run_below_it(root: Path, client: "MlflowClient") -> None:
    study(root / "night", baseline(), trial(1), baseline(size="100"), record_sizes=["1000", "100"]).close()
    outcome = sync(root / "night", HERE)
    assert (outcome.runs_written, outcome.trials_behind, outcome.error) == (5, 0, None)
    experiment = client.get_experiment_by_name("kafka-tuner/broker:9092")
    assert experiment is not None
    found = list(client.search_runs([experiment.experiment_id]))
    parents = {run.data.tags["tuner.record_bytes"]: run for run in found if run.data.tags["tuner.kind"] == "study"}
    assert {run.info.run_name for run in parents.values()} == {"night 1000 B", "night 100 B"}
    for run in found:
        if run.data.tags["tuner.kind"] != "study":
            parent = parents[run.data.tags["tuner.record_bytes"]]
            assert run.data.tags["mlflow.parentRunId"] == parent.info.run_id
            assert run.info.run_name == f"{parent.info.run_name} trial {run.data.tags['tuner.trial']}"


def test_a_trial_has_its_own_times_metrics_and_tags(root: Path, client: "MlflowClient") -> None:
    study(root / "night", baseline(), trial(1, 20.0, 10.0)).close()
    run = synced(root / "night", client)["night 1000 B trial 1"]
    began_ms = int(BEGAN.timestamp() * 1000)
    assert (run.info.start_time, run.info.end_time) == (began_ms + 30_000, began_ms + 55_000)
    assert run.data.metrics == {
        "mb_per_s": 20.0,
        "records_per_s": 20_000.0,
        "latency_p99_ms": 10.0,
        "delivered_ratio": 1.0,
        "held_rate_ratio": 1.0,
        "raw_mb_per_s": 20.0,
        "raw_latency_p99_ms": 10.0,
        "duration_s": 25.0,
        "trial_number": 1.0,
        "mb_per_s_x_baseline": 2.0,
        "latency_p99_ms_x_baseline": 2.0,
    }
    for name, text in {
        "tuner.study": "night",
        "tuner.record_bytes": "1000",
        "tuner.trial": "1",
        "tuner.kind": "search",
        "tuner.feasible": "true",
        "tuner.verdict": "broker",
        "tuner.client_version": "librdkafka 2.16.0",
        "tuner.broker_version": "unknown",
        "tuner.key": "id-of-night/1000/1",
    }.items():
        assert run.data.tags[name] == text


def test_the_run_of_a_record_size_tells_host_and_cluster(root: Path, client: "MlflowClient") -> None:
    study(root / "night", baseline()).close()
    tags = synced(root / "night", client)["night 1000 B"].data.tags
    assert tags["tuner.host.processor"] == ENVIRONMENT[HOST]["processor"]
    assert tags["tuner.cluster.cluster_id"] == ENVIRONMENT[CLUSTER]["cluster_id"]


def test_baseline_and_trials_have_the_same_params(root: Path, client: "MlflowClient") -> None:
    study(root / "night", baseline(), trial(1)).close()
    found = synced(root / "night", client)
    assert found["night 1000 B trial 0"].data.params.keys() == found["night 1000 B trial 1"].data.params.keys()
    assert found["night 1000 B trial 0"].data.params["linger.ms"] == "5"
    assert found["night 1000 B trial 1"].data.params["linger.ms"] == "1"


def test_only_trials_without_a_measurement_have_status_failed(root: Path, client: "MlflowClient") -> None:
    limit = Constraint("latency_p99_ms", at_most=True, limit=10.0)
    missed = trial(2, constraints=[limit])
    study(root / "night", baseline(), failed(trial(1)), missed, constraints=[str(limit)]).close()
    found = synced(root / "night", client)
    assert found["night 1000 B trial 1"].info.status == "FAILED"
    assert found["night 1000 B trial 2"].info.status == "FINISHED"
    assert numbers(client, "tags.`tuner.feasible` = 'false' and tags.`tuner.kind` = 'search'") == [1, 2]


def test_the_tags_of_the_front_are_right_after_it_has_changed(root: Path, client: "MlflowClient") -> None:
    store = study(root / "night", baseline(), trial(1, 12.0, 15.0), trial(2, 9.0, 5.0))
    sync(root / "night", HERE)
    assert numbers(client, "tags.`tuner.pareto` = 'true'") == [1, 2]
    store.append(trial(3, 20.0, 14.0))
    store.close()
    sync(root / "night", HERE)
    assert numbers(client, "tags.`tuner.pareto` = 'true'") == [2, 3]
    assert numbers(client, "tags.`tuner.pareto` = 'false'") == [0, 1]


def test_the_parent_shows_the_results_and_the_times(root: Path, client: "MlflowClient") -> None:
    best = trial(2, 20.0, 10.0)
    facts = {"finished_at": BEGAN.isoformat()}
    study(root / "night", baseline(), trial(1, 15.0, 20.0), best, *confirming(best, 3), **facts).close()
    parent = synced(root / "night", client)["night 1000 B"]
    assert parent.info.status == "FINISHED"
    assert parent.info.end_time == int(BEGAN.timestamp() * 1000) + 30_000 * 12 + 25_000
    volume = {each.step: each.value for each in client.get_metric_history(parent.info.run_id, "hypervolume")}
    both_twice = (1 + log(2)) ** 2
    assert volume == pytest.approx({0: 1.0, 1: 1 + log(1.5), **dict.fromkeys(range(2, 13), both_twice)})
    metrics = parent.data.metrics
    assert (metrics["trials"], metrics["front_size"]) == (13.0, 1.0)
    low, gain, high = (metrics[f"throughput/mb_per_s_gain{end}"] for end in ("_low", "", "_high"))
    assert 1.9 < low < gain < high < 2.1
    assert numbers(client, "tags.`tuner.recommended` = 'true'") == [2]


def test_a_trial_has_the_numbers_that_tuner_front_prints(root: Path, client: "MlflowClient") -> None:
    best = trial(2, 20.0, 10.0)
    study(root / "night", baseline(), trial(1, 15.0, 20.0), best, *confirming(best, 3)).close()
    found = synced(root / "night", client)
    parent = found["night 1000 B"]
    results = load_results(root / "night")
    (row,) = [each for each in front_json(results, results.sizes[0])["front"] if not each["is_baseline"]]
    mean = row["metrics"]["mb_per_s"]
    assert mean > 20.0
    assert parent.data.metrics["best_mb_per_s"] == mean
    metrics = found[f"night 1000 B trial {row['trial']}"].data.metrics
    assert (metrics["mb_per_s"], metrics["raw_mb_per_s"]) == (mean, 20.0)
    again = found["night 1000 B trial 5"]
    assert (again.data.metrics["mb_per_s"], again.data.tags["tuner.config"]) == (20.0 * 1.01, "trial 2")


def test_the_description_has_the_config_to_paste(root: Path, client: "MlflowClient") -> None:
    best = trial(2, 20.0, 10.0)
    store = study(root / "night", baseline(), best)
    before = synced(root / "night", client)["night 1000 B"].data.tags["mlflow.note.content"]
    assert "not proven" in before
    assert "linger.ms=2" not in before
    again = list(confirming(best, 3))
    store.set_fact(CONFIRMING, {"1000": plan(again)})
    for each in again:
        store.append(each)
    store.close()
    after = synced(root / "night", client)["night 1000 B"].data.tags["mlflow.note.content"]
    assert "`tuner recommend night --record-bytes 1000 --format properties`" in after
    assert "linger.ms=2" in after


def test_the_description_of_a_kept_bare_baseline_has_no_empty_block(root: Path, client: "MlflowClient") -> None:
    study(root / "night", baseline(), trial(1, 5.0, 40.0)).close()
    note = synced(root / "night", client)["night 1000 B"].data.tags["mlflow.note.content"]
    assert "```" not in note
    assert "to paste" not in note
    assert note.count("keep what you have") == 1


def test_ratios_to_the_baseline_follow_it(root: Path, client: "MlflowClient") -> None:
    store = study(root / "night", baseline(), trial(1, 20.0, 10.0))
    sync(root / "night", HERE)
    store.append(trial(2, 5.0, 20.0, kind=TrialKind.BASELINE))
    store.close()
    found = synced(root / "night", client)
    ratio = found["night 1000 B trial 1"].data.metrics["mb_per_s_x_baseline"]
    assert ratio == pytest.approx(20.0 / (10.0 * 5.0) ** 0.5)
    volume = found["night 1000 B"].data.metrics["hypervolume"]
    assert volume == pytest.approx((1 + log(20.0 / 7.5)) * (1 + log(2)))


def test_only_other_configs_of_the_search_have_a_ratio_to_the_baseline(root: Path, client: "MlflowClient") -> None:
    best, again = trial(2, 20.0, 10.0), trial(3, config={})
    burn_in = trial(0, 4.0, 90.0, kind=TrialKind.BURN_IN)
    study(root / "night", burn_in, baseline(1), best, again, *confirming(best, 4)).close()
    found = synced(root / "night", client, "tags.`tuner.kind` != 'study'")
    with_ratio = [name for name, run in found.items() if any("_x_" in metric for metric in run.data.metrics)]
    assert with_ratio == ["night 1000 B trial 2"]
    assert not [name for run in found.values() for name in run.data.metrics if name.endswith("_gain")]


def test_a_value_that_later_trials_lower_is_lower_in_mlflow(root: Path, client: "MlflowClient") -> None:
    best = trial(1, 20.0, 10.0)
    store = study(root / "night", baseline(), best)
    sync(root / "night", HERE)
    for each in confirming(trial(1, 16.0, 10.0), 2):
        store.append(each)
    store.close()
    sync(root / "night", HERE)
    (size,) = load_results(root / "night").sizes
    mean = size.shown_metrics(best)["mb_per_s"]
    assert mean < 20.0
    metrics = runs(client)["night 1000 B trial 1"].data.metrics
    assert (metrics["mb_per_s"], metrics["mb_per_s_x_baseline"]) == (mean, size.gain(best, "mb_per_s"))
    assert sync(root / "night", HERE).runs_written == 0


def test_what_changed_constraints_rule_out_is_withdrawn(root: Path, client: "MlflowClient") -> None:
    best = trial(1, 20.0, 10.0)
    store = study(root / "night", baseline(), best, *confirming(best, 2))
    sync(root / "night", HERE)
    uri = TrackingLocation.of(HERE, root).uri
    assert recommendations_from_tracking(uri, "night", "1000")
    before = runs(client)["night 1000 B"].data.metrics
    assert {"front_size", "hypervolume", "best_mb_per_s", "throughput/mb_per_s_gain"} <= before.keys()
    store.set_fact(CONSTRAINTS, ["latency_p99_ms <= 0.001"])
    store.close()
    after = synced(root / "night", client)["night 1000 B"].data.metrics
    assert after["front_size"] == 0.0
    assert all(isnan(value) for name, value in after.items() if may_be_withdrawn(name))
    with pytest.raises(NoFeasibleConfig):
        recommendations_from_tracking(uri, "night", "1000")
    assert sync(root / "night", HERE).runs_written == 0


def test_a_rate_that_is_chosen_again_is_right_in_mlflow(root: Path, client: "MlflowClient") -> None:
    store = study(root / "night", trial(0, kind=TrialKind.BURN_IN), rates={"1000": 15_616.0})
    assert synced(root / "night", client)["night 1000 B"].data.tags["tuner.rate_records_per_s"] == "15616"
    store.set_fact(RATES, {"1000": 1_036_202.3})
    store.close()
    parent = synced(root / "night", client)["night 1000 B"]
    assert parent.data.tags["tuner.rate_records_per_s"] == "1036202.3"
    assert "rate_records_per_s" not in parent.data.params


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (StudyState.FAILED, "FAILED"),
        (StudyState.INTERRUPTED, "KILLED"),
        (StudyState.RUNNING, "KILLED"),  # the process that reported this has no id here, so none runs the study
    ],
)
def test_a_study_that_has_ended_early_does_not_run_in_mlflow(
    root: Path, client: "MlflowClient", state: StudyState, status: str
) -> None:
    store = study(root / "night", baseline())
    work = CatchingUp(store, root / "night", HERE, None)
    assert work.attempt(settle=False) is None
    work.close()
    assert runs(client)["night 1000 B"].info.status == "RUNNING"
    store.set_progress(Progress(state))
    ended = synced(root / "night", client)["night 1000 B"]
    assert ended.info.status == status
    assert ended.info.end_time == int(BEGAN.timestamp() * 1000) + 25_000
    store.set_progress(Progress(StudyState.RUNNING, **ours()))
    assert synced(root / "night", client)["night 1000 B"].info.status == "RUNNING"
    store.set_fact(FINISHED_AT, BEGAN.isoformat())
    store.close()
    assert synced(root / "night", client)["night 1000 B"].info.status == "FINISHED"


def ours() -> dict[str, Any]:
    """Return what a report of this process says about the process."""
    here = ProcessIdentity.of()
    return {"pid": here.pid, "process_started": here.started}


def test_the_files_of_the_parent_are_enough_to_use_the_result(
    root: Path, client: "MlflowClient", tmp_path: Path
) -> None:
    best = trial(1, 20.0, 10.0)
    study(root / "night", baseline(), best, *confirming(best, 2)).close()
    parent = synced(root / "night", client)["night 1000 B"]
    recommended = {f"recommended/{goal}.{end}" for goal in ("throughput", "latency", "balanced") for end in _ENDS}
    assert files(client, parent) == {"front.json", "front.csv", "study.yaml"} | recommended
    path = client.download_artifacts(parent.info.run_id, "recommended/latency.properties", str(tmp_path))
    assert "linger.ms=1\n" in Path(path).read_text()


_ENDS = ("json", "properties")


def test_front_and_baseline_have_their_histograms(root: Path, client: "MlflowClient", tmp_path: Path) -> None:
    kept = {"paced": {"latency": {"hdr": "abc"}, "series": [1, 2]}}
    store = study(root / "night")
    for each in (baseline(), trial(1, 20.0, 10.0), trial(2, 9.0, 30.0)):
        store.append(each, kept)
    store.close()
    found = synced(root / "night", client)
    assert (
        files(client, found["night 1000 B trial 0"])
        == files(client, found["night 1000 B trial 1"])
        == {"latency.hgrm.json"}
    )
    assert files(client, found["night 1000 B trial 2"]) == set()
    path = client.download_artifacts(found["night 1000 B trial 1"].info.run_id, "latency.hgrm.json", str(tmp_path))
    assert json.loads(Path(path).read_text())["paced"]["latency"] == {"hdr": "abc"}


def _note(run: "Run") -> str:
    return run.data.tags["mlflow.note.content"]


def _report(folder: Path, out: Path) -> None:
    (out / "report.html").write_text(folder.name)
    (out / "1000").mkdir()
    (out / "1000" / "front.png").write_text("a picture")
    (out / "100").mkdir()
    (out / "100" / "front.svg").write_text("another")
    (out / "10").mkdir()
    (out / "10" / "nothing.txt").write_text("no trial of this size was run")


def test_each_parent_has_the_report_and_the_part_of_its_size(root: Path, client: "MlflowClient") -> None:
    study(root / "night", baseline(), trial(1), trial(0, size="100"), record_sizes=["1000", "100", "10"]).close()
    assert sync(root / "night", HERE, extra_artifacts=_report).error is None
    parents = runs(client, "tags.`tuner.kind` = 'study'")
    large, small = (files(client, parents[f"night {size} B"]) for size in ("1000", "100"))
    assert {"report.html", "front.png"} <= large
    assert "front.svg" not in large
    assert {"report.html", "front.svg"} <= small
    assert not [path for path in large | small if "nothing" in path]
    assert "front.png" not in small
    assert [name for name, run in parents.items() if "![front](get-artifact?path=front.png" in _note(run)] == [
        "night 1000 B"
    ]
    assert sync(root / "night", HERE).runs_written == 0


def test_a_failed_report_is_an_error_after_all_trials_are_shown(root: Path, client: "MlflowClient") -> None:
    def fails(_: Path, __: Path) -> None:
        raise ZeroDivisionError("no picture")

    study(root / "night", baseline()).close()
    outcome = sync(root / "night", HERE, extra_artifacts=fails)
    assert outcome.trials_behind == 0
    assert outcome.error == "the report could not be made (ZeroDivisionError: no picture)"
    assert len(runs(client)) == 2
