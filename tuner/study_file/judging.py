"""Objectives and constraints as a study file has them: names, and bounds such as `latency_p99_ms <= 10`."""

import re
from dataclasses import dataclass
from typing import Any, Final

from objectives.outcome import OUTCOME_METRICS
from objectives.scoring import Constraint, Objective
from tuner.model.spec import PRESETS, Goal
from tuner.study_file.errors import Refusal, Refused, did_you_mean, refused
from tuner.study_file.fields import Reads

_PRESET_NAMES: Final = [goal.value for goal in PRESETS]
_METRIC_RULE: Final = f"a metric is one of {', '.join(OUTCOME_METRICS)}"
_OBJECTIVES_RULE: Final = f"objectives are {', '.join(_PRESET_NAMES)}, or a list of metrics such as [mb_per_s]"
_CONSTRAINT: Final = re.compile(
    r"(?P<metric>\w+)\s*(?P<bound><=|>=)\s*(?P<limit>[0-9.]+([eE][-+]?[0-9]{1,3})?)(?P<relative>\s*[x*]?\s*baseline)?",
    re.ASCII,
)
_CONSTRAINT_RULE: Final = "a constraint reads `latency_p99_ms <= 10` or `mb_per_s >= 0.9 x baseline`"


@dataclass(frozen=True, slots=True)
class Asked:
    """What `objectives` stands for.

    Attributes:
        objectives: At least one.
        constraints: Of the preset.
    """

    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...] = ()


def preset(goal: Goal) -> Asked:
    """What a preset stands for."""
    return Asked(*PRESETS[goal])


def objectives() -> Reads:
    """The name of a preset, or a list of metrics."""

    def read(value: object) -> Asked:
        if isinstance(value, str) and value in _PRESET_NAMES:
            return preset(Goal(value))
        if not isinstance(value, list):
            if isinstance(value, str) and value in OUTCOME_METRICS:
                return Asked((Objective(value),))
            raise refused(_OBJECTIVES_RULE, advice=did_you_mean(value, (*_PRESET_NAMES, *OUTCOME_METRICS)))
        names: list[Any] = value
        if not names:
            raise refused("a study has at least one objective", advice="leave the key out for balanced")
        refusals = []
        for position, name in enumerate(names):
            if not isinstance(name, str) or name not in OUTCOME_METRICS:
                refusals.append(Refusal(_METRIC_RULE, did_you_mean(name, OUTCOME_METRICS), within=(position,)))
            elif name in names[:position]:
                refusals.append(Refusal("each objective stands once", within=(position,)))
        if refusals:
            raise Refused(*refusals)
        return Asked(tuple(Objective(name) for name in names))

    metric = {"enum": list(OUTCOME_METRICS)}
    return Reads(read, {"anyOf": [{"enum": _PRESET_NAMES}, metric, {"type": "array", "minItems": 1, "items": metric}]})


def constraint() -> Reads:
    """One bound."""

    def read(value: object) -> Constraint:
        match = _CONSTRAINT.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is None:
            raise refused(_CONSTRAINT_RULE, advice="a limit is a number in the unit that the metric's name ends with")
        if match["metric"] not in OUTCOME_METRICS:
            advice = did_you_mean(match["metric"], OUTCOME_METRICS)
            raise refused(f"a constraint is about one of {', '.join(OUTCOME_METRICS)}", advice=advice)
        try:
            limit = float(match["limit"])
            return Constraint(match["metric"], match["bound"] == "<=", limit, match["relative"] is not None)
        except ValueError:
            raise refused("the limit of a constraint is a number above 0") from None

    return Reads(read, {"type": "string", "description": "latency_p99_ms <= 10, mb_per_s >= 0.9 x baseline"})
