"""An Optuna sampler for noisy objectives and few trials, by Bayesian optimisation.

It proposes the config that is expected to improve the Pareto front most. It works with any Optuna study: it uses the
study's parameters, values and constraints, and knows nothing about Kafka.
"""

import functools
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState
from threadpoolctl import ThreadpoolController

from objectives.dominance import dominated_by
from tuner.regression.solving import Array
from tuner.search.bayesian.axes import Params, PlainSpace, Space
from tuner.search.bayesian.candidates import Candidates
from tuner.search.bayesian.observations import Observations, key_of
from tuner.search.bayesian.surrogate_model import AMPLITUDE, SurrogateModel

UNMEASURED: Final = "unmeasured"
"""Name of the user attribute that lists what a trial did not measure: objectives by index, constraints by name."""
STARTUP_TRIALS: Final = 3
"""How many configs are measured before the model is used. Few are enough, as the model knows how uncertain it is."""
_CONSIDERED: Final = 6
"""How many of the best candidates are rounded to valid configs; the best of the rounded configs is proposed."""
_MOST_ROUNDED: Final = 60
"""The most candidates that are rounded to find configs that were not measured yet, because rounding is slow."""
_MOST_LISTED: Final = 10_000
"""The largest number of configs in a space for which the sampler checks whether all of them were measured."""
_REFINEMENT_SDS: Final = (0.08, 0.04)
"""Standard deviations of the small changes by which the best candidates are refined, one for each turn."""
_REFINED: Final = 8
"""How many of the best candidates are refined in a turn."""
_COPIES_OF_REFINED: Final = 40
"""How many changed copies of each of these candidates are added."""


