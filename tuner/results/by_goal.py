"""The recommendations of a study, one per goal that it can answer for."""

from collections.abc import Iterable, Mapping

from tuner.model.errors import NoFeasibleConfig
from tuner.model.spec import Goal
from tuner.results.recommendation import Recommendation, recommend
from tuner.results.study_results import SizeResults, StudyResults


def recommendations(study: StudyResults, size: SizeResults, goals: Iterable[Goal] = Goal) -> dict[Goal, Recommendation]:
    """What is recommended for a record size; empty before there is anything to recommend."""
    found = {}
    for goal in goals:
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
