"""Chooses the best trials of a search for a goal: one trial on the front, and the nominees to measure again."""

from collections.abc import Mapping
from typing import Final

from tuner.model.goals import ALLOW_LOSS, Goal
from tuner.model.trial import Trial, TrialKind
from tuner.results.recommendations.recommendation import NO_CONDITIONS, Conditions
from tuner.results.study_results import SizeResults

_ONE_TRIAL_OFF_RATIO: Final = 0.15
"""How far the value of one trial may lie below the config's usual value, as a share.

Source: docs/evidence/trust.md, "Cold starts": on a virtual machine, the throughput of one config was 20 % lower for
some 10 s.
"""


def best_on_front(results: SizeResults, goal: Goal, conditions: Conditions = NO_CONDITIONS) -> Trial | None:
    """Return the trial on the front that is best for a goal; None if no trial on the front can be recommended.

    Trials are compared by their measured numbers; their gains need not be proven. The config of the trial must meet the
    conditions: in its confirmation rounds if it was confirmed, and otherwise in the search. If it was measured again,
    it must have lost no records, and must have met the study's constraints in at least half of its repeats and in the
    mean of its rounds.

    For the goal balanced, a config that loses more than `conditions.allowed_loss` in an objective is chosen only if all
    configs do. Otherwise, the config with the largest product of its gains over the baseline is the best.
    """
    fit = [trial for trial in results.front_trials if _can_be_recommended(results, trial, conditions)]
    return max(fit, key=lambda trial: results.goal_rank(trial, goal, conditions.allowed_loss), default=None)


def nominees(results: SizeResults, goal: Goal, most: int, allow_loss: float = ALLOW_LOSS) -> tuple[Trial, ...]:
    """Return the trials whose configs are measured again for a goal: the best ones of the search, the best first.

    Only configs that measured better than the baseline count. They need not be on the front, because noise decides
    which of two similar configs is on the front. For the goal balanced, configs that lose a little more than
    `allow_loss` come last. They are not left out, because the search measured each config once, so a loss may be noise.
    """
    by_fingerprint: dict[str, Trial] = {}
    for trial in sorted(results.candidates, key=lambda trial: results.goal_rank(trial, goal, allow_loss), reverse=True):
        gain, loss = results.goal_gain(trial, goal), 1 - (1 - allow_loss) * (1 - _ONE_TRIAL_OFF_RATIO)
        better = gain is not None and gain > 1.0 and results.goal_rank(trial, goal, loss)[0]
        if better and results.baseline is not None and trial.fingerprint != results.baseline.fingerprint:
            by_fingerprint.setdefault(trial.fingerprint, trial)
    return tuple(by_fingerprint.values())[:most]


def _can_be_recommended(results: SizeResults, trial: Trial, conditions: Conditions) -> bool:
    """Return whether a trial's config can be recommended by its measurements; see `best_on_front`."""
    confirmation = results.confirmation(trial.fingerprint)
    broken = confirmation is not None and bool(confirmation.broken)
    repeats = [
        each for each in results.trials if each.kind is TrialKind.REPEAT and each.fingerprint == trial.fingerprint
    ]
    if confirmation is None and 2 * sum(each.feasible for each in repeats) < len(repeats):
        return False
    return (
        conditions.met_by(deciding_metrics(results, trial))
        and not broken
        and not results.lost_records(trial.fingerprint)
    )


def deciding_metrics(results: SizeResults, trial: Trial) -> Mapping[str, float]:
    """Return the metrics by which a config is judged: of its confirmation rounds if it has any, or of the search."""
    confirmation = results.confirmation(trial.fingerprint)
    return confirmation.values if confirmation else results.metrics_of(trial)
