"""Racing: whether a trial that is under way can still come to anything.

Asked is what the trial would show if it ran to its end. What makes one trial of a config differ from the next is in its
first seconds as it is in the whole: more of the same trial does not average it out. So what racing has to foretell is
only the rest of a phase: from its first windows, how far what they show is from what the phase will have shown. That is
learnt from phases that ran to their end, whatever makes the windows of this host differ: chance, stalls, a warm-up that
was too short. Everything is done on logarithms, as in `objectives.repeats`.

A trial is over when, with that doubt, some trial of the front is better in everything, or a constraint is broken.

A paced phase alone ends when its latency hardly matters any more: the throughput that would make up for it was not seen
in more than `RARE_RATIO` of the trials so far. Should it come after all, and the trial stand on the front, its paced
phase is run again at its full length (`may_lead`). So each phase is short first, and long where it pays.

Source: racing as in irace (López-Ibáñez et al. 2016), with prediction intervals within a trial in place of tests
between configs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import exp, log, sqrt
from statistics import fmean, variance
from typing import Final, Self

from objectives.front import dominates
from objectives.outcome import OUTCOME_METRICS, Direction
from objectives.repeats import ASSUMED_NOISE_RATIO, t_quantile
from objectives.scoring import Constraint, Objective, score
from runners.measurement import Window

LEVEL: Final = 0.95
"""Of the interval in which a phase's value will lie; each side is missed half as often."""
_ASSUMED_WEIGHT: Final = 2
"""In degrees of freedom: what was assumed of windows fades as phases come in."""
_OTHERS_WEIGHT: Final = 4
"""In degrees of freedom: what other phases say of a phase's windows, against these windows' own scatter."""

FOLLOWED: Final = frozenset(name for name, metric in OUTCOME_METRICS.items() if metric.read_window is not None)
"""Metrics that windows tell of."""


def window_value(name: str, window: Window) -> float | None:
    """One window's value of a metric in `FOLLOWED`, in its unit; None where nothing was acknowledged in it."""
    read = OUTCOME_METRICS[name].read_window
    value = read(window) if read is not None else None
    return value if value is not None and value > 0 else None


@dataclass(frozen=True, slots=True)
class Range:
    """Where a phase's value will lie when it ends; of one that has ended both ends are its value.

    Attributes:
        low: Lower end, above 0.
        high: Upper end.
    """

    low: float
    high: float

    def at_best(self, direction: Direction) -> float:
        """The better end."""
        return self.high if direction is Direction.MAXIMIZE else self.low


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the first windows of a phase say of the whole, for one metric.

    Attributes:
        shift_log: What the whole lies above the mean of the first 1, 2, ... windows.
        sd_log: How far it scatters about that.
        reach: Standard deviations to each end of the interval.
    """

    shift_log: tuple[float, ...]
    sd_log: tuple[float, ...]
    reach: float

    @classmethod
    def of(cls, ended: Sequence[tuple[Sequence[float], float]], windows: int) -> Self:
        """Learn from phases that ran to their end.

        Args:
            ended: Each one's values per window, and that of the whole; all above 0.
            windows: Of the whole phase. Phases that have another number are left out.
        """
        known = [(_means_log(course), log(whole)) for course, whole in ended if len(course) == windows]
        freedom = _ASSUMED_WEIGHT + max(0, len(known) - 1)
        shifts, sds = [], []
        for place in range(windows - 1):
            off = [whole - means[place] for means, whole in known]
            shift = fmean(off) if off else 0.0
            squares = _ASSUMED_WEIGHT * ASSUMED_NOISE_RATIO**2 * _left_ratio(place + 1, windows)
            squares += sum((each - shift) ** 2 for each in off)
            shifts.append(shift)
            sds.append(sqrt(squares / freedom * (1 + 1 / max(1, len(off)))))
        return cls(tuple(shifts), tuple(sds), t_quantile(LEVEL, freedom))

    def range(self, values: Sequence[float]) -> Range | None:
        """Where the phase's value will lie; None where that can't be told.

        A phase whose own windows scatter more than others' is in more doubt than these were.

        Args:
            values: Of the first windows, at least one, and not all.
        """
        count, windows = len(values), len(self.shift_log) + 1
        if not 0 < count < windows or min(values) <= 0:
            return None
        logs = [log(value) for value in values]
        squares = _OTHERS_WEIGHT * self.sd_log[count - 1] ** 2
        if count > 1:
            squares += (count - 1) * variance(logs) * _left_ratio(count, windows)
        half = self.reach * sqrt(squares / (_OTHERS_WEIGHT + count - 1))
        middle = fmean(logs) + self.shift_log[count - 1]
        return Range(exp(middle - half), exp(middle + half))


def _left_ratio(count: int, windows: int) -> float:
    """Variance of a part's mean about that of the whole, in variances of a window: the less is left, the smaller."""
    return 1 / count - 1 / windows


