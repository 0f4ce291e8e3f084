"""The course of a confirmation: what is measured next follows from the record alone, so that it can be gone on with.

1. **Second looks**: of the search's best configs, the luckiest stands first. For each goal the best few are measured
   again, the baseline among them, and the best of them by these second looks alone is the goal's winner.
2. **Rounds**: baseline and winners in turn, in an order drawn anew for each round. Each goal makes one claim: that its
   winner is better than the baseline. A first number of rounds, fixed beforehand, shows how far they scatter, and that
   decides how many more a winner gets (`objectives.ratios`), up to a most.
3. **Ablation**: each winner that has proven better, with one knob at a time back at the baseline's value.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean, geometric_mean
from typing import Final, Self

from objectives.outcome import OUTCOME_METRICS
from objectives.ratios import Ratio, claim_level, ratio_of, rounds_needed
from objectives.scoring import HELD_RATE, HELD_RATE_RATIO, Constraint, Objective, score
from search_spaces.producer_config import ProducerConfig
from tuner.confirmation.ablation import MOST_VARIANTS, variants_of
from tuner.confirmation.plan import ConfirmationPlan
from tuner.model.goals import goal_metrics, goal_rank
from tuner.model.spec import ConfirmSpec, Goal
from tuner.model.trial import Kind, State, Trial

_HELD_SHARE: Final = 0.9
"""Of its rounds in which a config must hold the fixed rate: in the others its latency can't be compared."""


@dataclass(frozen=True, slots=True)
class Step:
    """One measurement of a confirmation."""

    kind: Kind
    round: int
    config: ProducerConfig


@dataclass(frozen=True, slots=True)
class Rounds:
    """Numbers of a winner and of the baseline, of the rounds in which both were measured.

    Attributes:
        ours: The winner's trials.
        theirs: The baseline's.
        first: How many of them belong to the rounds that were fixed beforehand.
    """

    ours: tuple[Trial, ...]
    theirs: tuple[Trial, ...]
    first: int

    def that_tell(self, metrics: Sequence[str]) -> Self:
        """Those in which both sides have all these numbers, and held the rate that a latency is about."""
        told = [
            all(tells(trial, metric) for trial in pair for metric in metrics)
            for pair in zip(self.ours, self.theirs, strict=True)
        ]
        return type(self)(
            tuple(itertools.compress(self.ours, told)),
            tuple(itertools.compress(self.theirs, told)),
            sum(told[: self.first]),
        )

    def values(self, metrics: Sequence[str]) -> tuple[list[float], list[float]] | None:
        """Both sides as numbers that are to be large, several metrics by their geometric mean.

        None with fewer than two rounds that tell of them.
        """
        told = self.that_tell(metrics)
        if not metrics or len(told.ours) < 2:
            return None
        return [_large(trial, metrics) for trial in told.ours], [_large(trial, metrics) for trial in told.theirs]

    def gain(self, metrics: Sequence[str], level: float) -> Ratio | None:
        """How many times better than the baseline, several metrics by their geometric mean; None if that is unknown."""
        values, first = self.values(metrics), self.that_tell(metrics).first
        # One round alone has no scatter: then all there are decide.
        return ratio_of(*values, level=level, first_rounds=first if first >= 2 else None) if values else None

    def broken(self, constraints: Sequence[Constraint], objectives: Sequence[Objective]) -> tuple[str, ...]:
        """Constraints that the means of these rounds break, by their texts; relative ones by the baseline's means."""
        held = [trial.metrics.get("held_rate_ratio", 1.0) >= HELD_RATE_RATIO for trial in self.ours]
        behind = () if sum(held) >= _HELD_SHARE * len(held) else (str(HELD_RATE),)
        return tuple(
            dict.fromkeys((*behind, *broken(means_of(self.ours), means_of(self.theirs), constraints, objectives)))
        )


def means_of(trials: Sequence[Trial]) -> dict[str, float]:
    """The mean of every number that all trials have; geometric, as gains are."""
    shared = set.intersection(*(set(trial.metrics) for trial in trials)) if trials else set()
    return {name: _mean([trial.metrics[name] for trial in trials]) for name in sorted(shared)}


def _mean(values: Sequence[float]) -> float:
    if min(values) == max(values):
        return values[0]  # exactly what was measured, not what logarithms make of it
    return geometric_mean(values) if min(values) > 0 else fmean(values)


