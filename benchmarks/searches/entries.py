"""The search methods that the benchmark compares."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import optuna

from benchmarks.problems.searched import Problem
from tuner.model.spec import Method, SearchSpec, StudySpec, WorkloadSpec
from tuner.prediction.fitted_constants import PRIOR_SD_LOG, with_shifted_logs
from tuner.search.expectation import ModelExpectation, expectation_of
from tuner.search.knob_space import KnobSpace
from tuner.search.samplers import PointsSampler, strategy_of
from tuner.search.strategy import Strategy


@dataclass(frozen=True, slots=True)
class Entry:
    """A search method to compare.

    Attributes:
        make: A function that makes the search strategy for a problem and a seed.
        search: The settings of a study's search with this method. They decide which starting points come first.
        transfer: Whether the search begins with the front of the previous record size.
    """

    make: Callable[[Problem, int], Strategy]
    search: SearchSpec = field(default_factory=lambda: SearchSpec(method=Method.RANDOM))
    transfer: bool = True


def _shuffled_grid(problem: Problem, seed: int) -> Strategy:
    """Return a strategy that goes through a problem's grid in random order."""
    configs = problem.grid()
    points = (
        problem.space.params_of(configs[index]) or {} for index in np.random.default_rng(seed).permutation(len(configs))
    )
    sampler = PointsSampler(KnobSpace(problem.space).distributions, points)
    return strategy_of(_spec(problem, SearchSpec()), problem.space, seed, sampler=sampler)


def _product(method: Method, off: float = 1.0, **search: Any) -> Entry:
    """Return the search method of a study, with the same strategy and starting points.

    Args:
        method: The search method.
        off: The error of the constants with which the performance model begins: every second constant is multiplied by
            this factor, and the others are divided by it.
        search: Further settings of the search.
    """
    settings = SearchSpec(method=method, **search)

    def make(problem: Problem, seed: int) -> Strategy:
        spec = _spec(problem, settings)
        return strategy_of(spec, problem.space, seed, _expectation(spec, problem, off))

    return Entry(make, settings)


def _expectation(spec: StudySpec, problem: Problem, off: float) -> ModelExpectation | None:
    expected = expectation_of(spec, problem.size, problem.space, problem.load.rate_records_per_s)
    if expected is None:
        return None
    # The load of a study with the default settings differs from the load of a problem in the seconds of its phases.
    signs = np.where(np.arange(len(PRIOR_SD_LOG)) % 2, 1.0, -1.0)
    wrong = with_shifted_logs(problem.start, signs * np.log(off))
    metrics = [objective.metric for objective in spec.objectives]
    return ModelExpectation(problem.space, problem.load, metrics, problem.defaults, wrong, problem.producers)


def _tpe(**settings: Any) -> Entry:
    """Return a search method that uses Optuna's TPE sampler with settings that differ from the tuner's."""
    search = SearchSpec(method=Method.TPE)
    kept = {"n_startup_trials": search.startup_trials, **settings}

    def make(problem: Problem, seed: int) -> Strategy:
        return strategy_of(
            _spec(problem, search),
            problem.space,
            seed,
            sampler=lambda own: optuna.samplers.TPESampler(seed=own, **kept),
        )

    return Entry(make, search)


_BOTORCH: Final = SearchSpec(method=Method.GP)


def _botorch(problem: Problem, seed: int) -> Strategy:
    """Return a strategy that proposes with BoTorch's qNEHVI, through optuna-integration."""
    # Imported here, because only this method needs the package, and importing torch takes seconds.
    from optuna_integration.botorch import BoTorchSampler, qnehvi_candidates_func

    startup = _BOTORCH.startup_trials
    sampler = BoTorchSampler(candidates_func=qnehvi_candidates_func, n_startup_trials=startup, seed=seed)
    return strategy_of(_spec(problem, _BOTORCH), problem.space, seed, sampler=sampler)


def _spec(problem: Problem, search: SearchSpec) -> StudySpec:
    workload = WorkloadSpec((problem.size,), producers=problem.producers)
    return StudySpec("samplers", workload, objectives=problem.objectives, baseline=problem.defaults, search=search)


ENTRIES: Final = {
    "random": _product(Method.RANDOM),
    "shuffled grid": Entry(_shuffled_grid),
    "quasi-random": _product(Method.QUASI_RANDOM),
    "nsga2": _product(Method.NSGA2),
    "tpe": _product(Method.TPE),
    "tpe, 5 random trials": _tpe(multivariate=True, n_startup_trials=5),
    "tpe, grouped": _tpe(multivariate=True, group=True),
    "tpe, constant liar": _tpe(multivariate=True, constant_liar=True),
    "tpe, univariate": _tpe(multivariate=False),
    "tpe, no starting points": Entry(_product(Method.TPE).make),
    "gp": _product(Method.GP),
    "botorch qNEHVI": Entry(_botorch, _BOTORCH),
    "bayesian": _product(Method.BAYESIAN),
    "bayesian, no model": _product(Method.BAYESIAN, performance_model=False),
    "bayesian, wrong model": _product(Method.BAYESIAN, off=3.0),
    "bayesian, no starting points": Entry(_product(Method.BAYESIAN).make),
    "bayesian, wrong model, no starting points": Entry(_product(Method.BAYESIAN, off=3.0).make),
    "bayesian, cold": replace(_product(Method.BAYESIAN), transfer=False),
}
"""Search methods by name. The methods "no starting points" and "cold" learn nothing from another record size."""
NEEDED: Final = {"gp": ("torch",), "botorch qNEHVI": ("optuna_integration", "botorch")}
"""The modules that some search methods need, which the project does not install."""
