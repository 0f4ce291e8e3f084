"""How a trial's numbers become a score: objectives and constraints as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from objectives.outcome import OUTCOME_METRICS, Direction

HELD_RATE_RATIO: Final = 0.95
"""A config that delivers less of the fixed rate can't hold it: its latency only says how long the phase was."""


@dataclass(frozen=True, slots=True)
class Objective:
    """One number to make as good as can be.

    Attributes:
        metric: A name of `OUTCOME_METRICS`.
    """

    metric: str

    def __post_init__(self) -> None:
        """Refuse a metric that there is not."""
        if self.metric not in OUTCOME_METRICS:
            raise ValueError(f"an objective is one of {', '.join(OUTCOME_METRICS)}, but got {self.metric!r}")

    @property
    def direction(self) -> Direction:
        """Which way is better."""
        return OUTCOME_METRICS[self.metric].direction

    @property
    def paced(self) -> bool:
        """Whether it needs the paced phase."""
        return OUTCOME_METRICS[self.metric].paced

    def gain(self, value: float, baseline: float) -> float:
        """How many times better `value` is than the baseline's: above 1 is better, whatever the direction."""
        if value <= 0 or baseline <= 0:
            return 0.0
        return value / baseline if self.direction is Direction.MAXIMIZE else baseline / value


@dataclass(frozen=True, slots=True)
class Constraint:
    """A bound that a config must keep to be recommended.

    Attributes:
        metric: A name of `OUTCOME_METRICS`.
        at_most: Whether `limit` is an upper bound; else a lower one.
        limit: In the metric's unit, or as a multiple of the baseline's value.
        of_baseline: Whether `limit` is such a multiple.
    """

    metric: str
    at_most: bool
    limit: float
    of_baseline: bool = False

    def __post_init__(self) -> None:
        """Refuse a metric that there is not, and a limit that nothing can be compared with."""
        if self.metric not in OUTCOME_METRICS:
            raise ValueError(f"a constraint is about one of {', '.join(OUTCOME_METRICS)}, but got {self.metric!r}")
        if not 0 < self.limit < float("inf"):
            raise ValueError(f"the limit of a constraint must be above 0, but got {self.limit:g} for {self.metric}")

    @property
    def paced(self) -> bool:
        """Whether it needs the paced phase."""
        return OUTCOME_METRICS[self.metric].paced

    def violation(self, value: float, baseline: float | None) -> float:
        """By how much of the limit `value` misses it; 0 or less is feasible.

        Args:
            value: The metric's value.
            baseline: The baseline's value; None before there is one, and then a relative limit is never missed.
        """
        if self.of_baseline and not baseline:
            return 0.0
        limit = self.limit * (baseline or 1.0) if self.of_baseline else self.limit
        return (value - limit) / limit if self.at_most else (limit - value) / limit

    def __str__(self) -> str:
        """`latency_p99_ms <= 10` or `mb_per_s >= 0.9 x baseline`."""
        relative = " x baseline" if self.of_baseline else ""
        return f"{self.metric} {'<=' if self.at_most else '>='} {self.limit:g}{relative}"


HELD_RATE: Final = Constraint("held_rate_ratio", at_most=False, limit=HELD_RATE_RATIO)
ALWAYS: Final = (Constraint("delivered_ratio", at_most=False, limit=1.0), HELD_RATE)
"""What every study asks for: nothing lost, and the fixed rate held."""


@dataclass(frozen=True, slots=True)
class Score:
    """What a trial is worth.

    Attributes:
        values: One per objective, in its unit; None where the trial could not answer for it.
        violations: By how much each constraint is missed, by its text; 0 or less is kept.
    """

    values: tuple[float | None, ...]
    violations: Mapping[str, float]

    @property
    def feasible(self) -> bool:
        """Whether every objective has a value and every constraint is kept."""
        return None not in self.values and all(violation <= 0 for violation in self.violations.values())


def measured(objective: Objective) -> str:
    """Name of the constraint that a trial without a value of an objective misses."""
    return f"{objective.metric} measured"


def score(
    metrics: Mapping[str, float],
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint],
    baseline: Mapping[str, float] | None = None,
) -> Score:
    """Judge a trial's numbers.

    Args:
        metrics: From `metrics_of`; empty for a config that delivered nothing.
        objectives: Of the study.
        constraints: Of the study; `ALWAYS` come on top.
        baseline: The baseline's numbers, for limits relative to it.
    """
    violations: dict[str, float] = {}
    for constraint in (*ALWAYS, *constraints):
        value = metrics.get(constraint.metric)
        if value is not None:
            violations[str(constraint)] = constraint.violation(value, (baseline or {}).get(constraint.metric))
        elif constraint not in ALWAYS:
            violations[str(constraint)] = 1.0  # who can't show it does not keep it
    for objective in objectives:
        if objective.metric not in metrics:
            violations[measured(objective)] = 1.0
    return Score(tuple(metrics.get(objective.metric) for objective in objectives), violations)
