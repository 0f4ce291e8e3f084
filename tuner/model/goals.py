"""The goals for which configs are recommended, and how good a config is for a goal, compared with the baseline."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from math import exp, inf, log
from typing import Final, Never

from typing_extensions import override

from objectives.scoring import Constraint, Objective

ALLOW_LOSS: Final = 0.1
"""A balanced config may lose at most 10 % of any objective, unless `confirm.allow_loss` sets another share."""


class Goal(StrEnum):
    """What a config is recommended for: high throughput, low latency, or both."""

    THROUGHPUT = "throughput"
    LATENCY = "latency"
    BALANCED = "balanced"

    @override
    @classmethod
    def _missing_(cls, value: object) -> Never:
        raise ValueError(f"a goal must be one of {', '.join(cls)}, but got {value!r}")


PRESETS: Final[Mapping[Goal, tuple[tuple[Objective, ...], tuple[Constraint, ...]]]] = {
    Goal.THROUGHPUT: ((Objective("mb_per_s"),), ()),
    Goal.LATENCY: (
        (Objective("latency_p99_ms"),),
        (Constraint("mb_per_s", at_most=False, limit=0.9, of_baseline=True),),
    ),
    Goal.BALANCED: ((Objective("mb_per_s"), Objective("latency_p99_ms")), ()),
}
"""The objectives and constraints of each goal. In a study file, `objectives: balanced` selects those of `balanced`."""
OF_ONE_METRIC: Final = (Goal.THROUGHPUT, Goal.LATENCY)
"""The goals that are each about a single metric."""
_LATENCY: Final = "latency_p99_ms"
_LATENCIES: Final = ("latency", "end_to_end")


def goals_of(objectives: Sequence[Objective]) -> tuple[Goal, ...]:
    """Return the goals for which a study with these objectives can recommend a config, the default goal first."""
    by_metric = {single_metric(goal, objectives): goal for goal in OF_ONE_METRIC}
    if len(objectives) == 1:
        metric = "mb_per_s" if objectives[0].metric == "records_per_s" else objectives[0].metric
        # There is no goal for an objective such as bytes on the wire, so the goal balanced stands for it.
        return (by_metric.get(metric, Goal.BALANCED),)
    return (Goal.BALANCED, *OF_ONE_METRIC)


def single_metric(goal: Goal, objectives: Sequence[Objective]) -> str | None:
    """Return the single metric of a goal; None for the goal balanced, which is about all objectives.

    The metric of the goal latency is the p99. If the study optimises latencies, but not the p99, the metric is the
    first of these latencies, such as `latency_p95_ms` or `end_to_end_p99_ms`.
    """
    match goal:
        case Goal.THROUGHPUT:
            return "mb_per_s"
        case Goal.LATENCY:
            optimised = [objective.metric for objective in objectives if objective.metric.startswith(_LATENCIES)]
            return _LATENCY if _LATENCY in optimised else next(iter(optimised), _LATENCY)
        case Goal.BALANCED:
            return None


def goal_metrics(goal: Goal, objectives: Sequence[Objective]) -> tuple[str, ...]:
    """Return the metrics that a goal is about."""
    asked = single_metric(goal, objectives)
    return (asked,) if asked else tuple(objective.metric for objective in objectives)


def goal_gain(
    goal: Goal, metrics: Mapping[str, float], baseline: Mapping[str, float], objectives: Sequence[Objective]
) -> float | None:
    """Return how many times better than the baseline a config is for a goal; None if a metric is missing.

    For a goal with several metrics, the result is the geometric mean of the gains in these metrics.
    """
    gains = _gains(goal, metrics, baseline, objectives)
    if not gains:
        return None
    return exp(sum(log(gain) for gain in gains) / len(gains)) if min(gains) > 0 else 0.0


def goal_rank(
    goal: Goal,
    metrics: Mapping[str, float],
    baseline: Mapping[str, float],
    objectives: Sequence[Objective],
    allow_loss: float = ALLOW_LOSS,
) -> tuple[bool, float]:
    """Return a sort key that puts the best config for a goal last.

    For the goal balanced, a config that loses more than `allow_loss` in some objective ranks below all others.
    """
    gains = _gains(goal, metrics, baseline, objectives)
    gain = goal_gain(goal, metrics, baseline, objectives)
    tolerable = goal is not Goal.BALANCED or (gains is not None and min(gains) >= 1 - allow_loss)
    return tolerable, -inf if gain is None else gain


def _gains(
    goal: Goal, metrics: Mapping[str, float], baseline: Mapping[str, float], objectives: Sequence[Objective]
) -> list[float] | None:
    names = goal_metrics(goal, objectives)
    if any(name not in metrics or name not in baseline for name in names):
        return None
    return [Objective(name).gain(metrics[name], baseline[name]) for name in names]
