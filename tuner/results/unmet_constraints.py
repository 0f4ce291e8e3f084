"""Why nothing can be recommended: which constraints were missed, by how many trials, and how near the best came."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from objectives.scoring import ALWAYS
from tuner.model.trial import State, Trial
from tuner.results.study_results import SizeResults

NONE_KEEPS_ALL: Final = "no config keeps every constraint"
_ALWAYS: Final = tuple(map(str, ALWAYS))
_HELD_RATE: Final = _ALWAYS[1]
_MEASURED: Final = " measured"


@dataclass(frozen=True, slots=True)
class UnmetConstraint:
    """A constraint of a record size, where no config kept all of them.

    Attributes:
        constraint: As the study states it, `latency_p99_ms <= 5`; or `latency_p99_ms measured` for an objective.
        judged: Trials that were judged by it.
        missed: How many of them missed it.
        best: The best value of the trials that tell something of it; None where none has one.
        trial: Number of the trial that reached it.
        stopped_early: Whether that trial was stopped before its time, so that its value is what was seen until then.
        rate_held: Whether only trials that held a fixed rate tell something of it.
    """

    constraint: str
    judged: int
    missed: int
    best: float | None
    trial: int | None
    stopped_early: bool
    rate_held: bool

    def __str__(self) -> str:
        """`latency_p99_ms <= 5: missed by 12 of 14 trials; the best that held the rate: 6.31, trial 7`."""
        count = f"{self.missed} of {self.judged} trials"
        if self.constraint.endswith(_MEASURED):
            return f"{self.constraint.removesuffix(_MEASURED)}: {count} have no such number"
        missed = f"{self.constraint}: missed by {count}"
        those = " that held the rate" if self.rate_held else ""
        if self.best is None:
            return f"{missed}; none{those or ' of them'} has such a number"
        if self.constraint in _ALWAYS and self.missed < self.judged:
            return missed
        early = ", stopped early" if self.stopped_early else ""
        return f"{missed}; the best{those}: {self.best:.4g}, trial {self.trial}{early}"


def missed_constraints(size: SizeResults) -> tuple[UnmetConstraint, ...]:
    """The constraints of a record size; none where a config keeps them all, or nothing was judged yet.

    What every study asks for is among them only where it was missed.
    """
    judged = [trial for trial in size.trials if trial.state is State.COMPLETE and trial.violations]
    if size.front or not judged:
        return ()
    names = dict.fromkeys(name for trial in judged for name in trial.violations)
    asked = [name for name in names if name not in _ALWAYS and not name.endswith(_MEASURED)]
    always = [name for name in _ALWAYS if _missing(judged, name)]
    # What was not measured for having missed something else is no news beside it.
    alone = [trial for trial in judged if all(name.endswith(_MEASURED) for name in _missed_by(trial))]
    unmeasured = [name for name in names if name.endswith(_MEASURED) and _missing(alone, name)]
    return tuple(_missed(judged, name) for name in (*asked, *always, *unmeasured))


def missed_lines(size: SizeResults) -> list[str]:
    """The same in words, a line for each constraint."""
    return [str(each) for each in missed_constraints(size)]


def _missed(judged: Sequence[Trial], name: str) -> UnmetConstraint:
    metric, bound = name.split()[:2]
    # A latency of records that came late or not at all tells nothing; of what is always asked, that is the question.
    telling = judged if name in _ALWAYS else [trial for trial in judged if not set(_missed_by(trial)) & set(_ALWAYS)]
    known = [trial for trial in telling if metric in trial.metrics]
    choose = min if bound == "<=" else max
    best = choose(known, key=lambda trial: trial.metrics[metric], default=None)
    by_it = judged if name.endswith(_MEASURED) else [trial for trial in judged if name in trial.violations]
    return UnmetConstraint(
        constraint=name,
        judged=len(by_it),
        missed=len(_missing(judged, name)),
        best=best.metrics[metric] if best else None,
        trial=best.number if best else None,
        stopped_early=bool(best and best.stopped_early),
        rate_held=name not in _ALWAYS and any(_HELD_RATE in trial.violations for trial in judged),
    )


def _missing(trials: Sequence[Trial], name: str) -> list[Trial]:
    return [trial for trial in trials if trial.violations.get(name, 0.0) > 0]


def _missed_by(trial: Trial) -> list[str]:
    return [name for name, violation in trial.violations.items() if violation > 0]
