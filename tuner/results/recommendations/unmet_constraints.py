"""By how much the trials missed each constraint, if no config meets all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from objectives.scoring import ALWAYS, HELD_RATE, MISSING_VALUE_ENDING
from tuner.model.trial import State, Trial
from tuner.results.study_results import SizeResults

NONE_KEEPS_ALL: Final = "no config meets every constraint"
_ALWAYS: Final = tuple(map(str, ALWAYS))


@dataclass(frozen=True, slots=True)
class UnmetConstraint:
    """How often, and by how much, a record size's trials missed one constraint, if no config met all constraints.

    Attributes:
        constraint: The constraint as it is in the study file, `latency_p99_ms <= 5`. For an objective that
            has no value in some trials, it is `latency_p99_ms measured`.
        judged: Number of trials for which the constraint was checked.
        missed: Number of these trials that missed it.
        best: The best value among the trials that can be compared; None if no such trial has a value.
        trial: Number of the trial with that value.
        stopped_early: Whether that trial was stopped early, so that its value covers only part of the trial.
        rate_held: Whether only trials that held the fixed rate can be compared.
    """

    constraint: str
    judged: int
    missed: int
    best: float | None
    trial: int | None
    stopped_early: bool
    rate_held: bool

    def __str__(self) -> str:
        """Return `latency_p99_ms <= 5: missed by 12 of 14 trials; best with the fixed rate held: 6.31 (trial 7)`."""
        count = f"{self.missed} of {self.judged} trials"
        if self.constraint.endswith(MISSING_VALUE_ENDING):
            return f"{self.constraint.removesuffix(MISSING_VALUE_ENDING)}: {count} have no value for it"
        missed = f"{self.constraint}: missed by {count}"
        held = " with the fixed rate held" if self.rate_held else ""
        if self.best is None:
            return f"{missed}; no trial{held} has a value for it"
        if self.constraint in _ALWAYS and self.missed < self.judged:
            return missed
        early = ", stopped early" if self.stopped_early else ""
        return f"{missed}; best{held}: {self.best:.4g} (trial {self.trial}{early})"


def missed_constraints(size: SizeResults) -> tuple[UnmetConstraint, ...]:
    """Return how each constraint of a record size was missed, if no config meets all of them.

    The result is empty if a config meets all constraints, or if no trial has been checked yet.

    The two constraints that every study has (no records lost, fixed rate held) are included only if a trial missed
    them.
    """
    judged = [trial for trial in size.trials if trial.state is State.COMPLETE and trial.violations]
    if size.front or not judged:
        return ()
    names = dict.fromkeys(name for trial in judged for name in trial.violations)
    asked = [name for name in names if name not in _ALWAYS and not name.endswith(MISSING_VALUE_ENDING)]
    always = [name for name in _ALWAYS if _that_missed(judged, name)]
    # If a trial missed another constraint, this is often the reason why it lacks a value. So a missing value gets a
    # line only if the trial missed no other constraint.
    alone = [trial for trial in judged if all(name.endswith(MISSING_VALUE_ENDING) for name in _missed_by(trial))]
    unmeasured = [name for name in names if name.endswith(MISSING_VALUE_ENDING) and _that_missed(alone, name)]
    return tuple(_unmet_constraint(judged, name) for name in (*asked, *always, *unmeasured))


def missed_lines(size: SizeResults) -> list[str]:
    """Return one sentence for each constraint of `missed_constraints`."""
    return [str(each) for each in missed_constraints(size)]


def _unmet_constraint(judged: Sequence[Trial], name: str) -> UnmetConstraint:
    metric, bound = name.split()[:2]
    # The latency of a trial that lost records or fell behind the fixed rate can't be compared. For the constraints on
    # lost records and on the fixed rate themselves, all trials count.
    comparable = judged if name in _ALWAYS else [trial for trial in judged if not set(_missed_by(trial)) & set(_ALWAYS)]
    known = [trial for trial in comparable if metric in trial.metrics]
    choose = min if bound == "<=" else max
    best = choose(known, key=lambda trial: trial.metrics[metric], default=None)
    judged_by_it = (
        judged if name.endswith(MISSING_VALUE_ENDING) else [trial for trial in judged if name in trial.violations]
    )
    return UnmetConstraint(
        constraint=name,
        judged=len(judged_by_it),
        missed=len(_that_missed(judged, name)),
        best=best.metrics[metric] if best else None,
        trial=best.number if best else None,
        stopped_early=bool(best and best.stopped_early),
        rate_held=name not in _ALWAYS and any(str(HELD_RATE) in trial.violations for trial in judged),
    )


def _that_missed(trials: Sequence[Trial], name: str) -> list[Trial]:
    return [trial for trial in trials if trial.violations.get(name, 0.0) > 0]


def _missed_by(trial: Trial) -> list[str]:
    return [name for name, violation in trial.violations.items() if violation > 0]