def broken(
    metrics: Mapping[str, float],
    baseline: Mapping[str, float],
    constraints: Sequence[Constraint],
    objectives: Sequence[Objective],
) -> tuple[str, ...]:
    """Constraints that numbers break, by their texts."""
    return tuple(name for name, by in score(metrics, objectives, constraints, baseline).violations.items() if by > 0)


def winners_of(
    plan: ConfirmationPlan,
    trials: Sequence[Trial],
    baseline_metrics: Mapping[str, float],
    objectives: Sequence[Objective],
) -> dict[Goal, str]:
    """Each goal's winner by the second looks; empty while these are not all there, a goal left out that has none."""
    looks = _of_kind(trials, Kind.SECOND_LOOK, plan)
    if not looks_are_there(plan, trials):
        return {}
    # Of the same time as the looks: the target may have become slower since the search.
    yardstick = {**baseline_metrics, **means_of(_complete(looks, plan.baseline))}
    found = {}
    for goal, nominees in plan.nominees.items():
        ranks = {}
        for fingerprint in nominees:
            means = means_of(_complete(looks, fingerprint))
            if means and not broken(means, yardstick, plan.constraints, objectives):
                ranks[fingerprint] = goal_rank(goal, means, yardstick, objectives)
        if ranks and len(nominees) > 1 and plan.looks:
            found[goal] = max(ranks, key=lambda fingerprint: ranks[fingerprint])
        elif nominees and not (len(nominees) > 1 and plan.looks):
            found[goal] = nominees[0]
    return found


def looks_are_there(plan: ConfirmationPlan, trials: Sequence[Trial]) -> bool:
    """Whether every nominee has had its second looks."""
    asked = _looked_at(plan) - {plan.baseline}
    seen = {(trial.round, trial.fingerprint) for trial in _of_kind(trials, Kind.SECOND_LOOK, plan)}
    return seen >= {(plan.first_round + look, each) for look in range(plan.looks) for each in asked}


def rounds_of(plan: ConfirmationPlan, trials: Sequence[Trial], fingerprint: str) -> Rounds:
    """The rounds that a config and the baseline share."""
    by_round: dict[str, dict[int, Trial]] = {plan.baseline: {}, fingerprint: {}}
    for trial in _of_kind(trials, Kind.CONFIRM, plan):
        if trial.fingerprint in by_round and trial.state is State.COMPLETE and trial.round is not None:
            by_round[trial.fingerprint][trial.round] = trial
    ours, theirs = by_round[fingerprint], by_round[plan.baseline]
    shared = sorted(ours.keys() & theirs.keys())
    return Rounds(
        tuple(ours[number] for number in shared),
        tuple(theirs[number] for number in shared),
        sum(number < plan.first_round + plan.rounds for number in shared),
    )


def next_step(
    plan: ConfirmationPlan,
    configs: Mapping[str, ProducerConfig],
    trials: Sequence[Trial],
    baseline_metrics: Mapping[str, float],
    objectives: Sequence[Objective],
    seed: int,
) -> Step | None:
    """What to measure next; None when the confirmation is over. A step that failed is not tried again.

    Args:
        plan: What is confirmed.
        configs: Baseline and nominees by fingerprint.
        trials: Of the record size.
        baseline_metrics: The baseline's numbers from the search.
        objectives: Of the study.
        seed: Of the order within rounds.
    """
    there = {(trial.kind, trial.round, trial.fingerprint) for trial in trials if trial.round is not None}

    def missing(kind: Kind, round_number: int, fingerprints: Iterable[str]) -> Step | None:
        number = plan.first_round + round_number
        order = sorted(set(fingerprints))
        Random(f"{seed} {kind} {number}").shuffle(order)
        return next((Step(kind, number, configs[each]) for each in order if (kind, number, each) not in there), None)

    for look in range(plan.looks):
        if step := missing(Kind.SECOND_LOOK, look, _looked_at(plan)):
            return step
    winners = winners_of(plan, trials, baseline_metrics, objectives)
    if not winners:
        return None
    for number in range(plan.rounds):
        if step := missing(Kind.CONFIRM, number, [plan.baseline, *winners.values()]):
            return step
    needed = _rounds_needed(plan, winners, trials, objectives)
    for number in range(plan.rounds, max(needed.values())):
        going_on = [fingerprint for fingerprint, rounds in needed.items() if rounds > number]
        if step := missing(Kind.CONFIRM, number, [plan.baseline, *going_on]):
            return step
    proven = _proven(plan, winners, trials, objectives)
    configs = dict(configs)
    asked = []
    for winner in proven:
        variants = variants_of(configs[winner], configs[plan.baseline]).values()
        configs |= {variant.fingerprint: variant for variant in variants}
        # A single change undone is the baseline, which the rounds have measured.
        asked += [winner, *(variant.fingerprint for variant in variants)] if variants else []
    for number in range(plan.ablation_rounds):
        if step := missing(Kind.ABLATION, number, asked):
            return step
    return None


