"""Judges stored trials by the study's present constraints, which may have changed since the trials were measured."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from objectives.scoring import ALWAYS, Constraint
from tuner.model.trial import State, Trial, TrialKind


def judge_again(constraints: Sequence[Constraint], trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials with their `violations` computed again for the given constraints.

    A trial that was stored with the same constraints is returned unchanged.

    Args:
        constraints: The study's present constraints, without those that every study has.
        trials: Trials of one record size.
    """
    names = {str(each): each for each in constraints}
    baselines = [trial for trial in trials if trial.kind is TrialKind.BASELINE and trial.state is State.COMPLETE]
    return [_judged(trial, names, baselines) for trial in trials]


def own_constraint(name: str) -> Constraint | None:
    """Return the constraint for a name in `Trial.violations`; None for the constraints that every study has."""
    found = Constraint.parse(name)
    return None if found in ALWAYS else found


def _judged(trial: Trial, constraints: Mapping[str, Constraint], baselines: Sequence[Trial]) -> Trial:
    if not trial.violations:
        return trial  # burn-in runs are not judged
    violations = {name: by for name, by in trial.violations.items() if name in constraints or not own_constraint(name)}
    added = {name: constraint for name, constraint in constraints.items() if name not in violations}
    for name, constraint in added.items():
        value = trial.metrics.get(constraint.metric)
        if value is not None:
            # Later baseline trials do not count, so that the sampler gets the same values when a study is resumed.
            before = [
                other for other in baselines if other.number <= trial.number and constraint.metric in other.metrics
            ]
            baseline_values = [other.metrics[constraint.metric] for other in before]
            violations[name] = constraint.violation(value, median(baseline_values) if baseline_values else None)
        elif not trial.stopped_early:  # a trial that was stopped early may lack the metric for lack of time
            violations[name] = 1.0
    return trial if violations == trial.violations else replace(trial, violations=violations)
