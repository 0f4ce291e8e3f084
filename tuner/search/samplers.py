"""The samplers for the search methods of a study: Optuna's samplers, and samplers of our own."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler, GPSampler, NSGAIISampler, QMCSampler, RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import FrozenTrial

from objectives.repeats import ASSUMED_NOISE_RATIO
from objectives.scoring import ALWAYS, missing_value_constraint
from search_spaces.space.search_space import SearchSpace
from tuner.model.errors import StudyError
from tuner.model.spec import Method, StudySpec
from tuner.search.bayesian.sampler import STARTUP_TRIALS, BayesianSampler
from tuner.search.bayesian.surrogate_model import AMPLITUDE
from tuner.search.expectation import ModelExpectation
from tuner.search.knob_space import KnobSpace
from tuner.search.schedule import searched_from
from tuner.search.strategy import SamplerOf, Strategy

Point = Mapping[str, Any]
OwnSampler = BaseSampler | Callable[[int], BaseSampler]
"""The user's own sampler: one sampler for all proposals, or a function that creates one for each proposal's seed."""
_STARTUP_WITH_MODEL: Final = 1
"""How many configs the method `bayesian` measures before the first proposal, if it uses the performance model.

One is enough, the baseline: it shows the performance model how fast the host is.
"""
_POPULATION: Final = 16
"""Population size of NSGA-II. With Optuna's default of 50, a night might be over before the first selection."""


class MissingExtra(StudyError):
    """The search method needs a package that is not installed."""


def check_own_sampler(sampler: object) -> None:
    """Check a sampler of the user's before anything is measured. A function is called once, with the seed 0.

    Raises:
        TypeError: It is neither an Optuna sampler nor a function that takes a seed and returns one.
    """
    created = sampler if isinstance(sampler, BaseSampler) or not callable(sampler) else sampler(0)
    if not isinstance(created, BaseSampler):
        rule = "sampler must be an Optuna sampler, or a function that takes a seed and returns one"
        returned = "" if created is sampler else f", which returned {created!r}"
        raise TypeError(f"{rule}, but got {sampler!r}{returned}")


