"""How a run is cut into windows: the warm-up's first, then the measured phase's, each a second or less."""

import math
from dataclasses import dataclass
from typing import Final, Self

from runners.clock import NS_PER_S
from runners.measurement import Phase
from runners.workload import Workload

WINDOW_S: Final = 1.0


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