class BayesianSampler(BaseSampler):
    """Proposes the config with the greatest expected improvement of the Pareto front's hypervolume.

    Each objective and each constraint is predicted by a Gaussian process. Constraints are those of the study's trials
    (`Trial.set_constraint`). Starting points can be enqueued (`Study.enqueue_trial`). The noise of the values is
    estimated from configs that were measured more than once.

    Args:
        space: The parameters, including conditional ones. If None, the sampler proposes the parameters that all trials
            have in common, and draws others at random.
        seed: The seed of the random numbers. A proposal depends on the seed, on the number of proposals before it, and
            on the study's trials.
        startup_trials: How many configs must be measured before the model is used; until then, proposals are random.
        noise_sd: The assumed standard deviation of the noise, if values are scaled so that their standard deviation
            between configs is 0.2. The more configs are measured repeatedly, the less this assumption counts.
        value_sd: The standard deviation of an objective between configs, for example 0.2 for logarithms of throughputs
            and latencies; None to estimate it from the values.
        stages: By parameter, how many configs must be measured before the parameter is changed; 0 for parameters that
            are not named. From then on the parameter is changed in every other proposal.
        home: The values that parameters have before they are changed; by default those of the first measured config.
        reference: Returns the value of each objective that an improvement has to surpass. By default, and for a value
            of NaN, it is the worst value so far.
        expected: Predicts the objectives of configs that were not measured. It takes coordinates of shape (configs,
            axes), and returns values minus the reference, shape (scenarios, configs, objectives), with NaN for
            unknown values. The first scenario is the likeliest. In each further scenario, the predictions contain one
            possible error of one standard deviation; the errors are independent of each other. None for no predictions.
            The more the trials contradict the predictions, the less they count.
    """

    def __init__(
        self,
        space: Space | None = None,
        *,
        seed: int | None = None,
        startup_trials: int = STARTUP_TRIALS,
        noise_sd: float = 0.05,
        value_sd: float | None = None,
        stages: Mapping[str, int] | None = None,
        home: Params | None = None,
        reference: Callable[[], Sequence[float]] | None = None,
        expected: Callable[[Array], Array] | None = None,
    ) -> None:
        self._space, self._startup = space, startup_trials
        self._noise_sd, self._value_sd = noise_sd, value_sd
        self._stages, self._home, self._reference, self._expected = stages or {}, home, reference, expected
        self._seed = _random_seed() if seed is None else seed
        self._random = RandomSampler(seed=seed)
        self._common = IntersectionSearchSpace()
        self._made = 0
        self._observed: _StudyObservations | None = None
        self._lock = threading.Lock()

    def is_exhausted(self, study: Study) -> bool:
        """Return whether every config was measured or is being measured; False if this can't be checked.

        The sampler can tell only for a `space` in which every parameter has a list of values.
        """
        if self._space is None:
            return False
        with self._lock:
            observed = self._updated(study, {axis.name: axis.distribution for axis in self._space.axes})
            taken = observed.observations.measured | {key_of(row) for row in observed.pending(study, None)}
            return observed.all_keys is not None and observed.all_keys <= taken

    def go_on_after(self, made: int) -> None:
        """Continue as if the given number of proposals had been made already, possibly by another process."""
        self._made = made

    def reseed_rng(self) -> None:
        """Replace the seed by a new random seed."""
        self._seed = _random_seed()
        self._random.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the distributions of the sampler's parameters.

        They are the parameters of `space`, or without a space the parameters that all trials have in common.
        """
        if self._space is not None:
            return {axis.name: axis.distribution for axis in self._space.axes}
        common = self._common.calculate(study)
        return {name: distribution for name, distribution in common.items() if not distribution.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Propose the parameters of the next config.

        If the sampler has a `space`, parameters that have no effect in the proposed config are left out.
        """
        if not search_space:
            return {}
        # The matrices are small: with two threads, a proposal took longer on two cores, and twice the CPU time.
        with self._lock, _libraries().limit(limits=1, user_api="blas"):
            observed = self._updated(study, search_space)
            made, self._made = self._made, self._made + 1
            return dict(self._proposed(observed, observed.pending(study, trial), made))

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Draw the value of a parameter at random, because `sample_relative` has proposed no value for it."""
        return self._random.sample_independent(study, trial, param_name, param_distribution)

    def _updated(self, study: Study, search_space: Mapping[str, BaseDistribution]) -> "_StudyObservations":
        """Add a study's newest trials to its observations, and return all of them."""
        observed = self._observed
        if observed is None or not observed.of(study, search_space):
            observed = self._observed = _StudyObservations(study, search_space, self._space or PlainSpace(search_space))
        observed.update(study)
        return observed

    def _proposed(self, observed: "_StudyObservations", pending: Sequence[Array], made: int) -> Params:
        """Return the parameters of the config to measure next.

        Args:
            observed: The trials of the study so far.
            pending: The coordinates of the configs that are being measured now.
            made: How many proposals were made before this one.
        """
        observations, space = observed.observations, observed.space
        taken = observations.measured | {key_of(row) for row in pending}
        choices = [*self._candidates(observed, made)]
        if len(observations) >= self._startup:
            rng = np.random.default_rng([self._seed, made])
            acquisition = self._model(observed, pending).acquisition(rng)
            parents, weights = _parents(observations)
            for candidates in choices:
                rows = _refined(candidates, candidates.around(parents, weights, rng), acquisition, rng)
                found = _rounded(observed, rows, taken, _CONSIDERED)
                if found:
                    best = np.argmax(acquisition(np.stack([row for _, row in found])))
                    return found[int(best)][0]
        # There are too few observations, or no candidate is new. So draw coarse values at random, and propose the first
        # config that was not measured yet. If there is no such config, a measured config is proposed again.
        rng = np.random.default_rng([self._seed, made])
        for candidates in choices:
            rows = candidates.anywhere(_MOST_ROUNDED, rng)
            for params, _ in _rounded(observed, rows, taken, 1):
                return params
        return space.nearest_valid(_values_at(space, rows[-1]))

    def _candidates(self, observed: "_StudyObservations", made: int) -> Iterator[Candidates]:
        """Yield generators of candidates, to be tried in turn until a generator finds a config that is new.

        The sampler's `stages` say how many configs must be measured before a parameter is changed. The first generator
        changes the parameters for which enough configs were measured. Each further generator also changes the
        parameters of the next stage. In every other proposal, the first generator changes only the parameters of the
        first stage, whose number is 0. Otherwise, parameters that make no difference would be changed in every
        proposal, as the model has no reason to leave them alone.

        Args:
            observed: The trials of the study so far.
            made: How many proposals were made before this one.
        """
        space, known = observed.space, len(observed.observations) if made % 2 else 0
        every = Candidates(space.axes, space.allowed)
        begin = {index: self._stages.get(axis.name, 0) for index, axis in enumerate(space.axes)}
        home = observed.row(self._home) if self._home is not None else None
        if home is None:
            home = observed.observations.first
        for count in sorted({known, *(later for later in begin.values() if later > known)}):
            waiting = [index for index, later in begin.items() if later > count]
            if not waiting:
                yield every
            elif home is not None:
                yield replace(every, held={index: float(home[index]) for index in waiting})

    def _model(self, observed: "_StudyObservations", pending: Sequence[Array]) -> SurrogateModel:
        """Return the model of objectives and constraints after the trials so far."""
        seen = observed.observations
        wanted = self._reference() if self._reference is not None else [np.nan] * len(observed.signs)
        reference = np.array(
            [
                seen.worst(index) if np.isnan(value) else sign * value
                for index, (sign, value) in enumerate(zip(observed.signs, wanted, strict=True))
            ]
        )
        sd = np.nanstd(seen.means(), axis=0) if self._value_sd is None else np.full(len(reference), self._value_sd)
        factors = AMPLITUDE / np.where(sd > 0, sd, AMPLITUDE)
        gains = None if self._expected is None else _signed(self._expected, np.array(observed.signs))
        return SurrogateModel(observed.space, seen, pending, reference, factors, self._noise_sd, gains)


