"""The results of one record size while its search runs, updated after each trial.

An update costs no more after thousands of trials than after ten.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from objectives.drift import Drift
from objectives.front import Front
from objectives.metrics import Direction
from objectives.scoring import Objective
from tuner.model.trial import State, Trial, TrialKind
from tuner.results.fronts import add_to_front
from tuner.results.study_results import SizeResults, baseline_metrics, burn_ins_as_baseline, size_results

_MOST_WITH_WINDOWS: Final = 50
"""How many of the newest trials are kept for racing, which compares a running trial with them to stop it early."""
_MOST_BASELINES: Final = 30
"""How many of the newest baseline trials the drift is estimated from."""


class SearchState:
    """The trials of one record size so far, with the front and the baseline's metrics that follow from them.

    Attributes:
        trials: All trials, in the order in which they were stored.
        front: The Pareto front.
        baselines: The complete baseline trials.
        burn_ins_as_baseline: The burn-in runs that count as measurements of the baseline; empty before the first
            complete baseline trial.
        baseline_metrics: By metric, the baseline's median, without a correction for drift.
        kinds: The number of trials of each kind.
        searched: The complete trials of the search.
        next_number: The number of the next trial.
        with_windows: The newest trials whose windows are stored, without burn-in runs.
        first_round: The number of the first round of the running confirmation. It is subtracted when rounds are shown,
            so that users see rounds from 1.
    """

    def __init__(self, record_bytes: str, objectives: tuple[Objective, ...], trials: Iterable[Trial] = ()) -> None:
        self.record_bytes, self.objectives = record_bytes, objectives
        self.trials: list[Trial] = []
        self.front = Front(tuple(objective.direction for objective in objectives))
        self.baselines: list[Trial] = []
        self.burn_ins_as_baseline: list[Trial] = []
        self.baseline_metrics: dict[str, float] = {}
        self.kinds: dict[TrialKind, int] = dict.fromkeys(TrialKind, 0)
        self.searched: list[Trial] = []
        self.with_windows: deque[Trial] = deque(maxlen=_MOST_WITH_WINDOWS)
        self.next_number = 0
        self.first_round = 0
        self._drift: list[tuple[int, list[Drift]]] = []
        for trial in trials:
            self.add(trial)

    def add(self, trial: Trial) -> None:
        """Add a trial that has been stored, and update the front, the baseline and the drift with it."""
        self.trials.append(trial)
        self.kinds[trial.kind] += 1
        self.next_number = max(self.next_number, trial.number + 1)
        if trial.kind is TrialKind.BASELINE and trial.state is State.COMPLETE:
            if not self.baselines:
                self.burn_ins_as_baseline = burn_ins_as_baseline(self.trials, self.objectives)
            self.baselines.append(trial)
            self.baseline_metrics = baseline_metrics([*self.burn_ins_as_baseline, *self.baselines])
            self._drift.append((trial.number, [self._drift_of(objective) for objective in self.objectives]))
        if trial.kind is TrialKind.SEARCH and trial.state is State.COMPLETE:
            self.searched.append(trial)
        if trial.window_values and trial.kind is not TrialKind.BURN_IN:
            self.with_windows.append(trial)
        add_to_front(self.front, trial, self.baselines[0] if self.baselines else None)

    def without_drift(self, trial: Trial) -> Trial:
        """Return the trial with its objectives corrected for the baseline's drift, for the sampler.

        The result has the values at the time of the first baseline trial, and not those at the present time, because
        the sampler does not accept new values of earlier trials. Only earlier baseline trials count, so that a resumed
        study gives the sampler the same values as before.
        """
        drifts = self._drifts_before(trial.number)
        if drifts is None or not any(drift.step_log for drift in drifts):
            return trial
        values = [
            None if value is None else value * drift.factor(trial.number) / drift.factor(round(drift.numbers[0]))
            for value, drift in zip(trial.objectives, drifts, strict=True)
        ]
        return replace(trial, objectives=tuple(values))

    def at_time_of(self, number: int, other: int, values: Sequence[float]) -> tuple[float, ...]:
        """Return a trial's objectives as they would have been at the time of another trial.

        The objectives are corrected for the drift of the baseline between the two trials.

        Args:
            number: Number of the trial at whose time the result holds.
            other: Number of the trial whose objectives are converted.
            values: The objectives that were measured in the trial `other`.
        """
        drifts = self._drifts_before(number)
        if drifts is None or not any(drift.step_log for drift in drifts):
            return tuple(values)
        return tuple(
            value * drift.factor(other) / drift.factor(number) for value, drift in zip(values, drifts, strict=True)
        )

    def _drifts_before(self, number: int) -> list[Drift] | None:
        return next((drifts for before, drifts in reversed(self._drift) if before <= number), None)

    def _drift_of(self, objective: Objective) -> Drift:
        recent = [*self.burn_ins_as_baseline, *self.baselines][-_MOST_BASELINES:]
        known = [trial for trial in recent if trial.metrics.get(objective.metric, 0.0) > 0]
        return Drift.of([trial.number for trial in known], [trial.metrics[objective.metric] for trial in known])

    @property
    def counted(self) -> int:
        """Number of trials so far that count towards the number of trials in the study file."""
        return self.kinds[TrialKind.BASELINE] + self.kinds[TrialKind.SEARCH]

    def best(self, metric: str) -> float | None:
        """Return the best value of an objective on the front; None if the front is empty."""
        index = [objective.metric for objective in self.objectives].index(metric)
        best = max if self.objectives[index].direction is Direction.MAXIMIZE else min
        return best((point[index] for point in self.front.points), default=None)

    def results(self, rate_records_per_s: float | None) -> SizeResults:
        """Compute the results of the record size from all its trials so far."""
        return size_results(self.record_bytes, self.objectives, self.trials, rate_records_per_s)
