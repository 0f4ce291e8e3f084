"""The order of a confirmation: which measurement comes next.

The next measurement depends only on what the results store holds, so that an interrupted confirmation can be continued.
There are three stages:

1. **Repeats.** The config with the best values in a search was partly lucky. So for each goal, the best few configs
   (the nominees) are measured again together with the baseline. The best nominee, by these repeats alone, is the goal's
   winner.
2. **Rounds.** The baseline and the winners are measured in turn. In each round, the order is chosen such that every
   config follows every config equally often (`tuner.confirmation.order`). For each goal, the rounds test one claim:
   that its winner is better than the baseline. A fixed number of first rounds shows how much the ratios scatter. That
   decides how many more rounds a winner gets (`objectives.ratios`), up to a maximum.
3. **Ablation.** Each winner that has proven better is measured with one knob at a time set back to the baseline's
   value.
"""

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean
from typing import Final, Self

from objectives.claims import LARGEST_SHARE, Decision, claims_about_configs
from objectives.outcome import COMPARED, OUTCOME_METRICS
from objectives.ratios import SESSIONS_APART_SD, Ratio, claim_level, p_value, ratio_of, rounds_needed
from objectives.scoring import HELD_RATE, HELD_RATE_RATIO, Constraint, Objective, score
from objectives.stalls import rounds_to_survive, stall_allowance
from search_spaces.producer_config import ProducerConfig
from tuner.confirmation.ablation import MOST_VARIANTS, variants_of
from tuner.confirmation.order import measured_rounds, order_of_round
from tuner.confirmation.plan import ConfirmationPlan
from tuner.model.goals import goal_metrics, goal_rank, goals_of
from tuner.model.spec import ConfirmSpec, Goal
from tuner.model.trial import Kind, State, Trial

_HELD_SHARE: Final = 0.5
"""A config must hold the fixed rate in more than this share of its rounds.

A round in which it does not is a loss in every latency. If there are few such rounds, they say nothing of the
throughput.
"""

_CERTAIN: Final = 0.999
"""Level of the intervals by which the rounds may end early."""


@dataclass(frozen=True, slots=True)
class Step:
    """One measurement of a confirmation.

    Attributes:
        kind: Why it is made.
        round: The number of its round.
        config: The config to measure.
        order: The configs that this round still has to measure, in their order; `config` is the first of them.
    """

    kind: Kind
    round: int
    config: ProducerConfig
    order: tuple[ProducerConfig, ...] = ()


