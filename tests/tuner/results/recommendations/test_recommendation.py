"""The best config that was shown to be better is recommended, and no more is claimed than was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from objectives.scoring import Constraint, Objective
from tests.helpers.trials import OBJECTIVES, baseline, confirming, failed, plan_of, results, trial
from tuner.confirmation.plan import ConfirmationPlan
from tuner.model.errors import NoFeasibleConfig
from tuner.model.goals import Goal, goal_metrics, goals_of, single_metric
from tuner.model.trial import Trial, TrialKind
from tuner.present.recommendations.recommendation_words import in_short
from tuner.results.recommendations.nominees import best_on_front
from tuner.results.recommendations.recommend import recommend
from tuner.results.recommendations.recommendation import Conditions, Recommendation, SideEffectKind
from tuner.results.study_results import StudyResults, size_results

# The front of a search: the config with the highest throughput, the one with the lowest latency, and one between.
FASTEST, QUICKEST, BOTH = {"linger.ms": "50"}, {"linger.ms": "0.5"}, {"linger.ms": "5"}
SEARCH = [
    baseline(0, 100, 10),
    trial(1, 300, 40, config=FASTEST),
    trial(2, 60, 2, config=QUICKEST),
    trial(3, 150, 5, config=BOTH),
    trial(4, 149, 6, config={"linger.ms": "6"}),
    failed(5),
]
ANY = Conditions()
FACTS = {"client_version": "2.16.0", "finished_at": "2026-01-02T03:04:05+00:00"}
BASE_ROUNDS = [(100.0, 10.0)] * 3


def study(trials: Sequence[Trial] = SEARCH, **changes: Any) -> StudyResults:
    """Return a study of one record size with these trials."""
    good: dict[str, Any] = {
        "name": "overnight",
        "folder": Path("overnight"),
        "study_file": "",
        "facts": FACTS,
        "objectives": OBJECTIVES,
        "sizes": (results(trials),),
    }
    return StudyResults(**{**good, **changes})


def claiming(trials: Sequence[Trial], goals: Mapping[Goal, Mapping[str, str]], **plan: Any) -> StudyResults:
    """Return a study of these trials, whose confirmation measured these winners."""
    return study(sizes=(results(trials, plan=plan_of(trials, goals, **plan)),))


def confirmed(config: dict[str, str], *rounds: tuple[float, float], first: int = 10) -> list[Trial]:
    return confirming(first, rounds, BASE_ROUNDS[: len(rounds)], config)


@pytest.mark.parametrize(("goal", "number"), [(Goal.THROUGHPUT, 1), (Goal.LATENCY, 2), (Goal.BALANCED, 3)])
def test_each_goal_picks_its_best_config_on_the_front(goal: Goal, number: int) -> None:
    picked = best_on_front(results(SEARCH), goal)
    assert picked is not None
    assert picked.number == number
    found = recommend(study(), "1000", goal)
    assert (found.trial.number, found.goal, found.is_baseline) == (number, goal, False)
    assert found.config == picked.config()


def test_balanced_prefers_a_small_loss_to_a_larger_product_of_gains() -> None:
    """Trial 1 has six times the throughput at twice the latency: a larger product, but a loss that nobody asked for."""
    found = recommend(study([baseline(0, 100, 10), trial(1, 600, 20), trial(2, 120, 9.5)]), "1000", Goal.BALANCED)
    assert found.trial.number == 2


def test_balanced_is_the_largest_product_if_every_config_loses_much() -> None:
    trials = [trial(1, 600, 20), trial(2, 400, 20, config={"linger.ms": "1"}), trial(3, 20, 8), baseline(9, 100, 10)]
    assert best_on_front(results(trials[:3]), Goal.BALANCED) is not None
    constraints = (Constraint("mb_per_s", at_most=False, limit=110),)
    trials[3] = baseline(9, 100, 10, constraints=constraints)
    found = recommend(study(trials), "1000", Goal.BALANCED)
    assert found.trial.number == 1


@pytest.mark.parametrize(
    ("goal", "conditions", "number"),
    [
        (Goal.THROUGHPUT, Conditions(max_p99_ms=10), 3),
        (Goal.THROUGHPUT, Conditions(max_p99_ms=40), 1),
        (Goal.LATENCY, Conditions(min_mb_per_s=100), 3),
        (Goal.LATENCY, Conditions(min_mb_per_s=60), 2),
        (Goal.BALANCED, Conditions(max_p99_ms=4), 2),
        (Goal.LATENCY, Conditions(max_p99_ms=50, min_mb_per_s=200), 1),
    ],
)
def test_conditions_limit_which_config_is_picked(goal: Goal, conditions: Conditions, number: int) -> None:
    assert recommend(study(), "1000", goal, conditions).trial.number == number


def test_a_missing_metric_keeps_no_condition() -> None:
    assert Conditions().met_by({})
    assert not Conditions(max_p99_ms=10).met_by({"mb_per_s": 1.0})
    assert not Conditions(min_mb_per_s=1).met_by({"latency_p99_ms": 1.0})


def test_an_allowed_loss_is_no_limit() -> None:
    asked = Conditions(max_p99_ms=10, allow_loss=0.2)
    assert (asked.constrained, asked.options) == (True, ("--max-p99-ms", "10", "--allow-loss", "0.2"))
    assert not Conditions(allow_loss=0.2).constrained
    assert recommend(study(), "1000", Goal.BALANCED, Conditions(allow_loss=0.2)).asked == ("--allow-loss", "0.2")


def test_one_trial_proves_no_gain_and_its_config_must_be_measured_first() -> None:
    found = recommend(study(), "1000", Goal.THROUGHPUT)
    assert (found.gains, found.side_effects, found.alternatives) == ({}, {}, {})
    assert not found.confirmed
    assert not found.proven
    assert found.metrics == SEARCH[1].metrics
    assert found.baseline == SEARCH[0]
    assert found.baseline_metrics["mb_per_s"] == 100
    assert "may have been lucky" in found.how
    assert "measure it before you use it, with tuner confirm overnight" in found.how
    assert found.warnings == ()


def test_a_confirmed_winner_comes_before_a_faster_unconfirmed_config() -> None:
    found = recommend(study([*SEARCH, *confirmed(BOTH, (140, 6), (160, 6), (150, 6))]), "1000", Goal.THROUGHPUT)
    assert found.config.values == BOTH
    assert found.trial.number == 3, "the trial that found it, not one that confirmed it"
    assert found.confirmed
    assert found.gains["mb_per_s"].value == pytest.approx((1.4 * 1.6 * 1.5) ** (1 / 3))
    means = (found.metrics["mb_per_s"], found.metrics["latency_p99_ms"])
    assert means == pytest.approx(((140 * 160 * 150) ** (1 / 3), 6)), "the means over the rounds"
    assert (found.baseline_metrics["mb_per_s"], found.is_baseline) == (100, False)
    assert "3 rounds, alternating with the baseline" in found.how


@pytest.mark.parametrize(
    ("goal", "config"), [(Goal.THROUGHPUT, FASTEST), (Goal.LATENCY, QUICKEST), (Goal.BALANCED, BOTH)]
)
def test_each_goal_takes_its_own_confirmed_winner(goal: Goal, config: dict[str, str]) -> None:
    trials = [*SEARCH, *confirmed(FASTEST, (280, 38), (290, 39))]
    for place, (values, numbers) in enumerate(((QUICKEST, (62, 2.5)), (BOTH, (140, 6)))):
        trials += [
            trial(20 + 2 * place + turn, *numbers, kind=TrialKind.CONFIRM, config=values, round=turn)
            for turn in range(2)
        ]
    claimed = {Goal.THROUGHPUT: FASTEST, Goal.LATENCY: QUICKEST, Goal.BALANCED: BOTH}
    found = recommend(claiming(trials, claimed), "1000", goal)
    assert found.config.values == config
    assert found.confirmed


def test_a_config_is_recommended_for_every_goal_it_is_proven_for() -> None:
    """A config confirmed for balanced only was proven for all goals, but two goals said "keep what you have"."""
    trials = [*SEARCH, *confirmed(BOTH, (154, 1.8), (155, 1.9), (153, 1.8))]
    asked = claiming(trials, {Goal.BALANCED: BOTH})
    for goal in Goal:
        found = recommend(asked, "1000", goal)
        assert (found.config.values, found.proven, found.is_baseline) == (BOTH, True, False)
    (confirmation,) = asked.sizes[0].confirmations
    assert confirmation.goals == {Goal.BALANCED}
    assert confirmation.proven == set(Goal)


@pytest.mark.parametrize("faster", [1.0, 1.08])
def test_a_balanced_config_that_loses_nothing_shows_the_interval_that_decided_it(faster: float) -> None:
    p99s = [each / faster for each in (10.2, 9.9, 10.1, 9.8, 10.0, 10.2, 9.9, 10.0)]
    rounds = confirming(10, [(300, each) for each in p99s], [(100 + turn, 10) for turn in range(8)], BOTH)
    found = recommend(study([*SEARCH, *rounds], sizes=(results([*SEARCH, *rounds]),)), "1000", Goal.BALANCED)
    (confirmation,) = (each for each in results([*SEARCH, *rounds]).confirmations)
    calm = confirmation.gains_without_stall["latency_p99_ms"]
    shown = found.gains["latency_p99_ms"]
    assert (found.config.values, found.proven) == (BOTH, True)
    assert confirmation.gains["latency_p99_ms"].low < 0.9 <= calm.low
    assert (shown.low, shown.high) == (min(calm.low, 1.0), calm.high)
    assert "latency p99 is not worse (0." not in in_short(found) or shown.low >= 0.9
    assert "times better latency p99" not in in_short(found), "one more stall would undo that gain"


def test_a_goal_that_was_not_asked_for_is_tested_as_strictly() -> None:
    """The goal gets the share of the proven goals. Its interval of 97.5 % is not above 1, so it is not proven."""
    trials = [*SEARCH, *confirmed(BOTH, (300, 9.4), (301, 9.8), (302, 9.6))]
    only_fast = claiming(trials, {Goal.THROUGHPUT: BOTH}, error_rate=0.0125)
    assert recommend(only_fast, "1000", Goal.THROUGHPUT).config.values == BOTH
    kept = recommend(only_fast, "1000", Goal.LATENCY)
    assert kept.is_baseline
    (confirmation,) = only_fast.sizes[0].confirmations
    gain = confirmation.gains["latency_p99_ms"]
    assert gain.level == pytest.approx(0.975)
    assert gain.low < 1.0 < gain.value


def test_without_a_goal_the_first_goal_with_a_proven_gain_is_taken() -> None:
    better_in = {Goal.THROUGHPUT: (150, 12), Goal.LATENCY: (75, 6), Goal.BALANCED: (150, 6)}
    for goal, (mb_per_s, p99_ms) in better_in.items():
        trials = [*SEARCH, *confirmed(BOTH, *[(mb_per_s + turn, p99_ms) for turn in range(3)])]
        only = claiming(trials, {goal: BOTH})
        found = recommend(only, "1000")
        assert (found.goal, found.config.values) == (goal, BOTH)
    kept = recommend(study([*SEARCH, *confirmed(BOTH, (140, 6), (70, 20), (150, 6))]), "1000", None)
    assert (kept.goal, kept.is_baseline) == (Goal.BALANCED, True)


def test_without_a_goal_no_unproven_config_comes_before_the_baseline_once_the_confirmation_has_ended() -> None:
    """The search found nothing to confirm for balanced. The fastest config was never confirmed."""
    unconfirmed = recommend(study(), "1000")
    assert (unconfirmed.is_baseline, unconfirmed.proven) == (False, False), "without a confirmation, it is shown"
    nothing = ConfirmationPlan(SEARCH[0].fingerprint, {Goal.BALANCED: ()}, rounds=2)
    found = [trial for trial in SEARCH if trial.number not in (3, 4)]
    ended = study(sizes=(results(found, plan=nothing),))
    kept = recommend(ended, "1000")
    assert (kept.goal, kept.is_baseline, kept.config) == (Goal.BALANCED, True, SEARCH[0].config())
    assert "the search found no better config for this goal" in kept.how
    assert recommend(ended, "1000", Goal.THROUGHPUT).is_baseline
    later = study(sizes=(results(SEARCH, plan=nothing),))
    assert recommend(later, "1000").config.values == BOTH, "found after the confirmation had nothing to measure"


def test_without_a_goal_conditions_are_kept_and_one_objective_decides() -> None:
    assert recommend(study(), "1000", None, Conditions(min_mb_per_s=250)).config.values == FASTEST
    with pytest.raises(NoFeasibleConfig, match="must meet p99 <= 1 ms"):
        recommend(study(), "1000", None, Conditions(max_p99_ms=1))
    for metric, goal in (("mb_per_s", Goal.THROUGHPUT), ("latency_p99_ms", Goal.LATENCY)):
        only = (Objective(metric),)
        sizes = (results([baseline(0, 100, 10, objectives=only)], only),)
        assert recommend(study(sizes=sizes, objectives=only), "1000").goal == goal


def test_a_winner_whose_interval_contains_1_is_not_recommended() -> None:
    trials = [*SEARCH, *confirmed(FASTEST, (103, 40), (97, 40), (104, 40))]
    found = recommend(study(trials), "1000", Goal.THROUGHPUT)
    assert found.is_baseline
    assert found.trial == found.baseline == SEARCH[0]
    assert found.gains == {}
    assert found.metrics == found.baseline_metrics
    assert "and was not proven better" in found.how


def test_an_undecided_result_says_what_would_decide_it() -> None:
    trials = [*SEARCH, *confirmed(FASTEST, (130, 40), (90, 40), (120, 40))]
    found = recommend(study(trials), "1000", Goal.THROUGHPUT)
    assert found.is_baseline
    assert "the result is inconclusive: 1.1 (0." in found.how
    assert "longer measurements or a quieter machine would decide it" in found.how


def test_the_baseline_has_one_number_whatever_is_recommended() -> None:
    rounds = confirming(10, [(60, 2.0), (61, 2.1), (60, 2.0)], [(130.0, 7.0)] * 3, QUICKEST)
    asked = study([*SEARCH, *rounds])
    for goal in (Goal.THROUGHPUT, Goal.LATENCY):
        found = recommend(asked, "1000", goal)
        assert found.measured_again
        assert found.baseline_metrics["mb_per_s"] == pytest.approx(130.0)
        assert found.baseline_metrics["latency_p99_ms"] == pytest.approx(7.0)


def test_a_metric_missing_in_one_round_has_the_mean_of_the_others() -> None:
    rounds = confirming(10, [(300, 8.0), (301, 4.1), (300, 4.0), (299, 4.1)], [(100.0, 10.0)] * 4, FASTEST)
    lacking = next(each for each in rounds if each.fingerprint == SEARCH[0].fingerprint)
    without = replace(lacking, metrics={k: v for k, v in lacking.metrics.items() if k != "latency_p99_ms"})
    trials = [*SEARCH, *(without if each is lacking else each for each in rounds)]
    found = recommend(study(trials), "1000", Goal.THROUGHPUT)
    gain = found.gains["latency_p99_ms"]
    assert (gain.rounds, found.gains["mb_per_s"].rounds) == (3, 4)
    shown = found.baseline_metrics["latency_p99_ms"] / found.metrics["latency_p99_ms"]
    assert shown == pytest.approx(gain.value)


def test_a_balanced_winner_may_lose_only_little_in_each_metric() -> None:
    lossy = [*SEARCH, *confirmed(FASTEST, (500, 20), (500, 20))]
    assert recommend(study(lossy), "1000", Goal.BALANCED).is_baseline, (
        "twice the latency is not balanced, whatever the throughput"
    )
    slight = [*SEARCH, *confirmed(FASTEST, (500, 11), (500, 11))]
    assert recommend(study(slight), "1000", Goal.BALANCED).config.values == FASTEST


def test_the_bad_end_of_the_interval_decides_whether_a_config_is_balanced() -> None:
    """The mean of the latency is 0.95 times as good, but the interval reaches below 0.9."""
    trials = [*SEARCH, *confirmed(FASTEST, (300, 10.1), (300, 10.5), (300, 11))]
    kept = recommend(study(trials), "1000", Goal.BALANCED)
    assert kept.is_baseline
    assert "it may lose more than 10 % in one of them" in kept.how
    taken = recommend(study(trials), "1000", Goal.BALANCED, Conditions(allow_loss=0.25))
    assert (taken.config.values, taken.proven) == (FASTEST, True)
    by_study = study(trials, facts={**FACTS, "allow_loss": 0.25})
    assert recommend(by_study, "1000", Goal.BALANCED).config.values == FASTEST
    assert recommend(by_study, "1000", Goal.BALANCED, Conditions(allow_loss=0.1)).is_baseline


@pytest.mark.parametrize(
    ("p99_ms", "kind"),
    [
        ((10.0, 10.1, 10.0), SideEffectKind.KEEPS),
        ((10.3, 10.4, 10.3), SideEffectKind.KEEPS),
        ((12.0, 12.1, 12.2), SideEffectKind.WORSE),
        ((10.0, 12.0, 11.0), SideEffectKind.MAY_BE_WORSE),
        ((5.0, 20.0, 10.0), SideEffectKind.MAY_BE_WORSE),
    ],
)
def test_a_gain_shows_its_side_effect_on_a_metric_outside_the_goal(
    p99_ms: tuple[float, ...], kind: SideEffectKind
) -> None:
    trials = [*SEARCH, *confirmed(FASTEST, *((300 + turn, each) for turn, each in enumerate(p99_ms)))]
    found = recommend(study(trials), "1000", Goal.THROUGHPUT)
    assert found.proven
    effect = found.side_effects["latency_p99_ms"]
    assert (effect.kind, effect.ratio.level, "mb_per_s" in found.side_effects) == (kind, 0.975, False)
    assert found.gains["mb_per_s"].level >= (0.95 if kind is SideEffectKind.KEEPS else 0.975)
    all_allowed = recommend(study(trials), "1000", Goal.THROUGHPUT, Conditions(allow_loss=1.0))
    assert all_allowed.side_effects["latency_p99_ms"].kind is SideEffectKind.KEEPS


def test_a_recommendation_says_what_it_costs_the_consumers() -> None:
    read = {"end_to_end_p99_ms": 20.0, "consumer_cpu_ms_per_mb": 2.0}
    rounds = [
        replace(
            each, metrics={**each.metrics, **read, "consumer_cpu_ms_per_mb": 3.0 if each.values == FASTEST else 2.0}
        )
        for each in confirmed(FASTEST, (300, 10), (303, 10.1), (301, 10))
    ]
    side_effects = recommend(study([*SEARCH, *rounds]), "1000", Goal.THROUGHPUT).side_effects
    assert {name: effect.kind for name, effect in side_effects.items()} == {
        "latency_p99_ms": SideEffectKind.KEEPS,
        "end_to_end_p99_ms": SideEffectKind.KEEPS,
        "consumer_cpu_ms_per_mb": SideEffectKind.WORSE,
    }
    assert side_effects["consumer_cpu_ms_per_mb"].ratio.value == pytest.approx(2 / 3)


def test_a_goal_without_a_proven_config_names_configs_of_other_goals() -> None:
    trials = [*SEARCH, *confirmed(QUICKEST, (60, 2), (61, 2.1), (60, 2))]
    asked = claiming(trials, {Goal.LATENCY: QUICKEST})
    kept = recommend(asked, "1000", Goal.THROUGHPUT)
    assert kept.is_baseline
    assert not kept.proven
    assert {goal: each.config.values for goal, each in kept.alternatives.items()} == {Goal.LATENCY: QUICKEST}
    assert kept.alternatives[Goal.LATENCY].side_effects["mb_per_s"].kind is SideEffectKind.WORSE
    assert kept.alternatives[Goal.LATENCY].trial.number == 2
    unasked = recommend(asked, "1000")
    assert (unasked.goal, unasked.unproven) == (Goal.LATENCY, (Goal.BALANCED, Goal.THROUGHPUT))
    assert unasked.alternatives == {}


def test_without_a_goal_much_latency_is_not_given_up_for_little_throughput() -> None:
    """Both are proven for a goal of their own, and neither for balanced."""
    rounds = [*confirmed(FASTEST, (110, 40), (111, 40), (112, 41)), *confirmed(QUICKEST, (80, 2), (81, 2), (82, 2.1))]
    both = claiming([*SEARCH, *rounds], {Goal.THROUGHPUT: FASTEST, Goal.LATENCY: QUICKEST})
    found = recommend(both, "1000")
    assert (found.goal, found.config.values, found.unproven) == (Goal.LATENCY, QUICKEST, (Goal.BALANCED,))
    assert {goal: each.config.values for goal, each in found.alternatives.items()} == {Goal.THROUGHPUT: FASTEST}
    limited = recommend(both, "1000", None, Conditions(max_p99_ms=30))
    assert (limited.goal, limited.unproven) == (Goal.LATENCY, (Goal.BALANCED, Goal.THROUGHPUT))
    assert limited.asked == ("--max-p99-ms", "30")


def test_search_and_repeats_choose_among_proven_configs_not_the_rounds() -> None:
    """Both configs are proven. The config with the larger gain in the rounds was worse in the repeats."""
    looks = [
        trial(30 + n, *numbers, kind=TrialKind.REPEAT, round=0, config=config)
        for n, (config, numbers) in enumerate([({}, (100, 10)), (BOTH, (170, 5)), (QUICKEST, (150, 2))])
    ]
    rounds = [
        trial(40 + 3 * turn + n, mb_per_s + turn, p99_ms, kind=TrialKind.CONFIRM, config=config, round=1 + turn)
        for turn in range(3)
        for n, (config, mb_per_s, p99_ms) in enumerate([({}, 100, 10), (BOTH, 160, 5), (QUICKEST, 190, 2)])
    ]
    both, quickest = looks[1].fingerprint, looks[2].fingerprint
    goals = {Goal.LATENCY: (quickest, both), Goal.BALANCED: (both,)}
    plan = ConfirmationPlan(looks[0].fingerprint, goals, nominee_repeats=1, rounds=4, max_rounds=4)
    asked = study(sizes=(results([*SEARCH, *looks, *rounds], plan=plan),))
    assert {each.fingerprint for each in asked.sizes[0].confirmations if Goal.THROUGHPUT in each.proven} == {
        both,
        quickest,
    }
    assert recommend(asked, "1000", Goal.THROUGHPUT).config.values == BOTH


def test_conditions_are_checked_on_the_confirmation_rounds() -> None:
    trials = [*SEARCH, *confirmed(BOTH, (150, 9), (150, 9))]
    conditions = Conditions(max_p99_ms=10)
    assert recommend(study(trials), "1000", Goal.THROUGHPUT, conditions).confirmed
    trials = [*SEARCH, *confirmed(BOTH, (150, 12), (150, 12))]
    assert recommend(study(trials), "1000", Goal.THROUGHPUT, conditions).is_baseline


def test_a_config_that_breaks_the_conditions_does_not_replace_a_baseline() -> None:
    """The config kept 6 ms in its one trial but not in three rounds; the baseline has 10 ms."""
    trials = [*SEARCH[:1], SEARCH[3], *confirmed(BOTH, (150, 7), (150, 7), (150, 7))]
    with pytest.raises(NoFeasibleConfig, match="p99 <= 6 ms"):
        recommend(study(trials), "1000", Goal.LATENCY, Conditions(max_p99_ms=6))


@pytest.mark.parametrize("goal", [Goal.THROUGHPUT, Goal.BALANCED])
def test_a_proven_config_that_breaks_a_condition_is_not_called_unproven(goal: Goal) -> None:
    trials = [*SEARCH, *confirmed(FASTEST, (280, 10.1), (290, 10.1), (285, 10.1))]
    assert recommend(study(trials), "1000", goal).proven
    kept = recommend(study(trials), "1000", goal, Conditions(max_p99_ms=10))
    assert kept.is_baseline
    assert kept.how == (
        "a config is proven better for this goal, but when it was measured again, it lost records or broke a constraint"
    )


def test_a_confirmed_config_without_a_gain_is_described_as_confirmed() -> None:
    """The config is no faster than the baseline, but keeps a latency that the baseline does not keep."""
    trials = [*SEARCH[:1], SEARCH[3], *confirmed(BOTH, (100, 5), (100, 5), (100, 5))]
    found = recommend(study(trials), "1000", Goal.THROUGHPUT, Conditions(max_p99_ms=6))
    assert found.config.values == BOTH
    assert found.how == (
        "3 rounds, alternating with the baseline, and not proven better; "
        "recommended because the baseline itself breaks a constraint"
    )
    assert found.gains["mb_per_s"].value == pytest.approx(1.0)
    assert found.metrics["mb_per_s"] == 100, "the mean of the rounds, not the lucky trial's 150"


def test_a_baseline_that_breaks_a_constraint_is_not_recommended() -> None:
    constraints = (Constraint("latency_p99_ms", at_most=True, limit=8),)
    trials = [
        baseline(0, 100, 10, constraints=constraints),
        trial(3, 150, 5, config=BOTH, constraints=constraints),
        *confirmed(BOTH, (100, 5), (100, 5)),
    ]
    plan = plan_of(trials, constraints=constraints)
    found = recommend(study(sizes=(results(trials, plan=plan),)), "1000", Goal.THROUGHPUT)
    assert found.config.values == BOTH


def with_cold_baseline(*again: Trial, nominee_repeats: int = 0, **changes: Any) -> StudyResults:
    """Return a study whose baseline broke a limit of 8 ms only while the cluster was cold."""
    limits = (Constraint("latency_p99_ms", at_most=True, limit=8),)
    searched = [
        baseline(0, 60, 12, constraints=limits),
        trial(1, 300, 6, config=FASTEST, constraints=limits),
        trial(3, 150, 5, config=BOTH, constraints=limits),
    ]
    trials = [*searched, *again]
    plan = plan_of(trials, {Goal.THROUGHPUT: FASTEST}, constraints=limits, nominee_repeats=nominee_repeats)
    facts = {**FACTS, "constraints": [str(each) for each in limits]}
    return study(sizes=(results(trials, plan=plan),), facts=facts, **changes)


def test_no_unproven_config_if_the_warm_baseline_keeps_the_constraints() -> None:
    rounds = confirming(10, [(101, 7), (99, 7.1), (100, 6.9)], [(100, 7)] * 3, FASTEST)
    for goal in Goal:
        kept = recommend(with_cold_baseline(*rounds), "1000", goal)
        assert (kept.is_baseline, kept.proven) == (True, False)
    assert recommend(with_cold_baseline(*rounds), "1000").is_baseline
    slow = confirming(10, [(101, 7), (99, 7.1), (100, 6.9)], [(100, 9)] * 3, FASTEST)
    assert not recommend(with_cold_baseline(*slow), "1000", Goal.THROUGHPUT).is_baseline, (
        "it breaks them when warm, too"
    )


def test_repeats_before_the_rounds_judge_the_baseline_too() -> None:
    looks = [
        trial(10 + n, 100, 7, kind=TrialKind.REPEAT, round=0, config=config) for n, config in enumerate(({}, FASTEST))
    ]
    asked = with_cold_baseline(*looks, nominee_repeats=1)
    assert recommend(asked, "1000", Goal.THROUGHPUT).is_baseline
    conditions = Conditions(min_mb_per_s=90)
    assert recommend(asked, "1000", Goal.THROUGHPUT, conditions).is_baseline, "the cold one had 60 MB/s"


def test_a_baseline_that_was_cold_once_keeps_the_constraints() -> None:
    limits = (Constraint("latency_p99_ms", at_most=True, limit=8),)
    cold, *warm = (baseline(number, 100, p99_ms, constraints=limits) for number, p99_ms in enumerate((12, 7, 7, 7)))
    slower = trial(8, 90, 7.5, constraints=limits)
    assert recommend(study([cold, *warm, slower]), "1000", Goal.THROUGHPUT).is_baseline
    broken = trial(8, 120, 9, constraints=limits)
    assert recommend(study([cold, *warm, broken]), "1000", Goal.THROUGHPUT).is_baseline, "no other config keeps them"


def test_a_winner_that_lost_records_later_is_not_recommended() -> None:
    """It gave up records in the saturating phase, after a paced phase with low latency."""
    rounds = confirmed(QUICKEST, (60, 2), (60, 2), (60, 2))
    lossy = trial(15, None, 2, kind=TrialKind.CONFIRM, config=QUICKEST, round=2, metrics={"delivered_ratio": 0.0})
    found = recommend(study([*SEARCH, *rounds[:5], lossy]), "1000", Goal.LATENCY)
    assert found.config.values != QUICKEST


def test_the_baseline_is_kept_if_nothing_on_the_front_is_better() -> None:
    found = recommend(study([baseline(0, 100, 10), trial(1, 90, 20)]), "1000", Goal.BALANCED)
    assert found.is_baseline
    assert found.how == "nothing measured was better than the baseline"
    assert found.gains == {}


def test_an_unmeasured_size_uses_the_nearest_one_and_warns() -> None:
    sizes = tuple(size_results(size, OBJECTIVES, SEARCH, None) for size in ("100", "1000", "100000"))
    found = recommend(study(sizes=sizes), "20000", Goal.BALANCED)
    assert found.record_bytes == "100000", "it is 5 times as large as 20000, and 1000 is 20 times smaller"
    assert found.warnings == (
        "records of 20000 B were not measured; the nearest measured sizes are 100000 and 1000 B, "
        "and this recommendation is for 100000 B",
    )
    assert recommend(study(sizes=sizes), "1000", Goal.BALANCED).warnings == ()
    assert recommend(study(sizes=sizes), "1", Goal.BALANCED).record_bytes == "100"
    (only,) = recommend(study(sizes=sizes[:1]), "1", Goal.BALANCED).warnings
    assert "the nearest measured size is 100 B" in only


def test_a_mix_counts_by_its_mean_size() -> None:
    sizes = tuple(size_results(size, OBJECTIVES, SEARCH, None) for size in ("100", "100:0.5,10000:0.5"))
    assert recommend(study(sizes=sizes), "5000", Goal.BALANCED).record_bytes == "100:0.5,10000:0.5"


def test_an_unfinished_study_says_so() -> None:
    found = recommend(study(facts={**FACTS, "finished_at": None}), "1000", Goal.BALANCED)
    assert found.warnings == ("overnight is not finished, so its results may still change",)


def test_a_simulated_study_says_so() -> None:
    found = recommend(study(facts={**FACTS, "client_version": "simulated"}), "1000", Goal.BALANCED)
    assert found.warnings == ("simulated: a model made these numbers, nothing was measured on Kafka",)


def test_a_config_that_the_load_generator_limited_has_a_warning() -> None:
    trials = [SEARCH[0], replace(trial(1, 300, 5, flagged=True), verdict="generator"), trial(2, 90, 4)]
    assert "the load generator limited trial 1" in recommend(study(trials), "1000", Goal.THROUGHPUT).warnings[0]
    assert recommend(study(trials), "1000", Goal.LATENCY).warnings == ()
    trials[1] = replace(trials[1], verdict="other processes")
    assert "other processes limited trial 1" in recommend(study(trials), "1000", Goal.THROUGHPUT).warnings[0]


def no_config(asked: Conditions = ANY, goal: Goal = Goal.BALANCED, **changes: Any) -> str:
    with pytest.raises(NoFeasibleConfig) as caught:
        recommend(study(**changes), "1000", goal, asked)
    return str(caught.value)


def test_a_study_without_results_says_so() -> None:
    assert no_config(sizes=()) == "overnight has no results yet: its first trial has not ended"


def test_a_study_without_a_baseline_says_so() -> None:
    assert no_config(trials=[trial(1)]).endswith(
        "needs a measured baseline, but overnight has none yet for 1000 B; continue the study until the baseline is "
        "measured"
    )


def test_constraints_that_no_config_meets_are_reported_with_the_best_values() -> None:
    assert no_config(Conditions(max_p99_ms=1.5, min_mb_per_s=400)) == (
        "a config of overnight for 1000 B must meet p99 <= 1.5 ms and throughput >= 400 MB/s, but none does "
        "(best p99 2 ms, best throughput 300 MB/s); allow a longer p99 or a lower throughput, or run a longer study"
    )


def test_an_error_says_that_no_config_keeps_the_studys_constraints() -> None:
    constraints = (Constraint("mb_per_s", at_most=False, limit=1_000),)
    trials = [baseline(0, constraints=constraints), trial(1, constraints=constraints)]
    assert no_config(trials=trials) == (
        "a config of overnight for 1000 B must meet mb_per_s >= 1000, but none does; "
        "relax the constraints, or run a longer study"
    )


def test_an_error_about_a_missed_fixed_rate_blames_no_constraint_of_the_user() -> None:
    late = {"held_rate_ratio": 0.5}
    assert no_config(trials=[baseline(0, metrics=late), trial(1, metrics=late)]) == (
        "a config of overnight for 1000 B must meet held_rate_ratio >= 0.95, but none does; "
        "use a quieter host or cluster, or a lower fixed rate (workload.paced.rate_ratio)"
    )


def test_a_goal_whose_metric_was_not_measured_is_refused() -> None:
    only = (Objective("mb_per_s"),)
    trials = [baseline(0, 100, None, objectives=only), trial(1, 120, None, objectives=only)]
    sizes = (results(trials, only),)
    told = no_config(goal=Goal.LATENCY, sizes=sizes, objectives=only)
    assert "latency_p99_ms, which overnight did not measure" in told
    found: Recommendation = recommend(study(sizes=sizes, objectives=only), "1000", Goal.BALANCED)
    assert found.trial.number == 1


BY_P95 = (Objective("mb_per_s"), Objective("latency_p95_ms"))


def with_p95(p95_ms: float, *numbers: Any, **changes: Any) -> Trial:
    return trial(*numbers, objectives=BY_P95, metrics={"latency_p95_ms": p95_ms}, **changes)


def p95_rounds(*numbers: tuple[float, float, float, dict[str, str]]) -> list[Trial]:
    """Return three rounds in which each config has the same p95, throughput and p99, given in this order."""
    return [
        with_p95(
            p95_ms, 10 + place, mb_per_s, p99_ms, kind=TrialKind.CONFIRM, config=config, round=place // len(numbers)
        )
        for place, (p95_ms, mb_per_s, p99_ms, config) in enumerate(numbers * 3)
    ]


STALLED = [
    with_p95(8, 0, 100, 10, kind=TrialKind.BASELINE),
    with_p95(4, 1, 90, 30, config=QUICKEST),
    with_p95(9, 2, 150, 5, config=BOTH),
]


def test_the_goal_latency_means_the_latency_that_the_study_optimises() -> None:
    """A stall in a few windows decides their p99 whatever the config is. So a study may optimise its p95."""
    asked = study(sizes=(results(STALLED, BY_P95),), objectives=BY_P95)
    assert recommend(asked, "1000", Goal.LATENCY).config.values == QUICKEST, "by the p99 it would be the other config"
    trials = [*STALLED, *p95_rounds((8, 100, 10, {}), (4, 100, 60, QUICKEST))]
    sizes = (results(trials, BY_P95, plan=plan_of(trials, {Goal.LATENCY: QUICKEST})),)
    found = recommend(study(sizes=sizes, objectives=BY_P95), "1000", Goal.LATENCY)
    assert (found.config.values, found.confirmed) == (QUICKEST, True)
    assert found.gains["latency_p95_ms"].value == pytest.approx(2)
    assert found.gains["latency_p99_ms"].value == pytest.approx(1 / 6), "reported, although it is not optimised"


@pytest.mark.parametrize(
    ("optimised", "asked"),
    [
        (("mb_per_s",), "latency_p99_ms"),
        (("mb_per_s", "latency_p50_ms"), "latency_p50_ms"),
        (("latency_p50_ms", "latency_p99_ms"), "latency_p99_ms"),
        (("latency_mean_ms", "latency_p90_ms"), "latency_mean_ms"),
        (("mb_per_s", "end_to_end_p99_ms"), "end_to_end_p99_ms"),
    ],
)
def test_the_goal_latency_is_about_an_optimised_latency(optimised: tuple[str, ...], asked: str) -> None:
    assert single_metric(Goal.LATENCY, [Objective(name) for name in optimised]) == asked


def test_a_p99_that_is_not_optimised_rejects_no_config() -> None:
    trials = [*STALLED, *p95_rounds((8, 100, 10, {}), (6, 130, 60, BOTH))]
    sizes = (results(trials, BY_P95, plan=plan_of(trials, {Goal.BALANCED: BOTH})),)
    assert recommend(study(sizes=sizes, objectives=BY_P95), "1000", Goal.BALANCED).proven
    by_p99 = claiming(trials, {Goal.BALANCED: BOTH})
    assert not recommend(by_p99, "1000", Goal.BALANCED).proven, "an optimised p99 does"


def by_constraint(limit: str, limit_ms: float, p99_ms: Sequence[float]) -> Recommendation:
    """Return the recommendation if a constraint limits the p99, for rounds with these p99 values."""
    constraints = (Constraint("latency_p99_ms", at_most=True, limit=limit_ms, of_baseline=limit == "relative"),)
    rounds = [(100, 10), (150, 0)] * len(p99_ms)
    trials = [
        baseline(0, 100, 10, constraints=constraints),
        trial(3, 150, 4.6, config=BOTH, constraints=constraints),
        *(
            trial(
                10 + place, mb_per_s, p99 or p99_ms[place // 2], kind=TrialKind.CONFIRM, config=config, round=place // 2
            )
            for place, ((mb_per_s, p99), config) in enumerate(zip(rounds, ({}, BOTH) * len(p99_ms), strict=True))
        ),
    ]
    return recommend(claiming(trials, {Goal.THROUGHPUT: BOTH}, constraints=constraints), "1000", Goal.THROUGHPUT)


@pytest.mark.parametrize(("limit", "limit_ms"), [("absolute", 10.0), ("relative", 1.0)])
def test_a_winner_keeps_the_constraints_in_the_mean_of_its_rounds(limit: str, limit_ms: float) -> None:
    kept = by_constraint(limit, limit_ms, (9.0, 10.5, 9.5))
    assert kept.proven, "one round above the limit is noise"
    broken = by_constraint(limit, limit_ms, (9.9, 10.5, 10.3))
    assert broken.is_baseline
    sentence = f"latency_p99_ms <= {limit_ms:g}{' x baseline' if limit == 'relative' else ''}"
    assert (
        broken.how
        == f"the best config for this goal was measured again, alternating with the baseline, and broke {sentence}"
    )


def test_a_round_below_the_fixed_rate_costs_the_gain_in_latency_only() -> None:
    def found(held: Sequence[float], goal: Goal) -> Recommendation:
        rounds = [
            trial(10 + 2 * turn + place, *numbers, kind=TrialKind.CONFIRM, round=turn, config=config, metrics=metrics)
            for turn, ratio in enumerate(held)
            for place, (numbers, config, metrics) in enumerate(
                [((100, 10), {}, {}), ((150, 5 if ratio > 0.95 else 900), BOTH, {"held_rate_ratio": ratio})]
            )
        ]
        return recommend(study([*SEARCH, *rounds]), "1000", goal)

    assert found([1.0] * 10, Goal.LATENCY).proven
    assert found([1.0] * 9 + [0.9], Goal.LATENCY).is_baseline, "at 900 ms in one round, the gain is not certain"
    once = found([1.0] * 9 + [0.9], Goal.THROUGHPUT)
    assert once.proven
    assert {each.rounds for each in once.gains.values()} == {10}
    assert any(each.startswith("in round 10, the config fell behind the fixed rate") for each in once.warnings)
    assert found([1.0] * 5 + [0.9] * 5, Goal.THROUGHPUT).is_baseline, "half of the rounds are too many"


def test_a_round_without_a_value_is_left_out_and_the_others_count() -> None:
    rounds = confirmed(BOTH, (150, 4), (150, 4), (150, 4))
    rounds[2] = trial(rounds[2].number, 100, None, kind=TrialKind.CONFIRM, config={}, round=1)
    found = recommend(study([*SEARCH, *rounds]), "1000", Goal.LATENCY)
    assert found.proven
    assert found.gains["latency_p99_ms"].rounds == 2


def test_a_proven_gain_comes_before_one_that_is_not_proven() -> None:
    """Balanced is tried first if no goal is given, but its config has only one trial, and no proven gain."""
    trials = [*SEARCH, *confirmed(FASTEST, (280, 38), (290, 39), (285, 38))]
    asked, conditions = claiming(trials, {Goal.THROUGHPUT: FASTEST}), Conditions(min_mb_per_s=120)
    assert not recommend(asked, "1000", Goal.BALANCED, conditions).proven
    found = recommend(asked, "1000", None, conditions)
    assert (found.goal, found.proven, found.config.values) == (Goal.THROUGHPUT, True, FASTEST)


def test_without_confirmation_a_config_that_is_no_better_is_not_taken() -> None:
    """One stall raises the baseline's mean. Compared with the baseline's median, the config is no better."""
    trials = [baseline(0, 100, 10), baseline(1, 100, 10.2), baseline(2, 100, 55), trial(3, 99, 12, config=BOTH)]
    found = recommend(study(trials), "1000", Goal.LATENCY)
    assert found.is_baseline
    assert found.how == "nothing measured was better than the baseline"


def test_the_best_values_in_an_error_are_those_that_conditions_judge() -> None:
    trials = [*SEARCH, *confirmed(FASTEST, (250, 45), (250, 45), (250, 45))]
    with pytest.raises(NoFeasibleConfig, match=r"best throughput 250 MB/s\)"):
        recommend(study(trials), "1000", Goal.THROUGHPUT, Conditions(min_mb_per_s=280))


@pytest.mark.parametrize(
    ("metric", "goal"),
    [
        ("mb_per_s", Goal.THROUGHPUT),
        ("records_per_s", Goal.THROUGHPUT),
        ("latency_p95_ms", Goal.LATENCY),
        ("wire_bytes_per_value_byte", Goal.BALANCED),
        ("saturated_latency_p99_ms", Goal.BALANCED),
    ],
)
def test_a_study_with_one_objective_has_one_goal(metric: str, goal: Goal) -> None:
    objectives = (Objective(metric),)
    assert goals_of(objectives) == (goal,)
    if metric != "records_per_s":
        assert goal_metrics(goal, objectives) == (metric,)


@pytest.mark.parametrize(
    ("cold", "repeats", "searched", "keeps"),
    [
        ([(180.0, 10.0)] * 2, (200.0, 200.0), 200.0, True),
        ([(110.0, 10.0)] * 2, (178.0, 172.0), 166.0, True),
        ([(110.0, 10.0)] * 2, (165.0, 165.0), 175.0, True),
        ([(110.0, 10.0)] * 2, (153.0, 160.0), 153.0, False),
    ],
    ids=["the rounds keep it", "the repeats keep it", "the search keeps it", "nothing keeps it"],
)
def test_a_baseline_that_keeps_a_limit_on_warm_brokers_is_not_refused_because_of_cold_rounds(
    cold: list[tuple[float, float]], repeats: tuple[float, float], searched: float, keeps: bool
) -> None:
    """The least throughput is 170 MB/s, and the rounds were on newly started brokers."""
    trials = [baseline(0, searched, 10), trial(1, 150, 10, config=BOTH)]
    trials += [
        trial(2 + 2 * look + place, speed if not place else 150, 10, kind=TrialKind.REPEAT, config=config, round=look)
        for look, speed in enumerate(repeats)
        for place, config in enumerate(({}, BOTH))
    ]
    rounds = [replace(each, round=2 + (each.round or 0)) for each in confirming(6, cold, cold, BOTH)]
    plan = replace(plan_of(rounds, rounds=2, max_rounds=2, nominee_repeats=2), new_broker=True)
    size = size_results("1000", OBJECTIVES, [*trials, *rounds], None, [plan])
    assert size.remeasured_baseline is not None
    assert size.remeasured_baseline.colder
    told, limit = study(sizes=(size,)), Conditions(min_mb_per_s=170.0)
    if keeps:
        assert recommend(told, "1000", Goal.THROUGHPUT, limit).is_baseline
    else:
        with pytest.raises(NoFeasibleConfig):
            recommend(told, "1000", Goal.THROUGHPUT, limit)
