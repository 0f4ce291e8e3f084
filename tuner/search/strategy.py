"""What proposes configs. Samplers stand behind `Strategy`; the simple ones are here.

One that learns is in `surrogate_strategy`, Optuna's are in `optuna_strategy`; `tuner.search.strategies` chooses. A
strategy's proposals follow from its seed, the index asked for and the trials it was told, in their order, and nothing
else: a study that was killed and goes on proposes what it would have proposed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from search_spaces.domains import ParamValue
from search_spaces.producer_config import ProducerConfig
from search_spaces.space import SearchSpace
from tuner.model.trial import Trial

_V = TypeVar("_V", int, float, str)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A config to measure.

    Attributes:
        index: Of the proposal, from 0; given back with `told`.
        config: To be measured.
        params: The sampler's parameters behind it.
        sampler_state: What the sampler wants kept with the trial.
    """

    index: int
    config: ProducerConfig
    params: Mapping[str, ParamValue]
    sampler_state: Mapping[str, Any] = field(default_factory=dict)


class Strategy(Protocol):
    """Proposes configs for one record size."""

    def ask(self, index: int) -> Proposal | None:
        """The proposal of that index; None when there is none left."""

    def tell(self, trial: Trial, index: int | None = None) -> None:
        """Learn from a complete trial.

        Args:
            trial: Any trial of the record size, also one that was proposed by somebody else or in an earlier run.
            index: Of the proposal that this process asked for, if it is one.
        """


def rng_of(seed: int, index: int) -> np.random.Generator:
    """The generator of one proposal: the same for the same seed and index, whatever was drawn before."""
    return np.random.default_rng([seed, index])


@dataclass(frozen=True, slots=True)
class RandomStrategy:
    """Draws at random."""

    space: SearchSpace
    seed: int

    def ask(self, index: int) -> Proposal:
        """See `Strategy.ask`."""
        return _proposal(self.space, index, _Uniform(rng_of(self.seed, index)))

    def tell(self, trial: Trial, index: int | None = None) -> None:
        """Chance learns nothing."""


class QuasiRandomStrategy:
    """Points of a scrambled Sobol sequence: spread more evenly than chance spreads them.

    Each parameter has a coordinate of its own, in the order in which the space first names them.
    """

    _COORDINATES = 64

    def __init__(self, space: SearchSpace, seed: int) -> None:
        # Deferred: scipy.stats takes half a second to import.
        from scipy.stats import qmc

        self._space = space
        self._sobol = qmc.Sobol(self._COORDINATES, scramble=True, rng=np.random.default_rng(seed))
        self._next = 0
        self._coordinates: dict[str, int] = {}

    def ask(self, index: int) -> Proposal:
        """See `Strategy.ask`; indices are asked for in rising order."""
        # Those of earlier runs are drawn too: which parameter has which coordinate follows from all before.
        for number in range(self._next, index + 1):
            point = self._sobol.random(1)[0]
            proposal = _proposal(self._space, number, _Uniform(None, point, self._coordinates))
        self._next = index + 1
        return proposal

    def tell(self, trial: Trial, index: int | None = None) -> None:
        """The sequence learns nothing."""


class GridStrategy:
    """Every config of a grid, once; those measured already are left out, so that a grid can be continued."""

    def __init__(self, space: SearchSpace, steps: int) -> None:
        self._space = space
        self._points: Iterator[ProducerConfig] = space.grid(steps)
        self._measured: set[str] = set()

    def ask(self, index: int) -> Proposal | None:
        """See `Strategy.ask`."""
        for config in self._points:
            if config.fingerprint not in self._measured:
                return Proposal(index, config, self._space.params_of(config) or {})
        return None

    def tell(self, trial: Trial, index: int | None = None) -> None:
        """Leave its config out."""
        self._measured.add(trial.fingerprint)


def _proposal(space: SearchSpace, index: int, chooser: "_Uniform") -> Proposal:
    config = space.draw(chooser)
    return Proposal(index, config, chooser.params)


class _Uniform:
    """A `Chooser` fed with numbers in [0, 1): of a generator, or of a point whose coordinates have names."""

    def __init__(
        self,
        rng: np.random.Generator | None,
        point: Sequence[float] = (),
        coordinates: dict[str, int] | None = None,
    ) -> None:
        self._rng, self._point = rng, point
        self._coordinates = {} if coordinates is None else coordinates
        self.params: dict[str, ParamValue] = {}

    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        """See `Chooser.integer`."""
        # Half a step to each side, so that the ends are as likely as the rest.
        value = round(self._between(name, low - 0.5, high + 0.5, log=log))
        return self._keep(name, min(max(value, low), high))

    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        """See `Chooser.real`."""
        return self._keep(name, min(max(self._between(name, low, high, log=log), low), high))

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """See `Chooser.choice`."""
        return self._keep(name, choices[min(int(self._number(name) * len(choices)), len(choices) - 1)])

    def _between(self, name: str, low: float, high: float, *, log: bool) -> float:
        share = self._number(name)
        if log:
            return float(np.exp(np.log(low) + share * (np.log(high) - np.log(low))))
        return low + share * (high - low)

    def _number(self, name: str) -> float:
        if self._rng is not None:
            return float(self._rng.random())
        coordinate = self._coordinates.setdefault(name, len(self._coordinates))
        return float(self._point[coordinate % len(self._point)])

    def _keep(self, name: str, value: _V) -> _V:
        self.params[name] = value
        return value
