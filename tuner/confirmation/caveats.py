"""What limits the results of a confirmation, in sentences for people.

There are four kinds. Some rounds may not count for some metrics. A measurement may have broken off, and what happened
then is not in the results. A constraint may be met by the mean of the rounds, although the config's true value may
break it. And a stall that comes rarely may not have come in the rounds.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Final

from objectives.metrics import OUTCOME_METRICS
from objectives.ratios import Ratio, ratio_of
from objectives.scoring import Constraint
from objectives.stalls import TAIL_LATENCIES, stall_allowance
from runners.reporting import enumerated
from tuner.confirmation.rounds import Rounds, holds_rate
from tuner.model.trial import State

_LEVEL: Final = 0.9
"""The level of the interval that decides whether a config may break a limit.

Only one end of the interval can break the limit. So in at most 5 % of cases, there is no caveat about a config
whose true value breaks it. Several constraints need no correction, because a config must meet all of them.
"""
_LEAST_ROUNDS_FOR_RATE: Final = 6
"""The fewest rounds for which the caveat says how rare a stall must be to be missed.

Fewer rounds may miss even a stall that comes in about half of all measurements.
"""


def caveats_of(rounds: Rounds, gains: Mapping[str, Ratio | None], constraints: Sequence[Constraint]) -> tuple[str, ...]:
    """Return what a user should know about the results of these rounds.

    Args:
        rounds: The rounds that measured a config and the baseline.
        gains: The config's gains over the baseline, by metric; None for a metric that could not be compared.
        constraints: The constraints of the study.
    """
    return (
        *_not_compared(rounds, list(gains)),
        *_broken_off(rounds),
        *_may_break(rounds, constraints),
        *_rare_stalls(gains),
    )


def _not_compared(rounds: Rounds, metrics: Sequence[str]) -> Iterable[str]:
    """Return in which rounds some metrics could not be compared, or count as a loss, and why."""
    pairs = list(zip(rounds.ours, rounds.theirs, strict=True))
    behind = [ours for ours, theirs in pairs if holds_rate(theirs) and not holds_rate(ours)]
    seems_good = [metric for metric in metrics if rounds.hides_loss(metric)]
    if behind and seems_good:
        names = enumerated([OUTCOME_METRICS[metric].label for metric in seems_good])
        yield (
            f"in {rounds.named(behind)}, the config did not hold the fixed rate. This does not show in {names}, "
            f"so no gain in {names} is stated"
        )
    elif behind:
        yield f"in {rounds.named(behind)}, the config fell behind the fixed rate; its long latency counts in the gain"
    if left_out := [theirs for theirs in rounds.theirs if not holds_rate(theirs)]:
        yield (
            f"in {rounds.named(left_out)}, the baseline did not hold the fixed rate: latencies are compared in the "
            "other rounds only"
        )
    for metric in metrics:
        lacking = [
            ours for ours, theirs in pairs if not all(each.metrics.get(metric, 0.0) > 0 for each in (ours, theirs))
        ]
        if 0 < len(lacking) < len(pairs):
            label = OUTCOME_METRICS[metric].label
            yield f"in {rounds.named(lacking)}, the config or the baseline has no value for {label}"


def _broken_off(rounds: Rounds) -> Iterable[str]:
    """Return in which rounds the measurement of the config broke off. The results do not show what happened then."""
    if again := [trial for trial in rounds.broken_off if trial.state is State.COMPLETE]:
        yield (
            f"in {rounds.named(again)}, the config's measurement broke off and was made again, because a broker or a "
            "worker was lost or the host stood still: the gains do not show what happened before"
        )
    if failed := [trial for trial in rounds.broken_off if trial.state is State.FAILED]:
        yield f"in {rounds.named(failed)}, the config could not be measured: the gains are from the other rounds only"


def _may_break(rounds: Rounds, constraints: Sequence[Constraint]) -> Iterable[str]:
    """Return the constraints that the mean meets, but that the true value may break, with both numbers."""
    for constraint in constraints:
        metric = constraint.metric
        both = rounds.theirs if constraint.of_baseline else ()
        if len(rounds.ours) < 2 or not all(trial.metrics.get(metric, 0.0) > 0 for trial in (*rounds.ours, *both)):
            continue
        ours = [trial.metrics[metric] for trial in rounds.ours]
        reference = [trial.metrics[metric] for trial in both] or [1.0] * len(ours)
        ratio = ratio_of(ours, reference, level=_LEVEL, first_rounds=rounds.first if rounds.first >= 2 else None)
        end = ratio.high if constraint.at_most else ratio.low
        by = constraint.violation(end, 1.0)
        if by > 0 >= constraint.violation(ratio.value, 1.0):
            times = " x baseline" if constraint.of_baseline else ""
            yield (
                f"{constraint} is met in the mean ({ratio.value:.4g}{times}), but may be "
                f"{'exceeded' if constraint.at_most else 'missed'} by {100 * by:.2g} %: the interval reaches "
                f"{end:.4g}{times}"
            )


def _rare_stalls(gains: Mapping[str, Ratio | None]) -> Iterable[str]:
    """Return what the gains in tail latencies do not show: stalls that come too rarely."""
    for metric, gain in gains.items():
        if metric not in TAIL_LATENCIES or gain is None or gain.low <= 1.0:
            continue
        name = OUTCOME_METRICS[metric].label
        if log(gain.low) > stall_allowance([metric], gain.rounds) and gain.rounds < _LEAST_ROUNDS_FOR_RATE:
            yield f"{name}: {gain.rounds} rounds are too few to show how often stalls come; some may have been missed"
        elif log(gain.low) > stall_allowance([metric], gain.rounds):
            yield (
                f"{name}: one more stall would not undo this gain, but a config that stalls in one measurement of "
                f"{gain.rounds / 3:.0f}, or more rarely, may have had no stall in these {gain.rounds} rounds; more "
                "rounds would show it"
            )
        else:
            yield (
                f"{name}: better in {gain.rounds} rounds, but a stall in one more of them would undo this gain, so it "
                "is not claimed"
            )
