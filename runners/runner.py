"""The protocol of everything that can measure a config, and how a run is divided into windows.

A run has the windows of its warm-up first and then those of its measured phase. A window lasts a second or less.
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
    """Whether a run continues after a window."""

    GO_ON = "go on"
    STOP = "stop"


Watch = Callable[[Window], WatchDecision]
"""Called with each window of a run when it ends; decides whether the run continues.

Live views, early stopping and time limits are built on it.
"""


def go_on(_: Window) -> WatchDecision:
    """Let the run continue."""
    return WatchDecision.GO_ON


class Runner(Protocol):
    """Measures one config under one workload."""

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Measure a config and return when the run is over.

        `watch` is called once per window, in order, in the thread that called `run`. After it has returned `STOP` for
        the first time, the run ends soon and the measurement has `stopped_early` set. Nothing is left behind, however
        the call ends.

        Raises:
            RunnerError: The run gave no measurement. `runners.errors` says what each kind means for the caller.
        """


@dataclass(frozen=True, slots=True)
class Phases:
    """Where the windows and phases of a run end, in nanoseconds from the start of the load.

    Attributes:
        ends_ns: End of each window, ascending.
        warm_windows: Number of windows that belong to the warm-up.
        measured_from_ns: Start of the measured phase.
    """

    ends_ns: tuple[int, ...]
    warm_windows: int
    measured_from_ns: int

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """Divide each phase of a workload into windows of equal length, of at most a second."""
        warm = _cut(0, workload.warmup_s)
        measured_from_ns = int(workload.warmup_s * NS_PER_S)
        return cls(tuple(warm + _cut(measured_from_ns, workload.measured_s)), len(warm), measured_from_ns)

    def phase(self, window: int) -> Phase:
        """Return the phase that a window belongs to, by the window's number."""
        return Phase.WARMUP if window < self.warm_windows else Phase.MEASURED


def _cut(start_ns: int, seconds: float) -> list[int]:
    count = math.ceil(round(seconds / WINDOW_S, 9))
    return [start_ns + int(seconds * NS_PER_S) * (number + 1) // count for number in range(count)]