@dataclass(frozen=True, slots=True)
class Rounds:
    """The trials of a winner and of the baseline, from the rounds in which both were measured.

    Attributes:
        ours: The winner's trials, one for each round.
        theirs: The baseline's trials, one for each round.
        first: How many of these rounds are among the confirmation's first rounds, whose number is fixed.
        in_sessions: Whether each round is a session of its own; see `ConfirmationPlan.in_sessions`.
    """

    ours: tuple[Trial, ...]
    theirs: tuple[Trial, ...]
    first: int
    in_sessions: bool = False

    def comparable_by(self, metrics: Sequence[str]) -> Self:
        """Return the rounds in which the winner and the baseline can be compared by all of the given metrics.

        Both must have a value of every metric. For latencies, the baseline must have held the fixed rate. If only the
        winner did not hold it, the round counts with the latencies that were measured. They count from the intended
        send times, so that they grow for as long as records queue up.
        """
        comparable = [
            all(ours.metrics.get(metric, 0.0) > 0 and is_comparable(theirs, metric) for metric in metrics)
            for ours, theirs in zip(self.ours, self.theirs, strict=True)
        ]
        return type(self)(
            tuple(itertools.compress(self.ours, comparable)),
            tuple(itertools.compress(self.theirs, comparable)),
            sum(comparable[: self.first]),
            self.in_sessions,
        )

    def values(self, metrics: Sequence[str]) -> tuple[list[float], list[float]] | None:
        """Return the winner's and the baseline's values, one for each round, converted so that larger is better.

        Several metrics are combined into their geometric mean. The result is None if fewer than two rounds have all
        metrics, or if a metric hides a loss.
        """
        rounds = self.comparable_by(metrics)
        if not metrics or len(rounds.ours) < 2 or any(map(self.hides_loss, metrics)):
            return None
        return [_large(trial, metrics) for trial in rounds.ours], [_large(trial, metrics) for trial in rounds.theirs]

    def hides_loss(self, metric: str) -> bool:
        """Return whether a latency can't be compared, because it looks good in a round that was a loss.

        That is a round in which the winner did not hold the fixed rate, but the baseline did, and the winner's latency
        is not worse than the baseline's all the same. How large the loss is can't be told then.
        """
        rounds = self.comparable_by([metric])
        return any(
            not is_comparable(ours, metric) and _large(ours, [metric]) >= _large(theirs, [metric])
            for ours, theirs in zip(rounds.ours, rounds.theirs, strict=True)
        )

    @property
    def held_ratio(self) -> float:
        """The share of the rounds in which the winner held the fixed rate."""
        return fmean(map(holds_rate, self.ours))

    def gain(self, metrics: Sequence[str], level: float) -> Ratio | None:
        """Return how many times better than the baseline the winner is, or None if that is unknown.

        For several metrics, the result is the geometric mean of their gains.
        """
        values, first = self.values(metrics), self.comparable_by(metrics).first
        if values is None:
            return None
        # A single first round has no scatter. In that case the scatter is taken from all rounds.
        first_rounds = first if first >= 2 else None
        # The scatter of rounds that are sessions contains what differs between sessions.
        apart_sd = 0.0 if self.in_sessions else SESSIONS_APART_SD
        return ratio_of(*values, level=level, first_rounds=first_rounds, apart_sd=apart_sd)

    def p_value(self, metrics: Sequence[str]) -> float:
        """Return the p-value of the winner's gain in these metrics; 1 if there is no gain to test.

        A gain in tail latencies must be there although one more stall is allowed for (`objectives.stalls`).
        """
        values, first = self.values(metrics), self.comparable_by(metrics).first
        if values is None:
            return 1.0
        ours, theirs = values
        stall = math.exp(-stall_allowance(metrics, len(ours)))
        return p_value([stall * each for each in ours], theirs, first_rounds=first if first >= 2 else None)

    def broken(self, constraints: Sequence[Constraint], objectives: Sequence[Objective]) -> tuple[str, ...]:
        """Return the constraints, as text, that the means of these rounds break.

        Constraints that are relative to the baseline use the baseline's means. The fixed rate is not judged by the
        mean: it must be held in more than half of the rounds.
        """
        names = broken(means_of(self.ours), means_of(self.theirs), constraints, objectives)
        behind = () if self.held_ratio > _HELD_SHARE else (str(HELD_RATE),)
        return (*behind, *(name for name in names if name != str(HELD_RATE)))


def means_of(trials: Sequence[Trial]) -> dict[str, float]:
    """Return the mean of every metric that all trials have.

    The mean is geometric if all values are above 0, because gains are ratios.
    """
    shared = set.intersection(*(set(trial.metrics) for trial in trials)) if trials else set()
    return {name: _mean([trial.metrics[name] for trial in trials]) for name in sorted(shared)}


def _mean(values: Sequence[float]) -> float:
    if min(values) == max(values):
        return values[0]  # exactly the measured value, without rounding errors from logarithms
    return geometric_mean(values) if min(values) > 0 else fmean(values)


def broken(
    metrics: Mapping[str, float],
    baseline: Mapping[str, float],
    constraints: Sequence[Constraint],
    objectives: Sequence[Objective],
) -> tuple[str, ...]:
    """Return the constraints, as text, that the given metrics break."""
    return tuple(name for name, by in score(metrics, objectives, constraints, baseline).violations.items() if by > 0)


