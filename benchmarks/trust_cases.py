"""The cases of `benchmarks.trust`: the settings of the simulated studies, and what their results should be."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isnan, nan
from statistics import fmean, median
from types import MappingProxyType
from typing import Any, Final

from benchmarks.noise import (
    Autocorrelated,
    CarryOver,
    Disturbance,
    Scatter,
    Sessions,
    Shift,
    Stalls,
    TwoModes,
    Warming,
)
from benchmarks.planted import MB_PER_S, P99_MS, Planted
from objectives.scoring import Constraint
from tuner.model.spec import Goal
from tuner.model.target import Target
from tuner.results.recommendation import Conditions

GAIN: Final = 1.2
CONFIRMATIONS: Final = 6
_FALSE_RATIO: Final = 0.05
_COVERED_RATIO: Final = 0.93
_WIDTH_RATIO: Final = 0.1
_SESSION_SD: Final = 0.05
_LATENCY: Final = "latency_p99_ms"
_ALL_GOALS: Final = tuple(Goal)


@dataclass(frozen=True, slots=True)
class Interval:
    """One gain that a study stated, and what is true.

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
    """What a study recommends for one goal.

    Attributes:
        goal: The goal.
        asked: The metrics that the goal is about.
        change: Whether another config than the baseline is recommended.
        true_gain: The true gain of the recommended config for the goal; 1 if the baseline is recommended.
        told: The gains that are stated for the recommended config.
        proven: Whether the gain for the goal is called proven.
        within_limits: Whether the recommended config truly keeps each constraint for which there is no warning.
        refused: Whether there was no recommendation, because no config seemed to keep the constraints.
    """

    goal: Goal
    asked: tuple[str, ...] = ()
    change: bool = False
    true_gain: float = 1.0
    told: tuple[Interval, ...] = ()
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
        return tuple(each for each in self.told if self.proven and each.metric in self.asked)


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of one study.

    Attributes:
        advice: What is recommended for each goal.
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
        what: What is counted, in words.
        measure: Computes it.
        goal: The value that the figure should keep to; None if the figure is shown without a goal.
        at_most: Whether `goal` is an upper bound; otherwise it is a lower bound.
    """

    what: str
    measure: Measure
    goal: float | None = None
    at_most: bool = True

    @property
    def bound(self) -> str:
        """The goal in words; empty without a goal."""
        return "" if self.goal is None else f"{'at most' if self.at_most else 'at least'} {100 * self.goal:.0f} %"

    def met(self, value: float) -> bool:
        """Return whether a value meets the goal; a figure without a goal always does."""
        return self.goal is None or (value <= self.goal if self.at_most else value >= self.goal)


def _share_of_studies(true_of: Callable[[Found], bool], found: Sequence[Found]) -> float:
    return fmean(true_of(each) for each in found)


def _share_of_advice(goals: Iterable[Goal], true_of: Callable[[Advice], bool], found: Sequence[Found]) -> float:
    kept = frozenset(goals)
    return fmean(true_of(each) for study in found for each in study.advice if each.goal in kept)


def _share(
    true_of: Callable[[Interval], bool], pick: Callable[[Found], Iterable[Interval]], found: Sequence[Found]
) -> float:
    known = [true_of(each) for study in found for each in pick(study)]
    return fmean(known) if known else float("nan")


def _width(found: Sequence[Found]) -> float:
    widths = [(each.high - each.low) / each.value for study in found for each in _claims(study)]
    return median(widths) if widths else float("nan")


def _told(study: Found) -> list[Interval]:
    return [each for advice in study.advice if advice.change for each in advice.told]


def _claims(study: Found) -> list[Interval]:
    return [each for advice in study.advice for each in advice.claims]


def _jointly(found: Sequence[Found]) -> float:
    known = [all(each.covers for each in advice.told) for study in found for advice in study.advice if advice.told]
    return fmean(known) if known else float("nan")


def _covers(interval: Interval) -> bool:
    return interval.covers


def _holds_once_more(interval: Interval) -> bool:
    return interval.repeat_low <= interval.once_more <= interval.repeat_high


FALSE_ADVICE: Final = Figure(
    "studies that recommend a change that does not help",
    partial(_share_of_studies, lambda study: any(each.is_false for each in study.advice)),
    _FALSE_RATIO,
)
REFUSED: Final = Figure(
    "studies that recommend nothing for a goal (NoFeasibleConfig), although the warm baseline keeps the limit",
    partial(_share_of_studies, lambda study: any(each.refused for each in study.advice)),
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
    partial(_share, _holds_once_more, _told),
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
    "median number of trials in the confirmation", lambda found: median(each.confirming for each in found)
)


def _stated(figure: Figure) -> Figure:
    """Return the figure without its goal."""
    return Figure(figure.what, figure.measure)


def _power(what: str, goals: Iterable[Goal], gain: float, goal: float | None) -> Figure:
    def good(advice: Advice) -> bool:
        return advice.change and advice.proven and advice.true_gain >= gain

    return Figure(what, partial(_share_of_advice, tuple(goals), good), goal, at_most=False)


def power(gain: float, goal: float | None = 0.95) -> Figure:
    """Return the figure that counts for how many goals a config with this true gain is recommended as proven.

    Args:
        gain: The true gain that the recommended config must have at least.
        goal: The share of goals that should get such a recommendation; None to show the figure without a goal.
    """
    return _power(
        f"goals for which a config is recommended that is truly {gain:g} times as good", _ALL_GOALS, gain, goal
    )


@dataclass(frozen=True, slots=True)
class Case:
    """A case: the simulated machine, the study, and the goals of its figures.

    Attributes:
        planted: The true gains of all configs; None stands for the simulated cluster of `runners.simulated`.
        disturbances: What makes measurements differ from the truth.
        figures: The figures and their goals.
        complete: Whether the studies also run the sampler, the bench and the storage; otherwise they are light studies
            (see `benchmarks.light_studies`).
        study: Fields of `StudySpec` that differ from the defaults.
        search: Fields of `SearchSpec`.
        confirm: Fields of `ConfirmSpec`.
        conditions: The limits that `tuner recommend` is given.
        confirmations: How often each study confirms its winners.
    """

    planted: Planted | None
    disturbances: tuple[Disturbance, ...]
    figures: tuple[Figure, ...]
    complete: bool = False
    study: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)
    confirm: Mapping[str, Any] = field(default_factory=dict)
    conditions: Conditions = field(default_factory=Conditions)
    confirmations: int = 1


_SAME: Final = Planted()
_NOISE: Final = Scatter(0.05)
_WARMING: Final = Warming(1.9, 180.0)
_AA: Final = (FALSE_ADVICE, COVERAGE)
_GAINS: Final = (power(GAIN), COVERAGE, CLAIMED, ONCE_MORE, WIDTH, STEPS)
_NIGHT: Final[Mapping[str, Any]] = MappingProxyType({"until": "07:00"})
_SPREAD: Final[Mapping[str, Any]] = MappingProxyType({"spread_over_s": 10 * 3600.0})
_USERS_CLUSTER: Final[Mapping[str, Any]] = MappingProxyType({"targets": (Target(bootstrap="cluster.example:9092"),)})
_OTHERS: Final = (Goal.LATENCY, Goal.BALANCED)


def _aa(*disturbances: Disturbance, **changes: Any) -> Case:
    return Case(_SAME, disturbances, _AA, **changes)


def _limited(at_most_ms: float) -> dict[str, Any]:
    return {"constraints": (Constraint(_LATENCY, at_most=True, limit=at_most_ms),)}


def _over_the_limit(noise: Scatter) -> Case:
    """Return a case in which the configs with the best throughput exceed a limit of the p99 by 3 %."""
    return Case(
        Planted(throughput=1.3, latency=1 / (1.03 * 1.2)),
        (noise,),
        (
            Figure(
                "studies that recommend a config that exceeds the limit by 3 %, without a warning",
                partial(_share_of_studies, lambda study: any(not each.within_limits for each in study.advice)),
                _FALSE_RATIO,
            ),
        ),
        study=_limited(1.2 * P99_MS),
    )


def _stalling(noise: Scatter, goal: float | None = _FALSE_RATIO) -> Case:
    """Return a case in which all candidates stall in one trial of ten, and have a better p99 only between stalls."""
    false_claim = Figure(
        "studies that claim a better p99 for a config whose p99 is not better",
        partial(
            _share_of_studies,
            lambda study: any(each.metric == _LATENCY and each.low > 1.0 >= each.true for each in _told(study)),
        ),
        goal,
    )
    figures = (false_claim, FALSE_ADVICE, COVERAGE)
    return Case(
        Planted(latency=0.95, everywhere=True),
        (noise, Stalls(0.1, spare_baseline=True)),
        figures if goal is not None else tuple(map(_stated, figures)),
    )


CASES: Final[Mapping[str, Case]] = MappingProxyType(
    {
        "aa-5": _aa(_NOISE),
        "aa-10": _aa(Scatter(0.10)),
        "aa-stalls": _aa(Scatter(0.08), Stalls(0.1)),
        "aa-autocorrelated": _aa(Autocorrelated(0.8, 0.10)),
        "aa-bimodal": _aa(Scatter(0.03), TwoModes(0.1)),
        "aa-heavy-tails": _aa(Scatter(0.05, degrees_of_freedom=2)),
        "aa-unequal": _aa(Scatter(0.15, baseline_sd=0.03)),
        "aa-shift": _aa(_NOISE, Shift(0.2, 28)),
        "aa-warming-3-min": _aa(_NOISE, _WARMING),
        "aa-warming-15-min": _aa(_NOISE, Warming(1.9, 900.0)),
        "carry-over-5": _aa(_NOISE, CarryOver(0.05)),
        "carry-over-10": _aa(_NOISE, CarryOver(0.10)),
        "sessions-own": _aa(_NOISE, Sessions(_SESSION_SD)),
        "sessions-own-all": _aa(_NOISE, Sessions(_SESSION_SD, everyone=True)),
        "sessions-cluster": _aa(
            _NOISE, Sessions(_SESSION_SD, hours=1.0), study=_USERS_CLUSTER, search=_NIGHT, confirm=_SPREAD
        ),
        "sessions-cluster-default": _aa(_NOISE, Sessions(_SESSION_SD, hours=1.0), study=_USERS_CLUSTER, search=_NIGHT),
        "sessions-cluster-block": Case(
            _SAME,
            (_NOISE, Sessions(_SESSION_SD, hours=1.0)),
            (_stated(FALSE_ADVICE), _stated(COVERAGE)),
            study=_USERS_CLUSTER,
            search=_NIGHT,
            confirm={"spread_over_s": 0.0},
        ),
        "sessions-power": Case(
            Planted.of(GAIN),
            (_NOISE, Sessions(_SESSION_SD)),
            (_stated(power(GAIN)), COVERAGE, CLAIMED, ONCE_MORE, _stated(WIDTH), STEPS),
        ),
        "sessions-cluster-power": Case(
            Planted.of(GAIN),
            (_NOISE, Sessions(_SESSION_SD, hours=1.0)),
            (_stated(power(GAIN)), COVERAGE, CLAIMED, ONCE_MORE, _stated(WIDTH), STEPS),
            study=_USERS_CLUSTER,
            search=_NIGHT,
            confirm=_SPREAD,
        ),
        "stalls-of-candidates": _stalling(_NOISE),
        "stalls-2-percent": _stalling(Scatter(0.02), goal=None),
        "confirmed-six-times": Case(
            _SAME,
            (_NOISE,),
            (
                Figure(
                    "studies that recommend a change that does not help, after any of six confirmations",
                    partial(_share_of_studies, lambda study: any(study.repeated)),
                    _FALSE_RATIO,
                ),
            ),
            confirmations=CONFIRMATIONS,
        ),
        "warming-constraint": _aa(_NOISE, _WARMING, study=_limited(1.19 * P99_MS)),
        "warming-floor": Case(
            _SAME,
            (_NOISE, _WARMING),
            (FALSE_ADVICE, REFUSED, RATE, RATE_WHEN_WARM),
            conditions=Conditions(min_mb_per_s=0.85 * MB_PER_S),
        ),
        "warming-floor-broken": Case(
            _SAME,
            (_NOISE, _WARMING),
            (
                Figure(
                    "studies that keep the baseline for a goal, although it misses the least throughput by 10 %",
                    partial(
                        _share_of_studies,
                        lambda study: any(not each.change and not each.refused for each in study.advice),
                    ),
                    _FALSE_RATIO,
                ),
            ),
            conditions=Conditions(min_mb_per_s=MB_PER_S / 0.9),
        ),
        "warming-power": Case(Planted.of(GAIN), (_NOISE, _WARMING), (*_GAINS, RATE, RATE_WHEN_WARM)),
        "constraint-broken": _over_the_limit(_NOISE),
        "constraint-broken-10": _over_the_limit(Scatter(0.10)),
        "latency-only": Case(Planted(latency=1.3), (_NOISE,), (FALSE_ADVICE, COVERAGE, CLAIMED)),
        "trade": Case(Planted(throughput=0.85, latency=1.5), (_NOISE,), (FALSE_ADVICE, COVERAGE, CLAIMED, JOINTLY)),
        "power": Case(Planted.of(GAIN), (_NOISE,), (*_GAINS, JOINTLY)),
        "power-of-others": Case(
            Planted.of(GAIN),
            (_NOISE,),
            (
                _power(
                    "studies that recommend, for throughput, a config that is truly 1.2 times as good",
                    [Goal.THROUGHPUT],
                    GAIN,
                    0.95,
                ),
                _power(
                    "other goals, without a nominated config, for which such a config is recommended",
                    _OTHERS,
                    GAIN,
                    0.85,
                ),
            ),
            confirm={"goals": (Goal.THROUGHPUT,)},
        ),
        "gain-1.03": Case(Planted.of(1.03), (_NOISE,), (power(1.03, None), COVERAGE, _stated(CLAIMED))),
        "gain-1.05-noisy": Case(Planted.of(1.05), (Scatter(0.10),), (power(1.05, None), COVERAGE, _stated(CLAIMED))),
        "complete-aa-5": _aa(_NOISE, complete=True),
        "complete-carry-over-10": _aa(_NOISE, CarryOver(0.10), complete=True),
        "complete-warming-constraint": _aa(_NOISE, _WARMING, study=_limited(1.19 * P99_MS), complete=True),
        "complete-power": Case(Planted.of(GAIN), (_NOISE,), _GAINS, complete=True),
        "cluster": Case(None, (), (COVERAGE, CLAIMED, ONCE_MORE, WIDTH), complete=True),
    }
)
"""The cases by name."""