class _StudyObservations:
    """The observations from one Optuna study; each update reads only the trials that are new."""

    def __init__(self, study: Study, search_space: Mapping[str, BaseDistribution], space: Space) -> None:
        self.space = space
        self.signs = [1.0 if direction is StudyDirection.MAXIMIZE else -1.0 for direction in study.directions]
        self.observations = Observations(len(self.signs))
        self._study_name, self._search_space = study.study_name, dict(search_space)
        self._trials: set[int] = set()

    @functools.cached_property
    def all_keys(self) -> frozenset[bytes] | None:
        """The keys of all configs of the space; None if they are too many, or some parameter has no listed values."""
        counts = [axis.listed_values for axis in self.space.axes]
        if None in counts or math.prod(count or 1 for count in counts) > _MOST_LISTED:
            return None
        positions = [
            np.arange(axis.words) if axis.words else np.linspace(0, 1, axis.listed_values or 1)
            for axis in self.space.axes
        ]
        rows = np.stack([each.ravel() for each in np.meshgrid(*positions, indexing="ij")], axis=1).astype(np.float64)
        return frozenset(key_of(row) for row in self.space.allowed(rows))

    def of(self, study: Study, search_space: Mapping[str, BaseDistribution]) -> bool:
        """Return whether the observations are from this study and have these parameters."""
        return self._study_name == study.study_name and self._search_space == search_space

    def update(self, study: Study) -> None:
        """Add the trials that were completed since the last update, in the order in which they were completed."""
        completed = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        new = [trial for trial in completed if trial.number not in self._trials]
        for trial in sorted(new, key=lambda trial: (trial.datetime_complete, trial.number)):
            self._trials.add(trial.number)
            row = self.row(trial.params)
            if row is not None:
                unmeasured = trial.user_attrs.get(UNMEASURED, ())
                values = [
                    None if index in unmeasured else sign * value
                    for index, (sign, value) in enumerate(zip(self.signs, trial.values, strict=True))
                ]
                constraints = {name: missed for name, missed in trial.constraints.items() if name not in unmeasured}
                self.observations.add(row, values, constraints)

    def pending(self, study: Study, asking: FrozenTrial | None) -> list[Array]:
        """Return the coordinates of the configs that are being measured, without the trial that asks for a proposal."""
        running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        others = (trial for trial in running if asking is None or trial.number != asking.number)
        rows = [self.row(trial.params) for trial in others if trial.params]
        return [row for row in rows if row is not None]

    def row(self, params: Params) -> Array | None:
        """Return the coordinates of a trial's config, shape (axes,); None if the config lies outside the space."""
        implied = self.space.implied(params)
        return None if implied is None else self.row_of_implied(implied)

    def row_of_implied(self, implied: Params) -> Array:
        """Return the coordinates of a config, given all its parameters, including those that follow from others."""
        positions = [axis.position(implied[axis.name]) if axis.name in implied else np.nan for axis in self.space.axes]
        return np.asarray(self.space.allowed(np.array([positions]))[0])


