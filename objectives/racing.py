"""Racing: predicts whether a running trial can still join the Pareto front, and stops the trial early if not.

Racing predicts the values that a trial would have if it ran to its end. Two trials of the same config differ, but the
difference shows already in the first seconds, and a longer trial does not average it out. So racing only has to predict
the rest of a phase: how far the value of the whole phase lies from the mean of the phase's first windows. Racing learns
this distance from phases that ran to their end. So it does not matter why windows differ on this host: by chance,
because of stalls, or because the warm-up was too short. All computations use logarithms, as in `objectives.repeats`.

The predictions are intervals. A trial is stopped if, even at the favourable ends of its intervals, a constraint is
broken or a trial of the front is better in every objective.

A paced phase can also be ended early because its latency is too high. For example, with this latency, the trial would
join the front only with a throughput above 200 MB/s. If at most the share `RARE_RATIO` of the trials so far had such a
throughput, the paced phase is ended. The saturating phase (load as fast as the client takes it, for throughput)
follows. If the trial then reaches more than 200 MB/s after all, its paced phase is run again at full length
(`would_join_front`).

Source: racing as in irace (López-Ibáñez et al. 2016), but with prediction intervals within a trial instead of tests
between configs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import exp, log, sqrt
from statistics import fmean, variance
from typing import Final, Self

from objectives.front import dominates
from objectives.metrics import OUTCOME_METRICS, Direction
from objectives.repeats import ASSUMED_NOISE_RATIO
from objectives.scoring import Constraint, Objective, score
from objectives.students_t import t_quantile
from runners.measurements.measurement import Window

LEVEL: Final = 0.95
"""Probability that a phase's value will lie within its predicted interval."""
_ASSUMED_WEIGHT: Final = 2
"""Weight of the assumed noise of windows, in degrees of freedom. The more phases are complete, the less it counts."""
_OTHERS_WEIGHT: Final = 4
"""Weight of the scatter seen in completed phases, in degrees of freedom, beside the scatter of the running phase."""

WINDOW_METRICS: Final = frozenset(name for name, metric in OUTCOME_METRICS.items() if metric.read_window is not None)
"""Names of the metrics that have a value in every window of a phase."""


def window_value(name: str, window: Window) -> float | None:
    """Return a metric's value in a window; None if no record was acknowledged in the window.

    Args:
        name: The metric's name; one of `WINDOW_METRICS`.
        window: The window.
    """
    read = OUTCOME_METRICS[name].read_window
    value = read(window) if read is not None else None
    return value if value is not None and value > 0 else None


@dataclass(frozen=True, slots=True)
class PredictedRange:
    """The interval in which a metric's value for the whole phase is predicted to lie.

    For a phase that is already complete, both ends are the measured value.

    Attributes:
        low: Lower end, above 0.
        high: Upper end.
    """

    low: float
    high: float

    def at_best(self, direction: Direction) -> float:
        """Return the better end of the interval, in the metric's unit.

        Args:
            direction: Whether the metric is to be maximised (the upper end is better) or minimised (the lower end).
        """
        return self.high if direction is Direction.MAXIMIZE else self.low


@dataclass(frozen=True, slots=True)
class Forecast:
    """How to predict a metric's value for a whole phase from the phase's first windows, learnt from other phases.

    Attributes:
        shift_log: How far the logarithm for the whole phase lies above the mean logarithm of the first 1, 2, ...
            windows, on average.
        sd_log: Standard deviation of this distance.
        reach: How many standard deviations the interval extends to each side.
    """

    shift_log: tuple[float, ...]
    sd_log: tuple[float, ...]
    reach: float

    @classmethod
    def of(cls, ended: Sequence[tuple[Sequence[float], float]], windows: int) -> Self:
        """Learn the forecast for a metric from phases that ran to their end.

        Args:
            ended: For every phase, the metric's values by window and its value for the whole phase; all above 0.
            windows: Number of windows of a whole phase. Phases with another number of windows are ignored.

        Returns:
            The forecast, with one shift and one standard deviation for each number of windows from 1 to `windows` - 1.
            Without usable phases, it assumes no shift and a scatter of `ASSUMED_NOISE_RATIO`.
        """
        known = [(_means_log(values), log(whole)) for values, whole in ended if len(values) == windows]
        freedom = _ASSUMED_WEIGHT + max(0, len(known) - 1)
        shifts, sds = [], []
        for index in range(windows - 1):
            off = [whole - means[index] for means, whole in known]
            shift = fmean(off) if off else 0.0
            squares = _ASSUMED_WEIGHT * ASSUMED_NOISE_RATIO**2 * _variance_to_whole(index + 1, windows)
            squares += sum((each - shift) ** 2 for each in off)
            shifts.append(shift)
            sds.append(sqrt(squares / freedom * (1 + 1 / max(1, len(off)))))
        return cls(tuple(shifts), tuple(sds), t_quantile(LEVEL, freedom))

    def range(self, values: Sequence[float]) -> PredictedRange | None:
        """Return the interval in which the value of the whole phase will lie; None if it can't be predicted.

        The interval is wider if the windows of this phase scatter more than those of other phases.

        Args:
            values: The values of the phase's first windows; at least one window, but not all of them.
        """
        count, windows = len(values), len(self.shift_log) + 1
        if not 0 < count < windows or min(values) <= 0:
            return None
        logs = [log(value) for value in values]
        squares = _OTHERS_WEIGHT * self.sd_log[count - 1] ** 2
        if count > 1:
            squares += (count - 1) * variance(logs) * _variance_to_whole(count, windows)
        half = self.reach * sqrt(squares / (_OTHERS_WEIGHT + count - 1))
        middle = fmean(logs) + self.shift_log[count - 1]
        return PredictedRange(exp(middle - half), exp(middle + half))