def _means_log(course: Sequence[float]) -> list[float]:
    """Means of the logarithms of the first 1, 2, ... values."""
    totals = accumulate(log(value) for value in course)
    return [total / count for count, total in enumerate(totals, 1)]


MIN_WINDOWS: Final = 2
"""Measured windows that are seen in any case."""
RARE_RATIO: Final = 2 / 5
"""What fewer trials than this have shown so far is not reckoned with. docs/evidence/trust.md has other values."""
_FEW: Final = 8
"""Fewer trials than this say nothing of what is rare."""
_ALSO_OF_PARTS: Final = ("held_rate_ratio",)


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a phase is ended before its time.

    Attributes:
        because: In words.
        ends_trial: Whether nothing that is to come can make anything of the trial.
        falling_behind: Whether it does not hold its rate: no matter of racing.
    """

    because: str
    ends_trial: bool
    falling_behind: bool = False


@dataclass(frozen=True, slots=True)
class Race:
    """What a trial has to beat.

    Attributes:
        objectives: Of the study.
        rivals: The front's values, by trial number. Shape of each: (objectives,).
        others: Values of trials so far that have them all. Shape of each: (objectives,).
        constraints: Each with the baseline's value, or None.
        forecasts: By metric, of those that can be followed.
    """

    objectives: tuple[Objective, ...]
    rivals: Mapping[int, tuple[float, ...]]
    others: tuple[tuple[float, ...], ...]
    constraints: tuple[tuple[Constraint, float | None], ...]
    forecasts: Mapping[str, Forecast]

    def judge(self, ranges: Mapping[str, Range], *, last: bool) -> Stop | None:
        """Whether to end the phase that runs; None is to go on.

        Args:
            ranges: By metric, of this phase and of those before it.
            last: Whether it is the trial's last phase.
        """
        broken = self._broken(ranges)
        if broken is not None:
            return Stop(broken, ends_trial=True)
        if last:
            return self._lost(ranges)
        return self._hardly_matters(ranges) if self._may_be_short else None

    def may_lead(self, metrics: Mapping[str, float]) -> bool:
        """Whether a trial with these numbers stands on the front."""
        limits = {each.metric: baseline for each, baseline in self.constraints if baseline is not None}
        judged = score(metrics, self.objectives, [each for each, _ in self.constraints], limits)
        values = [value for value in judged.values if value is not None]
        directions = [each.direction for each in self.objectives]
        return judged.feasible and not any(dominates(rival, values, directions) for rival in self.rivals.values())

    def _broken(self, ranges: Mapping[str, Range]) -> str | None:
        for constraint, baseline in self.constraints:
            seen = ranges.get(constraint.metric)
            if seen is None:
                continue
            best = seen.low if constraint.at_most else seen.high
            if constraint.violation(best, baseline) > 0:
                limit = str(constraint).removeprefix(f"{constraint.metric} ")
                return f"{_bound(constraint.metric, best, at_least=constraint.at_most)}, and must be {limit}"
        return None

    def _lost(self, ranges: Mapping[str, Range]) -> Stop | None:
        if any(each.metric not in ranges for each in self.objectives):
            return None
        ahead = self._ahead(ranges)
        return Stop(f"{self._told(ranges)}; {self._rival(ahead[0])} is better", ends_trial=True) if ahead else None

    def _hardly_matters(self, ranges: Mapping[str, Range]) -> Stop | None:
        """Whether the trial can come to anything only by what is rare, however its first phase goes on.

        The next phase is looked at in any case: constraints may hang on it, and a sampler is told of what was seen.
        """
        ahead = self._ahead(ranges)
        if not ahead:
            return None
        worse = f"{self._told(ranges)}, worse than {self._rival(ahead[0])}"
        if len(ahead) == len(self.rivals):
            return Stop(f"{worse}{' and all of the front' if len(ahead) > 1 else ''}", ends_trial=False)
        unknown = [place for place, asked in enumerate(self.objectives) if asked.metric not in ranges]
        if len(self.others) < _FEW:
            return None
        escaping = sum(
            not any(self._covers(self.rivals[number], values, unknown) for number in ahead) for values in self.others
        )
        # One more of each: that nothing was seen of it does not say that there is nothing.
        if (escaping + 1) / (len(self.others) + 1) > RARE_RATIO:
            return None
        names = " and ".join(self.objectives[place].metric for place in unknown)
        rare = f"only {escaping} of {len(self.others)} trials had the {names} to make up for it"
        return Stop(f"{worse}; {rare}", ends_trial=False)

    @property
    def _may_be_short(self) -> bool:
        """Whether all that is asked of the paced phase can be said of its first windows too."""
        asked = (*(each.metric for each in self.objectives), *(each.metric for each, _ in self.constraints))
        return all(name in FOLLOWED or name in _ALSO_OF_PARTS for name in asked if OUTCOME_METRICS[name].paced)

    def _ahead(self, ranges: Mapping[str, Range]) -> list[int]:
        """Rivals that are better in every objective that is known."""
        known = [(place, ranges[each.metric]) for place, each in enumerate(self.objectives) if each.metric in ranges]
        if not known:
            return []
        return [
            number
            for number, values in self.rivals.items()
            if all(
                _is_better(values[place], seen.at_best(self.objectives[place].direction), self.objectives[place])
                for place, seen in known
            )
        ]

    def _covers(self, ours: Sequence[float], theirs: Sequence[float], places: Sequence[int]) -> bool:
        return all(not _is_better(theirs[place], ours[place], self.objectives[place]) for place in places)

    def _told(self, ranges: Mapping[str, Range]) -> str:
        return " and ".join(
            _bound(each.metric, ranges[each.metric].at_best(each.direction), at_least=_is_least(each))
            for each in self.objectives
            if each.metric in ranges
        )

    def _rival(self, number: int) -> str:
        values = zip(self.objectives, self.rivals[number], strict=True)
        return f"trial {number} ({', '.join(f'{asked.metric} {value:.3g}' for asked, value in values)})"


def followed(objectives: Sequence[Objective], constraints: Sequence[Constraint]) -> tuple[str, ...]:
    """The metrics of a study that windows tell of."""
    asked = dict.fromkeys((*(each.metric for each in objectives), *(each.metric for each in constraints)))
    return tuple(name for name in asked if name in FOLLOWED)


def _is_least(objective: Objective) -> bool:
    return objective.direction is Direction.MINIMIZE


def _is_better(ours: float, theirs: float, objective: Objective) -> bool:
    return ours < theirs if _is_least(objective) else ours > theirs


def _bound(metric: str, value: float, *, at_least: bool) -> str:
    return f"{metric} is at {'least' if at_least else 'most'} {value:.3g}"
