"""A study may be confirmed several times; a gain stands until a later confirmation has enough rounds to replace it."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from objectives.claims import confirmation_error_rate
from runners.workload import RecordSizes
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.studies import StoppedAfter
from tests.helpers.trials import OBJECTIVES, SIZE, baseline, confirming, plan_of, trial
from tuner.confirmation.gains import confirmations_of
from tuner.confirmation.plan import ConfirmationPlan, plans_in
from tuner.confirmation.rounds import rounds_of
from tuner.confirmation.winners import MeasuredPlan
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter
from tuner.model.facts import CONFIRMING
from tuner.model.goals import Goal
from tuner.model.spec import ConfirmSpec, Executor, Method, PhaseSpec, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.trial import CONFIRMING_KINDS, SEARCHING_KINDS, State, Trial, TrialKind
from tuner.results.recommendations.recommend import recommend
from tuner.results.study_results import StudyResults, load_results, size_results

pytestmark = pytest.mark.campaign

SPEC = StudySpec(
    "again",
    WorkloadSpec(
        (RecordSizes.fixed(100), RecordSizes.fixed(1000)), saturate=PhaseSpec(0.0, 1.0), paced=PhaseSpec(0.0, 1.0)
    ),
    # With the performance model, the search would find one config that wins all goals. With this seed, no winner of a
    # goal is measured again for another one.
    search=SearchSpec(
        method=Method.BAYESIAN, trials=8, startup_trials=3, burn_in_max=1, performance_model=False, seed=4
    ),
    confirm=ConfirmSpec(rounds=3, max_rounds=3, nominees=2, nominee_repeats=1, undo_rounds=0),
    executor=Executor.SIMULATED,
)
ANEW = replace(SPEC, confirm=replace(SPEC.confirm, rounds=4, max_rounds=4))
FAST, QUICK = {"linger.ms": "20"}, {"linger.ms": "1"}
FAST_ONE, QUICK_ONE = (ProducerConfig.parse(each).fingerprint for each in (FAST, QUICK))


def again(folder: Path, spec: StudySpec = ANEW, stopped_after: int | None = None) -> StudyResults:
    if stopped_after is None:
        return measure_study(spec, "", folder, SilentReporter(), searching=False)
    with pytest.raises(KeyboardInterrupt):
        measure_study(spec, "", folder, StoppedAfter(stopped_after, *CONFIRMING_KINDS), searching=False)
    return load_results(folder)


def answers(study: StudyResults) -> Mapping[str, tuple[str, int]]:
    """Return the newest confirmed config of each record size, and the number of its rounds."""
    newest = {each.record_bytes: each.confirmations[0] for each in study.sizes}
    return {size: (each.fingerprint, each.gains["mb_per_s"].rounds) for size, each in newest.items()}


def confirming_trials(study: StudyResults) -> int:
    return sum(trial.kind in CONFIRMING_KINDS for size in study.sizes for trial in size.trials)


@pytest.mark.parametrize(
    "stopped_after", [pytest.param(1, marks=pytest.mark.long), 5, pytest.param(10, marks=pytest.mark.long)]
)
def test_an_interrupted_confirmation_loses_nothing_and_is_resumed(tmp_path: Path, stopped_after: int) -> None:
    first = measure_study(SPEC, "", tmp_path, SilentReporter())
    broken_off = again(tmp_path, stopped_after=stopped_after)
    assert broken_off.finished, "the search is still finished"
    rounds = [rounds for _, rounds in answers(broken_off).values()]
    assert all(before in (3, 4) for before in rounds)
    assert rounds[1] == 3, "the second record size was not confirmed yet"
    done = again(tmp_path)
    assert {rounds for _, rounds in answers(done).values()} == {4}
    assert confirming_trials(done) > confirming_trials(broken_off) > confirming_trials(first)
    for size in done.sizes:
        steps = [(each.kind, each.round, each.fingerprint) for each in size.trials if each.kind in CONFIRMING_KINDS]
        twice = [step for number, step in enumerate(steps) if step in steps[:number]]
        assert len({number for _, number, _ in twice}) <= 1, "only an interrupted round is measured again"
        assert {number for kind, number, _ in steps if kind is TrialKind.CONFIRM} == set(range(3 + 4))


def test_a_round_that_was_interrupted_is_measured_again_as_a_whole(tmp_path: Path) -> None:
    measure_study(SPEC, "", tmp_path / "searched", SilentReporter())
    for stopped_after in range(1, 12):
        folder = shutil.copytree(tmp_path / "searched", tmp_path / str(stopped_after))
        before = again(folder, stopped_after=stopped_after).sizes[0].trials
        newest = before[-1].round
        half = {each.fingerprint for each in before if each.kind is TrialKind.CONFIRM and each.round == newest}
        if before[-1].kind is TrialKind.CONFIRM and len(half) == 1:
            break
    else:
        pytest.fail("no round was interrupted")
    again(folder, stopped_after=1)
    done = again(folder)
    trials = done.sizes[0].trials
    of_round = [each for each in trials if each.kind is TrialKind.CONFIRM and each.round == newest]
    plan = plans_in(done.facts, "100")[-1]
    counted = [each for each in of_round if each in plan.trials_of(TrialKind.CONFIRM, trials)]
    assert counted == of_round[2:], "the trials before both interruptions do not count"
    fingerprints = [each.fingerprint for each in counted]
    assert half < set(fingerprints)
    assert len(fingerprints) == len(set(fingerprints))
    found = rounds_of(plan, trials, next(each for each in fingerprints if each != plan.baseline))
    paired = {each.number for each in (*found.ours, *found.theirs)}
    assert paired.isdisjoint(each.number for each in of_round[:2])


@pytest.mark.parametrize("kind", [TrialKind.REPEAT, TrialKind.UNDO])
def test_an_interrupted_round_of_repeats_or_undo_rounds_is_measured_again_as_a_whole(
    tmp_path: Path, kind: TrialKind
) -> None:
    spec = replace(SPEC, confirm=replace(SPEC.confirm, rounds=4, max_rounds=4, undo_rounds=2))
    with pytest.raises(KeyboardInterrupt):
        measure_study(spec, "", tmp_path, StoppedAfter(1, kind))
    done = measure_study(spec, "", tmp_path, SilentReporter())
    trials = done.sizes[0].trials
    (plan,) = plans_in(done.facts, "100")
    first, *others = [each for each in trials if each.kind is kind and each.round == 0]
    counted = plan.trials_of(kind, trials)
    assert first not in counted
    assert [each for each in counted if each.round == 0] == others
    assert first.fingerprint in [each.fingerprint for each in others]


def again_in(folder: Path) -> StudyResults:
    measure_study(SPEC, "", folder, SilentReporter())
    return again(folder)


def test_a_finished_confirmation_is_repeated_when_asked_for_again(tmp_path: Path) -> None:
    once = again_in(tmp_path)
    twice = again(tmp_path)
    assert confirming_trials(twice) > confirming_trials(once)
    rounds = [trial.round for size in twice.sizes[:1] for trial in size.trials if trial.kind is TrialKind.CONFIRM]
    assert len(set(rounds)) == 3 + 4 + 4


def test_confirming_a_single_goal_leaves_the_other_goals_unchanged(tmp_path: Path) -> None:
    enough = replace(SPEC, confirm=replace(SPEC.confirm, rounds=8, max_rounds=8))  # to prove a gain in p99
    before = measure_study(enough, "", tmp_path, SilentReporter())
    only = replace(ANEW, confirm=replace(ANEW.confirm, goals=(Goal.LATENCY,)))
    after = again(tmp_path, only)
    for size in ("100", "1000"):
        for goal in (Goal.THROUGHPUT, Goal.BALANCED):
            # What the recommendation says of other goals may change.
            now, then = (replace(recommend(each, size, goal), how="", alternatives={}) for each in (after, before))
            if now.is_baseline:  # the baseline has the numbers of its newest rounds
                now, then = (replace(each, metrics={}, baseline_metrics={}) for each in (now, then))
            if now.trial.fingerprint == recommend(after, size, Goal.LATENCY).trial.fingerprint:
                assert now.trial.fingerprint == then.trial.fingerprint, "measured again for the other goal"
                continue
            assert now == then
        renewed = recommend(after, size, Goal.LATENCY)
        assert renewed.gains["latency_p99_ms"].rounds == 4
        newest = after.sizes[("100", "1000").index(size)].confirmations[0]
        assert newest.gains["latency_p99_ms"].level == 0.95, "it was proven before, so to test it again adds no error"


def test_each_confirmation_of_an_unproven_claim_is_stricter() -> None:
    spec = ConfirmSpec(rounds=3, max_rounds=3)
    trials: list[Trial] = []
    plans: list[ConfirmationPlan] = []
    for number, goal in enumerate((Goal.THROUGHPUT, Goal.LATENCY, Goal.THROUGHPUT)):
        plan = ConfirmationPlan.of(spec, baseline().fingerprint, {goal: (FAST_ONE,)}, trials, earlier=plans)
        plans = [*(replace(each, end_round=each.end_round or plan.first_round) for each in plans), plan]
        rounds = confirming(10 * number, [(100, 10), (104, 9.6), (102, 9.8)], [(100, 10)] * 3, FAST)
        trials = [*trials, *(replace(each, round=plan.first_round + (each.round or 0)) for each in rounds)]
        again_without_rounds = ConfirmationPlan.of(
            spec, "", {}, trials, earlier=[*plans, replace(plan, first_round=99)]
        )
        assert again_without_rounds.error_rate == confirmation_error_rate(number + 2), (
            "a goal alone does not start anew"
        )
    assert [plan.error_rate for plan in plans] == [confirmation_error_rate(number) for number in (1, 2, 3)]
    found = confirmations_of([MeasuredPlan(each, trials, {}, OBJECTIVES) for each in plans])
    assert found[0].gains["mb_per_s"].level == pytest.approx(1 - 2 * confirmation_error_rate(3))


def test_a_proven_config_stays_the_answer_after_another_one_failed() -> None:
    """The second confirmation measures another config for each goal, and this config is not proven better."""
    first = confirming(1, [(150, 5), (151, 5.1), (152, 5)], [(100, 10)] * 3, FAST)
    second = confirming(20, [(100, 10), (104, 9.6), (98, 10.3)], [(100, 10)] * 3, QUICK)
    second = [replace(each, round=3 + (each.round or 0)) for each in second]
    trials = [baseline(0), trial(7, 150, 5, config=FAST), trial(8, 160, 4, config=QUICK), *first, *second]
    older = replace(plan_of(first), end_round=3)
    newer = ConfirmationPlan(older.baseline, dict.fromkeys(Goal, (QUICK_ONE,)), first_round=3, rounds=3, max_rounds=3)
    size = size_results(SIZE, OBJECTIVES, trials, None, [older, newer])
    study = StudyResults("s", Path(), "", {"name": "s"}, OBJECTIVES, (size,))
    for goal in Goal:
        assert recommend(study, SIZE, goal).config.values == FAST
    looks = [
        trial(40 + n, 150, 5, kind=TrialKind.REPEAT, round=6, config=config, metrics={"held_rate_ratio": held})
        for n, (config, held) in enumerate([(FAST, 0.5), (QUICK, 1.0)])
    ]
    newest = ConfirmationPlan(
        older.baseline, dict.fromkeys(Goal, (FAST_ONE, QUICK_ONE)), first_round=6, nominee_repeats=1
    )
    plans = [older, replace(newer, end_round=6), newest]
    size = size_results(SIZE, OBJECTIVES, [*trials, *looks], None, plans)
    study = StudyResults("s", Path(), "", {"name": "s"}, OBJECTIVES, (size,))
    assert recommend(study, SIZE, Goal.LATENCY).is_baseline, "it broke a constraint when it was measured again"


def test_a_finished_study_measures_nothing_more_after_a_confirmation(tmp_path: Path) -> None:
    after = again_in(tmp_path)
    assert measure_study(SPEC, "", tmp_path, SilentReporter()).sizes == after.sizes


def test_an_interrupted_search_is_resumed_after_a_confirmation(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        measure_study(SPEC, "", tmp_path, StoppedAfter(6, *SEARCHING_KINDS))
    confirmed = again(tmp_path)
    assert not confirmed.finished
    assert confirmed.sizes[0].confirmations
    done = measure_study(SPEC, "", tmp_path, SilentReporter())
    assert done.finished
    for size in done.sizes:
        assert sum(trial.kind in (TrialKind.SEARCH, TrialKind.BASELINE) for trial in size.trials) == 8
    assert {rounds for _, rounds in answers(done).values()} == {3}, (
        "the confirmation after the search has its own rounds"
    )


def test_a_goal_loses_its_winner_when_no_config_keeps_the_constraints() -> None:
    """The newest confirmation counts, even if none of its configs met the constraints."""
    found = [baseline(0), trial(1, 150, 5, config=FAST), *confirming(2, [(150, 5)] * 2, [(100, 10)] * 2, FAST)]
    looks = [
        trial(20 + n, 150, 5, kind=TrialKind.REPEAT, round=2, config=config, metrics={"held_rate_ratio": 0.5})
        for n, config in enumerate([FAST, QUICK])
    ]
    older, fingerprints = plan_of(found), tuple(each.fingerprint for each in looks)
    newer = ConfirmationPlan(older.baseline, dict.fromkeys(Goal, fingerprints), first_round=2, nominee_repeats=1)
    older = replace(older, end_round=2)
    size = size_results(SIZE, OBJECTIVES, [*found, *looks], None, [older, newer])
    assert size.without_winner == set(Goal)
    assert all(not each.goals for each in size.confirmations)
    study = StudyResults("s", Path(), "", {"name": "s"}, OBJECTIVES, (size,))
    answer = recommend(study, SIZE, Goal.THROUGHPUT)
    assert answer.is_baseline
    assert answer.how == "the best configs for this goal were measured again, and each of them broke a constraint"


def test_repeats_that_failed_say_nothing_about_constraints() -> None:
    found = [baseline(0), trial(1, 150, 5, config=FAST)]
    looks = [
        replace(trial(20 + n, 150, 5, kind=TrialKind.REPEAT, round=0, config=config), state=State.FAILED, metrics={})
        for n, config in enumerate([FAST, QUICK])
    ]
    fingerprints = tuple(each.fingerprint for each in looks)
    plan = ConfirmationPlan(found[0].fingerprint, dict.fromkeys(Goal, fingerprints), nominee_repeats=1)
    size = size_results(SIZE, OBJECTIVES, [*found, *looks], None, [plan])
    assert not size.without_winner


def test_a_goal_stays_without_winner_when_another_goal_is_confirmed() -> None:
    looks = [
        trial(10 + n, 150, 5, kind=TrialKind.REPEAT, round=n // 2, config=config, metrics={"held_rate_ratio": 0.5})
        for n, config in enumerate([FAST, QUICK] * 2)
    ]
    fingerprints, base = tuple(each.fingerprint for each in looks[:2]), baseline(0)
    older = ConfirmationPlan(base.fingerprint, dict.fromkeys(Goal, fingerprints), nominee_repeats=1, end_round=1)
    newer = ConfirmationPlan(base.fingerprint, {Goal.LATENCY: fingerprints}, first_round=1, nominee_repeats=1)
    size = size_results(SIZE, OBJECTIVES, [base, trial(1, 150, 5, config=FAST), *looks], None, [older, newer])
    assert size.without_winner == set(Goal)
    study = StudyResults("s", Path(), "", {"name": "s"}, OBJECTIVES, (size,))
    assert recommend(study, SIZE, Goal.THROUGHPUT).is_baseline


def test_a_plan_stored_by_an_older_release_is_read() -> None:
    trials = confirming(0, [(150, 5)] * 2, [(100, 10)] * 2, FAST)
    alone = {name: value for name, value in plan_of(trials).as_json().items() if name != "session"}
    (read,) = plans_in({CONFIRMING: {SIZE: alone}}, SIZE)
    assert read == plan_of(trials)
    assert plans_in({CONFIRMING: {SIZE: alone}}, "100") == plans_in({}, SIZE) == ()
    assert len(confirmations_of([MeasuredPlan(read, trials, {}, OBJECTIVES)])) == 1
