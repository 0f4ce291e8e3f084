"""The known Pareto front of a simulated cluster, which is the best result that a sampler can reach."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from benchmarks.problems.grid import sensible_grid
from benchmarks.problems.nearest import Nearest
from benchmarks.problems.truth import Truth
from search_spaces.client_facts.domains import NumberList, ParamValue, WordList
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.space.parameters import Parameter
from search_spaces.space.search_space import SearchSpace

# The steps of the search, from coarse to fine: the factor by which a knob's number is changed, and the ratio by which a
# config must be better to become a member of the front.
_STAGES: Final = ((4.0, 0.02), (2.0, 0.01), (1.4, 0.005), (1.15, 0.003), (1.05, 0.0015))
_STEP: Final = 1.0002
_REMEMBERED: Final = 32


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """A config that no other config beats in both objectives.

    Attributes:
        config: The config.
        gains: The config's gains over the baseline, in throughput and then in the p99 latency; above 1 is better.
    """

    config: ProducerConfig
    gains: tuple[float, float]


@lru_cache(maxsize=_REMEMBERED)
def known_front(space: SearchSpace, truth: Truth) -> tuple[FrontPoint, ...]:
    """Return the Pareto front of a space, from the config with the lowest throughput and latency to the highest.

    The search for them uses no randomness. It tries the grid of sensible configs first. Then it changes one knob of the
    best configs so far at a time, in smaller and smaller steps. The true front is a curve. The area under the returned
    points is less than 0.5 % smaller than the area under that curve; the tests check this with random configs and by
    hill climbing from the points. The first call takes seconds, and the process caches its result.
    """
    search = _Search(space, truth)
    for config in (truth.baseline, *sensible_grid(space)):
        search.offer(config)
    for factor, margin in _STAGES:
        search.margin = 1.0 + margin
        search.refine(factor)
    points = [FrontPoint(config, gains) for config, gains in search.members.items()]
    return tuple(sorted(points, key=lambda point: point.gains))


class _Search:
    """The search for the Pareto front of a simulated cluster.

    Attributes:
        members: The front found so far: the gains of each config. No member is better than another in both objectives.
        margin: A config becomes a member if it beats each member by this factor in at least one objective.
    """

    def __init__(self, space: SearchSpace, truth: Truth) -> None:
        self.members: dict[ProducerConfig, tuple[float, float]] = {}
        self.margin = 1.0
        self._space, self._truth = space, truth
        self._tried: set[ProducerConfig] = set()

    def offer(self, config: ProducerConfig) -> bool:
        """Add a config to the front if it is far enough from all members, or better than a member.

        Returns:
            Whether the config was added.
        """
        if config in self._tried:
            return False
        self._tried.add(config)
        ours, theirs = self._truth.gains(self._truth.outcome(config)), self.members.values()
        known = any(_covers(each, (ours[0] / self.margin, ours[1] / self.margin)) for each in theirs)
        if ours == (0.0, 0.0) or (known and not any(_outdoes(ours, each) for each in theirs)):
            return False
        self.members = {key: each for key, each in self.members.items() if not _covers(ours, each)}
        self.members[config] = ours
        return True

    def refine(self, factor: float) -> None:
        """Try the neighbours of all members, and then the neighbours of the new members.

        Args:
            factor: The factor by which numbers are changed.
        """
        waiting = list(self.members)
        while waiting:
            config = waiting.pop()
            if config not in self.members:
                continue
            waiting += [each for each in self._neighbours(config, factor) if self.offer(each)]

    def _neighbours(self, config: ProducerConfig, factor: float) -> Iterator[ProducerConfig]:
        """Yield the configs that differ from the given config by one step in one knob."""
        answers = self._space.params_of(config)
        if answers is None:
            return  # the baseline may lie outside the space
        for parameter in self._space.parameters:
            if parameter.name in answers:
                for answer in _moved(parameter, answers[parameter.name], factor):
                    yield self._space.draw(Nearest({**answers, parameter.name: answer}))


def _covers(ours: tuple[float, float], theirs: tuple[float, float]) -> bool:
    """Return whether our gains are at least as high as theirs in both objectives."""
    return ours[0] >= theirs[0] and ours[1] >= theirs[1]


def _outdoes(ours: tuple[float, float], theirs: tuple[float, float]) -> bool:
    """Return whether no gain of ours is lower than theirs, and the product of our gains is clearly higher.

    Such a config joins the front even if it is within the margin. So the front gets the best value of each knob that
    has no trade-off.
    """
    return _covers(ours, theirs) and ours[0] * ours[1] > _STEP * theirs[0] * theirs[1]


def _moved(parameter: Parameter, answer: ParamValue, factor: float) -> Iterator[ParamValue]:
    """Yield the values next to a value of a parameter: all other words, or the next numbers below and above it."""
    domain = parameter.domain
    if isinstance(domain, WordList):
        yield from (word for word in domain.values if word != answer)
        return
    assert not isinstance(answer, str)
    if isinstance(domain, NumberList):
        yield from (answer - 1, answer + 1)
        return
    if domain.log:
        moved = [answer / factor, answer * factor]
    else:
        width = (domain.high - domain.low) * (factor - 1.0) / 8
        moved = [answer - width, answer + width]
    yield from ([math.floor(moved[0]), math.ceil(moved[1])] if domain.whole else moved)
