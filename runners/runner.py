"""The seam to everything that can measure a config, and how a run is cut into windows.

The windows of the warm-up come first, then those of the measured phase, each a second or less.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, Self

from runners.clock import NS_PER_S
from runners.measurement import Measurement, Phase, Window
from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig

WINDOW_S: Final = 1.0


class WatchDecision(Enum):
    """What a watcher says to a window."""

    GO_ON = "go on"
    STOP = "stop"


Watch = Callable[[Window], WatchDecision]
"""Sees each window of a run as it ends and says whether to go on: live views, stop rules and time limits hang on it."""


def go_on(_: Window) -> WatchDecision:
    """A `Watch` that lets every run finish."""
    return WatchDecision.GO_ON


class Runner(Protocol):
    """Measures one config under one workload."""

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Measure, blocking until done.

        `watch` is called once per window, in order, from the thread that called `run`; after its first `STOP` the run
        ends soon and the measurement says `stopped_early`. Nothing is left behind, however the call ends.

        Raises:
            RunnerError: The run gave no measurement; `runners.errors` says what each kind means for the caller.
        """


@dataclass(frozen=True, slots=True)
class Phases:
    """Where windows and phases end, in nanoseconds from the start of the load.

    Attributes:
        ends_ns: End of each window, ascending.
        warm_windows: How many of them belong to the warm-up.
        measured_from_ns: Where the measured phase begins.
    """

    ends_ns: tuple[int, ...]
    warm_windows: int
    measured_from_ns: int

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """Cut both phases of a workload into windows of equal length, whole windows to each phase."""
        warm = _cut(0, workload.warmup_s)
        measured_from_ns = int(workload.warmup_s * NS_PER_S)
        return cls(tuple(warm + _cut(measured_from_ns, workload.measured_s)), len(warm), measured_from_ns)

    def phase(self, window: int) -> Phase:
        """What the window of this number belongs to."""
        return Phase.WARMUP if window < self.warm_windows else Phase.MEASURED


def _cut(start_ns: int, seconds: float) -> list[int]:
    count = math.ceil(round(seconds / WINDOW_S, 9))
    return [start_ns + int(seconds * NS_PER_S) * (number + 1) // count for number in range(count)]
