"""What the rounds of baseline and winners in turn say: ratios, and whether a winner is really better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from objectives.ratios import Ratio, claim_level, ratio_of
from objectives.scoring import Objective
from tuner.study.confirm_plan import Choice, Rounds, rounds_of, winners_of
from tuner.study.goals import goal_metrics
from tuner.study.spec import Goal
from tuner.study.trial import Kind, Trial

SHOWN: Final = ("mb_per_s", "latency_p99_ms")


@dataclass(frozen=True, slots=True)
class Confirmation:
    """One config against the baseline, measured in the same rounds.

    Attributes:
        fingerprint: Of the config.
        goals: For which it was claimed to be better; its other gains are told, but were not what was tested.
        gains: By metric, how many times better than the baseline: above 1 is better, whatever the direction.
        values: By metric, the mean over rounds.
        baseline: By metric, the baseline's mean over the same rounds.
        balance: Geometric mean of the gains of the study's objectives.
        claims: How many claims share one error rate; the level of the intervals follows from it.
    """

    fingerprint: str
    goals: frozenset[Goal]
    gains: Mapping[str, Ratio]
    values: Mapping[str, float]
    baseline: Mapping[str, float]
    balance: Ratio
    claims: int = 1

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
    choice: Choice | None,
    baseline_metrics: Mapping[str, float],
    objectives: Sequence[Objective],
) -> tuple[Confirmation, ...]:
    """What the confirming trials among `trials` say; a config needs two rounds to have an interval.

    Only rounds in which both the config and the baseline were measured count.

    Args:
        trials: Of the record size.
        choice: What is confirmed; None before there is anything.
        baseline_metrics: The baseline's numbers from the search.
        objectives: Of the study.
    """
    if choice is None:
        return ()
    winners = winners_of(choice, trials, baseline_metrics, objectives)
    measured = dict.fromkeys(trial.fingerprint for trial in trials if trial.kind is Kind.CONFIRM)
    found = []
    for fingerprint in measured:
        rounds = rounds_of(choice, trials, fingerprint)
        if fingerprint != choice.baseline and len(rounds.ours) >= 2:
            goals = frozenset(goal for goal, winner in winners.items() if winner == fingerprint)
            found.append(_confirmation(fingerprint, goals, rounds, len(winners), objectives))
    return tuple(found)


def _confirmation(
    fingerprint: str, goals: frozenset[Goal], rounds: Rounds, claims: int, objectives: Sequence[Objective]
) -> Confirmation:
    level = claim_level(claims)
    # One round alone has no scatter: then all there are decide.
    first = rounds.first if rounds.first >= 2 else None
    gains = {}
    for metric in dict.fromkeys((*SHOWN, *goal_metrics(Goal.BALANCED, objectives))):
        if values := rounds.values([metric]):
            gains[metric] = ratio_of(*values, level=level, first_rounds=first)
    together = rounds.values(goal_metrics(Goal.BALANCED, objectives))
    ones = [1.0] * len(rounds.ours)
    balance = ratio_of(*(together or (ones, ones)), level=level, first_rounds=first)
    return Confirmation(fingerprint, goals, gains, _means(rounds.ours), _means(rounds.theirs), balance, claims)


def _means(trials: Sequence[Trial]) -> dict[str, float]:
    """The mean of every number that all trials have."""
    shared = set.intersection(*(set(trial.metrics) for trial in trials))
    return {name: fmean(trial.metrics[name] for trial in trials) for name in sorted(shared)}
