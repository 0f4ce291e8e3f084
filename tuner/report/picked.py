"""The recommendations of a study, one per goal that it can answer for."""

from collections.abc import Mapping
from typing import Final

from tuner.study.errors import NoFeasibleConfig
from tuner.study.recommendation import Recommendation, recommend
from tuner.study.results import SizeResults, StudyResults
from tuner.study.spec import Goal

_NEEDS: Final[Mapping[Goal, tuple[str, ...]]] = {
    Goal.THROUGHPUT: ("mb_per_s",),
    Goal.LATENCY: ("latency_p99_ms",),
    Goal.BALANCED: ("mb_per_s", "latency_p99_ms"),
}


def answered_goals(size: SizeResults) -> tuple[Goal, ...]:
    """The goals whose numbers were measured: a study without a paced phase knows no latency."""
    return tuple(goal for goal, needs in _NEEDS.items() if all(name in size.baseline_metrics for name in needs))


def recommendations(study: StudyResults, size: SizeResults) -> dict[Goal, Recommendation]:
    """What is recommended for a record size; empty before there is anything to recommend."""
    found = {}
    for goal in answered_goals(size):
        try:
            found[goal] = recommend(study, size.record_bytes, goal)
        except NoFeasibleConfig:
            continue
    return found


def labels(found: Mapping[Goal, Recommendation]) -> dict[int, str]:
    """By trial number, what it is recommended for: `throughput, balanced`; the baseline is not named."""
    named: dict[int, list[str]] = {}
    for goal, each in found.items():
        if not each.is_baseline:
            named.setdefault(each.trial.number, []).append(str(goal))
    return {number: ", ".join(goals) for number, goals in named.items()}
