"""Which sampler each method of a study stands for, and those of ours that walk through given points."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler, GPSampler, NSGAIISampler, QMCSampler, RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import FrozenTrial

from objectives.repeats import ASSUMED_NOISE_RATIO
from objectives.scoring import ALWAYS, measured
from search_spaces.space import SearchSpace
from tuner.model.errors import StudyError
from tuner.model.spec import Method, StudySpec
from tuner.search.bayesian.belief import AMPLITUDE
from tuner.search.bayesian.sampler import STARTUP_TRIALS, BayesianSampler
from tuner.search.knob_space import KnobSpace
from tuner.search.schedule import searched_from
from tuner.search.strategy import SamplerOf, Strategy

Point = Mapping[str, Any]
OwnSampler = BaseSampler | Callable[[int], BaseSampler]
"""A sampler of the user's: one for all proposals, or made anew for each from a seed."""
_POPULATION: Final = 16
"""Of NSGA-II: Optuna's 50 would be a whole night's trials before the first selection."""


class MissingExtra(StudyError):  # noqa: N818 - names say what happened
    """The sampler needs a package that is not installed."""


def strategy_of(spec: StudySpec, space: SearchSpace, seed: int, sampler: OwnSampler | None = None) -> Strategy:
    """The strategy of one record size.

    Args:
        spec: How the study searches, and for what.
        space: Of the record size.
        seed: Of its proposals.
        sampler: In place of the method's.

    Raises:
        MissingExtra: The method needs a package that is not installed.
    """
    knobs, method = KnobSpace(space), spec.search.method
    constraints = [
        *(str(constraint) for constraint in (*ALWAYS, *spec.constraints)),
        *(measured(objective) for objective in spec.objectives),
    ]
    if method is Method.GP and sampler is None:
        _require_torch()

    def sampler_of(strategy: Strategy) -> SamplerOf:
        if sampler is None:
            return _of_method(spec, knobs, seed, strategy)
        if isinstance(sampler, BaseSampler):
            return lambda _: sampler
        return lambda index: sampler(_seed_of(seed, index))

    forgets = sampler is None and method in (Method.TPE, Method.GP)
    return Strategy(knobs, spec.objectives, constraints, sampler_of, forgets=forgets)


def _of_method(spec: StudySpec, knobs: KnobSpace, seed: int, strategy: Strategy) -> SamplerOf:
    """Samplers of Optuna's are made anew for each proposal: what is proposed does not hang on which process asks."""
    search, space = spec.search, knobs.space
    match search.method:
        case Method.BAYESIAN:
            bayesian = BayesianSampler(
                knobs,
                seed=seed,
                startup_trials=min(search.startup_trials, STARTUP_TRIALS),
                noise_sd=ASSUMED_NOISE_RATIO,
                value_sd=AMPLITUDE,
                stages=searched_from(space),
                home=space.params_of(spec.baseline),
                reference=strategy.baseline,
            )

            def go_on(index: int) -> BaseSampler:
                bayesian.go_on_after(index)
                return bayesian

            return go_on
        case Method.GRID:
            points = (space.params_of(config) or {} for config in space.grid(search.grid_steps))
            grid = PointsSampler(knobs.distributions, points)
            return lambda _: grid
        case Method.RANDOM:
            return lambda index: RandomSampler(_seed_of(seed, index))
        case Method.QUASI_RANDOM:
            return lambda index: _QuasiRandomSampler(seed, index)
        case Method.TPE:
            startup = search.startup_trials
            return lambda index: TPESampler(n_startup_trials=startup, multivariate=True, seed=_seed_of(seed, index))
        case Method.GP:
            startup = search.startup_trials
            return lambda index: GPSampler(
                n_startup_trials=startup, seed=_seed_of(seed, index), warn_independent_sampling=False
            )
        case Method.NSGA2:
            return lambda index: NSGA2Sampler(population_size=_POPULATION, seed=_seed_of(seed, index))


class PointsSampler(BaseSampler):
    """Proposes points in their order, those left out that a trial of the study has already: a grid can be continued.

    `is_exhausted` says whether any are left, as in Optuna's `GridSampler`. A trial that is asked for later is drawn at
    random.

    Args:
        search_space: Distributions of all parameters that points have.
        points: Parameters of each; not every point needs all of them.
    """

    def __init__(self, search_space: Mapping[str, BaseDistribution], points: Iterable[Point]) -> None:
        self._search_space, self._points = dict(search_space), iter(points)
        self._next: Point | None = None
        self._tried: set[frozenset[tuple[str, Any]]] = set()
        self._looked_at = 0
        self._chance = RandomSampler()

    def is_exhausted(self, study: Study) -> bool:
        """Whether a trial of the study has each of the points."""
        trials = study.get_trials(deepcopy=False)
        self._tried.update(frozenset(trial.params.items()) for trial in trials[self._looked_at :])
        self._looked_at = len(trials)
        if self._next is None or frozenset(self._next.items()) in self._tried:
            untried = (point for point in self._points if frozenset(point.items()) not in self._tried)
            self._next = next(untried, None)
        return self._next is None

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters of all points."""
        return self._search_space

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next point."""
        if self.is_exhausted(study) or self._next is None:
            return {}
        point, self._next = self._next, None
        return dict(point)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """By chance: the point does not have this parameter."""
        return self._chance.sample_independent(study, trial, param_name, param_distribution)


class _QuasiRandomSampler(QMCSampler):
    """Optuna's, whose point follows from the index of the proposal: it counts in the study, which is made again."""

    def __init__(self, seed: int, index: int) -> None:
        chance = RandomSampler(_seed_of(seed, index))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            super().__init__(scramble=True, seed=seed, independent_sampler=chance, warn_independent_sampling=False)
        self._index = index

    def _find_sample_id(self, study: Study, search_space: object) -> int:
        return self._index


class NSGA2Sampler(NSGAIISampler):
    """Optuna's, with a generation's parents always in the order of their numbers.

    Optuna gives them to the first that asks as they were selected and to all later ones by number: a rebuilt study,
    in which the next to ask is the first again, would draw other parents. The class's name is on record: Optuna notes
    a trial's generation under it.
    """

    def select_parent(self, study: Study, generation: int) -> list[FrozenTrial]:
        """The parents of a generation."""
        return sorted(super().select_parent(study, generation), key=lambda parent: parent.number)


def _seed_of(seed: int, index: int) -> int:
    """The seed of one proposal: the same for the same seed and index, whatever was drawn before."""
    return int(np.random.default_rng([seed, index]).integers(2**31))


def _require_torch() -> None:
    try:
        import torch  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "search.method gp needs the package torch, which is not installed; "
            "pip install 'kafka-tuner[gp]', or take method bayesian"
        ) from None
