"""A sampler of our own behind `Strategy`: Gaussian processes that know the noise, and the front they are to improve.

What is proposed follows from the seed, the index and the trials told: the model is fitted anew for each proposal.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from objectives.scoring import Objective
from search_spaces.errors import ConfigError
from search_spaces.space import SearchSpace
from tuner.model.trial import State, Trial
from tuner.search.bayesian.candidates import Candidates
from tuner.search.bayesian.coordinates import Coordinates
from tuner.search.bayesian.improvement import Draws, Improvement
from tuner.search.bayesian.known import Known, dominated_by, key_of
from tuner.search.bayesian.process import Prior, Process
from tuner.search.bayesian.solving import Array, normal_below
from tuner.search.schedule import searched_from
from tuner.search.strategy import Proposal, rng_of

_ENOUGH: Final = 3
"""Configs to begin with, as the baseline and some starting points: the model says itself how little it knows."""
_DRAWS: Final = 8
_CONSIDERED: Final = 6
"""Configs whose worth is asked for once more: those that the best candidates become."""
_LOOKED_AT: Final = 60
"""Candidates that are made configs, in search of some that were not measured; a good share of the time goes there."""
_SOFTENED: Final = 0.05
"""What is worse than the baseline by far is just bad: how bad teaches little of where the good ones are."""
_MISS_NOISE: Final = 0.2
_REFINEMENTS: Final = (0.08, 0.04)
_REFINED: Final = 8
_COPIES: Final = 40
_AMPLITUDE: Final = 0.2
_AMPLITUDE_SPREAD: Final = 0.7
"""Throughput may differ by 5 % between good configs where latency differs by a factor: data say which it is."""
_LENGTH: Final = 0.7
_LENGTH_SPREAD: Final = 1.2


class SurrogateStrategy:
    """Proposes what improves the front most, as far as is believed.

    Args:
        space: Where to search.
        objectives: One or more.
        seed: Of the search.
        startup_trials: Drawn at random while fewer configs than this are known, or fewer than the model can do with.
    """

    def __init__(self, space: SearchSpace, objectives: Sequence[Objective], *, seed: int, startup_trials: int) -> None:
        self._seed, self._startup = seed, min(startup_trials, _ENOUGH)
        self._coordinates = Coordinates(space)
        self._candidates = Candidates(self._coordinates)
        begin = searched_from(space)
        self._begin = {place: begin.get(axis.name, 0) for place, axis in enumerate(self._coordinates.axes)}
        self._known = Known(objectives)
        self._objectives = len(objectives)
        self._under_way: dict[int, Array] = {}

    def ask(self, index: int) -> Proposal:
        """See `Strategy.ask`."""
        rng = rng_of(self._seed, index)
        proposal = self._by_chance(index, rng) if len(self._known) < self._startup else self._best(index, rng)
        row = self._coordinates.row(proposal.config)
        assert row is not None, "what a space gives lies in it"
        self._under_way[index] = row
        return proposal

    def tell(self, trial: Trial, index: int | None = None) -> None:
        """See `Strategy.tell`. A trial that failed teaches nothing."""
        if index is not None:
            self._under_way.pop(index, None)
        if trial.state is State.FAILED:
            return
        try:
            config = trial.config()
        except ConfigError:
            return  # of an older client, say
        self._known.add(trial, self._coordinates.row(config))

    def _by_chance(self, index: int, rng: np.random.Generator) -> Proposal:
        """Coarse values of the knobs whose turn it is; another config than those known, as far as chance finds one."""
        taken = self._taken()
        for candidates in self._in_turn(index):
            for row in candidates.anywhere(_LOOKED_AT, rng):
                config, params = self._coordinates.draw(row)
                at = self._coordinates.row(config)
                if at is not None and key_of(at) not in taken:
                    return Proposal(index, config, params)
        return Proposal(index, config, params)

    def _best(self, index: int, rng: np.random.Generator) -> Proposal:
        worth = self._worth(rng)
        parents, weights = self._parents()
        for candidates in self._in_turn(index):
            rows = candidates.around(parents, weights, rng)
            scores = worth(rows)
            for near_sd in _REFINEMENTS:
                best = rows[np.argsort(-scores, kind="stable")[:_REFINED]]
                more = candidates.nearby(best, _COPIES, near_sd, rng)
                rows, scores = np.concatenate([rows, more]), np.concatenate([scores, worth(more)])
            proposal = self._drawn(index, rows[np.argsort(-scores, kind="stable")], worth)
            if proposal is not None:
                return proposal
        return self._by_chance(index, rng_of(self._seed, index))

    def _in_turn(self, index: int) -> Iterator[Candidates]:
        """What makes candidates of the knobs whose turn it is, and of more and more, should these be used up.

        Every other proposal stays with those of the first turn: where the later ones bring nothing, the model is
        indifferent to them, and would change them in each proposal.
        """
        count, home = len(self._known) if index % 2 else 0, self._known.home
        for known in sorted({count, *(begin for begin in self._begin.values() if begin > count)}):
            waiting = [place for place, begin in self._begin.items() if begin > known]
            if not waiting:
                yield self._candidates
            elif home is not None:
                yield replace(self._candidates, held={place: float(home[place]) for place in waiting})

    def _drawn(self, index: int, rows: Array, worth: Callable[[Array], Array]) -> Proposal | None:
        """The best of the first rows, as the configs that they become, of those not measured yet; None without any."""
        taken, found = self._taken(), []
        for row in rows[:_LOOKED_AT]:
            config, params = self._coordinates.draw(row)
            at = self._coordinates.row(config)
            if at is not None and (key := key_of(at)) not in taken:
                taken.add(key)
                found.append((config, params, at))
                if len(found) == _CONSIDERED:
                    break
        if not found:
            return None
        config, params, _ = found[int(np.argmax(worth(np.stack([at for _, _, at in found]))))]
        return Proposal(index, config, params)

    def _taken(self) -> set[bytes]:
        return self._known.measured | {key_of(row) for row in self._under_way.values()}

    def _parents(self) -> tuple[Array, Array]:
        """Configs to start from, and how often; those of the front most of all."""
        values = np.array([[each.mean(place) for place in range(self._objectives)] for each in self._known])
        usable = np.array([each.feasible for each in self._known])
        rows = self._known.rows()
        if not usable.any():
            return rows, np.ones(len(rows))
        behind = dominated_by(values[usable])
        return rows[usable], np.where(behind == 0, 2.0, 0.5 / (behind + 1))

    def _worth(self, rng: np.random.Generator) -> Callable[[Array], Array]:
        """What says of rows how much their configs are worth measuring."""
        known, coordinates = self._known, self._coordinates
        rows = known.rows()
        pending = [*self._under_way.values()]
        support = coordinates.features(np.concatenate([rows, np.stack(pending)]) if pending else rows)
        usable = np.array([*(each.feasible for each in known), *([True] * len(pending))])
        draws = [Draws.of(self._process(place), support, _DRAWS, rng) for place in range(self._objectives)]
        improvement = Improvement(draws, usable, known.reference, rng)
        kept = [self._constraint(name) for name in known.constraints()]

        def worth(wanted: Array) -> Array:
            points = coordinates.features(wanted)
            found = improvement.of(points)
            for process in kept:
                mean, sd = process.believed(points)
                found = found * normal_below(-mean / sd)
            return found

        return worth

    def _process(self, place: int) -> Process:
        """What is believed of an objective."""
        reference, noise_sd = float(self._known.reference[place]), self._known.noise_sd(place)
        told = [(each.row, each.mean(place), len(each.values[place])) for each in self._known if each.values[place]]
        values = np.array([mean for _, mean, _ in told])
        behind = np.maximum(reference - values, 0.0)
        softened = np.maximum(values, reference) - _SOFTENED * np.log1p(behind / _SOFTENED)
        noise = noise_sd / np.sqrt([count for _, _, count in told])
        return self._fitted([row for row, _, _ in told], softened, noise, self._prior(reference))

    def _constraint(self, name: str) -> Process:
        """What is believed of how a constraint is missed."""
        told = [(each.row, each.misses[name]) for each in self._known if name in each.misses]
        values = np.array([float(np.mean(misses)) for _, misses in told])
        return self._fitted([row for row, _ in told], values, np.full(len(told), _MISS_NOISE), self._missing())

    def _fitted(self, rows: list[Array], values: Array, noise_sd: Array, prior: Prior) -> Process:
        points = self._coordinates.features(np.stack(rows)) if rows else np.zeros((0, len(self._coordinates.groups)))
        return Process.fitted(points, self._coordinates.groups, values, noise_sd, prior)

    def _prior(self, reference: float) -> Prior:
        return Prior(reference, 0.5, _AMPLITUDE, _AMPLITUDE_SPREAD, self._lengths(), _LENGTH_SPREAD, 0.3)

    def _missing(self) -> Prior:
        return Prior(-0.5, 0.5, 1.0, 0.3, self._lengths(), 0.8, 0.3)

    def _lengths(self) -> Array:
        return np.full(len(self._coordinates.axes), _LENGTH)
