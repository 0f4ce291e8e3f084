"""An Optuna sampler for noisy objectives and few trials: it proposes what should improve the Pareto front most.

It knows the parameters, values and constraints of a study, and nothing of what they stand for.
"""

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

from objectives.dominance import dominated_by
from tuner.search.bayesian.axes import Params, PlainSpace, Space
from tuner.search.bayesian.belief import AMPLITUDE, Belief
from tuner.search.bayesian.candidates import Candidates
from tuner.search.bayesian.observations import Observations, key_of
from tuner.search.bayesian.solving import Array

UNMEASURED: Final = "unmeasured"
"""User attribute of a trial: which objectives (by index) and constraints (by name) were not measured."""
STARTUP_TRIALS: Final = 3
"""Configs to begin with: the model says itself how little it knows."""
_CONSIDERED: Final = 6
"""Configs whose worth is asked for once more: those that the best candidates become."""
_LOOKED_AT: Final = 60
"""Candidates that are settled, in search of some that were not measured; a good share of the time goes there."""
_REFINEMENTS: Final = (0.08, 0.04)
_REFINED: Final = 8
_COPIES: Final = 40


class BayesianSampler(BaseSampler):
    """Gaussian processes for objectives and constraints, and the expected growth of the front's hypervolume.

    Constraints are those of the study's trials (`Trial.set_constraint`), starting points are enqueued
    (`Study.enqueue_trial`), and configs that were measured more than once tell how noisy values are.

    Args:
        space: The parameters, conditional ones included. None takes those that all trials have in common; others are
            drawn by chance.
        seed: Of chance. A proposal follows from it, from how many were made before, and from the study's trials.
        startup_trials: Configs to be known before the model is used; before, proposals are made by chance.
        noise_sd: What is assumed of a value's noise, relative to a standard deviation of 0.2 between configs, while
            nothing was measured more than once.
        value_sd: By how much values of an objective differ between configs; None takes it from the values. Logarithms
            of throughputs and latencies have about 0.2.
        stages: By parameter, how many configs are known when it is first changed; 0 where it is not named. From then
            on it is changed in every other proposal.
        home: Where parameters stay until then; the first config told by default.
        reference: Gives what nobody wants to fall behind, a value per objective. Without it, and for NaN, the worst
            value seen.
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
    ) -> None:
        self._space, self._startup = space, startup_trials
        self._noise_sd, self._value_sd = noise_sd, value_sd
        self._stages, self._home, self._reference = stages or {}, home, reference
        self._entropy = _entropy() if seed is None else seed
        self._chance = RandomSampler(seed=seed)
        self._common = IntersectionSearchSpace()
        self._made = 0
        self._observed: _Observed | None = None
        self._lock = threading.Lock()

    def go_on_after(self, made: int) -> None:
        """Propose what follows after so many proposals, whoever made them."""
        self._made = made

    def reseed_rng(self) -> None:
        """Take another seed."""
        self._entropy = _entropy()
        self._chance.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """All parameters that the space has, or that the study's trials have in common."""
        if self._space is not None:
            return {axis.name: axis.distribution for axis in self._space.axes}
        common = self._common.calculate(study)
        return {name: distribution for name, distribution in common.items() if not distribution.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Propose values of parameters; with a space, of those that a trial with these values has."""
        if not search_space:
            return {}
        with self._lock:
            observed = self._observed
            if observed is None or not observed.of(study, search_space):
                space = self._space or PlainSpace(search_space)
                observed = self._observed = _Observed(study, search_space, space)
            observed.update(study)
            made, self._made = self._made, self._made + 1
            return dict(self._proposed(observed, observed.pending(study, trial), made))

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Draw a value by chance."""
        return self._chance.sample_independent(study, trial, param_name, param_distribution)

    def _proposed(self, observed: "_Observed", pending: Sequence[Array], made: int) -> Params:
        """The parameters to measure next."""
        observations, space = observed.observations, observed.space
        taken = observations.measured | {key_of(row) for row in pending}
        choices = [*self._candidates(observed, made)]
        if len(observations) >= self._startup:
            rng = np.random.default_rng([self._entropy, made])
            worth = self._belief(observed, pending).worth(rng)
            parents, weights = _parents(observations)
            for candidates in choices:
                rows = _refined(candidates, candidates.around(parents, weights, rng), worth, rng)
                found = _settled(observed, rows, taken, _CONSIDERED)
                if found:
                    best = np.argmax(worth(np.stack([row for _, row in found])))
                    return found[int(best)][0]
        # Coarse values at random; another config than those known, as far as chance finds one.
        rng = np.random.default_rng([self._entropy, made])
        for candidates in choices:
            rows = candidates.anywhere(_LOOKED_AT, rng)
            for params, _ in _settled(observed, rows, taken, 1):
                return params
        return space.settled(_wanted(space, rows[-1]))

    def _candidates(self, observed: "_Observed", made: int) -> Iterator[Candidates]:
        """What makes candidates of the parameters that are changed now, and of more, should these be used up.

        Every other proposal stays with those of the first stage: where the later ones bring nothing, the model is
        indifferent to them, and would change them in each proposal.
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

    def _belief(self, observed: "_Observed", pending: Sequence[Array]) -> Belief:
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
        return Belief(observed.space, seen, pending, reference, factors, self._noise_sd)


class _Observed:
    """What the trials of a study have told so far: only new ones are looked at."""

    def __init__(self, study: Study, search_space: Mapping[str, BaseDistribution], space: Space) -> None:
        self.space = space
        self.signs = [1.0 if direction is StudyDirection.MAXIMIZE else -1.0 for direction in study.directions]
        self.observations = Observations(len(self.signs))
        self._study_name, self._search_space = study.study_name, dict(search_space)
        self._trials: set[int] = set()

    def of(self, study: Study, search_space: Mapping[str, BaseDistribution]) -> bool:
        """Whether they are of that study, and of these parameters."""
        return self._study_name == study.study_name and self._search_space == search_space

    def update(self, study: Study) -> None:
        """Observe the trials that have been completed since, in the order in which they were."""
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

    def pending(self, study: Study, asking: FrozenTrial) -> list[Array]:
        """Rows of the configs that are being measured."""
        running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        rows = [self.row(trial.params) for trial in running if trial.number != asking.number and trial.params]
        return [row for row in rows if row is not None]

    def row(self, params: Params) -> Array | None:
        """Positions of parameters, shape (axes,); None for a trial that is to be left out."""
        implied = self.space.implied(params)
        return None if implied is None else self.settled_row(implied)

    def settled_row(self, implied: Params) -> Array:
        """The same of parameters with those that follow from them."""
        positions = [axis.position(implied[axis.name]) if axis.name in implied else np.nan for axis in self.space.axes]
        return np.asarray(self.space.allowed(np.array([positions]))[0])


def _parents(observations: Observations) -> tuple[Array, Array]:
    """Configs to start from, and how often; those of the front most of all."""
    rows, usable = observations.rows(), observations.feasible()
    if not usable.any():
        return rows, np.ones(len(rows))
    behind = dominated_by(observations.means()[usable])
    return rows[usable], np.where(behind == 0, 2.0, 0.5 / (behind + 1))


def _refined(candidates: Candidates, rows: Array, worth: Callable[[Array], Array], rng: np.random.Generator) -> Array:
    """Candidates and some close to the best of them, the best first."""
    scores = worth(rows)
    for near_sd in _REFINEMENTS:
        best = rows[np.argsort(-scores, kind="stable")[:_REFINED]]
        more = candidates.nearby(best, _COPIES, near_sd, rng)
        rows, scores = np.concatenate([rows, more]), np.concatenate([scores, worth(more)])
    return rows[np.argsort(-scores, kind="stable")]


def _settled(observed: _Observed, rows: Array, taken: set[bytes], count: int) -> list[tuple[Params, Array]]:
    """Parameters that the first rows become, those taken left out, and their own rows; at most `count`."""
    taken, found = {*taken}, []
    for row in rows[:_LOOKED_AT]:
        params = observed.space.settled(_wanted(observed.space, row))
        at = observed.settled_row(params)
        key = key_of(at)
        if key not in taken:
            taken.add(key)
            found.append((params, at))
            if len(found) == count:
                break
    return found


def _wanted(space: Space, row: Array) -> dict[str, Any]:
    return {axis.name: axis.value(float(position)) for axis, position in zip(space.axes, row, strict=True)}


def _entropy() -> int:
    return int(np.random.SeedSequence().generate_state(1)[0])
