"""Measures how far another clock is ahead of ours.

We ask the other process for its time. It reads its clock at some moment between our request and the arrival of its
answer, so the answer is wrong by at most half of the round trip. We ask several times and use the answer with the
shortest round trip. Source: Cristian, "Probabilistic clock synchronization", Distributed Computing 3 (1989).
"""

import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runners.clock import NS_PER_S
from runners.host_processes.processes import boot_id

READINGS: Final = 5
"""How many times we ask for the time of the other clock. An answer of a Ray worker takes about 2 ms."""


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The difference between another clock and ours.

    Attributes:
        ahead_s: Seconds by which the other clock is ahead; negative if it is behind.
        within_s: Largest possible error of `ahead_s`.
        at_s: When the offset was measured, on our clock, in seconds.
    """

    ahead_s: float = 0.0
    within_s: float = 0.0
    at_s: float = 0.0


SAME_CLOCK: Final = ClockOffset()


def clock_id() -> str:
    """Return an id of the monotonic clock of this process. Processes with the same id read the same clock."""
    if not sys.platform.startswith("linux"):
        return socket.gethostname()
    namespace = Path("/proc/self/ns/time")  # a container may have a clock of its own
    return f"{boot_id()} {namespace.stat().st_ino if namespace.exists() else ''}"


def offset_of(ask: Callable[[], float], now: Callable[[], float], readings: int = READINGS) -> ClockOffset:
    """Measure the offset of another clock by asking for its time repeatedly.

    Args:
        ask: Returns the time of the other clock, in seconds.
        now: Returns the time of our clock, in seconds.
        readings: How often to read the other clock, at least once.
    """

    def answers() -> Iterable[ClockOffset]:
        for _ in range(readings):
            before = now()
            other_s = ask()
            after = now()
            yield ClockOffset(other_s - (before + after) / 2, (after - before) / 2, (before + after) / 2)

    return min(answers(), key=lambda offset: offset.within_s)


def on_our_clock(there_ns: NDArray[np.int64], before: ClockOffset, after: ClockOffset) -> NDArray[np.int64]:
    """Convert times of the other clock to times of our clock.

    Clocks of two hosts run at slightly different speeds. We assume that the offset changes at a constant rate between
    its two measurements. If somebody changes the speed of a clock in between, the result is wrong.

    Args:
        there_ns: The times of the other clock in nanoseconds, shape (n,).
        before: The offset as measured before these times.
        after: The offset as measured after them.

    Returns:
        The times of our clock in nanoseconds, shape (n,).
    """
    near_s = there_ns / NS_PER_S - before.ahead_s
    ahead_s = np.interp(near_s, [before.at_s, max(after.at_s, before.at_s)], [before.ahead_s, after.ahead_s])
    return there_ns - np.round(ahead_s * NS_PER_S).astype(np.int64)