def winners_of(
    plan: ConfirmationPlan,
    trials: Sequence[Trial],
    baseline_metrics: Mapping[str, float],
    objectives: Sequence[Objective],
) -> dict[Goal, str]:
    """Return the winner of each goal, by fingerprint.

    The nominees of a goal are the best configs of the search for it. They are measured again, and the nominee that is
    best in these repeats is the winner. The result is empty until all repeats are done. A goal is left out if all of
    its nominees break a constraint.
    """
    if not has_all_repeats(plan, trials):
        return {}
    looks = _of_kind(trials, Kind.SECOND_LOOK, plan)
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
    """Return the nominees, by fingerprint, that broke a constraint of the study when they were measured again."""
    looks = _of_kind(trials, Kind.SECOND_LOOK, plan)
    yardstick = _yardstick(plan, looks, baseline_metrics)
    means = {nominee: means_of(_complete(looks, nominee)) for each in plan.nominees.values() for nominee in each}
    return frozenset(
        nominee for nominee, each in means.items() if each and broken(each, yardstick, plan.constraints, objectives)
    )


def _yardstick(
    plan: ConfirmationPlan, looks: Sequence[Trial], baseline_metrics: Mapping[str, float]
) -> dict[str, float]:
    """Return the baseline's values of the repeats, because the cluster may have slowed down since the search."""
    return {**baseline_metrics, **means_of(_complete(looks, plan.baseline))}


def has_all_repeats(plan: ConfirmationPlan, trials: Sequence[Trial]) -> bool:
    """Return whether every nominee (one of the best configs of the search) was measured again as often as planned."""
    nominees = _to_be_repeated(plan) - {plan.baseline}
    done = {(trial.round, trial.fingerprint) for trial in _of_kind(trials, Kind.SECOND_LOOK, plan)}
    return done >= {(plan.first_round + look, nominee) for look in range(plan.looks) for nominee in nominees}


def rounds_of(plan: ConfirmationPlan, trials: Sequence[Trial], fingerprint: str) -> Rounds:
    """Return the rounds that measured the config as well as the baseline."""
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
        plan.in_sessions,
    )


def next_step(
    plan: ConfirmationPlan,
    configs: Mapping[str, ProducerConfig],
    trials: Sequence[Trial],
    baseline_metrics: Mapping[str, float],
    objectives: Sequence[Objective],
    seed: int,
) -> Step | None:
    """Return the next measurement of a confirmation, or None if all measurements are done.

    A measurement that failed is not tried again.

    Args:
        plan: The plan of the confirmation.
        configs: The baseline and the nominees (the best configs of the search for each goal), by fingerprint.
        trials: The trials of the record size.
        baseline_metrics: The baseline's metrics from the search.
        objectives: The objectives of the study.
        seed: Decides between orders within a round that are equally good.
    """
    there = {(trial.kind, trial.round, trial.fingerprint) for trial in trials if trial.round is not None}

    def missing(kind: Kind, round_number: int, fingerprints: Iterable[str]) -> Step | None:
        number = plan.first_round + round_number
        asked = {each for each in fingerprints if (kind, number, each) not in there}
        if not asked:
            return None
        measured = measured_rounds(trials, _of_kind(trials, kind, plan))
        last: str | None = measured[number][0] if number in measured else _last_measured(trials)
        if kind is Kind.CONFIRM and plan.begins_anew:
            last = None
        earlier = [measured[each] for each in sorted(measured) if each < number]
        order = order_of_round(fingerprints, earlier, last, f"{seed} {kind} {number}")
        left = tuple(configs[each] for each in order if each in asked)
        return Step(kind, number, left[0], left)

    for look in range(plan.looks):
        if step := missing(Kind.SECOND_LOOK, look, _to_be_repeated(plan)):
            return step
    winners = winners_of(plan, trials, baseline_metrics, objectives)
    if not winners or _are_decided(plan, winners, trials, objectives):
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
    in_ablation = []
    for winner in proven:
        variants = variants_of(configs[winner], configs[plan.baseline]).values()
        configs |= {variant.fingerprint: variant for variant in variants}
        # A config with a single change has no variants: without the change it is the baseline, which the rounds have
        # measured.
        in_ablation += [winner, *(variant.fingerprint for variant in variants)] if variants else []
    for number in range(plan.ablation_rounds):
        if step := missing(Kind.ABLATION, number, in_ablation):
            return step
    return None