def most_steps(spec: ConfirmSpec) -> int:
    """Measurements of one record size's confirmation, at most."""
    further = max(0, spec.max_rounds - spec.rounds) * (1 + len(spec.goals))
    apart = spec.ablation_rounds * len(spec.goals) * (1 + MOST_VARIANTS)
    return least_steps(spec) + further + apart if spec.rounds else 0


def least_steps(spec: ConfirmSpec) -> int:
    """Measurements of one record size's confirmation that there are in any case, if every goal has a winner."""
    if not spec.rounds:
        return 0
    nominees = 1 + len(spec.goals) * spec.nominees if spec.nominees > 1 else 0
    return spec.looks * nominees + spec.rounds * (1 + len(spec.goals))


def _rounds_needed(
    plan: ConfirmationPlan, winners: Mapping[Goal, str], trials: Sequence[Trial], objectives: Sequence[Objective]
) -> dict[str, int]:
    """Rounds that each winner gets: as its first ones scatter; no more if these do not speak for it at all."""
    level = claim_level(len(winners))
    needed = dict.fromkeys(winners.values(), plan.rounds)
    for goal, fingerprint in winners.items():
        rounds = rounds_of(plan, trials, fingerprint)
        first = Rounds(rounds.ours[: rounds.first], rounds.theirs[: rounds.first], rounds.first)
        values = first.values(goal_metrics(goal, objectives))
        if values is None or (not plan.both_ways and ratio_of(*values, level=level).value <= 1.0):
            continue
        asked = rounds_needed(*values, level=level, width_ratio=plan.width_ratio)
        needed[fingerprint] = max(needed[fingerprint], min(asked, plan.max_rounds))
    return needed


def _proven(
    plan: ConfirmationPlan, winners: Mapping[Goal, str], trials: Sequence[Trial], objectives: Sequence[Objective]
) -> list[str]:
    """Winners whose claim holds."""
    found = []
    for goal, fingerprint in winners.items():
        rounds = rounds_of(plan, trials, fingerprint)
        gain = rounds.gain(goal_metrics(goal, objectives), claim_level(len(winners)))
        if gain and gain.low > 1.0 and not rounds.broken(plan.constraints, objectives):
            found.append(fingerprint)
    return list(dict.fromkeys(found))


def _looked_at(plan: ConfirmationPlan) -> set[str]:
    """Nominees among which a goal has to choose, and the baseline that they are to be compared with."""
    found = {fingerprint for each in plan.nominees.values() if len(each) > 1 for fingerprint in each}
    return found | {plan.baseline} if found else found


def _of_kind(trials: Iterable[Trial], kind: Kind, plan: ConfirmationPlan) -> list[Trial]:
    return [
        trial
        for trial in trials
        if trial.kind is kind
        and trial.round is not None
        and trial.round >= plan.first_round
        and (plan.end_round is None or trial.round < plan.end_round)
    ]


def _complete(trials: Sequence[Trial], fingerprint: str) -> list[Trial]:
    return [trial for trial in trials if trial.fingerprint == fingerprint and trial.state is State.COMPLETE]


def tells(trial: Trial, metric: str) -> bool:
    """Whether a trial has that number, and can be compared by it: latency says nothing of what can't hold the rate."""
    held = trial.metrics.get("held_rate_ratio", 1.0) >= HELD_RATE_RATIO or not OUTCOME_METRICS[metric].paced
    return held and trial.metrics.get(metric, 0.0) > 0


def _large(trial: Trial, metrics: Sequence[str]) -> float:
    """Numbers of a trial as one that is to be large: their geometric mean, each as good as it is high."""
    product = math.prod(Objective(metric).gain(trial.metrics[metric], 1.0) for metric in metrics)
    return float(product ** (1 / len(metrics)))
