"""Asks `recommend` once for each goal of a record size, and names the goals of each recommended trial."""

from collections.abc import Iterable, Mapping

from tuner.model.errors import NoFeasibleConfig
from tuner.model.goals import Goal
from tuner.results.recommendations.recommend import recommend
from tuner.results.recommendations.recommendation import Recommendation
from tuner.results.study_results import SizeResults, StudyResults


def recommendations_by_goal(
    study: StudyResults, size: SizeResults, goals: Iterable[Goal] = Goal
) -> dict[Goal, Recommendation]:
    """Return the recommendation for each goal; a goal without a recommendation is left out."""
    by_goal = {}
    for goal in goals:
        try:
            by_goal[goal] = recommend(study, size.record_bytes, goal)
        except NoFeasibleConfig:
            continue
    return by_goal


def goals_by_trial(by_goal: Mapping[Goal, Recommendation]) -> dict[int, str]:
    """Return the goals that each trial is recommended for, by trial number: `throughput, balanced`."""
    named: dict[int, list[str]] = {}
    for goal, recommendation in by_goal.items():
        if not recommendation.is_baseline:
            named.setdefault(recommendation.trial.number, []).append(str(goal))
    return {number: ", ".join(goals) for number, goals in named.items()}
