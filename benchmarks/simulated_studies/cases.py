"""The cases of `benchmarks.trust`: the settings of the simulated studies, and what their results should be."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from benchmarks.simulated_studies.figures import (
    CLAIMED,
    COVERAGE,
    FALSE_ADVICE,
    FALSE_RATIO,
    JOINTLY,
    ONCE_MORE,
    RATE,
    RATE_WHEN_WARM,
    REFUSED,
    STEPS,
    WIDTH,
    Figure,
    power,
    power_of,
    share_of_studies,
    stated,
    stated_gains,
)
from benchmarks.simulated_studies.noise import (
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
from benchmarks.simulated_studies.planted import MB_PER_S, P99_MS, Planted
from objectives.scoring import Constraint
from tuner.model.goals import Goal
from tuner.model.target import Target
from tuner.results.recommendations.recommendation import Conditions

GAIN: Final = 1.2
CONFIRMATIONS: Final = 6
_SESSION_SD: Final = 0.05
_LATENCY: Final = "latency_p99_ms"


@dataclass(frozen=True, slots=True)
class Case:
    """A case: the simulated machine, the study, and the goals of its figures.

    Attributes:
        planted: The true gains of all configs; None stands for the simulated cluster of `runners.simulated`.
        disturbances: The disturbances of the measurements, such as noise and stalls.
        figures: The figures and their goals.
        complete: Whether the studies also run the sampler, the bench and the storage; otherwise they are light studies
            (see `benchmarks.simulated_studies.light_studies`).
        study: Fields of `StudySpec` that differ from the defaults.
        search: Fields of `SearchSpec`.
        confirm: Fields of `ConfirmSpec`.
        conditions: The limits for `tuner recommend`.
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
                partial(share_of_studies, lambda study: any(not each.within_limits for each in study.advice)),
                FALSE_RATIO,
            ),
        ),
        study=_limited(1.2 * P99_MS),
    )


def _stalling(noise: Scatter, goal: float | None = FALSE_RATIO) -> Case:
    """Return a case in which all candidates stall in one trial of ten, and have a better p99 only between stalls."""
    false_claim = Figure(
        "studies that claim a better p99 for a config whose p99 is not better",
        partial(
            share_of_studies,
            lambda study: any(each.metric == _LATENCY and each.low > 1.0 >= each.true for each in stated_gains(study)),
        ),
        goal,
    )
    figures = (false_claim, FALSE_ADVICE, COVERAGE)
    return Case(
        Planted(latency=0.95, everywhere=True),
        (noise, Stalls(0.1, spare_baseline=True)),
        figures if goal is not None else tuple(map(stated, figures)),
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
            (stated(FALSE_ADVICE), stated(COVERAGE)),
            study=_USERS_CLUSTER,
            search=_NIGHT,
            confirm={"spread_over_s": 0.0},
        ),
        "sessions-power": Case(
            Planted.of(GAIN),
            (_NOISE, Sessions(_SESSION_SD)),
            (stated(power(GAIN)), COVERAGE, CLAIMED, ONCE_MORE, stated(WIDTH), STEPS),
        ),
        "sessions-cluster-power": Case(
            Planted.of(GAIN),
            (_NOISE, Sessions(_SESSION_SD, hours=1.0)),
            (stated(power(GAIN)), COVERAGE, CLAIMED, ONCE_MORE, stated(WIDTH), STEPS),
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
                    partial(share_of_studies, lambda study: any(study.repeated)),
                    FALSE_RATIO,
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
                        share_of_studies,
                        lambda study: any(not each.change and not each.refused for each in study.advice),
                    ),
                    FALSE_RATIO,
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
                power_of(
                    "studies that recommend, for throughput, a config that is truly 1.2 times as good",
                    [Goal.THROUGHPUT],
                    GAIN,
                    0.95,
                ),
                power_of(
                    "other goals, without a nominated config, for which such a config is recommended",
                    _OTHERS,
                    GAIN,
                    0.85,
                ),
            ),
            confirm={"goals": (Goal.THROUGHPUT,)},
        ),
        "gain-1.03": Case(Planted.of(1.03), (_NOISE,), (power(1.03, None), COVERAGE, stated(CLAIMED))),
        "gain-1.05-noisy": Case(Planted.of(1.05), (Scatter(0.10),), (power(1.05, None), COVERAGE, stated(CLAIMED))),
        "complete-aa-5": _aa(_NOISE, complete=True),
        "complete-carry-over-10": _aa(_NOISE, CarryOver(0.10), complete=True),
        "complete-warming-constraint": _aa(_NOISE, _WARMING, study=_limited(1.19 * P99_MS), complete=True),
        "complete-power": Case(Planted.of(GAIN), (_NOISE,), _GAINS, complete=True),
        "cluster": Case(None, (), (COVERAGE, CLAIMED, ONCE_MORE, WIDTH), complete=True),
    }
)
"""The cases by name."""