def _signed(expected: Callable[[Array], Array], signs: Array) -> Callable[[Array], Array]:
    """Return the function `expected` with the sign turned for objectives of which less is better, such as latencies."""
    return lambda rows: np.asarray(expected(rows) * signs)


def _parents(observations: Observations) -> tuple[Array, Array]:
    """Return the configs whose changed copies become candidates.

    Returns:
        The coordinates of the configs, and how often to use each config, relative to the others. Configs of the Pareto
        front are used most.
    """
    rows, usable = observations.rows(), observations.feasible()
    if not usable.any():
        return rows, np.ones(len(rows))
    behind = dominated_by(observations.means()[usable])
    return rows[usable], np.where(behind == 0, 2.0, 0.5 / (behind + 1))


def _refined(
    candidates: Candidates, rows: Array, acquisition: Callable[[Array], Array], rng: np.random.Generator
) -> Array:
    """Return the given candidates and new candidates close to the best of them, sorted with the best first."""
    scores = acquisition(rows)
    for near_sd in _REFINEMENT_SDS:
        best = rows[np.argsort(-scores, kind="stable")[:_REFINED]]
        more = candidates.nearby(best, _COPIES_OF_REFINED, near_sd, rng)
        rows, scores = np.concatenate([rows, more]), np.concatenate([scores, acquisition(more)])
    return rows[np.argsort(-scores, kind="stable")]


def _rounded(observed: _StudyObservations, rows: Array, taken: set[bytes], count: int) -> list[tuple[Params, Array]]:
    """Round the best candidates to valid configs, and return the first configs that are new.

    Args:
        observed: The trials of the study so far.
        rows: The coordinates of the candidates, the best first, shape (candidates, axes).
        taken: The keys of configs that were measured or are being measured.
        count: The most configs to return.

    Returns:
        The parameters and the coordinates of each new config.
    """
    taken, found, tried = {*taken}, [], 0
    for row in rows:
        # Where a parameter has few values, most of the best candidates are configs that were measured already.
        if key_of(row) in taken:
            continue
        params = observed.space.nearest_valid(_values_at(observed.space, row))
        at = observed.row_of_implied(params)
        if (key := key_of(at)) not in taken:
            found.append((params, at))
        taken |= {key, key_of(row)}
        tried += 1
        if len(found) == count or tried == _MOST_ROUNDED:
            break
    return found


def _values_at(space: Space, row: Array) -> dict[str, Any]:
    """Return the values of all parameters for the coordinates of a config; numbers are not rounded."""
    return {axis.name: axis.value(float(position)) for axis, position in zip(space.axes, row, strict=True)}


def _random_seed() -> int:
    """Return a random seed."""
    return int(np.random.SeedSequence().generate_state(1)[0])


@functools.cache
def _libraries() -> ThreadpoolController:
    """Return the linear algebra libraries that this process has loaded. The search for them takes milliseconds."""
    return ThreadpoolController()  # type: ignore[no-untyped-call]
