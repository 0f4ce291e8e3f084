"""Estimates whether another trial fits into the time and bytes that a study has left, and when the study will end."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Self

from runners.workload import RecordSizes
from tuner.execution.budgets.budget import Budget
from tuner.execution.budgets.estimate import least_confirm_trials
from tuner.model.spec import StudySpec
from tuner.model.study_time import OVERHEAD_S, starting_s, trial_s
from tuner.model.trial import CONFIRMING_KINDS, Trial, TrialKind
from tuner.results.search_state import SearchState

_RECENT: Final = 20
"""How many of the newest trials are used to estimate the time and the bytes of the next trial."""


@dataclass(slots=True)
class Outlook:
    """Estimates from a study's newest trials how much time and how many bytes the next trials take.

    Attributes:
        spec: The specification of the study.
        searches: The trials so far, by record size.
        budget: The time and the bytes that are left.
        recent: The newest trials, of all record sizes.
        totals: By record size, how many trials its search will have; None if only time or bytes end the search.
    """

    spec: StudySpec
    searches: Mapping[RecordSizes, SearchState]
    budget: Budget
    recent: deque[Trial]
    totals: dict[RecordSizes, int | None]

    @classmethod
    def after(
        cls, trials: Sequence[Trial], spec: StudySpec, searches: Mapping[RecordSizes, SearchState], budget: Budget
    ) -> Self:
        """Return the outlook of a study that has measured the given trials, in the order in which they ended."""
        return cls(spec, searches, budget, deque(trials, _RECENT), dict.fromkeys(searches, spec.search.trials))

    def count(self, trial: Trial) -> None:
        """Count the time and the bytes of a trial that has ended."""
        self.budget.spend(trial)
        self.recent.append(trial)

    def may_start(self, kept_s: float | None, kept_bytes: float = 0.0, others: int = 0) -> bool:
        """Return whether the next trial will probably keep to the study's time and to its byte budget.

        Args:
            kept_s: Seconds that are reserved for later work; None to ignore the time limit.
            kept_bytes: Bytes that are reserved for later trials.
            others: How many other trials will also send bytes, because they are running or will certainly follow.
        """
        left_s = self.budget.left_s()
        if kept_s is not None and left_s is not None and left_s - kept_s < self.mean_s():
            return False
        left = self.budget.left_bytes()
        return left is None or left - kept_bytes > (1 + others) * self.most_bytes()

    def mean_s(self) -> float:
        """Return the mean duration of the newest trials in seconds; before the first trial, the planned duration."""
        recent_s = [trial.duration_s for trial in self.recent if trial.kind is not TrialKind.BURN_IN]
        return fmean(recent_s) if recent_s else trial_s(self.spec) + OVERHEAD_S

    def confirm_s(self) -> float:
        """Return the seconds to reserve for a confirmation of one record size that takes the fewest possible rounds."""
        # Racing shortens trials of the search but not of a confirmation, so the seconds that it saved are added again.
        spared_s = [trial.saved_s for trial in self.recent if trial.kind is not TrialKind.BURN_IN]
        each_s = self.mean_s() + (fmean(spared_s) if spared_s else 0.0)
        return least_confirm_trials(self.spec) * each_s + starting_s(self.spec, self.spec.confirm.rounds)

    def confirm_bytes(self) -> float:
        """Return the bytes to reserve for a confirmation of one record size that takes the fewest possible rounds."""
        return least_confirm_trials(self.spec) * self.most_bytes()

    def most_bytes(self) -> float:
        """Return the most bytes that any of the newest trials has sent.

        The first burn-in run takes much longer than a trial. So the bytes of a long run are scaled down to the duration
        of a trial.
        """
        usual_s = 1.5 * trial_s(self.spec)
        return max(
            (each.spent_bytes * min(1.0, usual_s / (each.load_s or usual_s)) for each in self.recent), default=0.0
        )

    def left_s(self, size: RecordSizes) -> float | None:
        """Return the estimated seconds until the study ends; None if the study has no limit to estimate them from."""
        sizes = self.spec.workload.record_sizes
        later = sizes[sizes.index(size) + 1 :]
        total, by_time = self.totals[size], self.budget.left_s()
        if total is None:
            return by_time
        search = self.searches[size]
        to_come = max(0, total - search.counted) + sum(self.totals[other] or 0 for other in later)
        steps = to_come - sum(search.kinds[kind] for kind in CONFIRMING_KINDS)
        left_s = max(0.0, steps * self.mean_s() + (len(later) + 1) * self.confirm_s())
        return left_s if by_time is None else min(left_s, by_time)
