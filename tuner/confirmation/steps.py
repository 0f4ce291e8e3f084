"""The steps of a confirmation: which measurement comes next.

The next measurement depends only on what the results store holds, so that an interrupted confirmation can be continued.
There are three stages:

1. **Repeats.** The config with the best values in a search was partly lucky. So for each goal, the best few configs
   (the nominees) are measured again together with the baseline. The nominee with the best values in these repeats is
   the goal's winner; the values of the search do not count (`tuner.confirmation.winners`).
2. **Rounds.** The baseline and the winners are measured in turn. In each round, the order is chosen such that every
   config follows every config equally often (`tuner.confirmation.order`). For each goal, the rounds test one claim:
   that its winner is better than the baseline (`tuner.confirmation.rounds`). A fixed number of first rounds shows how
   much the ratios scatter. The scatter decides how many more rounds a winner gets (`objectives.ratios`), up to a
   maximum.
3. **Undoing.** Each winner that has proven better is measured with one knob at a time set back to the baseline's
   value.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from objectives.metrics import COMPARED_WITH_BASELINE
from objectives.ratios import claim_level, ratio_of, rounds_needed
from objectives.scoring import Constraint, Objective
from objectives.stalls import rounds_to_survive, stall_allowance
from search_spaces.configs.producer_config import ProducerConfig
from tuner.confirmation.order import measured_rounds, order_of_round
from tuner.confirmation.rounds import Rounds
from tuner.confirmation.undone_changes import MOST_VARIANTS, variants_of
from tuner.confirmation.winners import MeasuredPlan, decisions, to_be_repeated
from tuner.model.goals import goal_metrics, goals_of
from tuner.model.spec import ConfirmSpec
from tuner.model.trial import Trial, TrialKind

_CERTAIN: Final = 0.999
"""The level of the intervals that decide whether the rounds end early."""


@dataclass(frozen=True, slots=True)
class Step:
    """The next measurement of a confirmation.

    Attributes:
        kind: Why the config is measured: as a repeat, in a round with the baseline, or with a change undone.
        round: The number of the round that the measurement belongs to.
        config: The config to measure.
        order: All configs that this round still has to measure, in their order; the first is `config`.
    """

    kind: TrialKind
    round: int
    config: ProducerConfig
    order: tuple[ProducerConfig, ...]


def next_step(measured: MeasuredPlan, configs: Mapping[str, ProducerConfig], seed: int) -> Step | None:
    """Return the next measurement of a confirmation, or None if the confirmation is complete.

    A measurement that failed is not repeated.

    Args:
        measured: The confirmation so far.
        configs: The baseline, the nominees (the best configs of the search for each goal) and those measured beside
            them, by fingerprint.
        seed: Decides between orders within a round that are equally good.
    """
    plan, trials = measured.plan, measured.trials
    measured_already = {(trial.kind, trial.round, trial.fingerprint) for trial in plan.counted(trials)}

    def missing(kind: TrialKind, round_number: int, fingerprints: Iterable[str]) -> Step | None:
        number = plan.first_round + round_number
        asked = {each for each in fingerprints if (kind, number, each) not in measured_already}
        if not asked:
            return None
        done = measured_rounds(trials, plan.trials_of(kind, trials))
        last: str | None = done[number][0] if number in done else _last_measured(trials)
        if kind is TrialKind.CONFIRM and plan.rounds_have_burn_in:
            last = None
        earlier = [done[each] for each in sorted(done) if each < number]
        order = order_of_round(fingerprints, earlier, last, f"{seed} {kind} {number}")
        left = tuple(configs[each] for each in order if each in asked)
        return Step(kind, number, left[0], left)

    for number in range(plan.nominee_repeats):
        if step := missing(TrialKind.REPEAT, number, to_be_repeated(plan)):
            return step
    if not measured.winners or _are_decided(measured):
        return None
    for number in range(plan.rounds):
        if step := missing(TrialKind.CONFIRM, number, [plan.baseline, *measured.winners.values(), *plan.beside]):
            return step
    needed = _rounds_needed(measured)
    for number in range(plan.rounds, max(needed.values())):
        going_on = [fingerprint for fingerprint, rounds in needed.items() if rounds > number]
        if step := missing(TrialKind.CONFIRM, number, [plan.baseline, *going_on, *plan.beside]):
            return step
    configs = dict(configs)
    to_undo = []
    for winner in _proven(measured):
        variants = variants_of(configs[winner], configs[plan.baseline]).values()
        configs |= {variant.fingerprint: variant for variant in variants}
        # A config with a single change has no variants: without the change it is the baseline, which the rounds have
        # measured.
        to_undo += [winner, *(variant.fingerprint for variant in variants)] if variants else []
    for number in range(plan.undo_rounds):
        if step := missing(TrialKind.UNDO, number, to_undo):
            return step
    return None


def _are_decided(measured: MeasuredPlan) -> bool:
    """Return whether the rounds may end early, because their outcome is certain for every winner.

    The outcome for a winner is certain if the winner lost records, if one of its gains is certainly below the plan's
    `decides_at`, or if all of its gains are certainly above. The rounds are checked after each round, and each check
    could err. So a check uses intervals of the level `_CERTAIN`: 18 checks of two metrics add at most 1.8 % to the
    probability that a config is wrongly called worse.
    """
    plan = measured.plan
    return plan.decides_at is not None and all(
        _is_decided(measured.rounds_of(each), plan.decides_at, plan.constraints, measured.objectives)
        for each in measured.winners.values()
    )


def _is_decided(
    rounds: Rounds, decides_at: float, constraints: Sequence[Constraint], objectives: Sequence[Objective]
) -> bool:
    """Return whether the outcome of a winner's rounds is certain; see `_are_decided`."""
    if any(trial.lost_records for trial in rounds.ours):
        return True
    metrics = dict.fromkeys((*COMPARED_WITH_BASELINE, *(each.metric for each in objectives)))
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
    """Return the largest number of measurements that the confirmation of one record size can take."""
    further = max(0, spec.max_rounds - spec.rounds) * (1 + len(spec.goals) + len(spec.beside))
    undoing = spec.undo_rounds * len(spec.goals) * (1 + MOST_VARIANTS)
    return least_steps(spec) + further + undoing if spec.rounds else 0


