"""The export of a study to Optuna, for Optuna's plots and for optuna-dashboard."""

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import optuna
import pytest
from optuna.trial import TrialState

from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes
from search_spaces.space.search_space import SearchSpace
from tests.helpers.studies import simulated_study
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter
from tuner.model.spec import StudySpec
from tuner.model.trial import State, TrialKind
from tuner.results.study_results import StudyResults
from tuner.search import optuna_export
from tuner.search.optuna_export import NotThisStudy, OptunaStorageUnusable, export, open_storage

TOPIC_MAX = 1_048_588


def run(folder: Path, spec: StudySpec, noise_ratio: float = 0.0) -> StudyResults:
    return measure_study(spec, "", folder, SilentReporter(), simulated=SimulatedRunner(noise_ratio))


SPEC = simulated_study((1000,), trials=16, baseline_every=40, rounds=0, racing=False)
"""A study without noise and with a single baseline, so that no value is corrected for drift or averaged."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    return run(tmp_path_factory.mktemp("study"), SPEC)


@pytest.fixture(scope="module")
def space() -> SearchSpace:
    return SPEC.space_of(RecordSizes.fixed(1000), TOPIC_MAX)


def test_exported_trials_have_params_values_constraints_and_attributes(
    results: StudyResults, space: SearchSpace
) -> None:
    (size,) = results.sizes
    study = export(results, size, space)
    searched = [trial for trial in size.trials if trial.kind in (TrialKind.BASELINE, TrialKind.SEARCH)]
    assert [trial.user_attrs["number"] for trial in study.trials] == [trial.number for trial in searched]
    assert study.metric_names == ["mb_per_s", "latency_p99_ms"]
    assert [direction.name for direction in study.directions] == ["MAXIMIZE", "MINIMIZE"]
    for ours, theirs in zip(searched, study.trials, strict=True):
        assert theirs.params == (dict(ours.params) or space.params_of(ours.config()))
        assert theirs.constraints == ours.violations
        assert theirs.user_attrs["config"] == ours.values
        assert theirs.user_attrs["kind"] == str(ours.kind)
        assert theirs.user_attrs["guarantee"] == ours.guarantee
        assert theirs.user_attrs.get("verdict", "") == ours.verdict
        if ours.state is State.COMPLETE and None not in ours.objectives:
            assert (theirs.state, theirs.values) == (TrialState.COMPLETE, list(ours.objectives))
        else:
            assert theirs.state in (TrialState.PRUNED, TrialState.FAIL)


def test_the_best_trials_of_an_export_are_our_front(results: StudyResults, space: SearchSpace) -> None:
    (size,) = results.sizes
    best = {trial.user_attrs["number"] for trial in export(results, size, space).best_trials}
    assert best == set(size.front)
    assert len(best) > 1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_optuna_can_plot_an_exported_study(results: StudyResults, space: SearchSpace) -> None:
    study = export(results, results.sizes[0], space)
    front = optuna.visualization.plot_pareto_front(study)
    assert {"mb_per_s", "latency_p99_ms"} == {front.layout.xaxis.title.text, front.layout.yaxis.title.text}
    drawn = optuna.visualization.plot_param_importances(
        study, target=lambda trial: trial.values[0], target_name="mb_per_s"
    )
    assert "linger.ms" in drawn.data[0].y


def test_a_second_export_adds_only_the_new_trials(tmp_path: Path, space: SearchSpace) -> None:
    address = f"sqlite:///{tmp_path / 'optuna.db'}"
    for trials, times in ((6, 1), (6, 2), (9, 1)):
        spec = replace(SPEC, search=replace(SPEC.search, trials=trials))
        results = run(tmp_path / "study", spec)
        for _ in range(times):
            export(results, results.sizes[0], space, open_storage(address))
        kept = optuna.load_study(study_name="small 1000 B", storage=address)
        assert len(kept.trials) == trials
        assert len({trial.user_attrs["number"] for trial in kept.trials}) == trials


def test_an_export_does_not_touch_another_study_of_the_same_name(
    tmp_path: Path, results: StudyResults, space: SearchSpace
) -> None:
    storage = open_storage(f"sqlite:///{tmp_path / 'optuna.db'}")
    another = run(tmp_path / "another", SPEC)
    export(results, results.sizes[0], space, storage)
    with pytest.raises(NotThisStudy, match="'small 1000 B' in that storage was not exported from small"):
        export(another, another.sizes[0], space, storage)
    users_own = optuna.create_study(study_name="mine", storage=storage)
    users_own.enqueue_trial({"x": 1})
    with pytest.raises(NotThisStudy):
        export(replace(results, name="mine"), replace(results.sizes[0]), space, _named(storage, "mine 1000 B"))


def _named(storage: optuna.storages.BaseStorage, name: str) -> optuna.storages.BaseStorage:
    optuna.create_study(study_name=name, storage=storage, directions=["maximize", "minimize"]).enqueue_trial({"x": 1})
    return storage


@pytest.mark.parametrize(
    "address",
    [
        *("nonsense", "sqlite:////nowhere/at/all/optuna.db", "sqlite://", "sqlite:///:memory:"),
        *("oracle://u:hidden@host/db", "postgresql:/u:hidden@host/db", "u:hidden@host/db"),
    ],
)
def test_an_unusable_address_is_reported_without_its_password(address: str) -> None:
    with pytest.raises(OptunaStorageUnusable, match=r"for example sqlite:///optuna\.db, but ") as refused:
        open_storage(address)
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize("quoted", ["hid%2Fden", "hid/den"])
def test_a_drivers_error_is_quoted_without_the_password(quoted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> NoReturn:
        raise ImportError(f"login of u with {quoted} failed\nat host")

    monkeypatch.setattr(optuna_export, "get_storage", refuse)
    with pytest.raises(OptunaStorageUnusable, match=r"can't be used: login of u with \*\*\* failed$"):
        open_storage("oracle://u:hid%2Fden@host/db")
