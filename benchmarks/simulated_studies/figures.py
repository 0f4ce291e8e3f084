"""The figures that `benchmarks.trust` computes from the results of simulated studies, and their goals."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isnan, nan
from statistics import fmean, median
from typing import Final

from tuner.model.goals import Goal

FALSE_RATIO: Final = 0.05
_COVERED_RATIO: Final = 0.93
_WIDTH_RATIO: Final = 0.1
_ALL_GOALS: Final = tuple(Goal)


@dataclass(frozen=True, slots=True)
class Interval:
    """One gain that a study stated, with the true gain.

    Attributes:
        metric: The metric of the gain.
        true: The true gain.
        low: Lower end of the stated interval.
        value: The stated gain.
        high: Upper end of the stated interval.
        repeat_low: Lower end of the prediction interval, in which the ratio of one more round should lie.
        repeat_high: Upper end of the prediction interval.
        once_more: The ratio that one more round gave, on newly started brokers.
    """

    metric: str
    true: float
    low: float
    value: float
    high: float
    repeat_low: float
    repeat_high: float
    once_more: float

    @property
    def covers(self) -> bool:
        """Whether the interval contains the true gain."""
        return self.low <= self.true <= self.high


@dataclass(frozen=True, slots=True)
class Advice:
    """The recommendation of a study for one goal.

    Attributes:
        goal: The goal.
        asked: The metrics of the goal.
        change: Whether another config than the baseline is recommended.
        true_gain: The true gain of the recommended config for the goal; 1 if the baseline is recommended.
        gains: The gains that are stated for the recommended config.
        proven: Whether the gain for the goal is called proven.
        within_limits: Whether the recommended config truly meets each constraint for which there is no warning.
        refused: Whether there was no recommendation, because no config seemed to meet the constraints.
    """

    goal: Goal
    asked: tuple[str, ...] = ()
    change: bool = False
    true_gain: float = 1.0
    gains: tuple[Interval, ...] = ()
    proven: bool = False
    within_limits: bool = True
    refused: bool = False

    @property
    def is_false(self) -> bool:
        """Whether a change is recommended that does not help the goal."""
        return self.change and self.true_gain <= 1.0

    @property
    def claims(self) -> tuple[Interval, ...]:
        """The gains in the goal's metrics, if they are called proven; otherwise empty."""
        return tuple(each for each in self.gains if self.proven and each.metric in self.asked)


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of one study.

    Attributes:
        advice: The recommendation for each goal.
        intervals: The gains of all configs that were confirmed.
        confirming: Number of trials in the confirmation.
        rate_error: The relative error of the fixed rate, which should be 0.30 of the baseline's true throughput.
        rate_error_in_rounds: The same, relative to 0.30 of the baseline's mean throughput in the rounds; NaN without
            rounds.
        repeated: For each confirmation, whether a change that does not help was recommended after it.
    """

    advice: tuple[Advice, ...]
    intervals: tuple[Interval, ...]
    confirming: int
    rate_error: float
    rate_error_in_rounds: float
    repeated: tuple[bool, ...] = ()


Measure = Callable[[Sequence[Found]], float]
"""A function that computes a figure from the outcomes of all studies of a case; NaN if the outcomes do not have it."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a case, and its goal.

    Attributes:
        what: The name of the figure, in words.
        measure: Computes the figure.
        goal: The value that the figure should keep to; None if the figure is shown without a goal.
        at_most: Whether `goal` is an upper bound; otherwise it is a lower bound.
        in_trials: Whether the figure is a number of trials; otherwise it is a share, or a part of another number.
    """

    what: str
    measure: Measure
    goal: float | None = None
    at_most: bool = True
    in_trials: bool = False

    @property
    def bound(self) -> str:
        """The goal in words; empty without a goal."""
        return "" if self.goal is None else f"{'at most' if self.at_most else 'at least'} {100 * self.goal:.0f} %"

    def met(self, value: float) -> bool:
        """Return whether a value meets the goal; a figure without a goal always does."""
        return self.goal is None or (value <= self.goal if self.at_most else value >= self.goal)


def share_of_studies(true_of: Callable[[Found], bool], found: Sequence[Found]) -> float:
    """Return the share of the studies for which something is true."""
    return fmean(true_of(each) for each in found)


def _share_of_advice(goals: Iterable[Goal], true_of: Callable[[Advice], bool], found: Sequence[Found]) -> float:
    kept = frozenset(goals)
    return fmean(true_of(each) for study in found for each in study.advice if each.goal in kept)


def _share(
    true_of: Callable[[Interval], bool], pick: Callable[[Found], Iterable[Interval]], found: Sequence[Found]
) -> float:
    known = [true_of(each) for study in found for each in pick(study)]
    return fmean(known) if known else nan


def _width(found: Sequence[Found]) -> float:
    widths = [(each.high - each.low) / each.value for study in found for each in _claims(study)]
    return median(widths) if widths else nan


def stated_gains(study: Found) -> list[Interval]:
    """Return the intervals of all gains that the advice of a study states."""
    return [each for advice in study.advice if advice.change for each in advice.gains]


def _claims(study: Found) -> list[Interval]:
    return [each for advice in study.advice for each in advice.claims]


def _jointly(found: Sequence[Found]) -> float:
    known = [all(each.covers for each in advice.gains) for study in found for advice in study.advice if advice.gains]
    return fmean(known) if known else nan


def _covers(interval: Interval) -> bool:
    return interval.covers


def _holds_once_more(interval: Interval) -> bool:
    return interval.repeat_low <= interval.once_more <= interval.repeat_high


FALSE_ADVICE: Final = Figure(
    "studies that recommend a change that does not help",
    partial(share_of_studies, lambda study: any(each.is_false for each in study.advice)),
    FALSE_RATIO,
)
REFUSED: Final = Figure(
    "studies that recommend nothing for a goal (NoFeasibleConfig), although the warm baseline meets the limit",
    partial(share_of_studies, lambda study: any(each.refused for each in study.advice)),
    0.0,
)
COVERAGE: Final = Figure(
    "share of the intervals that contain the true gain, for all confirmed configs",
    partial(_share, _covers, lambda study: study.intervals),
    _COVERED_RATIO,
    at_most=False,
)
CLAIMED: Final = Figure(
    "share of the intervals that contain the true gain, for claimed gains only",
    partial(_share, _covers, _claims),
    _COVERED_RATIO,
    at_most=False,
)
ONCE_MORE: Final = Figure(
    "share of the intervals for one more round that contain the ratio of that round",
    partial(_share, _holds_once_more, stated_gains),
    _COVERED_RATIO,
    at_most=False,
)
JOINTLY: Final = Figure(
    "recommendations of which all intervals contain the true gains", _jointly, _COVERED_RATIO, at_most=False
)
WIDTH: Final = Figure("median width of the intervals of claimed gains, relative to the gain", _width, _WIDTH_RATIO)
RATE: Final = Figure(
    "median error of the fixed rate, relative to 0.30 of the baseline's throughput in the rounds",
    lambda found: median(
        [abs(each.rate_error_in_rounds) for each in found if not isnan(each.rate_error_in_rounds)] or [nan]
    ),
    0.1,
)
RATE_WHEN_WARM: Final = Figure(
    "median error of the fixed rate, relative to 0.30 of the throughput on warm brokers",
    lambda found: median(abs(each.rate_error) for each in found),
)
STEPS: Final = Figure(
    "median number of trials in the confirmation",
    lambda found: median(each.confirming for each in found),
    in_trials=True,
)


def stated(figure: Figure) -> Figure:
    """Return the figure without its goal."""
    return replace(figure, goal=None)


def power_of(what: str, goals: Iterable[Goal], gain: float, goal: float | None) -> Figure:
    """Return the figure: how often a config with at least this true gain is recommended as proven for these goals."""

    def good(advice: Advice) -> bool:
        return advice.change and advice.proven and advice.true_gain >= gain

    return Figure(what, partial(_share_of_advice, tuple(goals), good), goal, at_most=False)


def power(gain: float, goal: float | None = 0.95) -> Figure:
    """Return the figure: the share of goals for which a config with this true gain is recommended as proven.

    Args:
        gain: The true gain that the recommended config must have at least.
        goal: The share of goals that should get such a recommendation; None to show the figure without a goal.
    """
    return power_of(
        f"goals for which a config is recommended that is truly {gain:g} times as good", _ALL_GOALS, gain, goal
    )
