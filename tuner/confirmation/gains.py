"""What the rounds of baseline and winners in turn say: ratios, and whether a winner is really better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from objectives.outcome import COMPARED
from objectives.ratios import Ratio, claim_level, ratio_of
from objectives.scoring import Objective
from tuner.confirmation.plan import ConfirmationPlan
from tuner.confirmation.rounds import Rounds, looks_are_there, means_of, rounds_of, winners_of
from tuner.model.goals import goal_metrics
from tuner.model.spec import Goal
from tuner.model.trial import Kind, Trial


@dataclass(frozen=True, slots=True)
class Confirmation:
    """One config against the baseline, measured in the same rounds.

    Attributes:
        fingerprint: Of the config.
        goals: For which it was claimed to be better; its other gains are told, but were not what was tested.
        gains: By metric, how many times better than the baseline: above 1 is better, whatever the direction.
        values: By metric, the mean over rounds; see `means_of`.
        baseline: By metric, the baseline's mean over the same rounds.
        balance: Geometric mean of the gains of the study's objectives.
        claims: How many claims share one error rate; the level of the intervals follows from it.
        broken: Constraints that the means of these rounds break, by their texts.
    """

    fingerprint: str
    goals: frozenset[Goal]
    gains: Mapping[str, Ratio]
    values: Mapping[str, float]
    baseline: Mapping[str, float]
    balance: Ratio
    claims: int = 1
    broken: tuple[str, ...] = ()

    def better(self, metric: str) -> bool:
        """Whether the gain's whole interval lies above 1."""
        gain = self.gains.get(metric)
        return gain is not None and gain.low > 1.0

    def worse(self, metric: str) -> bool:
        """Whether the gain's whole interval lies below 1."""
        gain = self.gains.get(metric)
        return gain is not None and gain.high < 1.0


def confirmations_of(
    trials: Sequence[Trial],
    plans: Sequence[ConfirmationPlan],
    baseline_metrics: Mapping[str, float],
    objectives: Sequence[Objective],
) -> tuple[Confirmation, ...]:
    """What the confirming trials among `trials` say; a config needs two rounds to have an interval.

    Only rounds in which both the config and the baseline were measured count. For each goal it is the newest
    confirmation that speaks, once it has the rounds that it is to have in any case: one that was begun and interrupted
    takes nothing away from an earlier one, nor does one for another goal.

    Args:
        trials: Of the record size.
        plans: What was confirmed, the oldest first.
        baseline_metrics: The baseline's numbers from the search.
        objectives: Of the study.

    Returns:
        The newest first; a config that was confirmed several times may be there as often, with the goals of each time.
    """
    found: list[Confirmation] = []
    decided: set[Goal] = set()
    for plan in reversed(plans):
        winners = winners_of(plan, trials, baseline_metrics, objectives)
        oldest = plan is plans[0]
        decided |= _without_winner(plan, winners, trials)
        measured = dict.fromkeys(trial.fingerprint for trial in trials if trial.kind is Kind.CONFIRM)
        told: set[Goal] = set()
        for fingerprint in measured:
            rounds = rounds_of(plan, trials, fingerprint)
            enough = 2 if oldest else max(2, plan.rounds)
            if fingerprint == plan.baseline or len(rounds.ours) < enough:
                continue
            goals = frozenset(goal for goal, winner in winners.items() if winner == fingerprint) - decided
            if goals or all(each.fingerprint != fingerprint for each in found):
                found.append(_confirmation(fingerprint, goals, rounds, len(winners), objectives, plan))
                told |= goals
        decided |= told
    return tuple(found)


def goals_without_winner(
    trials: Sequence[Trial],
    plans: Sequence[ConfirmationPlan],
    baseline_metrics: Mapping[str, float],
    objectives: Sequence[Objective],
) -> frozenset[Goal]:
    """Goals whose nominees all broke what the study asks for when they were looked at again; the newest looks count."""
    refused: set[Goal] = set()
    decided: set[Goal] = set()
    for plan in reversed(plans):
        winners = winners_of(plan, trials, baseline_metrics, objectives)
        without = _without_winner(plan, winners, trials)
        refused |= without - decided
        decided |= without | winners.keys()
    return frozenset(refused)


def _without_winner(plan: ConfirmationPlan, winners: Mapping[Goal, str], trials: Sequence[Trial]) -> frozenset[Goal]:
    if not plan.looks or not looks_are_there(plan, trials):
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
    told = {metric: rounds.gain([metric], level) for metric in dict.fromkeys((*COMPARED, *together))}
    ones = [1.0] * len(rounds.ours)
    return Confirmation(
        fingerprint=fingerprint,
        goals=goals,
        gains={metric: gain for metric, gain in told.items() if gain is not None},
        values=means_of(rounds.ours),
        baseline=means_of(rounds.theirs),
        balance=rounds.gain(together, level) or ratio_of(ones, ones, level=level),
        claims=claims,
        broken=rounds.broken(plan.constraints, objectives),
    )