def least_steps(spec: ConfirmSpec) -> int:
    """Return the smallest number of measurements for the confirmation of one record size if every goal has a winner."""
    if not spec.rounds:
        return 0
    nominees = 1 + len(spec.goals) * spec.nominees if spec.nominees > 1 else 0
    return spec.nominee_repeats * nominees + spec.rounds * (1 + len(spec.goals) + len(spec.beside))


def _rounds_needed(measured: MeasuredPlan) -> dict[str, int]:
    """Return how many rounds each winner is measured in, by fingerprint.

    The number follows from the winner's first rounds. If they show no gain, the winner gets no more rounds, unless the
    plan sets `both_ways`. If they show a gain for the goal that the winner was chosen for, the winner gets as many
    rounds as the gain's interval needs to become as narrow as the plan's `width_ratio` demands. For any goal, it gets
    as many rounds as a gain in a tail latency needs to be proven even with one more stall (`objectives.stalls`).
    The plan's `max_rounds` limits the number.
    """
    plan, winners, objectives = measured.plan, measured.winners, measured.objectives
    level = claim_level(len(winners), plan.error_rate)
    needed = dict.fromkeys(winners.values(), plan.rounds)
    for fingerprint, goal in itertools.product(needed, goals_of(objectives)):
        rounds = measured.rounds_of(fingerprint)
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


def _proven(measured: MeasuredPlan) -> list[str]:
    """Return the winners that are proven better than the baseline for some goal, and that break no constraint."""
    rounds = {winner: measured.rounds_of(winner) for winner in dict.fromkeys(measured.winners.values())}
    decided = decisions(measured, rounds)
    proven = dict.fromkeys(fingerprint for (fingerprint, _), decision in decided.items() if decision.proven)
    return [each for each in proven if not rounds[each].broken(measured.plan.constraints, measured.objectives)]


def _last_measured(trials: Sequence[Trial]) -> str:
    """Return the fingerprint of the config that was measured last, or an empty text if there is none."""
    return max(trials, key=lambda trial: trial.number).fingerprint if trials else ""
