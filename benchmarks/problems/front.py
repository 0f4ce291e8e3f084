"""The known Pareto front of a simulated cluster: what a sampler could find at best."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from benchmarks.problems.grid import published_grid
from benchmarks.problems.nearest import Nearest
from benchmarks.problems.truth import TrueOutcome, Truth
from search_spaces.domains import Numbers, ParamValue, Words
from search_spaces.parameters import Parameter
from search_spaces.producer_config import ProducerConfig
from search_spaces.space import SearchSpace

# From coarse to fine: by what factor a number is moved, and by what ratio a config has to be better to be taken in.
_STAGES: Final = ((4.0, 0.02), (2.0, 0.01), (1.4, 0.005), (1.15, 0.003), (1.05, 0.0015))
_STEP: Final = 1.0002
_REMEMBERED: Final = 32


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """A config that no other beats in both objectives.

    Attributes:
        config: In the space.
        outcome: What it truly gives.
        gains: Over the baseline: throughput, then p99 of the latency; above 1 is better.
    """

    config: ProducerConfig
    outcome: TrueOutcome
    gains: tuple[float, float]


@lru_cache(maxsize=_REMEMBERED)
def known_front(space: SearchSpace, truth: Truth) -> tuple[FrontPoint, ...]:
    """The configs of `space` that are truly best, from the lowest throughput (and latency) to the highest.

    Found without randomness: the published grid is tried, and then, in ever smaller steps, every neighbour of what was
    best so far, one knob at a time. The true front is a curve; the volume under these points falls short of that under
    the curve by less than 0.5 %, which the tests hold against random configs and climbing from the points. Takes
    seconds, and is then remembered in this process.
    """
    search = _Search(space, truth)
    for config in (truth.baseline, *published_grid(space)):
        search.offer(config)
    for factor, margin in _STAGES:
        search.margin = 1.0 + margin
        search.refine(factor)
    return tuple(sorted(search.members.values(), key=lambda point: point.gains))


class _Search:
    """What was best so far.

    Attributes:
        members: By config; none is dominated by another.
        margin: The factor by which a config has to beat every member, in one objective or the other, to become one.
    """

    def __init__(self, space: SearchSpace, truth: Truth) -> None:
        self.members: dict[ProducerConfig, FrontPoint] = {}
        self.margin = 1.0
        self._space, self._truth = space, truth
        self._tried: set[ProducerConfig] = set()

    def offer(self, config: ProducerConfig) -> bool:
        """Take a config in if it stands apart from what is there, or outdoes some of it."""
        if config in self._tried:
            return False
        self._tried.add(config)
        outcome = self._truth.outcome(config)
        ours = self._truth.gains(outcome)
        theirs = [each.gains for each in self.members.values()]
        known = any(_covers(each, (ours[0] / self.margin, ours[1] / self.margin)) for each in theirs)
        if ours == (0.0, 0.0) or (known and not any(_outdoes(ours, each) for each in theirs)):
            return False
        self.members = {key: each for key, each in self.members.items() if not _covers(ours, each.gains)}
        self.members[config] = FrontPoint(config, outcome, ours)
        return True

    def refine(self, factor: float) -> None:
        """Try the neighbours of all members, and of those that become members by that."""
        waiting = list(self.members)
        while waiting:
            config = waiting.pop()
            if config not in self.members:
                continue
            waiting += [each for each in self._neighbours(config, factor) if self.offer(each)]

    def _neighbours(self, config: ProducerConfig, factor: float) -> Iterator[ProducerConfig]:
        answers = self._space.params_of(config)
        if answers is None:
            return  # a baseline outside of the space
        for parameter in self._space.parameters:
            if parameter.name in answers:
                for answer in _moved(parameter, answers[parameter.name], factor):
                    yield self._space.draw(Nearest({**answers, parameter.name: answer}))


def _covers(ours: tuple[float, float], theirs: tuple[float, float]) -> bool:
    return ours[0] >= theirs[0] and ours[1] >= theirs[1]


def _outdoes(ours: tuple[float, float], theirs: tuple[float, float]) -> bool:
    """Whether something is gained and nothing given away: knobs without a trade-off find their best value by this."""
    return _covers(ours, theirs) and ours[0] * ours[1] > _STEP * theirs[0] * theirs[1]


def _moved(parameter: Parameter, answer: ParamValue, factor: float) -> Iterator[ParamValue]:
    domain = parameter.domain
    if isinstance(domain, Words):
        yield from (word for word in domain.values if word != answer)
        return
    assert not isinstance(answer, str)
    if isinstance(domain, Numbers):
        yield from (answer - 1, answer + 1)
        return
    if domain.log:
        moved = [answer / factor, answer * factor]
    else:
        width = (domain.high - domain.low) * (factor - 1.0) / 8
        moved = [answer - width, answer + width]
    yield from ([math.floor(moved[0]), math.ceil(moved[1])] if domain.whole else moved)