def _variance_to_whole(count: int, windows: int) -> float:
    """Return the variance of the difference between the mean of a phase's first windows and that of the whole phase.

    The unit is the variance of a single window. The result becomes 0 when all windows are measured.

    Args:
        count: Number of windows measured so far.
        windows: Number of windows of the whole phase.
    """
    return 1 / count - 1 / windows


def _means_log(values: Sequence[float]) -> list[float]:
    """Return the means of the logarithms of the first 1, 2, ... values."""
    totals = accumulate(log(value) for value in values)
    return [total / count for count, total in enumerate(totals, 1)]


MIN_WINDOWS: Final = 2
"""How many windows are measured before a phase may be ended."""
RARE_RATIO: Final = 2 / 5
"""A throughput counts as rare if at most this share of the trials reached it."""
_FEWEST_TRIALS: Final = 8
"""If there are fewer trials than this, no throughput counts as rare."""
_KNOWN_WHEN_SHORT: Final = ("held_rate_ratio",)
"""The metrics that a shortened paced phase gives, too, although windows do not have them."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The decision to end a phase early.

    Attributes:
        because: The reason, in words.
        ends_trial: Whether the whole trial ends, because later phases could not change the outcome.
        falling_behind: Whether the phase ends because the config does not hold the fixed rate. Otherwise the phase ends
            because of racing.
    """

    because: str
    ends_trial: bool
    falling_behind: bool = False


