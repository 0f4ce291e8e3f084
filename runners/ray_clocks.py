"""How far the clocks of other hosts are off, so that producers on several begin at one moment.

A worker is asked for its time, which it reads somewhere between our question and the arrival of its answer. Of several
answers the one that was back first is the most exact: it is wrong by half of its round trip at most. Source: Cristian,
"Probabilistic clock synchronization", Distributed Computing 3 (1989).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

ASKED: Final = 5
"""Questions to each worker; an answer takes some 2 ms."""


@dataclass(frozen=True, slots=True)
class Offset:
    """How far another clock is ahead of ours.

    Attributes:
        ahead_s: Below 0 where it is behind.
        within_s: How wrong that may be.
    """

    ahead_s: float = 0.0
    within_s: float = 0.0


def offset_of(ask: Callable[[], float], now: Callable[[], float], asked: int = ASKED) -> Offset:
    """Ask another clock some times.

    Args:
        ask: Its time, in seconds since 1970.
        now: Ours.
        asked: How often, at least once.
    """

    def answers() -> Iterable[Offset]:
        for _ in range(asked):
            before = now()
            there = ask()
            after = now()
            yield Offset(there - (before + after) / 2, (after - before) / 2)

    return min(answers(), key=lambda offset: offset.within_s)
