"""What racing has saved, in numbers and in words."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from tuner.model.trial import CONFIRMING_KINDS, Kind, Trial


@dataclass(frozen=True, slots=True)
class RacingSavings:
    """What racing has saved of a search.

    Attributes:
        stopped: Trials that were stopped early.
        searched: Trials of the search.
        saved_s: Seconds of load that were spared.
        load_s: Seconds of load that were not; those of burn-ins and baselines too.
    """

    stopped: int
    searched: int
    saved_s: float
    load_s: float

    @classmethod
    def of(cls, trials: Iterable[Trial]) -> Self:
        """Of any trials; those that confirm are left out."""
        ours = [trial for trial in trials if trial.kind not in CONFIRMING_KINDS]
        return cls(
            stopped=sum(bool(trial.stopped_early) for trial in ours),
            searched=sum(trial.kind is Kind.SEARCH for trial in ours),
            saved_s=sum(trial.saved_s for trial in ours),
            load_s=sum(trial.load_s for trial in ours),
        )

    @property
    def saved_ratio(self) -> float:
        """Share of the search's load that was spared."""
        planned_s = self.load_s + self.saved_s
        return self.saved_s / planned_s if planned_s else 0.0

    def __str__(self) -> str:
        """`racing stopped 23 of 54 trials early and saved 4 min 10 s, 31 % of the search's load`; empty if nothing."""
        if self.saved_s <= 0:
            return ""
        return (
            f"racing stopped {self.stopped} of {self.searched} trials early and saved {_duration(self.saved_s)}, "
            f"{100 * self.saved_ratio:.0f} % of the search's load"
        )


def _duration(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
