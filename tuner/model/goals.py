"""How good numbers are for a goal, against the baseline's."""

from collections.abc import Mapping, Sequence
from math import exp, inf, log
from typing import Final

from objectives.scoring import Objective
from tuner.model.spec import Goal

_LATENCY: Final = "latency_p99_ms"

TOLERATED_LOSS: Final = 0.9
"""A balanced config keeps this much of the baseline in every number, however much it gains in another."""


def goals_of(objectives: Sequence[Objective]) -> tuple[Goal, ...]:
    """The goals that a study can be asked for, the one first that is meant where none is named."""
    known = {asked_metric(goal, objectives): goal for goal in (Goal.THROUGHPUT, Goal.LATENCY)}
    if len(objectives) == 1:
        metric = "mb_per_s" if objectives[0].metric == "records_per_s" else objectives[0].metric
        # What has no name of its own is what all objectives together are: bytes on the wire, say.
        return (known.get(metric, Goal.BALANCED),)
    return (Goal.BALANCED, Goal.THROUGHPUT, Goal.LATENCY)


def asked_metric(goal: Goal, objectives: Sequence[Objective]) -> str | None:
    """The one number that a goal is about; None where it is about all objectives of the study.

    The latency is that which the study optimises: `latency_p95_ms`, say. A study that optimises none has the p99.
    """
    match goal:
        case Goal.THROUGHPUT:
            return "mb_per_s"
        case Goal.LATENCY:
            optimised = [each.metric for each in objectives if each.metric.startswith("latency")]
            return _LATENCY if _LATENCY in optimised else next(iter(optimised), _LATENCY)
        case Goal.BALANCED:
            return None


def goal_metrics(goal: Goal, objectives: Sequence[Objective]) -> tuple[str, ...]:
    """The numbers that a goal is about."""
    asked = asked_metric(goal, objectives)
    return (asked,) if asked else tuple(objective.metric for objective in objectives)


def goal_gain(
    goal: Goal, metrics: Mapping[str, float], baseline: Mapping[str, float], objectives: Sequence[Objective]
) -> float | None:
    """How many times better than the baseline for a goal, several numbers by their geometric mean; None if unknown."""
    gains = _gains(goal, metrics, baseline, objectives)
    if not gains:
        return None
    return exp(sum(log(gain) for gain in gains) / len(gains)) if min(gains) > 0 else 0.0


def goal_rank(
    goal: Goal, metrics: Mapping[str, float], baseline: Mapping[str, float], objectives: Sequence[Objective]
) -> tuple[bool, float]:
    """To sort by, the best last. A balanced config that loses much in one number stands behind all that lose little."""
    gains = _gains(goal, metrics, baseline, objectives)
    gain = goal_gain(goal, metrics, baseline, objectives)
    bearable = goal is not Goal.BALANCED or (gains is not None and min(gains) >= TOLERATED_LOSS)
    return bearable, -inf if gain is None else gain


def _gains(
    goal: Goal, metrics: Mapping[str, float], baseline: Mapping[str, float], objectives: Sequence[Objective]
) -> list[float] | None:
    names = goal_metrics(goal, objectives)
    if any(name not in metrics or name not in baseline for name in names):
        return None
    return [Objective(name).gain(metrics[name], baseline[name]) for name in names]