@dataclass(frozen=True, slots=True)
class Race:
    """The other trials, constraints and forecasts that decide whether a running trial is stopped early.

    Attributes:
        objectives: The study's objectives.
        rivals: The values of the Pareto front's trials, by trial number. Shape of one trial's values: (objectives,).
        others: The values of all trials so far that have a value for every objective. Shape as for `rivals`.
        constraints: The study's constraints, each with the baseline's value of its metric; None if that is unknown.
        forecasts: The forecasts by metric, for the metrics that have a value in every window.
    """

    objectives: tuple[Objective, ...]
    rivals: Mapping[int, tuple[float, ...]]
    others: tuple[tuple[float, ...], ...]
    constraints: tuple[tuple[Constraint, float | None], ...]
    forecasts: Mapping[str, Forecast]

    def judge(self, ranges: Mapping[str, PredictedRange], *, last: bool) -> Stop | None:
        """Return the decision to end the running phase early; None to let the phase continue.

        Args:
            ranges: The predicted intervals by metric, from this phase and the trial's earlier phases.
            last: Whether this is the trial's last phase.
        """
        broken = self._broken_text(ranges)
        if broken is not None:
            return Stop(broken, ends_trial=True)
        if last:
            return self._stop_if_lost(ranges)
        return self._stop_if_unlikely_to_join(ranges) if self._may_end_early else None

    def would_join_front(self, metrics: Mapping[str, float]) -> bool:
        """Return whether a trial with these metrics would join the Pareto front."""
        limits = {each.metric: baseline for each, baseline in self.constraints if baseline is not None}
        judged = score(metrics, self.objectives, [each for each, _ in self.constraints], limits)
        values = [value for value in judged.values if value is not None]
        directions = [each.direction for each in self.objectives]
        return judged.feasible and not any(dominates(rival, values, directions) for rival in self.rivals.values())

    def _broken_text(self, ranges: Mapping[str, PredictedRange]) -> str | None:
        """Return in words which constraint is broken even at the best ends of the intervals; None if none is."""
        for constraint, baseline in self.constraints:
            predicted = ranges.get(constraint.metric)
            if predicted is None:
                continue
            best = predicted.low if constraint.at_most else predicted.high
            if constraint.violation(best, baseline) > 0:
                limit = str(constraint).removeprefix(f"{constraint.metric} ")
                return f"{_bound(constraint.metric, best, at_least=constraint.at_most)}, but must be {limit}"
        return None

    def _stop_if_lost(self, ranges: Mapping[str, PredictedRange]) -> Stop | None:
        """Return the decision to end the trial because a trial of the front is better in every objective."""
        if any(each.metric not in ranges for each in self.objectives):
            return None
        ahead = self._rivals_ahead(ranges)
        return (
            Stop(f"{self._predicted_text(ranges)}; {self._rival_text(ahead[0])} is better", ends_trial=True)
            if ahead
            else None
        )

    def _stop_if_unlikely_to_join(self, ranges: Mapping[str, PredictedRange]) -> Stop | None:
        """Return the decision to end the paced phase because the trial will hardly join the front; None to continue.

        The paced phase measures the trial's latency. The phase continues if more than `RARE_RATIO` of the trials so far
        had enough throughput to join the Pareto front with this latency. The trial's next phase is run even if the
        paced phase is ended: constraints may depend on the next phase, and the sampler learns from it.
        """
        ahead = self._rivals_ahead(ranges)
        if not ahead:
            return None
        worse = f"{self._predicted_text(ranges)}, worse than {self._rival_text(ahead[0])}"
        if len(ahead) == len(self.rivals):
            return Stop(f"{worse}{' and all other trials of the front' if len(ahead) > 1 else ''}", ends_trial=False)
        unknown = [index for index, objective in enumerate(self.objectives) if objective.metric not in ranges]
        if len(self.others) < _FEWEST_TRIALS:
            return None
        good_enough = sum(
            not any(self._is_at_least_as_good(self.rivals[number], values, unknown) for number in ahead)
            for values in self.others
        )
        # One is added to both counts, because a value that no trial has shown yet is still possible.
        if (good_enough + 1) / (len(self.others) + 1) > RARE_RATIO:
            return None
        names = " and ".join(self.objectives[index].metric for index in unknown)
        rare = f"only {good_enough} of {len(self.others)} trials had a {names} good enough to make up for it"
        return Stop(f"{worse}; {rare}", ends_trial=False)

    @property
    def _may_end_early(self) -> bool:
        """Whether the paced phase may be shortened, because it then still gives all metrics that are needed from it."""
        metrics = (*(each.metric for each in self.objectives), *(each.metric for each, _ in self.constraints))
        return all(
            name in WINDOW_METRICS or name in _KNOWN_WHEN_SHORT for name in metrics if OUTCOME_METRICS[name].paced
        )

    def _rivals_ahead(self, ranges: Mapping[str, PredictedRange]) -> list[int]:
        """Return the numbers of the front's trials that beat the running trial even in the best predicted case.

        Only the objectives with a predicted interval are compared. The running trial's value is taken to be the
        favourable end of the interval.
        """
        known = [(index, ranges[each.metric]) for index, each in enumerate(self.objectives) if each.metric in ranges]
        if not known:
            return []
        return [
            number
            for number, values in self.rivals.items()
            if all(
                _is_better(values[index], predicted.at_best(self.objectives[index].direction), self.objectives[index])
                for index, predicted in known
            )
        ]

    def _is_at_least_as_good(self, ours: Sequence[float], theirs: Sequence[float], indices: Sequence[int]) -> bool:
        return all(not _is_better(theirs[index], ours[index], self.objectives[index]) for index in indices)

    def _predicted_text(self, ranges: Mapping[str, PredictedRange]) -> str:
        return " and ".join(
            _bound(each.metric, ranges[each.metric].at_best(each.direction), at_least=_lower_is_better(each))
            for each in self.objectives
            if each.metric in ranges
        )

    def _rival_text(self, number: int) -> str:
        values = zip(self.objectives, self.rivals[number], strict=True)
        return f"trial {number} ({', '.join(f'{objective.metric} {value:.3g}' for objective, value in values)})"


def metrics_in_windows(objectives: Sequence[Objective], constraints: Sequence[Constraint]) -> tuple[str, ...]:
    """Return the metrics of the objectives and constraints that are also measured in every window of a phase."""
    metrics = dict.fromkeys((*(each.metric for each in objectives), *(each.metric for each in constraints)))
    return tuple(name for name in metrics if name in WINDOW_METRICS)


def _lower_is_better(objective: Objective) -> bool:
    return objective.direction is Direction.MINIMIZE


def _is_better(ours: float, theirs: float, objective: Objective) -> bool:
    return ours < theirs if _lower_is_better(objective) else ours > theirs


def _bound(metric: str, value: float, *, at_least: bool) -> str:
    return f"{metric} is at {'least' if at_least else 'most'} {value:.3g}"
