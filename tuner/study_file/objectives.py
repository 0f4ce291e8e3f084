"""Readers of the objectives and constraints of a study file."""

import re
from typing import Any, Final

from objectives.metrics import OUTCOME_METRICS
from objectives.scoring import Constraint, Objective
from tuner.model.goals import PRESETS, Goal
from tuner.study_file.errors import Refusal, Refused, did_you_mean, refused
from tuner.study_file.fields import ValueReader

_PRESET_NAMES: Final = [goal.value for goal in PRESETS]
_METRICS_OF_GOALS: Final = {
    "throughput": "mb_per_s or records_per_s",
    "latency": "latency_p99_ms or another percentile",
}
"""The metrics that users mean if they write the name of a goal in the place of a metric."""
_METRIC_RULE: Final = f"a metric must be one of {', '.join(OUTCOME_METRICS)}"
_OBJECTIVES_RULE: Final = f"must be one of {', '.join(_PRESET_NAMES)}, or a list of metrics such as [mb_per_s]"
_CONSTRAINT: Final = re.compile(
    r"(?P<metric>\w+) ?(?P<bound><=|>=) ?(?P<limit>[0-9.]+([eE][-+]?[0-9]{1,3})?)(?P<relative> ?[x*]? ?baseline)?",
    re.ASCII,
)
_CONSTRAINT_RULE: Final = "a constraint must read like `latency_p99_ms <= 10` or `mb_per_s >= 0.9 x baseline`"


ObjectivesOfKey = tuple[tuple[Objective, ...], tuple[Constraint, ...]]
"""The objectives that the key `objectives` asks for, and the constraints that the name of a goal adds to them."""


def goal_or_metrics() -> ValueReader:
    """Return a reader that accepts the name of a goal, one metric, or a list of metrics as objectives."""

    def read(value: object) -> ObjectivesOfKey:
        if isinstance(value, str) and value in _PRESET_NAMES:
            return PRESETS[Goal(value)]
        if not isinstance(value, list):
            if isinstance(value, str) and value in OUTCOME_METRICS:
                return (Objective(value),), ()
            raise refused(_OBJECTIVES_RULE, advice=did_you_mean(value, (*_PRESET_NAMES, *OUTCOME_METRICS)))
        names: list[Any] = value
        if not names:
            raise refused("a study needs at least one objective", advice="leave the key out to get balanced")
        refusals = []
        for position, name in enumerate(names):
            if not isinstance(name, str) or name not in OUTCOME_METRICS:
                refusals.append(Refusal(_METRIC_RULE, _meant_metric(name), within=(position,)))
            elif name in names[:position]:
                refusals.append(Refusal("each objective must be listed only once", within=(position,)))
        if refusals:
            raise Refused(*refusals)
        return tuple(Objective(name) for name in names), ()

    metric = {"enum": list(OUTCOME_METRICS)}
    return ValueReader(
        read, {"anyOf": [{"enum": _PRESET_NAMES}, metric, {"type": "array", "minItems": 1, "items": metric}]}
    )


def _meant_metric(written: object) -> str:
    """Return a question that names the metric that was probably meant, or an empty text if none is similar."""
    word = written.strip().lower() if isinstance(written, str) else ""
    if (meant := _METRICS_OF_GOALS.get(word)) is not None:
        return f"did you mean {meant}?"
    named = [name for name in OUTCOME_METRICS if word in name.split("_")]
    return f"did you mean {named[0]}?" if named else did_you_mean(written, OUTCOME_METRICS)


def constraint() -> ValueReader:
    """Return a reader that accepts one constraint, such as `latency_p99_ms <= 10`."""

    def read(value: object) -> Constraint:
        match = _CONSTRAINT.fullmatch(" ".join(value.split())) if isinstance(value, str) else None
        if match is None:
            raise refused(
                _CONSTRAINT_RULE, advice="give the limit in the metric's unit, the end of its name, such as ms"
            )
        if match["metric"] not in OUTCOME_METRICS:
            rule = "a constraint must begin with a metric, such as latency_p99_ms <= 10"
            near = _meant_metric(match["metric"])
            raise refused(rule, advice=f"{near} All metrics: docs/reference/study-file.md#metrics".strip())
        try:
            return Constraint(
                match["metric"], match["bound"] == "<=", float(match["limit"]), match["relative"] is not None
            )
        except ValueError:
            raise refused("the limit of a constraint must be a number above 0") from None

    return ValueReader(
        read, {"type": "string", "description": "Such as latency_p99_ms <= 10 or mb_per_s >= 0.9 x baseline"}
    )
