"""How much load racing (stopping trials early) has saved, in numbers and in words."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from runners.reporting import duration
from tuner.model.trial import CONFIRMING_KINDS, Trial, TrialKind


@dataclass(frozen=True, slots=True)
class RacingSavings:
    """How much load racing (stopping trials early) has saved in a search.

    Attributes:
        stopped: Number of trials that were stopped early.
        searched: Number of trials of the search.
        saved_s: Seconds of load that were saved.
        load_s: Seconds of load that were run, including burn-in runs and baseline trials.
    """

    stopped: int
    searched: int
    saved_s: float
    load_s: float

    @classmethod
    def of(cls, trials: Iterable[Trial]) -> Self:
        """Add up the savings of all trials, except confirmation trials, which are never stopped early."""
        ours = [trial for trial in trials if trial.kind not in CONFIRMING_KINDS]
        return cls(
            stopped=sum(bool(trial.stopped_early) for trial in ours),
            searched=sum(trial.kind is TrialKind.SEARCH for trial in ours),
            saved_s=sum(trial.saved_s for trial in ours),
            load_s=sum(trial.load_s for trial in ours),
        )

    @property
    def saved_ratio(self) -> float:
        """Share of the search's planned load that was saved."""
        planned_s = self.load_s + self.saved_s
        return self.saved_s / planned_s if planned_s else 0.0

    def __str__(self) -> str:
        """Return the savings as a sentence; empty if nothing was saved.

        `23 of 54 trials were stopped early (the baseline's not counted); this saved 50 s, 31 % of the search's load`
        """
        if self.saved_s <= 0:
            return ""
        return (
            f"{self.stopped} of {self.searched} trials were stopped early (the baseline's not counted); this saved "
            f"{duration(self.saved_s)}, {100 * self.saved_ratio:.0f} % of the search's load"
        )