def _are_decided(
    plan: ConfirmationPlan, winners: Mapping[Goal, str], trials: Sequence[Trial], objectives: Sequence[Objective]
) -> bool:
    """Return whether the rounds so far leave no doubt about any winner, so that the plan lets them end early.

    That is so if a winner lost records, if its gain in a metric is certainly below `decides_at`, or if its gains in all
    metrics are certainly above. We look after every round, and each look could err. Therefore a look needs an interval
    of `_CERTAIN`: 18 looks at two metrics add 1.8 % at most to the probability that a config is called worse wrongly.
    """
    if plan.decides_at is None:
        return False
    return all(
        _is_decided(rounds_of(plan, trials, each), plan.decides_at, plan.constraints, objectives)
        for each in winners.values()
    )


def _is_decided(
    rounds: Rounds, decides_at: float, constraints: Sequence[Constraint], objectives: Sequence[Objective]
) -> bool:
    if any(trial.metrics.get("delivered_ratio", 1.0) < 1.0 for trial in rounds.ours):
        return True
    metrics = dict.fromkeys((*COMPARED, *(each.metric for each in objectives)))
    measured = [each for each in metrics if any(each in trial.metrics for trial in (*rounds.ours, *rounds.theirs))]
    gains = {metric: rounds.gain([metric], _CERTAIN) for metric in measured}
    if any(gain is not None and gain.high < decides_at for gain in gains.values()):
        return True
    # A metric that could not be compared, or a constraint, may decide in later rounds.
    return (
        bool(gains)
        and not constraints
        and all(
            gain is not None and gain.low > decides_at * math.exp(stall_allowance([metric], gain.rounds))
            for metric, gain in gains.items()
        )
    )


def most_steps(spec: ConfirmSpec) -> int:
    """Return the most measurements that the confirmation of one record size can take."""
    further = max(0, spec.max_rounds - spec.rounds) * (1 + len(spec.goals))
    apart = spec.ablation_rounds * len(spec.goals) * (1 + MOST_VARIANTS)
    return least_steps(spec) + further + apart if spec.rounds else 0


def least_steps(spec: ConfirmSpec) -> int:
    """Return the fewest measurements that the confirmation of one record size takes, if every goal has a winner."""
    if not spec.rounds:
        return 0
    nominees = 1 + len(spec.goals) * spec.nominees if spec.nominees > 1 else 0
    return spec.looks * nominees + spec.rounds * (1 + len(spec.goals))


def _rounds_needed(
    plan: ConfirmationPlan, winners: Mapping[Goal, str], trials: Sequence[Trial], objectives: Sequence[Objective]
) -> dict[str, int]:
    """Return the number of rounds for each winner, which depends on the scatter of its first rounds.

    A winner whose first rounds show no gain gets no more rounds, unless the plan sets `both_ways`. There are enough
    rounds to prove the winner's gains for the other goals too, but their intervals may be wide.
    """
    level = claim_level(len(winners), plan.error_rate)
    needed = dict.fromkeys(winners.values(), plan.rounds)
    for fingerprint, goal in itertools.product(needed, goals_of(objectives)):
        rounds = rounds_of(plan, trials, fingerprint)
        first = Rounds(rounds.ours[: rounds.first], rounds.theirs[: rounds.first], rounds.first)
        metrics = goal_metrics(goal, objectives)
        values = first.values(metrics)
        if values is None or (not plan.both_ways and ratio_of(*values, level=level).value <= 1.0):
            continue
        wanted = plan.rounds
        if winners.get(goal) == fingerprint:
            wanted = min(rounds_needed(*values, level=level, width_ratio=plan.width_ratio), plan.max_rounds)
        if not plan.both_ways:
            logs = [math.log(ours / theirs) for ours, theirs in zip(*values, strict=True)]
            wanted = rounds_to_survive(logs, metrics, level, wanted, plan.max_rounds)
        needed[fingerprint] = max(needed[fingerprint], wanted)
    return needed


