"""The results of a confirmation: whether a winner is really better.

The rounds measure the baseline and the winners in turn, and give ratios.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from objectives.outcome import COMPARED
from objectives.ratios import Ratio, claim_level, ratio_of
from objectives.scoring import Objective
from tuner.confirmation.plan import ConfirmationPlan
from tuner.confirmation.reservations import reservations_of
from tuner.confirmation.rounds import Rounds, has_all_repeats, means_of, rounds_of, winners_of
from tuner.model.goals import goal_metrics
from tuner.model.spec import Goal
from tuner.model.trial import Kind, Trial


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The comparison of one config with the baseline, measured in the same rounds.

    Attributes:
        fingerprint: The config's fingerprint.
        goals: The goals for which the config had to prove that it is better. Its other gains are reported, but they
            were not tested.
        gains: How many times better than the baseline the config is, by metric. Above 1 is better, also for metrics
            where low values are good.
        values: The config's mean over the rounds, by metric; see `means_of`.
        baseline: The baseline's mean over the same rounds, by metric.
        balance: Geometric mean of the gains in the study's objectives.
        claims: For how many goals a gain was tested in these rounds. All of these tests share one error rate, so that
            the confidence level of the intervals depends on their number (`objectives.ratios.claim_level`).
        broken: The constraints that the means of these rounds break, as text: `latency_p99_ms <= 5`.
        held_ratio: The share of the rounds in which the config held the fixed rate.
        reservations: What limits these results, as sentences; see `tuner.confirmation.reservations`.
    """

    fingerprint: str
    goals: frozenset[Goal]
    gains: Mapping[str, Ratio]
    values: Mapping[str, float]
    baseline: Mapping[str, float]
    balance: Ratio
    claims: int = 1
    broken: tuple[str, ...] = ()
    held_ratio: float = 1.0
    reservations: tuple[str, ...] = ()

    def better(self, metric: str) -> bool:
        """Return whether the config is proven better in a metric: the whole interval of its gain is above 1."""
        gain = self.gains.get(metric)
        return gain is not None and gain.low > 1.0

    def worse(self, metric: str) -> bool:
        """Return whether the config is proven worse in a metric, because the whole interval of its gain is below 1."""
        gain = self.gains.get(metric)
        return gain is not None and gain.high < 1.0


def confirmations_of(
    trials: Sequence[Trial],
    plans: Sequence[ConfirmationPlan],
    baseline_metrics: Mapping[str, float],
    objectives: Sequence[Objective],
) -> tuple[Confirmation, ...]:
    """Compare each config that was confirmed with the baseline.

    A config needs two rounds to have an interval. Only rounds in which both the config and the baseline were measured
    count. For each goal, the newest confirmation that has completed its fixed number of first rounds decides. A
    confirmation that was interrupted earlier, or that was for another goal, does not replace an earlier confirmation.

    Args:
        trials: The trials of the record size.
        plans: The plans of the record size's confirmations, the oldest first.
        baseline_metrics: The baseline's metrics from the search.
        objectives: The objectives of the study.

    Returns:
        The comparisons, the newest first. A config that was confirmed several times may appear several times, each time
        with the goals of that confirmation.
    """
    found: list[Confirmation] = []
    decided: set[Goal] = set()
    for plan in reversed(plans):
        winners = winners_of(plan, trials, baseline_metrics, objectives)
        oldest = plan is plans[0]
        decided |= _without_winner(plan, winners, trials)
        measured = dict.fromkeys(trial.fingerprint for trial in trials if trial.kind is Kind.CONFIRM)
        goals_here: set[Goal] = set()
        for fingerprint in measured:
            rounds = rounds_of(plan, trials, fingerprint)
            enough = 2 if oldest else max(2, plan.rounds)
            if fingerprint == plan.baseline or len(rounds.ours) < enough:
                continue
            goals = frozenset(goal for goal, winner in winners.items() if winner == fingerprint) - decided
            if goals or all(each.fingerprint != fingerprint for each in found):
                found.append(_confirmation(fingerprint, goals, rounds, len(winners), objectives, plan))
                goals_here |= goals
        decided |= goals_here
    return tuple(found)


def goals_without_winner(
    trials: Sequence[Trial],
    plans: Sequence[ConfirmationPlan],
    baseline_metrics: Mapping[str, float],
    objectives: Sequence[Objective],
) -> frozenset[Goal]:
    """Return the goals that have no winner, because all of their best configs broke a constraint of the study.

    The constraint was broken when these configs were measured again after the search. For each goal, the newest
    confirmation in which all of these repeats are complete decides.
    """
    refused: set[Goal] = set()
    decided: set[Goal] = set()
    for plan in reversed(plans):
        winners = winners_of(plan, trials, baseline_metrics, objectives)
        without = _without_winner(plan, winners, trials)
        refused |= without - decided
        decided |= without | winners.keys()
    return frozenset(refused)


def _without_winner(plan: ConfirmationPlan, winners: Mapping[Goal, str], trials: Sequence[Trial]) -> frozenset[Goal]:
    if not plan.looks or not has_all_repeats(plan, trials):
        return frozenset()
    return frozenset(goal for goal, nominees in plan.nominees.items() if nominees and goal not in winners)


def _confirmation(
    fingerprint: str,
    goals: frozenset[Goal],
    rounds: Rounds,
    claims: int,
    objectives: Sequence[Objective],
    plan: ConfirmationPlan,
) -> Confirmation:
    level, together = claim_level(claims), goal_metrics(Goal.BALANCED, objectives)
    gains = {metric: rounds.gain([metric], level) for metric in dict.fromkeys((*COMPARED, *together))}
    ones = [1.0] * len(rounds.ours)
    return Confirmation(
        fingerprint=fingerprint,
        goals=goals,
        gains={metric: gain for metric, gain in gains.items() if gain is not None},
        values=means_of(rounds.ours),
        baseline=means_of(rounds.theirs),
        balance=rounds.gain(together, level) or ratio_of(ones, ones, level=level),
        claims=claims,
        broken=rounds.broken(plan.constraints, objectives),
        held_ratio=rounds.held_ratio,
        reservations=reservations_of(rounds, gains, plan.constraints),
    )
