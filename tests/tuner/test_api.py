"""The Python API as a notebook uses it: run a study, read its results, recommend a config, use Optuna."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest

import tuner
from runners.workload import RecordSizes
from search_spaces.configs.producer_config import ProducerConfig
from tuner.api import Study
from tuner.model.errors import StudyChanged, StudyNotFound
from tuner.model.goals import Goal
from tuner.study_file import StudyFileError

STUDY: dict[str, Any] = {
    "study": "notebook",
    "workload": {
        "record_bytes": [100, 1000],
        "saturate": {"warmup": "1s", "measured": "2s"},
        "paced": {"warmup": "1s", "measured": "2s"},
    },
    "executor": {"kind": "simulated"},
    "search": {"trials": 8, "baseline_every": 4},
    "confirm": {"rounds": 2, "max_rounds": 2, "nominees": 1, "undo_rounds": 0},
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(scope="module")
def study(root: Path) -> Study:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_STUDIES", str(root))
        return tuner.run_study(STUDY, mlflow=False)


@pytest.fixture(autouse=True)
def _studies(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(root))


def test_a_finished_study_has_a_report_and_is_found_by_name_and_folder(study: Study, root: Path) -> None:
    assert (study.name, study.record_sizes) == ("notebook", ("100", "1000"))
    assert (study.folder / "report.html").is_file()
    for name in ("notebook", root / "notebook", str(root / "notebook")):
        assert tuner.load_study(name).results == study.results
    with pytest.raises(StudyNotFound, match="there are: notebook"):
        tuner.load_study("other")


def test_trials_are_a_frame_with_numbers_as_numbers(study: Study) -> None:
    frame = study.trials
    assert len(frame) == sum(len(size.trials) for size in study.results.sizes)
    assert set(frame["record_bytes"]) == {100, 1000}
    for column in ("linger.ms", "batch.size", "mb_per_s", "latency_p99_ms", "duration_s"):
        assert pd.api.types.is_numeric_dtype(frame[column]), column
    assert isinstance(frame["started_at"].dtype, pd.DatetimeTZDtype)
    searched = frame[(frame["kind"] == "search") & (frame["record_bytes"] == 1000)]
    (size,) = (each for each in study.results.sizes if each.record_bytes == "1000")
    trial = size.trial(int(searched["number"].iloc[0]))
    row = searched.iloc[0]
    assert row["mb_per_s"] == size.metrics_of(trial)["mb_per_s"]
    assert row["raw_mb_per_s"] == trial.metrics["mb_per_s"]
    assert row["linger.ms"] == float(trial.config().effective_values.text("linger.ms"))
    # A property that a config does not set is shown with the client's default.
    baseline = frame[frame["kind"] == "baseline"].iloc[0]
    assert baseline["linger.ms"] == 5


def test_a_front_is_the_trials_of_the_front(study: Study) -> None:
    for size in study.results.sizes:
        for named in (int(size.record_bytes), size.record_bytes):
            assert tuple(tuner.front(study, named)["number"]) == size.front
    with pytest.raises(ValueError, match="may be left out if the study has one record size, but it has 100, 1000"):
        tuner.front(study)
    with pytest.raises(ValueError, match=r"one of the study's record sizes \(100, 1000\), but got 77"):
        tuner.front("notebook", 77)


def test_a_recommendation_is_the_same_for_a_loaded_and_a_named_study(study: Study) -> None:
    best = tuner.recommend(study, 1000, "latency")
    assert best == tuner.recommend("notebook", "1000", Goal.LATENCY)
    assert ProducerConfig.parse(best.config.values) == best.config
    assert best.goal is Goal.LATENCY
    nearest = tuner.recommend(study, 900)
    assert nearest.record_bytes == "1000"
    assert any("records of 900 B were not measured" in warning for warning in nearest.warnings)
    with pytest.raises(ValueError, match="record_bytes may be left out if"):
        tuner.recommend(study)
    with pytest.raises(ValueError, match="a goal must be one of throughput, latency, balanced, but got 'fastest'"):
        tuner.recommend(study, 1000, "fastest")


def test_a_study_file_is_run_and_a_wrong_mapping_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(
        "executor: {kind: simulated}\nworkload: {record_bytes: 100}\nsearch: {trials: 2}\nconfirm: {rounds: 0}"
    )
    assert tuner.run_study(file, mlflow=False).name == "small"
    with pytest.raises(StudyFileError, match="did you mean workload"):
        tuner.run_study({"study": "wrong", "wrkload": {"record_bytes": 100}})
    with pytest.raises(StudyFileError, match=r"^the study, workload.record_bytes.0: must be .* got a numpy.int64$"):
        tuner.run_study({"study": "wrong", "workload": {"record_bytes": [np.int64(100)]}})


def test_a_study_with_a_users_sampler_resumes_only_with_that_sampler(root: Path) -> None:
    asked = {**STUDY, "study": "own", "workload": {**STUDY["workload"], "record_bytes": [1000]}}
    seeds: list[int] = []

    def chance(seed: int) -> optuna.samplers.BaseSampler:
        seeds.append(seed)
        return optuna.samplers.RandomSampler(seed)

    found = tuner.run_study(asked, sampler=chance, mlflow=False)
    own = [trial for trial in found.results.sizes[0].trials if trial.proposal is not None]
    assert len(set(seeds)) == len(seeds) > 0
    assert len(own) == 6
    with pytest.raises(StudyChanged, match="chance of the user's"):
        tuner.run_study({**asked, "search": {"trials": 9, "baseline_every": 4}}, mlflow=False)
    more = tuner.run_study({**asked, "search": {"trials": 9, "baseline_every": 4}}, sampler=chance, mlflow=False)
    assert more.trials["kind"].isin(["search", "baseline"]).sum() == 9


def test_an_instance_of_a_sampler_makes_all_proposals() -> None:
    asked = {**STUDY, "study": "instance", "workload": {**STUDY["workload"], "record_bytes": [1000]}}
    sampler = optuna.samplers.TPESampler(seed=1, n_startup_trials=2)
    found = tuner.run_study(asked, sampler=sampler, mlflow=False)
    assert found.trials["kind"].isin(["search", "baseline"]).sum() == 8


@pytest.mark.parametrize(("sampler", "problem"), [("tpe", "got 'tpe'"), (lambda _: 7, "returned 7")])
def test_a_wrong_sampler_is_refused_before_anything_is_measured(sampler: Any, problem: str, root: Path) -> None:
    with pytest.raises(TypeError, match=f"sampler must be an Optuna sampler, or a function.*{problem}"):
        tuner.run_study({**STUDY, "study": "refused"}, sampler=sampler, mlflow=False)
    assert not (root / "refused").exists()


def test_without_a_reporter_the_log_says_that_mlflow_lacks_results(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.execution.mirroring._MIRROR_PATIENCE_S", 1.0)
    (tmp_path / "file").write_text("")
    uri = f"sqlite:///{tmp_path / 'file' / 'mlflow.db'}"
    small = {**STUDY, "study": "mirrored", "search": {"trials": 2}, "confirm": {"rounds": 0}}
    tuner.run_study({**small, "tracking": {"uri": uri}}, folder=str(tmp_path / "mirrored"))
    assert (tmp_path / "mirrored" / "report.html").is_file()
    assert any("MLflow" in message for message in caplog.messages), caplog.messages


def test_importing_tuner_imports_no_heavy_library() -> None:
    heavy = "numpy pandas optuna ray mlflow scipy matplotlib plotly confluent_kafka pydantic sklearn sqlalchemy rich"
    code = f"import sys, tuner; print([name for name in {heavy.split()!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.broker
def test_a_config_is_measured_on_a_broker_that_is_started_for_it() -> None:
    seen = tuner.bench({"linger.ms": 1}, record_bytes=100, warmup_s=0.5, measured_s=1.0)
    assert seen.records_per_s > 1_000
    assert seen.workload.record_sizes == RecordSizes.fixed(100)


def test_a_study_and_a_recommendation_are_shown_in_one_line(study: Study) -> None:
    trials = sum(len(size.trials) for size in study.results.sizes)
    assert repr(study) == f"Study('notebook', record_sizes=('100', '1000'), trials={trials}, state='finished')"
    found = tuner.recommend(study, 1000, "latency")
    told = f"trial={found.trial.number}, proven={found.proven}"
    assert repr(found) == f"Recommendation('notebook', record_bytes='1000', goal='latency', {told})"
