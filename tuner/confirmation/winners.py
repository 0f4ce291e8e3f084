"""The winner of each goal, and which configs the rounds prove better than the baseline."""

from collections.abc import Collection, Mapping, Sequence

from objectives.claims import LARGEST_SHARE, Decision, claims_about_configs
from objectives.scoring import Objective
from tuner.confirmation.plan import ConfirmationPlan
from tuner.confirmation.rounds import Rounds, broken, means_of
from tuner.model.goals import goal_metrics, goal_rank
from tuner.model.spec import Goal
from tuner.model.trial import Kind, State, Trial


def winners_of(
    plan: ConfirmationPlan,
    trials: Sequence[Trial],
    baseline_metrics: Mapping[str, float],
    objectives: Sequence[Objective],
) -> dict[Goal, str]:
    """Return the fingerprint of each goal's winner.

    For each goal, the plan has nominees: the configs that the search found best for the goal. The nominees are measured
    again, and the winner is the nominee that is best in these repeats. A single nominee is the winner without repeats.

    Args:
        plan: The plan of the confirmation.
        trials: The trials of the record size.
        baseline_metrics: The baseline's metrics from the search, for metrics that its repeats do not have.
        objectives: The objectives of the study.

    Returns:
        The winners by goal. Empty until all repeats are measured. A goal has no winner if each of its nominees broke a
        constraint in its repeats.
    """
    if not has_all_repeats(plan, trials):
        return {}
    looks = plan.trials_of(Kind.SECOND_LOOK, trials)
    yardstick = _yardstick(plan, looks, baseline_metrics)
    refused = refused_in_repeats(plan, trials, baseline_metrics, objectives)
    found = {}
    for goal, nominees in plan.nominees.items():
        ranks = {}
        for fingerprint in nominees:
            means = means_of(_complete(looks, fingerprint))
            if means and fingerprint not in refused:
                ranks[fingerprint] = goal_rank(goal, means, yardstick, objectives, plan.allow_loss)
        if ranks and len(nominees) > 1 and plan.looks:
            found[goal] = max(ranks, key=lambda fingerprint: ranks[fingerprint])
        elif nominees and not (len(nominees) > 1 and plan.looks):
            found[goal] = nominees[0]
    return found


def refused_in_repeats(
    plan: ConfirmationPlan,
    trials: Sequence[Trial],
    baseline_metrics: Mapping[str, float],
    objectives: Sequence[Objective],
) -> frozenset[str]:
    """Return the fingerprints of the nominees whose means over their repeats break a constraint of the study.

    Args:
        plan: The plan of the confirmation.
        trials: The trials of the record size.
        baseline_metrics: The baseline's metrics from the search, for metrics that its repeats do not have.
        objectives: The objectives of the study.
    """
    looks = plan.trials_of(Kind.SECOND_LOOK, trials)
    yardstick = _yardstick(plan, looks, baseline_metrics)
    means = {nominee: means_of(_complete(looks, nominee)) for each in plan.nominees.values() for nominee in each}
    return frozenset(
        nominee for nominee, each in means.items() if each and broken(each, yardstick, plan.constraints, objectives)
    )


def _yardstick(
    plan: ConfirmationPlan, looks: Sequence[Trial], baseline_metrics: Mapping[str, float]
) -> dict[str, float]:
    """Return the baseline's metrics that the nominees are compared with.

    They are the means over the baseline's repeats, because the cluster may have slowed down since the search. Metrics
    that the repeats lack have the values of the search.
    """
    return {**baseline_metrics, **means_of(_complete(looks, plan.baseline))}


def has_all_repeats(plan: ConfirmationPlan, trials: Sequence[Trial]) -> bool:
    """Return whether each nominee that needs repeats was measured again as often as the plan says."""
    nominees = to_be_repeated(plan) - {plan.baseline}
    done = {(trial.round, trial.fingerprint) for trial in plan.trials_of(Kind.SECOND_LOOK, trials)}
    return done >= {(plan.first_round + look, nominee) for look in range(plan.looks) for nominee in nominees}


def to_be_repeated(plan: ConfirmationPlan) -> set[str]:
    """Return the fingerprints of the configs that are measured again to choose the winners.

    They are the nominees of all goals with more than one nominee, and the baseline. The result is empty if no goal has
    more than one nominee, because a single nominee is its goal's winner without repeats.
    """
    found = {fingerprint for each in plan.nominees.values() if len(each) > 1 for fingerprint in each}
    return found | {plan.baseline} if found else found


def decisions(
    plan: ConfirmationPlan,
    winners: Mapping[Goal, str],
    rounds: Mapping[str, Rounds],
    objectives: Sequence[Objective],
    known: Collection[tuple[str, Goal]] = (),
) -> dict[tuple[str, Goal], Decision]:
    """Decide for which goals the rounds prove each config better than the baseline.

    For the goal balanced, the geometric mean of the gains is tested. A loss in one of the objectives is not tested
    here; `Confirmation.proves` checks it.

    Args:
        plan: The plan of the confirmation.
        winners: The winner of each goal, by fingerprint.
        rounds: The rounds of each config, by fingerprint.
        objectives: The objectives of the study.
        known: The pairs of config and goal that an earlier confirmation has proven. They are tested again at 95 %,
            outside the accepted error probability of this confirmation: if such a claim is false, the error was counted
            when the claim was proven.

    Returns:
        The decision for each pair of config (by fingerprint) and goal that was tested, or that has a gain to report.
    """
    goals = {goal: goal_metrics(goal, objectives) for goal in Goal}
    # In a study with one objective, two goals may be about the same metric. Then they are one claim.
    nominated = {(fingerprint, goals[goal]) for goal, fingerprint in winners.items()}
    again = {(fingerprint, goals[goal]) for fingerprint, goal in known}
    p_values = {
        (fingerprint, metrics): each.p_value(metrics)
        for fingerprint, each in rounds.items()
        for metrics in dict.fromkeys(goals.values())
        if (fingerprint, metrics) in nominated or each.values(metrics) is not None
    }
    new = {claim: p for claim, p in p_values.items() if claim not in again}
    decided = claims_about_configs(new, nominated - again, plan.error_rate)
    decided |= {claim: Decision(p <= LARGEST_SHARE, LARGEST_SHARE) for claim, p in p_values.items() if claim in again}
    return {
        (fingerprint, goal): decided[fingerprint, metrics]
        for fingerprint in rounds
        for goal, metrics in goals.items()
        if (fingerprint, metrics) in decided
    }


def _complete(trials: Sequence[Trial], fingerprint: str) -> list[Trial]:
    """Return the trials of one config that have a measurement."""
    return [trial for trial in trials if trial.fingerprint == fingerprint and trial.state is State.COMPLETE]