def strategy_of(
    spec: StudySpec,
    space: SearchSpace,
    seed: int,
    expectation: ModelExpectation | None = None,
    sampler: OwnSampler | None = None,
) -> Strategy:
    """Return the strategy that proposes configs for one record size.

    Args:
        spec: The specification of the study.
        space: The search space of the record size.
        seed: The seed of the proposals.
        expectation: The predictions that the method `bayesian` uses from the start; None for no predictions.
        sampler: The user's own sampler, which is used instead of the sampler for `search.method`.

    Raises:
        MissingExtra: The search method needs a package that is not installed.
    """
    knobs, method = KnobSpace(space), spec.search.method
    constraints = [
        *(str(constraint) for constraint in (*ALWAYS, *spec.constraints)),
        *(missing_value_constraint(objective) for objective in spec.objectives),
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
    return Strategy(knobs, spec.objectives, constraints, sampler_of, forgets=forgets, expectation=expectation)


def _of_method(spec: StudySpec, knobs: KnobSpace, seed: int, strategy: Strategy) -> SamplerOf:
    """Return a function that takes the index of a proposal, and returns the sampler for it.

    Optuna's own samplers are created again for each proposal, so that a proposal does not depend on what the same
    process has proposed before.
    """
    search, space = spec.search, knobs.space
    match search.method:
        case Method.BAYESIAN:
            startup = STARTUP_TRIALS if strategy.expectation is None else _STARTUP_WITH_MODEL
            bayesian = BayesianSampler(
                knobs,
                seed=seed,
                startup_trials=min(search.startup_trials, startup),
                noise_sd=ASSUMED_NOISE_RATIO,
                value_sd=AMPLITUDE,
                stages=searched_from(space, knows_effects=strategy.expectation is not None),
                home=space.params_of(spec.baseline),
                reference=strategy.baseline,
                expected=None if strategy.expectation is None else strategy.expectation.log_ratios,
            )

            def go_on(index: int) -> BaseSampler:
                bayesian.go_on_after(index)
                return bayesian

            return go_on
        case Method.GRID:
            points = (space.params_of(config) or {} for config in space.grid(search.grid_steps))
            home = space.params_of(spec.baseline)
            # The baseline is measured by trials of its own.
            grid = PointsSampler(knobs.distributions, (point for point in points if point != home), search.repeats)
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
    """Proposes given points in their order, for example the points of a grid.

    With several repeats, all points are proposed once before any point is proposed again. Trials that the study already
    has count, so that an interrupted study continues. Once all points were tried often enough, `is_exhausted` returns
    True, as in Optuna's `GridSampler`, and further configs are drawn at random.

    Args:
        search_space: The distributions of all parameters of the points.
        points: The parameters of each point; a point may lack some of the parameters.
        repeats: How often each point is proposed.
    """

    def __init__(self, search_space: Mapping[str, BaseDistribution], points: Iterable[Point], repeats: int = 1) -> None:
        self._search_space, self._turns = dict(search_space), _turns(points, repeats)
        self._next: tuple[int, Point] | None = None
        self._tried: Counter[frozenset[tuple[str, Any]]] = Counter()
        self._looked_at = 0
        self._random = RandomSampler()

    def is_exhausted(self, study: Study) -> bool:
        """Return whether the trials of the study have tried every point `repeats` times."""
        trials = study.get_trials(deepcopy=False)
        self._tried.update(frozenset(trial.params.items()) for trial in trials[self._looked_at :])
        self._looked_at = len(trials)
        if self._next is None or not self._is_due(*self._next):
            self._next = next((turn for turn in self._turns if self._is_due(*turn)), None)
        return self._next is None

    def _is_due(self, turn: int, point: Point) -> bool:
        return self._tried[frozenset(point.items())] < turn

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the distributions of the points' parameters."""
        return self._search_space

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the parameters of the next point; an empty dict if all points were tried."""
        if self.is_exhausted(study) or self._next is None:
            return {}
        (_, point), self._next = self._next, None
        return dict(point)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Draw the value of a parameter at random, because the proposed point has no value for it."""
        return self._random.sample_independent(study, trial, param_name, param_distribution)


def _turns(points: Iterable[Point], repeats: int) -> Iterator[tuple[int, Point]]:
    """Yield the points `repeats` times in their order, each with the number of its turn, counted from 1."""
    seen: list[Point] = []
    for point in points:
        seen.append(point)
        yield 1, point
    for turn in range(2, repeats + 1):
        yield from ((turn, point) for point in seen)


class _QuasiRandomSampler(QMCSampler):
    """Optuna's `QMCSampler`, but proposal number n always gets point number n of the quasi-random sequence.

    Optuna's own sampler takes n from a counter in the Optuna study. We build this study again in each run, and the
    counter may then have another value.
    """

    def __init__(self, seed: int, index: int) -> None:
        chance = RandomSampler(_seed_of(seed, index))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            super().__init__(scramble=True, seed=seed, independent_sampler=chance, warn_independent_sampling=False)
        self._index = index

    def _find_sample_id(self, study: Study, search_space: object) -> int:
        """Return the index of the proposed point in the quasi-random sequence; Optuna calls this method."""
        return self._index


class NSGA2Sampler(NSGAIISampler):
    """Optuna's NSGA-II sampler, but with the parents of a generation always in the order of their trial numbers.

    Optuna gives the first proposal of a generation its parents in the order of selection, and all later proposals in
    the order of the parents' trial numbers. We build the Optuna study again in each run, so without a fixed order the
    proposals would depend on when a run was interrupted.

    Do not rename this class: Optuna stores the generation of a trial under the name of the class.
    """

    def select_parent(self, study: Study, generation: int) -> list[FrozenTrial]:
        """Return the parents of a generation, in the order of their trial numbers."""
        return sorted(super().select_parent(study, generation), key=lambda parent: parent.number)


def _seed_of(seed: int, index: int) -> int:
    """Return the seed of one proposal, which depends only on the given seed and on the index of the proposal."""
    return int(np.random.default_rng([seed, index]).integers(2**31))


def _require_torch() -> None:
    """Check that torch, which Optuna's Gaussian-process sampler needs, is installed.

    Raises:
        MissingExtra: torch is not installed.
    """
    try:
        import torch  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "search.method gp needs the package torch, which is not installed: "
            "run pip install 'kafka-tuner[gp]', or use search.method bayesian"
        ) from None
