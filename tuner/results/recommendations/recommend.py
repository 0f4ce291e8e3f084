"""Recommends configs from the results of a study: for one goal or the best of all, for one record size or for each."""

from collections.abc import Sequence
from dataclasses import replace
from math import log
from statistics import fmean

from runners.reporting import Say, silent
from tuner.model.errors import NoFeasibleConfig, NothingMeasured
from tuner.model.goals import Goal, goals_of
from tuner.results.recommendations.goal_choice import GoalChoice
from tuner.results.recommendations.recommendation import NO_CONDITIONS, Conditions, Recommendation
from tuner.results.study_results import StudyResults


def recommend(
    study: StudyResults,
    record_bytes: str,
    goal: Goal | None = None,
    conditions: Conditions = NO_CONDITIONS,
) -> Recommendation:
    """Return the recommended config for a goal; if no goal is given, the best of the recommendations for all goals.

    For one goal, the first choice is a config that is proven better for it, whichever goal it was confirmed for. If
    configs were confirmed, but none is proven better, the baseline is recommended, and `Recommendation.is_baseline` is
    true. The same holds if the search found no config worth a confirmation. If there was no confirmation, or if the
    baseline breaks a constraint, the best config on the front is recommended, without claiming a gain.

    Without a goal, the goals are tried in the order balanced, throughput, latency; a study with one objective has one
    goal. `preferred` chooses among the recommendations for them.

    Args:
        study: The study's results.
        record_bytes: The record size or mix. If it was not measured, the nearest measured size is used, and the
            recommendation carries a warning.
        goal: What the config should be best at; None to try all goals.
        conditions: Constraints in addition to the study's, and the loss that is allowed.

    Raises:
        NothingMeasured: The baseline has not been measured yet.
        NoFeasibleConfig: The study did not measure what the goal needs, or no config meets the constraints. If no goal
            is given, no goal has a config.
    """
    try:
        if goal is not None:
            found = GoalChoice.of(study, record_bytes, goal, conditions).recommendation()
        else:
            found = _preferred(study, record_bytes, conditions)
        return replace(found, asked=conditions.options)
    except NoFeasibleConfig as error:
        if not study.sizes or study.size(record_bytes) is not None:
            raise
        measured = " and ".join(size.record_bytes for size in study.sizes)
        raise type(error)(
            f"records of {record_bytes} B were not measured, only of {measured} B, and the nearest size has no "
            f"recommendation: {error}"
        ) from None


def recommend_each(
    study: StudyResults,
    record_bytes: str | None,
    goal: Goal | None,
    conditions: Conditions = NO_CONDITIONS,
) -> tuple[list[Recommendation], NoFeasibleConfig | None]:
    """Return the recommendations of a study, and the error that says why some record sizes have none.

    `record_bytes` is None for all sizes of the study. The other arguments are those of `recommend`.

    Raises:
        NothingMeasured: None of the sizes has a measured baseline.
        NoFeasibleConfig: No size has a recommendation, and at least one of them has a measured baseline.
    """
    sizes = [record_bytes] if record_bytes is not None else [size.record_bytes for size in study.sizes]
    recommended: list[Recommendation] = []
    missing: list[NoFeasibleConfig] = []
    for size in sizes:
        try:
            recommended.append(recommend(study, size, goal, conditions))
        except NoFeasibleConfig as error:
            missing.append(error)
    if recommended and not missing:
        return recommended, None
    kind = NothingMeasured if all(isinstance(each, NothingMeasured) for each in missing) else NoFeasibleConfig
    why = "; ".join(map(str, missing))
    reason = kind(why or f"{study.name} has no results yet, because its first trial has not ended")
    if not recommended:
        raise reason
    return recommended, reason


def recommendations(
    results: StudyResults, goals: Sequence[Goal] | None = None, tell: Say = silent
) -> list[Recommendation]:
    """Return one recommendation for each record size and goal.

    Args:
        results: The study's results.
        goals: The goals to recommend for. Without goals, each record size gets one recommendation, as `recommend`
            chooses it.
        tell: Called with the reason if there is no recommendation for a record size and a goal.
    """
    chosen = []
    for size in results.sizes:
        for goal in goals or (None,):
            try:
                chosen.append(recommend(results, size.record_bytes, goal))
            except NoFeasibleConfig as error:
                tell(f"{size.record_bytes} B: {error}")
    return chosen


def preferred(candidates: Sequence[Recommendation]) -> Recommendation:
    """Return the recommendation to follow if the user gave no goal.

    1. If the recommendation for the first goal is proven, the result is this recommendation.
    2. Otherwise it is the proven recommendation with the greatest mean gain over all objectives. So a config with a
       little more throughput and a much higher latency is not preferred. The result names the goals that are not
       proven, and has the other proven recommendations as alternatives.
    3. If none is proven, the result is the first recommendation that is not the baseline.
    4. If all recommend the baseline, the result is the first.

    Args:
        candidates: At least one recommendation, in the order of the goals.
    """
    proven = [each for each in candidates if each.proven]
    if not proven:
        return next((each for each in candidates if not each.is_baseline), candidates[0])
    if proven[0] is candidates[0]:
        return candidates[0]
    chosen = max(proven, key=_mean_gain)
    others = {each.goal: each for each in proven if each.trial.fingerprint != chosen.trial.fingerprint}
    return replace(chosen, alternatives=others, unproven=tuple(each.goal for each in candidates if not each.proven))


def _mean_gain(recommendation: Recommendation) -> float:
    """Return the logarithm of the geometric mean of a config's gains in the study's objectives."""
    gains = {**recommendation.gains, **{metric: effect.ratio for metric, effect in recommendation.side_effects.items()}}
    return fmean([log(gains[metric].value) for metric in recommendation.objectives if metric in gains] or [0.0])


def _preferred(study: StudyResults, record_bytes: str, conditions: Conditions) -> Recommendation:
    """Return the recommendation to follow if the user gave no goal; see `preferred`."""
    recommended: list[Recommendation] = []
    missing: list[NoFeasibleConfig] = []
    for each in goals_of(study.objectives):
        try:
            recommended.append(GoalChoice.of(study, record_bytes, each, conditions).recommendation())
        except NoFeasibleConfig as error:
            missing.append(error)
    if not recommended:
        raise missing[0]
    return preferred(recommended)
