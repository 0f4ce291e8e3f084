"""The ways to search that are compared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import optuna

from benchmarks.problems.searched import Problem
from runners.workload import RecordSizes
from search_spaces.space import SearchSpace
from tuner.model.spec import Method, SearchSpec, StudySpec, WorkloadSpec
from tuner.model.trial import Trial
from tuner.search.optuna_strategy import OptunaStrategy
from tuner.search.strategies import strategy_of
from tuner.search.strategy import Proposal, Strategy, rng_of

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


class ShuffledGrid:
    """A `Strategy` that walks through a problem's grid in random order."""

    def __init__(self, problem: Problem, seed: int) -> None:
        configs = problem.grid()
        self._configs = [configs[place] for place in np.random.default_rng(seed).permutation(len(configs))]
        self._next = 0

    def ask(self, index: int) -> Proposal | None:
        """See `Strategy.ask`."""
        self._next += 1
        return Proposal(index, self._configs[self._next - 1], {}) if self._next <= len(self._configs) else None

    def tell(self, trial: Trial, index: int | None = None) -> None:
        """A grid learns nothing."""


class Tpe(OptunaStrategy):
    """TPE with other settings than the product's."""

    def __init__(self, space: SearchSpace, seed: int, settings: Mapping[str, Any]) -> None:
        self._settings = dict(settings)
        super().__init__(space, OBJECTIVES, Method.TPE, seed=seed, startup_trials=SearchSpec().startup_trials)

    def _sampler(self, index: int) -> optuna.samplers.BaseSampler:
        seed = int(rng_of(self._seed, index).integers(2**31))
        return optuna.samplers.TPESampler(seed=seed, **{"n_startup_trials": self._startup, **self._settings})


def _product(method: Method, **search: Any) -> Callable[[Problem, int], Strategy]:
    """What a study of that method uses."""
    return lambda problem, seed: strategy_of(SearchSpec(method=method, **search), OBJECTIVES, problem.space, seed)


def _tpe(**settings: Any) -> Entry:
    return Entry(lambda problem, seed: Tpe(problem.space, seed, settings), Method.TPE)


ENTRIES: Final = {
    "random": Entry(_product(Method.RANDOM)),
    "shuffled grid": Entry(ShuffledGrid),
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