def _proven(
    plan: ConfirmationPlan, winners: Mapping[Goal, str], trials: Sequence[Trial], objectives: Sequence[Objective]
) -> list[str]:
    """Return the winners that have proven better than the baseline and that break no constraint."""
    rounds = {fingerprint: rounds_of(plan, trials, fingerprint) for fingerprint in dict.fromkeys(winners.values())}
    decided = decisions(plan, winners, rounds, objectives)
    proven = dict.fromkeys(fingerprint for (fingerprint, _), decision in decided.items() if decision.rejected)
    return [each for each in proven if not rounds[each].broken(plan.constraints, objectives)]


def decisions(
    plan: ConfirmationPlan,
    winners: Mapping[Goal, str],
    rounds: Mapping[str, Rounds],
    objectives: Sequence[Objective],
    known: Collection[tuple[str, Goal]] = (),
) -> dict[tuple[str, Goal], Decision]:
    """Return for which goals each config has proven better than the baseline, and how strictly that was tested.

    For the goal balanced, this tests the geometric mean of the gains; what it may lose in one of them is not tested.

    Args:
        plan: The plan of the confirmation.
        winners: The winner of each goal, by fingerprint.
        rounds: The rounds of each config, by fingerprint.
        objectives: The objectives of the study.
        known: Configs and goals whose gain an earlier confirmation has proven. To test them again, at 95 %, adds no
            error: if the claim is false, it has been counted already.
    """
    goals = {goal: goal_metrics(goal, objectives) for goal in Goal}
    # Two goals may be about the same metric, if a study has one objective: that is one claim.
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


def _to_be_repeated(plan: ConfirmationPlan) -> set[str]:
    """Return the fingerprints of the configs that are measured again to choose the winners.

    They are the baseline, and the nominees of each goal that has more than one nominee. A single nominee is the goal's
    winner without a repeat measurement.
    """
    found = {fingerprint for each in plan.nominees.values() if len(each) > 1 for fingerprint in each}
    return found | {plan.baseline} if found else found


def _last_measured(trials: Sequence[Trial]) -> str:
    return max(trials, key=lambda trial: trial.number).fingerprint if trials else ""


def _of_kind(trials: Iterable[Trial], kind: Kind, plan: ConfirmationPlan) -> list[Trial]:
    return [trial for trial in trials if trial.kind is kind and plan.holds(trial)]


def _complete(trials: Sequence[Trial], fingerprint: str) -> list[Trial]:
    return [trial for trial in trials if trial.fingerprint == fingerprint and trial.state is State.COMPLETE]


def holds_rate(trial: Trial) -> bool:
    """Return whether a trial held the fixed rate of its paced phase, or had no paced phase."""
    return trial.metrics.get("held_rate_ratio", 1.0) >= HELD_RATE_RATIO


def is_comparable(trial: Trial, metric: str) -> bool:
    """Return whether a trial can be compared by a metric.

    A trial without a value of the metric can't be compared. A trial that could not hold the fixed rate can't be
    compared by latency.
    """
    return (holds_rate(trial) or not OUTCOME_METRICS[metric].paced) and trial.metrics.get(metric, 0.0) > 0


def _large(trial: Trial, metrics: Sequence[str]) -> float:
    """Return the geometric mean of a trial's metrics, each converted so that larger is better."""
    product = math.prod(Objective(metric).gain(trial.metrics[metric], 1.0) for metric in metrics)
    return float(product ** (1 / len(metrics)))
