"""The ways to search that are compared."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import optuna

from benchmarks.problems.searched import Problem
from runners.workload import RecordSizes
from tuner.model.spec import Method, SearchSpec, StudySpec, WorkloadSpec
from tuner.search.knob_space import KnobSpace
from tuner.search.samplers import PointsSampler, strategy_of
from tuner.search.strategy import Strategy

OBJECTIVES: Final = StudySpec("samplers", WorkloadSpec((RecordSizes.fixed(1_000),))).objectives
"""Throughput and p99, a study's default."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A way to search.

    Attributes:
        make: Its strategy for a problem and a seed.
        method: What a study would call it; says whether it begins with the starting points.
        transfer: Whether it is given the front of the record size before.
    """

    make: Callable[[Problem, int], Strategy]
    method: Method = Method.RANDOM
    transfer: bool = True


def _shuffled_grid(problem: Problem, seed: int) -> Strategy:
    """A problem's grid in random order."""
    configs = problem.grid()
    points = (
        problem.space.params_of(configs[index]) or {} for index in np.random.default_rng(seed).permutation(len(configs))
    )
    sampler = PointsSampler(KnobSpace(problem.space).distributions, points)
    return strategy_of(_spec(problem, SearchSpec()), problem.space, seed, sampler)


def _product(method: Method, **search: Any) -> Callable[[Problem, int], Strategy]:
    """What a study of that method uses."""
    return lambda problem, seed: strategy_of(_spec(problem, SearchSpec(method=method, **search)), problem.space, seed)


def _tpe(**settings: Any) -> Entry:
    """TPE with other settings than the product's."""
    kept = {"n_startup_trials": SearchSpec().startup_trials, **settings}

    def make(problem: Problem, seed: int) -> Strategy:
        search = SearchSpec(method=Method.TPE)
        return strategy_of(
            _spec(problem, search), problem.space, seed, lambda own: optuna.samplers.TPESampler(seed=own, **kept)
        )

    return Entry(make, Method.TPE)


def _spec(problem: Problem, search: SearchSpec) -> StudySpec:
    return StudySpec("samplers", WorkloadSpec((problem.size,)), search=search)


ENTRIES: Final = {
    "random": Entry(_product(Method.RANDOM)),
    "shuffled grid": Entry(_shuffled_grid),
    "quasi-random": Entry(_product(Method.QUASI_RANDOM)),
    "nsga2": Entry(_product(Method.NSGA2), Method.NSGA2),
    "tpe": Entry(_product(Method.TPE), Method.TPE),
    "tpe, 5 random trials": _tpe(multivariate=True, n_startup_trials=5),
    "tpe, grouped": _tpe(multivariate=True, group=True),
    "tpe, constant liar": _tpe(multivariate=True, constant_liar=True),
    "tpe, univariate": _tpe(multivariate=False),
    "tpe, no starting points": Entry(_product(Method.TPE)),
    "gp": Entry(_product(Method.GP), Method.GP),
    "bayesian": Entry(_product(Method.BAYESIAN), Method.BAYESIAN),
    "bayesian, no starting points": Entry(_product(Method.BAYESIAN)),
    "bayesian, cold": Entry(_product(Method.BAYESIAN), Method.BAYESIAN, transfer=False),
}
"""By name. Those with no starting points are told of no other record size either; "cold" is told of no other size."""
