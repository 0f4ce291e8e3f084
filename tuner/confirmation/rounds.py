"""Compares a config with the baseline in the rounds of a confirmation that measured both."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from objectives.metrics import OUTCOME_METRICS
from objectives.ratios import SESSIONS_APART_SD, Ratio, p_value, ratio_of
from objectives.repeats import mean_of_repeats
from objectives.scoring import HELD_RATE, LEAST_HELD_RATIO, Constraint, Objective, score
from objectives.stalls import stall_allowance
from tuner.confirmation.plan import ConfirmationPlan
from tuner.model.trial import State, Trial, TrialKind

HELD_ROUNDS_RATIO: Final = 0.5
"""A config must hold the fixed rate in more than this share of its rounds to be recommended or compared by latency.

The latency of a round in which the config does not hold the rate still counts, because it shows the delay. The
throughput counts, too, unless there are many such rounds.
"""


@dataclass(frozen=True, slots=True)
class Rounds:
    """The trials of a config and of the baseline, from the rounds of a confirmation that measured both.

    Attributes:
        ours: The config's trials, one for each round.
        theirs: The baseline's trials, one for each round, in the same order.
        first: How many of these rounds are among the first rounds of the confirmation, whose number is fixed by its
            plan. How much a gain scatters is estimated from these rounds only.
        in_sessions: Whether each round is a session of its own; see `ConfirmationPlan.in_sessions`.
        broken_off: The config's trials of the confirmation that failed, or that were measured again after a broker or a
            worker was lost.
        first_round: The number of the confirmation's first round; see `ConfirmationPlan.first_round`.
    """

    ours: tuple[Trial, ...]
    theirs: tuple[Trial, ...]
    first: int
    in_sessions: bool = False
    broken_off: tuple[Trial, ...] = ()
    first_round: int = 0

    def comparable_by(self, metrics: Sequence[str]) -> "Rounds":
        """Return the rounds in which the config and the baseline can be compared by all of the given metrics.

        In such a round, both have a value of every metric. If one of the metrics is a latency, the baseline held the
        fixed rate. The config need not have held the rate: its latencies then show the loss, because a latency counts
        from the moment at which the record was meant to leave.
        """
        comparable = [
            all(ours.metrics.get(metric, 0.0) > 0 and is_comparable(theirs, metric) for metric in metrics)
            for ours, theirs in zip(self.ours, self.theirs, strict=True)
        ]
        return replace(
            self,
            ours=tuple(itertools.compress(self.ours, comparable)),
            theirs=tuple(itertools.compress(self.theirs, comparable)),
            first=sum(comparable[: self.first]),
        )

    def values(self, metrics: Sequence[str]) -> tuple[list[float], list[float]] | None:
        """Return the config's values and the baseline's values, one for each round, converted so that larger is better.

        The value of a round is the geometric mean of the given metrics. The result is None if there is no metric, if
        the config and the baseline can be compared in fewer than two rounds, or if a metric hides a loss; see
        `hides_loss`.
        """
        rounds = self.comparable_by(metrics)
        if not metrics or len(rounds.ours) < 2 or any(map(self.hides_loss, metrics)):
            return None
        return [_mean_value(trial, metrics) for trial in rounds.ours], [
            _mean_value(trial, metrics) for trial in rounds.theirs
        ]

    def hides_loss(self, metric: str) -> bool:
        """Return whether a latency looks good in a round that the config lost, so that it can't be compared.

        The config lost a round if it did not hold the fixed rate, but the baseline did. If the config's latency is at
        least as good as the baseline's in such a round, the latency does not show how large the loss is.
        """
        rounds = self.comparable_by([metric])
        return any(
            not is_comparable(ours, metric) and _mean_value(ours, [metric]) >= _mean_value(theirs, [metric])
            for ours, theirs in zip(rounds.ours, rounds.theirs, strict=True)
        )

    @property
    def held_ratio(self) -> float:
        """The share of the rounds in which the config held the fixed rate, from 0 to 1."""
        return fmean(map(holds_rate, self.ours))

    def named(self, trials: Sequence[Trial]) -> str:
        """Return the rounds of some trials in words, numbered from 1 in this confirmation: `rounds 3, 5 and 7`."""
        *others, last = [str(trial.round - self.first_round + 1) for trial in trials if trial.round is not None]
        return f"rounds {', '.join(others)} and {last}" if others else f"round {last}"

    def gain(self, metrics: Sequence[str], level: float) -> Ratio | None:
        """Return how many times better than the baseline the config is, or None if it can't be compared.

        Args:
            metrics: The metrics. For several metrics, the gain is the geometric mean of their gains.
            level: The level of the gain's confidence interval, such as 0.95.
        """
        values, first = self.values(metrics), self.comparable_by(metrics).first
        if values is None:
            return None
        # A single first round has no scatter. Then the scatter is estimated from all rounds.
        first_rounds = first if first >= 2 else None
        # If each round is a session of its own, the rounds' scatter already contains what differs between sessions.
        apart_sd = 0.0 if self.in_sessions else SESSIONS_APART_SD
        return ratio_of(*values, level=level, first_rounds=first_rounds, apart_sd=apart_sd)

    def p_value(self, metrics: Sequence[str]) -> float:
        """Return the p-value of the claim that the config is better than the baseline; 1 if it can't be compared.

        For several metrics, the claim is about the geometric mean of their gains. In tail latencies, the config must be
        better even if one more of its rounds had a stall (`objectives.stalls`).
        """
        values, first = self.values(metrics), self.comparable_by(metrics).first
        if values is None:
            return 1.0
        ours, theirs = values
        stall = math.exp(-stall_allowance(metrics, len(ours)))
        return p_value([stall * each for each in ours], theirs, first_rounds=first if first >= 2 else None)

    def broken(self, constraints: Sequence[Constraint], objectives: Sequence[Objective]) -> tuple[str, ...]:
        """Return the constraints that the config breaks, each as text such as `latency_p99_ms <= 5`.

        The config breaks a constraint if its mean over these rounds does. A limit relative to the baseline is compared
        with the baseline's mean over the same rounds. The constraint to hold the fixed rate is judged by the number of
        rounds instead: the config breaks it unless it held the rate in more than half of them.

        Args:
            constraints: The constraints of the study, in addition to those that every study has.
            objectives: The objectives of the study. An objective without a value counts as a broken constraint.
        """
        names = broken(means_of(self.ours), means_of(self.theirs), constraints, objectives)
        behind = () if self.held_ratio > HELD_ROUNDS_RATIO else (str(HELD_RATE),)
        return (*behind, *(name for name in names if name != str(HELD_RATE)))


def rounds_of(plan: ConfirmationPlan, trials: Sequence[Trial], fingerprint: str) -> Rounds:
    """Return the rounds of a confirmation in which both a config and the baseline have a measurement."""
    by_round: dict[str, dict[int, Trial]] = {plan.baseline: {}, fingerprint: {}}
    of_rounds = plan.trials_of(TrialKind.CONFIRM, trials)
    for trial in of_rounds:
        if trial.fingerprint in by_round and trial.state is State.COMPLETE and trial.round is not None:
            by_round[trial.fingerprint][trial.round] = trial
    ours, theirs = by_round[fingerprint], by_round[plan.baseline]
    shared = sorted(ours.keys() & theirs.keys())
    return Rounds(
        tuple(ours[number] for number in shared),
        tuple(theirs[number] for number in shared),
        sum(number < plan.first_round + plan.rounds for number in shared),
        plan.in_sessions(trials),
        tuple(
            trial
            for trial in of_rounds
            if trial.fingerprint == fingerprint and (trial.state is State.FAILED or trial.attempts > 1)
        ),
        plan.first_round,
    )


def means_of(trials: Sequence[Trial]) -> dict[str, float]:
    """Return the mean of each metric over the given trials, for the metrics that all of them have."""
    shared = set.intersection(*(set(trial.metrics) for trial in trials)) if trials else set()
    return {name: mean_of_repeats([trial.metrics[name] for trial in trials]) for name in sorted(shared)}


def broken(
    metrics: Mapping[str, float],
    baseline: Mapping[str, float],
    constraints: Sequence[Constraint],
    objectives: Sequence[Objective],
) -> tuple[str, ...]:
    """Return the constraints that the metrics of a config break, each as text such as `latency_p99_ms <= 5`.

    Args:
        metrics: The config's metrics.
        baseline: The baseline's metrics, for limits relative to the baseline.
        constraints: The constraints of the study, in addition to those that every study has.
        objectives: The objectives of the study. An objective without a value counts as a broken constraint.
    """
    return tuple(name for name, by in score(metrics, objectives, constraints, baseline).violations.items() if by > 0)


def holds_rate(trial: Trial) -> bool:
    """Return whether a trial held the fixed rate of its paced phase; true for a trial without this phase."""
    return trial.metrics.get("held_rate_ratio", 1.0) >= LEAST_HELD_RATIO


def is_comparable(trial: Trial, metric: str) -> bool:
    """Return whether a trial has a value of a metric that can be compared with other trials.

    A latency can be compared only if the trial held the fixed rate.
    """
    return (holds_rate(trial) or not OUTCOME_METRICS[metric].paced) and trial.metrics.get(metric, 0.0) > 0


def _mean_value(trial: Trial, metrics: Sequence[str]) -> float:
    """Return the geometric mean of a trial's metrics, each converted so that larger is better."""
    product = math.prod(Objective(metric).gain(trial.metrics[metric], 1.0) for metric in metrics)
    return float(product ** (1 / len(metrics)))
