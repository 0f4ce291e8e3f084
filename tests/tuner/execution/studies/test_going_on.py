"""A finished study that gets more trials continues its search and is confirmed again."""

from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from runners.workload import RecordSizes
from search_spaces.librdkafka.knobs import KNOBS
from search_spaces.space.parameters import KnobChange
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter
from tuner.model.facts import MLFLOW_EXPERIMENT
from tuner.model.spec import ConfirmSpec, Executor, Method, PhaseSpec, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.trial import Trial, TrialKind
from tuner.results.recommendations.recommend import recommend
from tuner.storage.sqlite import SqliteStore

_SPEC = StudySpec(
    "more",
    WorkloadSpec((RecordSizes.fixed(1000),), saturate=PhaseSpec(1.0, 1.0), paced=PhaseSpec(1.0, 1.0)),
    search=SearchSpec(trials=6, burn_in_max=1),
    confirm=ConfirmSpec(rounds=2, max_rounds=2, nominees=1, nominee_repeats=0, undo_rounds=0),
    executor=Executor.SIMULATED,
)


def _trials(spec: StudySpec, folder: Path) -> tuple[Trial, ...]:
    return measure_study(spec, "", folder, SilentReporter()).sizes[0].trials


def test_a_study_with_the_same_limits_measures_nothing_more(tmp_path: Path) -> None:
    assert _trials(_SPEC, tmp_path) == _trials(_SPEC, tmp_path)


@pytest.mark.campaign
def test_additional_trials_are_searched_and_confirmed_in_new_rounds(tmp_path: Path) -> None:
    before = _trials(_SPEC, tmp_path)
    after = _trials(replace(_SPEC, search=replace(_SPEC.search, trials=12)), tmp_path)
    assert after[: len(before)] == before
    counts = Counter(trial.kind for trial in after)
    assert counts[TrialKind.SEARCH] + counts[TrialKind.BASELINE] == 12
    rounds = {trial.round for trial in after if trial.kind is TrialKind.CONFIRM}
    assert rounds == {0, 1, 2, 3}
    # The configs are measured in turn with the baseline: each round of the second confirmation has a baseline trial.
    baseline = next(trial.fingerprint for trial in after if trial.kind is TrialKind.BASELINE)
    assert Counter(
        t.round for t in after if t.kind is TrialKind.CONFIRM and t.fingerprint == baseline
    ) == dict.fromkeys(rounds, 1)


def test_a_mix_without_exact_decimal_shares_is_measured_and_found(tmp_path: Path) -> None:
    text = "100:2,1000:1"
    spec = replace(_SPEC, workload=replace(_SPEC.workload, record_sizes=(RecordSizes.parse(text),)))
    before = _trials(spec, tmp_path)
    after = measure_study(replace(spec, search=replace(spec.search, trials=12)), "", tmp_path, SilentReporter())
    assert after.sizes[0].trials[: len(before)] == before
    assert after.size(text) == after.sizes[0]
    assert after.size("100:1,1000:1") is None
    assert recommend(after, text).warnings == recommend(after, after.sizes[0].record_bytes).warnings


def test_allow_loss_can_be_changed_after_the_study_has_ended(tmp_path: Path) -> None:
    before = measure_study(_SPEC, "", tmp_path, SilentReporter())
    asked = replace(_SPEC, confirm=replace(_SPEC.confirm, allow_loss=0.25))
    after = measure_study(asked, "", tmp_path, SilentReporter())
    assert (before.allow_loss, after.allow_loss) == (0.1, 0.25)
    assert after.sizes == before.sizes
    assert after.facts["limits"] == before.facts["limits"], "a study of an earlier release is not confirmed again"
    assert set(after.facts["limits"]["confirm"]).isdisjoint({"allow_loss", "error_rate"})


def test_a_resumed_study_stays_in_its_mlflow_experiment(tmp_path: Path) -> None:
    before = measure_study(_SPEC, "", tmp_path, SilentReporter())
    assert before.facts[MLFLOW_EXPERIMENT] == "kafka-tuner/simulated"
    with closing(SqliteStore(tmp_path, create=False)) as store:
        store.set_fact(MLFLOW_EXPERIMENT, "kafka-tuner/embedded on another-host")
    after = measure_study(replace(_SPEC, search=replace(_SPEC.search, trials=8)), "", tmp_path, SilentReporter())
    assert after.facts[MLFLOW_EXPERIMENT] == "kafka-tuner/embedded on another-host"


def test_a_grid_that_gets_more_repeats_measures_only_the_new_ones(tmp_path: Path) -> None:
    changes = {knob.name: KnobChange(off=True) for knob in KNOBS} | {"linger.ms": KnobChange(choices=("1", "20"))}
    search = SearchSpec(method=Method.GRID, trials=None, burn_in_max=1)
    spec = replace(_SPEC, space=changes, search=search, confirm=replace(_SPEC.confirm, rounds=0))
    before = _trials(spec, tmp_path)
    after = _trials(replace(spec, search=replace(search, repeats=3)), tmp_path)
    assert after[: len(before)] == before
    assert Counter(trial.values["linger.ms"] for trial in after if trial.kind is TrialKind.SEARCH) == {"1": 3, "20": 3}
