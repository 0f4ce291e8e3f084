"""The constraints of a study may change while it rests: its trials are then judged by the new constraints."""

from dataclasses import replace
from pathlib import Path

import pytest

from objectives.scoring import ALWAYS, Constraint
from tests.helpers.studies import Told, of_kind, on_record, simulated_study
from tests.helpers.trials import trial
from tuner.execution.studies.run import measure_study
from tuner.model.spec import StudySpec
from tuner.model.trial import TrialKind
from tuner.results.changed_constraints import judge_again
from tuner.results.recommendations.recommend import recommend
from tuner.results.study_results import load_results

P99 = Constraint("latency_p99_ms", at_most=True, limit=10)
HALF = Constraint("mb_per_s", at_most=False, limit=0.5, of_baseline=True)
IMPOSSIBLE = Constraint("latency_p99_ms", at_most=True, limit=0.001)


def with_constraints(*constraints: Constraint) -> StudySpec:
    return replace(simulated_study((1000,)), constraints=constraints)


def names(constraints: tuple[Constraint, ...]) -> set[str]:
    return {str(each) for each in (*ALWAYS, *constraints)}


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished study without constraints."""
    folder = tmp_path_factory.mktemp("free") / "small"
    measure_study(with_constraints(), "", folder, Told())
    return folder


def test_a_new_constraint_judges_all_trials_of_a_finished_study(free: Path) -> None:
    before, told = on_record(free), Told()
    results = measure_study(with_constraints(IMPOSSIBLE), "", free, told)
    assert on_record(free)[: len(before)] == before, "what was stored stays"
    (size,) = results.sizes
    judged = [each for each in size.trials if each.violations]
    assert len(judged) >= len(of_kind(before, TrialKind.SEARCH, TrialKind.BASELINE))
    assert all(each.violations[str(IMPOSSIBLE)] > 0 for each in judged)
    assert size.front == ()
    assert any("constraints were none and are now latency_p99_ms <= 0.001" in each for each in told.sentences)
    assert (
        "1000 B: no config of the search meets latency_p99_ms <= 0.001, so no config has to be confirmed"
        in told.sentences
    )
    assert load_results(free).sizes == results.sizes

    again = measure_study(with_constraints(), "", free, Told())
    assert again.sizes[0].front != ()
    # A config that missed the rate was not measured at full speed.
    known = {*names(()), "mb_per_s measured"}
    assert all(known >= set(each.violations) for each in again.sizes[0].trials)
    assert recommend(again, "1000").trial.fingerprint


def test_the_winners_are_confirmed_again_under_new_constraints(tmp_path: Path) -> None:
    measure_study(with_constraints(), "", tmp_path, Told())
    before = on_record(tmp_path)
    measure_study(with_constraints(HALF), "", tmp_path, Told())
    new = on_record(tmp_path)[len(before) :]
    assert {each.kind for each in new} <= {TrialKind.CONFIRM, TrialKind.BURN_IN}
    assert {each.round for each in of_kind(new, TrialKind.CONFIRM)} == {2, 3}
    after = on_record(tmp_path)
    measure_study(with_constraints(HALF), "", tmp_path, Told())
    assert on_record(tmp_path) == after, "the same constraints change nothing"


def test_constraints_and_limits_may_change_at_once(tmp_path: Path) -> None:
    measure_study(with_constraints(P99), "", tmp_path, Told())
    before = on_record(tmp_path)
    longer = with_constraints(HALF)
    results = measure_study(replace(longer, search=replace(longer.search, trials=15)), "", tmp_path, Told())
    assert len(of_kind(on_record(tmp_path), TrialKind.SEARCH, TrialKind.BASELINE)) == 15
    searched = of_kind(on_record(tmp_path)[len(before) :], TrialKind.SEARCH)
    assert all(str(HALF) in each.violations and str(P99) not in each.violations for each in searched)
    judged = [set(each.violations) for each in results.sizes[0].trials if each.violations]
    assert [each for each in judged if str(P99) in each] == []
    assert names((HALF,)) in judged


def test_trials_with_the_same_constraints_are_not_touched() -> None:
    one = trial(0, metrics={"mb_per_s": 90.0}, violations={str(HALF): -0.5, str(ALWAYS[0]): 0.0})
    (judged,) = judge_again([HALF], [one])
    assert judged is one


def test_a_limit_relative_to_the_baseline_uses_the_median_baseline() -> None:
    kept = {str(ALWAYS[0]): 0.0}
    baselines = [
        trial(number, kind=TrialKind.BASELINE, metrics={"mb_per_s": value}, violations=kept)
        for number, value in enumerate((80.0, 100.0, 300.0))
    ]
    judged = judge_again([HALF], [*baselines, trial(3, metrics={"mb_per_s": 40.0}, violations=kept)])
    assert judged[-1].violations == {**kept, str(HALF): pytest.approx(0.2)}
    early = judge_again([HALF], [*baselines, trial(1, metrics={"mb_per_s": 40.0}, violations=kept)])
    assert early[-1].violations[str(HALF)] == pytest.approx((45 - 40) / 45), "only the baselines before it count"


def test_a_trial_stopped_early_says_nothing_of_what_it_lacks() -> None:
    kept = {str(ALWAYS[0]): 0.0}
    stopped, whole = (trial(0, p99_ms=None, violations=kept, stopped_early=why) for why in ("too slow", ""))
    assert judge_again([P99], [stopped])[0].violations == kept
    assert judge_again([P99], [whole])[0].violations == {**kept, str(P99): 1.0}
