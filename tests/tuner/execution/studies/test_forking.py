"""A forked study takes over the trials of another study that fit its own settings, too."""

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from objectives.scoring import Constraint, Objective
from search_spaces.configs.guarantee import DURABILITY, Guarantee
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.space.parameters import KnobChange
from tests.helpers.studies import BASELINE, Told, of_kind, on_record, simulated_study
from tuner.execution.studies.forking import ForkedTrials, begin_fork, fork, trials_for
from tuner.execution.studies.run import measure_study
from tuner.model.errors import RequestRefused, ResultsDamaged, StudyChanged
from tuner.model.spec import Executor, Method, PhaseSpec, SearchSpec, StudySpec
from tuner.model.target import Target
from tuner.model.trial import Trial, TrialKind
from tuner.results.study_results import StudyResults
from tuner.storage.locations import storage_at
from tuner.storage.protocols import Storage
from tuner.storage.sqlite import FolderStorage, SqliteStore

OLD = simulated_study()
P95 = (Objective("mb_per_s"), Objective("latency_p95_ms"))


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished study of two record sizes."""
    folder = tmp_path_factory.mktemp("old") / "small"
    measure_study(OLD, "study: small\n", folder, Told())
    return folder


def changed(**changes: Any) -> StudySpec:
    return replace(OLD, **{"name": "new", **changes})


def taken(old: Path, spec: StudySpec) -> list[Trial]:
    with closing(SqliteStore(old, create=False)) as source:
        return trials_for(spec, "small", source.facts(), [trial for _, trial in source.trials()])


def forked(old: Path, spec: StudySpec, folder: Path) -> Path:
    with closing(SqliteStore(old, create=False)) as source, closing(SqliteStore(folder)) as store:
        fork(spec, "study: new\n", source, taken(old, spec), store, Told().say)
    return folder


def run(spec: StudySpec, folder: Path) -> StudyResults:
    return measure_study(spec, "study: new\n", folder, Told())


def test_the_fork_continues_after_the_trials_taken_over(old: Path, tmp_path: Path) -> None:
    spec = changed(search=replace(OLD.search, trials=15))
    folder = forked(old, spec, tmp_path / "new")
    before = of_kind(on_record(old), TrialKind.SEARCH, TrialKind.BASELINE)
    assert of_kind(on_record(folder), TrialKind.SEARCH, TrialKind.BASELINE) == before
    results = run(spec, folder)
    assert results.finished
    assert results.name == "new"
    assert results.study_file == "study: new\n"
    for size in results.sizes:
        assert len(of_kind(list(size.trials), TrialKind.SEARCH, TrialKind.BASELINE)) == 15
        assert size.confirmations, "the new study confirms its own winners"
        assert {each.round for each in of_kind(list(size.trials), TrialKind.CONFIRM)} == {0, 1}


def test_measurements_rates_and_origin_are_copied(old: Path, tmp_path: Path) -> None:
    folder = forked(old, changed(), tmp_path / "new")
    trial = of_kind(on_record(folder), TrialKind.SEARCH)[0]
    with closing(SqliteStore(old, create=False)) as source, closing(SqliteStore(folder)) as store:
        assert store.attachment(trial, "paced") == source.attachment(trial, "paced") is not None
        theirs, ours = source.facts(), store.facts()
    assert ours["rates"] == theirs["rates"]
    assert ours["study_id"] != theirs["study_id"]
    origin = {"study": "small", "study_id": theirs["study_id"], "trials": len(on_record(folder))}
    assert ours["forked_from"] == origin


def test_the_limits_of_a_fork_do_not_count_the_old_trials(old: Path, tmp_path: Path) -> None:
    sent = sum(each.spent_bytes for each in on_record(old))
    spec = changed(search=replace(OLD.search, trials=14, max_bytes=int(sent)), workload=one_size())
    results = run(spec, forked(old, spec, tmp_path / "new"))
    assert len(of_kind(list(results.sizes[0].trials), TrialKind.SEARCH, TrialKind.BASELINE)) == 14


def one_size() -> Any:
    return replace(OLD.workload, record_sizes=OLD.workload.record_sizes[:1])


def test_only_the_record_sizes_of_the_new_study_are_taken(old: Path) -> None:
    assert {each.record_bytes for each in taken(old, changed(workload=one_size()))} == {"100"}


@pytest.mark.parametrize(
    ("changes", "fits"),
    [
        (
            {"space": {"compression.type": KnobChange(value="none")}},
            lambda config: config.values.get("compression.type", "none") == "none",
        ),
        ({"floor": DURABILITY["idempotent"]}, lambda config: Guarantee.of(config).idempotent),
    ],
)
def test_only_configs_of_the_new_search_space_are_taken(
    old: Path, changes: dict[str, Any], fits: Callable[[ProducerConfig], bool]
) -> None:
    before, after = of_kind(on_record(old), TrialKind.SEARCH), of_kind(taken(old, changed(**changes)), TrialKind.SEARCH)
    assert [each.key for each in after] == [each.key for each in before if fits(each.config())]
    assert len(after) < len(before)


def test_other_objectives_and_constraints_score_the_trials_again(old: Path) -> None:
    limit = Constraint("mb_per_s", at_most=False, limit=2, of_baseline=True)
    found = of_kind(taken(old, changed(objectives=P95, constraints=(limit,))), TrialKind.SEARCH)
    whole = [trial for trial in found if "mb_per_s" in trial.metrics]  # the others could not hold the fixed rate
    assert len(whole) > len(found) / 2
    for trial in whole:
        assert trial.objectives == (trial.metrics["mb_per_s"], trial.metrics["latency_p95_ms"])
        assert trial.violations[str(limit)] != 0
        assert not trial.stopped_early, "the old objectives stopped it"


def test_another_method_searches_on_from_the_trials(old: Path, tmp_path: Path) -> None:
    spec = changed(search=SearchSpec(method=Method.TPE, trials=14, seed=3, startup_trials=4), workload=one_size())
    results = run(spec, forked(old, spec, tmp_path / "new"))
    assert len(of_kind(list(results.sizes[0].trials), TrialKind.SEARCH, TrialKind.BASELINE)) == 14


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        (
            "workload.saturate.measured: 2s in small, 3s now",
            {"workload": replace(OLD.workload, saturate=PhaseSpec(1.0, 3.0))},
        ),
        ("target.brokers: 1 in small, 3 now", {"targets": (Target(brokers=3),)}),
        (
            "baseline.linger.ms: not set in small, 9 now",
            {"baseline": ProducerConfig.parse({**BASELINE.values, "linger.ms": 9})},
        ),
        ("executor.kind: simulated in small, ray or local now", {"executor": Executor.LOCAL}),
    ],
)
def test_a_fork_with_another_workload_target_or_baseline_is_refused(
    old: Path, line: str, changes: dict[str, Any]
) -> None:
    with pytest.raises(StudyChanged) as caught:
        taken(old, changed(**changes))
    rule, *lines, advice = str(caught.value).split("\n")
    assert "take over trials of small only if these settings are the same" in rule
    assert lines == [f"  {line}"]
    assert advice == "give them the values of small, or run new as a study of its own"


class Interrupted(SqliteStore):
    """The results of a study, the reading of which is interrupted by Ctrl-C after some trials."""

    @override
    def attachment(self, trial: Trial, name: str) -> Any:
        if trial.number > 2:
            raise KeyboardInterrupt
        return super().attachment(trial, name)


def test_an_interrupted_fork_leaves_nothing_and_its_name_is_free(old: Path, tmp_path: Path) -> None:
    check_interrupted(FolderStorage(), old, tmp_path)


def test_an_interrupted_fork_in_postgresql_leaves_nothing_and_its_name_is_free(
    database: str, old: Path, tmp_path: Path
) -> None:
    check_interrupted(storage_at(database), old, tmp_path)


def check_interrupted(storage: Storage, old: Path, root: Path) -> None:
    spec, folder = changed(), root / "new"
    trials = taken(old, spec)
    with closing(Interrupted(old, create=False)) as source, pytest.raises(KeyboardInterrupt):
        begin_fork(storage, folder, spec, "study: new\n", source, trials, Told().say)
    assert storage.names(root) == []
    assert list(root.iterdir()) == []
    with closing(SqliteStore(old, create=False)) as source:
        assert begin_fork(storage, folder, spec, "study: new\n", source, trials, Told().say)
        assert not begin_fork(storage, folder, spec, "study: new\n", source, trials, Told().say)
    with closing(storage.read(folder)) as new:
        assert [trial.key for _, trial in new.trials()] == [trial.key for trial in trials]


def test_a_fork_of_a_damaged_study_leaves_nothing(old: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(old, tmp_path / "damaged")
    *_, last = sorted(damaged.glob("trials/1000/*.json.gz"))
    last.write_bytes(b"no gzip")
    spec, root = changed(), tmp_path / "studies"
    trials = [trial for trial in on_record(damaged) if trial.number <= int(last.name[:4])]
    with closing(SqliteStore(damaged, create=False)) as source, pytest.raises(ResultsDamaged):
        begin_fork(FolderStorage(), root / "new", spec, "study: new\n", source, trials, Told().say)
    assert list(root.iterdir()) == []


def test_a_fork_needs_trials_that_fit(old: Path) -> None:
    with closing(SqliteStore(old, create=False)) as source:
        found = ForkedTrials.of(changed(), "small", source)
        assert found.as_json("new") == {
            "schema_version": 1,
            "kind": "fork",
            "study": "new",
            "of": "small",
            "trials_there": len([*source.trials()]),
            "trials_taken_over": len(taken(old, changed())),
        }
        with pytest.raises(RequestRefused, match="a fork needs trials that fit the new study, but none of the"):
            ForkedTrials.of(replace(changed(), workload=replace(OLD.workload, record_sizes=())), "small", source)
