"""The results of a confirmation: the gain of each config over the baseline, and for which goals it is proven better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from objectives.claims import Decision
from objectives.metrics import COMPARED_WITH_BASELINE, OUTCOME_METRICS, SIDE_EFFECTS_ON_CONSUMERS
from objectives.ratios import Ratio, claim_level, ratio_of
from objectives.scoring import HELD_RATE, Constraint, Objective
from objectives.stalls import TAIL_LATENCIES, allowing_for_stall
from tuner.confirmation.caveats import caveats_of
from tuner.confirmation.plan import ConfirmationPlan
from tuner.confirmation.rounds import Rounds, broken, holds_rate, means_of
from tuner.confirmation.winners import MeasuredPlan, decisions
from tuner.model.goals import Goal, goal_metrics
from tuner.model.trial import State, Trial, TrialKind

SIDE_EFFECT_LEVEL: Final = 0.975
"""The level of the intervals of a gain and of one side effect: both hold together in at least 95 % of cases."""

_LATENCIES: Final = frozenset(name for name, each in OUTCOME_METRICS.items() if each.paced) - {HELD_RATE.metric}
"""The latencies of the paced phase, which can be compared only in rounds in which the baseline held the fixed rate."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The comparison of one config with the baseline by the rounds that measured both.

    Attributes:
        fingerprint: The config's fingerprint.
        goals: The goals for which the config was chosen as the winner before the rounds.
        gains: How many times better than the baseline the config is, by metric. Above 1 is better, also for metrics
            where low values are good. If a gain was tested, its interval has the level of the test, so that the whole
            interval of a proven gain is above 1. A gain in a tail latency is proven only if one more stall would not
            undo it (`objectives.stalls`). The interval of an unproven gain in a tail latency reaches down to where one
            more stall would put it. A gain that was not tested is reported, but never proven.
        values: The config's mean over the rounds, by metric; see `means_of`. If a metric can't be compared in some
            rounds, both its mean and its gain are from the other rounds. This holds for each latency, so that all of
            them are from the same rounds.
        baseline: The baseline's mean over the same rounds, by metric.
        mean_gain: Geometric mean of the gains in the study's objectives.
        claims: The number of goals for which a winner was chosen before the rounds. Their claims, that the winner is
            better, share one error rate.
        broken: The constraints that the config breaks in these rounds, each as text such as `latency_p99_ms <= 5`.
        proven_in_mean: The goals for which the gain is proven to be above 1. For the goal balanced, the gain is the
            mean of the objectives' gains, and a loss in one of the objectives does not count.
        gains_with_side_effects: The gains as in `gains`, and what the config does to its consumers, all with intervals
            of `SIDE_EFFECT_LEVEL`.
        gains_without_stall: The unproven gains in tail latencies, before `gains` allows for one more stall.
        ranks: By goal, a sort key that puts the best config last. It is from the repeats or, without repeats, from the
            search. Proven configs are compared by this key, because their rounds would choose the luckiest.
        in_sessions: Whether each round was a session of its own; see `ConfirmationPlan.in_sessions`.
        held_ratio: The share of the rounds in which the config held the fixed rate.
        caveats: What limits these results, as sentences; see `tuner.confirmation.caveats`.
        proven: The goals for which the config is proven better than the baseline, whether it was their winner or not.
            For the goal balanced, also no objective's gain has an interval that reaches below 1 - `allow_loss`.
    """

    fingerprint: str
    goals: frozenset[Goal]
    gains: Mapping[str, Ratio]
    values: Mapping[str, float]
    baseline: Mapping[str, float]
    mean_gain: Ratio
    claims: int
    broken: tuple[str, ...]
    proven_in_mean: frozenset[Goal]
    gains_with_side_effects: Mapping[str, Ratio]
    gains_without_stall: Mapping[str, Ratio]
    ranks: Mapping[Goal, tuple[bool, float]]
    in_sessions: bool
    held_ratio: float
    caveats: tuple[str, ...]
    proven: frozenset[Goal] = frozenset()

    def proves(self, goal: Goal, objectives: Sequence[Objective], allow_loss: float) -> bool:
        """Return whether the config is proven better than the baseline for a goal.

        Args:
            goal: The goal.
            objectives: The objectives of the study.
            allow_loss: How much a balanced config may lose in an objective, as a share from 0 to 1.
        """
        gains = [self.gain_without_stall(metric) for metric in goal_metrics(goal, objectives)]
        return goal in self.proven_in_mean and (
            goal is not Goal.BALANCED or all(gain is not None and gain.low >= 1 - allow_loss for gain in gains)
        )

    def gain_without_stall(self, metric: str) -> Ratio | None:
        """Return the gain in a metric, without an allowance for one more stall; None if it could not be compared."""
        return self.gains_without_stall.get(metric, self.gains.get(metric))

    def better(self, metric: str) -> bool:
        """Return whether the config is proven better in a metric: the whole interval of its gain is above 1."""
        gain = self.gains.get(metric)
        return gain is not None and gain.low > 1.0


def confirmations_of(
    confirmed: Sequence[MeasuredPlan], constraints: Sequence[Constraint] | None = None
) -> tuple[Confirmation, ...]:
    """Compare each config that was confirmed with the baseline.

    A config needs two rounds to have an interval. Only rounds in which both the config and the baseline were measured
    count. For each goal, the newest confirmation that was for the goal and has completed its first rounds decides. An
    earlier confirmation stands until then.

    Args:
        confirmed: The record size's confirmations, the oldest first.
        constraints: The study's present constraints; None if those of each confirmation's plan hold.

    Returns:
        The comparisons, the newest first. A config that was confirmed several times may appear several times, each time
        with the goals of that confirmation.
    """
    confirmations: list[Confirmation] = []
    decided: set[Goal] = set()
    # Configs and goals for which a later confirmation has decided already. The later decision holds.
    decided_claims: set[tuple[str, Goal]] = set()
    for measured, tested in reversed(list(zip(confirmed, _tested(confirmed), strict=True))):
        decided |= measured.without_winner
        decided_claims |= {(fingerprint, goal) for fingerprint in measured.refused for goal in Goal}
        newly_decided: set[Goal] = set()
        for fingerprint in tested.rounds:
            own = tested.decisions_of(fingerprint).items()
            goals = frozenset(goal for goal, winner in measured.winners.items() if winner == fingerprint)
            proven_in_mean = frozenset(
                goal for goal, each in own if each.proven and (fingerprint, goal) not in decided_claims
            )
            decided_claims |= {(fingerprint, goal) for goal in goals}
            goals -= decided
            if goals or proven_in_mean or all(each.fingerprint != fingerprint for each in confirmations):
                limits = measured.plan.constraints if constraints is None else constraints
                confirmations.append(_confirmation(fingerprint, goals, proven_in_mean, tested, measured, limits))
                decided_claims |= {(fingerprint, goal) for goal in confirmations[-1].proven}
                newly_decided |= goals
        decided |= newly_decided
    return tuple(confirmations)


@dataclass(frozen=True, slots=True)
class _Tested:
    """The configs that one confirmation has compared with the baseline in enough rounds, and what that proves."""

    rounds: Mapping[str, Rounds]
    decisions: Mapping[tuple[str, Goal], Decision]

    def decisions_of(self, fingerprint: str) -> dict[Goal, Decision]:
        """Return the decision for each goal for which a config was tested."""
        return {goal: each for (config, goal), each in self.decisions.items() if config == fingerprint}


def _tested(confirmed: Sequence[MeasuredPlan]) -> list[_Tested]:
    """Return what each confirmation has tested, in their order."""
    tested: list[_Tested] = []
    proven_claims: set[tuple[str, Goal]] = set()
    for measured in confirmed:
        plan = measured.plan
        enough = 2 if measured is confirmed[0] else max(2, plan.rounds)
        configs = dict.fromkeys(trial.fingerprint for trial in measured.trials if trial.kind is TrialKind.CONFIRM)
        all_rounds = {each: measured.rounds_of(each) for each in configs if each != plan.baseline}
        rounds = {each: rounds for each, rounds in all_rounds.items() if len(rounds.ours) >= enough}
        decided = decisions(measured, rounds, proven_claims)
        proven_claims |= {claim for claim, decision in decided.items() if decision.proven}
        tested.append(_Tested(rounds, decided))
    return tested


@dataclass(frozen=True, slots=True)
class RemeasuredBaseline:
    """The baseline's measurements in the newest confirmation.

    Attributes:
        metrics: The baseline's means over the rounds of the confirmation, or over its repeats before there are rounds.
        broken: The constraints that these means break, each as text such as `latency_p99_ms <= 5`.
        colder: Whether the means may be from colder brokers than in the search; see `ConfirmationPlan.may_be_colder`.
        warm: If `colder`, the baseline's repeats before these rounds, on the warm brokers of the search; None if there
            are none.
    """

    metrics: Mapping[str, float]
    broken: tuple[str, ...]
    colder: bool
    warm: "RemeasuredBaseline | None"


def remeasured_baseline(
    trials: Sequence[Trial],
    plans: Sequence[ConfirmationPlan],
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint] | None,
) -> RemeasuredBaseline | None:
    """Return the baseline's measurements in the newest confirmation that has measured it; None if none has.

    These measurements decide whether the baseline meets a constraint. The first measurement of the study does not
    decide this, because the cluster may still have been cold.

    Args:
        trials: The trials of the record size.
        plans: The plans of the record size's confirmations, the oldest first.
        objectives: The objectives of the study.
        constraints: The study's present constraints; None if those of each confirmation's plan hold.
    """
    for plan in reversed(plans):
        by_kind: dict[TrialKind, RemeasuredBaseline] = {}
        for kind in (TrialKind.REPEAT, TrialKind.CONFIRM):
            again = [each for each in plan.trials_of(kind, trials) if each.fingerprint == plan.baseline]
            if again := [each for each in again if each.state is State.COMPLETE]:
                means = means_of(again)
                missed = broken(means, means, plan.constraints if constraints is None else constraints, objectives)
                colder = plan.may_be_colder(again[0])
                by_kind[kind] = RemeasuredBaseline(
                    means, missed, colder, by_kind.get(TrialKind.REPEAT) if colder else None
                )
        if by_kind:
            return by_kind.get(TrialKind.CONFIRM, by_kind.get(TrialKind.REPEAT))
    return None


def goals_without_winner(confirmed: Sequence[MeasuredPlan]) -> frozenset[Goal]:
    """Return the goals that have no winner, because each of their nominees broke a constraint in its repeats.

    The nominees of a goal are the configs that the search found best for the goal. For each goal, the newest
    confirmation whose repeats are complete decides.
    """
    refused: set[Goal] = set()
    decided: set[Goal] = set()
    for each in reversed(confirmed):
        refused |= each.without_winner - decided
        decided |= each.without_winner | each.winners.keys()
    return frozenset(refused)


def _confirmation(
    fingerprint: str,
    goals: frozenset[Goal],
    proven_in_mean: frozenset[Goal],
    tested: _Tested,
    measured: MeasuredPlan,
    constraints: Sequence[Constraint],
) -> Confirmation:
    plan, objectives, rounds = measured.plan, measured.objectives, tested.rounds[fingerprint]
    untested_level, own = claim_level(len(measured.winners), plan.error_rate), tested.decisions_of(fingerprint)
    together = goal_metrics(Goal.BALANCED, objectives)
    levels = {goal_metrics(goal, objectives): each.level or untested_level for goal, each in own.items()}
    metrics = dict.fromkeys((*COMPARED_WITH_BASELINE, *together))
    gains = {metric: rounds.gain([metric], levels.get((metric,), untested_level)) for metric in metrics}
    proven = {goal_metrics(goal, objectives) for goal, each in own.items() if each.proven}
    gains_without_stall = {
        name: gain for name, gain in gains.items() if gain and name in TAIL_LATENCIES and (name,) not in proven
    }
    gains_with_side_effects = {
        metric: rounds.gain([metric], SIDE_EFFECT_LEVEL)
        for metric in dict.fromkeys((*metrics, *SIDE_EFFECTS_ON_CONSUMERS))
    }
    balance_level = levels.get(together, untested_level)
    ones = [1.0] * len(rounds.ours)
    values, baseline = _means_in(rounds, [metric for metric, gain in gains.items() if gain is not None])
    confirmation = Confirmation(
        fingerprint=fingerprint,
        goals=goals,
        gains={
            metric: allowing_for_stall(gain, metric) if metric in gains_without_stall else gain
            for metric, gain in gains.items()
            if gain is not None
        },
        values=values,
        baseline=baseline,
        mean_gain=rounds.gain(together, balance_level) or ratio_of(ones, ones, level=balance_level),
        claims=len(measured.winners),
        broken=rounds.broken(constraints, objectives),
        in_sessions=rounds.in_sessions,
        held_ratio=rounds.held_ratio,
        caveats=caveats_of(rounds, gains, constraints),
        proven_in_mean=proven_in_mean,
        gains_with_side_effects={metric: gain for metric, gain in gains_with_side_effects.items() if gain is not None},
        gains_without_stall=gains_without_stall,
        ranks=measured.ranks_of(fingerprint),
    )
    kept = (goal for goal in confirmation.proven_in_mean if confirmation.proves(goal, objectives, plan.allow_loss))
    return replace(confirmation, proven=frozenset(kept))


def _means_in(rounds: Rounds, compared: Sequence[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the means of a config and of the baseline in its rounds.

    The value of a metric that has a gain (`compared`) is its mean over the rounds of this gain. The gain of a latency
    leaves out the rounds in which the baseline missed the fixed rate. So the means of all other latencies leave out
    these rounds, too: otherwise, a mean p50 could be higher than the mean p95.
    """
    of_gain = {metric: rounds.comparable_by([metric]) for metric in compared}
    held = [pair for pair in zip(rounds.ours, rounds.theirs, strict=True) if holds_rate(pair[1])]

    def means(all_: Sequence[Trial], held: Sequence[Trial], of_gain: Mapping[str, Sequence[Trial]]) -> dict[str, float]:
        latencies = {name: value for name, value in means_of(held).items() if name in _LATENCIES}
        return {**means_of(all_), **latencies, **{name: means_of(each)[name] for name, each in of_gain.items()}}

    return (
        means(rounds.ours, [ours for ours, _ in held], {name: each.ours for name, each in of_gain.items()}),
        means(rounds.theirs, [theirs for _, theirs in held], {name: each.theirs for name, each in of_gain.items()}),
    )
