"""Objectives, constraints, and the score that a trial gets for them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from objectives.metrics import OUTCOME_METRICS, Direction

LEAST_HELD_RATIO: Final = 0.95
"""The limit of the constraint that every study has: a config must deliver at least this share of the fixed rate.

With less, records queue up for as long as the phase lasts, so the latency would depend only on the length of the phase.
The verdict requires more (`RATE_REACHED_RATIO`): the constraint allows for a short pause of the host, but the verdict
says that nothing but the fixed rate was the limit.
"""


_TEXT: Final = re.compile(r"(\w+) (<=|>=) (\S+)( x baseline)?")


@dataclass(frozen=True, slots=True)
class Objective:
    """A metric that a study optimises.

    Attributes:
        metric: A name in `OUTCOME_METRICS`.
    """

    metric: str

    def __post_init__(self) -> None:
        if self.metric not in OUTCOME_METRICS:
            raise ValueError(f"an objective must be one of {', '.join(OUTCOME_METRICS)}, but got {self.metric!r}")

    @property
    def direction(self) -> Direction:
        """The better direction of the metric."""
        return OUTCOME_METRICS[self.metric].direction

    @property
    def paced(self) -> bool:
        """Whether the metric comes from the paced phase."""
        return OUTCOME_METRICS[self.metric].paced

    def gain(self, value: float, baseline: float) -> float:
        """Return how many times better `value` is than `baseline`; above 1 is better, for latency too."""
        if value <= 0 or baseline <= 0:
            return 0.0
        return value / baseline if self.direction is Direction.MAXIMIZE else baseline / value


@dataclass(frozen=True, slots=True)
class Constraint:
    """A bound that a config must keep to be recommended.

    Attributes:
        metric: A name in `OUTCOME_METRICS`.
        at_most: Whether `limit` is an upper bound; otherwise it is a lower bound.
        limit: The bound, in the metric's unit or as a multiple of the baseline's value.
        of_baseline: Whether `limit` is a multiple of the baseline's value.
    """

    metric: str
    at_most: bool
    limit: float
    of_baseline: bool = False

    def __post_init__(self) -> None:
        if self.metric not in OUTCOME_METRICS:
            raise ValueError(f"a constraint must be about one of {', '.join(OUTCOME_METRICS)}, but got {self.metric!r}")
        if not 0 < self.limit < float("inf"):
            raise ValueError(
                f"the limit of a constraint must be a number above 0, but got {self.limit:g} for {self.metric}"
            )

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse the text that `str` returns for a constraint; None if the text is not a limit on a metric."""
        found = _TEXT.fullmatch(text)
        return cls(found[1], found[2] == "<=", float(found[3]), bool(found[4])) if found else None

    @property
    def paced(self) -> bool:
        """Whether the metric comes from the paced phase."""
        return OUTCOME_METRICS[self.metric].paced

    def violation(self, value: float, baseline: float | None) -> float:
        """Return by how much a value breaks the constraint, as a share of the limit; 0 or less if it is met.

        Args:
            value: The metric's value.
            baseline: The baseline's value; None if it is not known yet. A limit relative to it then counts as met.
        """
        if self.of_baseline and not baseline:
            return 0.0
        limit = self.limit * (baseline or 1.0) if self.of_baseline else self.limit
        return (value - limit) / limit if self.at_most else (limit - value) / limit

    def __str__(self) -> str:
        """Return the constraint as text, such as `latency_p99_ms <= 10` or `mb_per_s >= 0.9 x baseline`."""
        relative = " x baseline" if self.of_baseline else ""
        return f"{self.metric} {'<=' if self.at_most else '>='} {self.limit:g}{relative}"


HELD_RATE: Final = Constraint("held_rate_ratio", at_most=False, limit=LEAST_HELD_RATIO)
ALWAYS: Final = (Constraint("delivered_ratio", at_most=False, limit=1.0), HELD_RATE)
"""The constraints of every study: no record is lost, and the fixed rate is held."""


@dataclass(frozen=True, slots=True)
class Score:
    """A trial's values for the objectives, and by how much the trial breaks the constraints.

    Attributes:
        values: The value for every objective, in the metric's unit; None if the trial has no value for the objective.
        violations: For every constraint, by its text: by how much the trial breaks it, as a share of the limit. 0 or
            less means that the constraint is met.
    """

    values: tuple[float | None, ...]
    violations: Mapping[str, float]

    @property
    def feasible(self) -> bool:
        """Whether every objective has a value and every constraint is met."""
        return None not in self.values and all(violation <= 0 for violation in self.violations.values())


MISSING_VALUE_ENDING: Final = " measured"
"""The end of the names that `missing_value_constraint` returns."""


def missing_value_constraint(objective: Objective) -> str:
    """Return the name of the constraint that a trial breaks if it has no value for an objective."""
    return f"{objective.metric}{MISSING_VALUE_ENDING}"


def score(
    metrics: Mapping[str, float],
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint],
    baseline: Mapping[str, float] | None = None,
) -> Score:
    """Return the score of a trial.

    Args:
        metrics: The trial's metrics from `metrics_of`; empty for a config that delivered nothing.
        objectives: The study's objectives.
        constraints: The study's constraints; those in `ALWAYS` are added.
        baseline: The baseline's metrics, for limits relative to the baseline.
    """
    violations: dict[str, float] = {}
    for constraint in (*ALWAYS, *constraints):
        value = metrics.get(constraint.metric)
        if value is not None:
            violations[str(constraint)] = constraint.violation(value, (baseline or {}).get(constraint.metric))
        elif constraint not in ALWAYS:
            violations[str(constraint)] = 1.0  # a trial without a value does not meet the constraint
    for objective in objectives:
        if objective.metric not in metrics:
            violations[missing_value_constraint(objective)] = 1.0
    return Score(tuple(metrics.get(objective.metric) for objective in objectives), violations)
