"""The Pareto front of a record size: the trials on it, and how its hypervolume grew."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import log

from objectives.front import Front, hypervolume, surely_dominates
from objectives.repeats import Estimate
from objectives.scoring import Objective
from tuner.model.trial import Trial, TrialKind
from tuner.results.estimates import Estimates


def may_be_on_front(trial: Trial, baseline: Trial | None) -> bool:
    """Return whether a trial may be on the front.

    Only the trials of the search and the first baseline trial may be on the front. Such a trial must have met all
    constraints. It must not have been stopped early, because a trial is stopped when it can't reach the front any more.

    Burn-in runs are left out, because a broker that has just started is not yet as fast as it will be. Repeats of the
    baseline and trials of a confirmation are left out, because the front shows each config once.
    """
    counts = trial.kind is TrialKind.SEARCH or (baseline is not None and trial.number == baseline.number)
    return counts and trial.feasible and not trial.stopped_early


def add_to_front(front: Front, trial: Trial, baseline: Trial | None) -> bool:
    """Add a trial to the front if it belongs there, and return whether the front changed."""
    if not may_be_on_front(trial, baseline):
        return False
    return front.add(trial.number, [value for value in trial.objectives if value is not None])


def fronts(
    trials: Sequence[Trial], objectives: Sequence[Objective], baseline: Trial | None, estimates: Estimates
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the numbers of the trials on the front, and the numbers of the trials that only noise may keep off it.

    Configs are compared by the means of all their measurements. A config that lost records in any trial is left out.
    """
    directions = tuple(objective.direction for objective in objectives)
    lossy = {trial.fingerprint for trial in trials if trial.lost_records}
    candidates: dict[str, tuple[int, tuple[Estimate, ...]]] = {}
    for trial in trials:
        if may_be_on_front(trial, baseline) and trial.fingerprint not in lossy:
            # Forgotten trials have no estimates.
            found = estimates.by_config.get(trial.fingerprint, {})
            if all(objective.metric in found for objective in objectives):
                values = tuple(found[objective.metric] for objective in objectives)
                candidates.setdefault(trial.fingerprint, (trial.number, values))
    front = Front(directions)
    for number, values in candidates.values():
        front.add(number, [each.value for each in values])
    members = [values for number, values in candidates.values() if number in front]
    near = [
        number
        for number, values in candidates.values()
        if number not in front and not any(surely_dominates(other, values, directions) for other in members)
    ]
    return front.numbers, tuple(near)


def volumes(
    trials: Sequence[Trial],
    objectives: Sequence[Objective],
    baseline: Trial | None,
    estimates: Estimates,
    medians: Mapping[str, float],
) -> tuple[tuple[int, float], ...]:
    """Return how the front grew: the number of each trial that changed it, and the hypervolume after this trial.

    The trials are corrected for the baseline's drift.

    Args:
        trials: The trials of the record size, by number.
        objectives: The study's objectives.
        baseline: The first complete baseline trial; None if there is none yet.
        estimates: The baseline's drift, and the trials that are forgotten.
        medians: The baseline's metrics, for `front_volume`.
    """
    front = Front(tuple(objective.direction for objective in objectives))
    found: list[tuple[int, float]] = []
    for trial in trials:
        metrics = estimates.without_drift(trial).metrics
        corrected = replace(trial, objectives=tuple(metrics.get(each.metric) for each in objectives))
        if trial.number not in estimates.forgotten and add_to_front(front, corrected, baseline):
            found.append((trial.number, front_volume(front.points, objectives, medians) or 0.0))
    return tuple(found)


def front_volume(
    points: Iterable[Sequence[float | None]], objectives: Sequence[Objective], baseline: Mapping[str, float]
) -> float | None:
    """Return the hypervolume of a front in gains over a baseline; None if the baseline lacks an objective's metric.

    A coordinate of a point is 1 plus the natural logarithm of its gain in one objective, so that a gain of 1.1 counts
    the same wherever the front lies. A coordinate is at least 0, which is a gain of 0.37. The baseline is one of the
    points, so a hypervolume of 1.0 means that no config is better in any objective.

    Args:
        points: The points of the front, shape (points, objectives).
        objectives: The objectives, one for each column of the points.
        baseline: The baseline's values, by metric.
    """
    if any(objective.metric not in baseline for objective in objectives):
        return None
    gains = [
        [
            objective.gain(value or 0.0, baseline[objective.metric])
            for objective, value in zip(objectives, point, strict=True)
        ]
        for point in points
    ]
    logs = [[max(0.0, 1.0 + log(gain)) if gain > 0 else 0.0 for gain in point] for point in gains]
    return hypervolume([*logs, [1.0] * len(objectives)])
