"""The protocol of everything that can measure a config, how a run is divided into windows, and the limits of a run.

A window is a part of a run, at most a second long. A run first has the windows of its warm-up, and then the windows of
its measured phase.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, Self, runtime_checkable

from runners.clock import NS_PER_S
from runners.errors import ByteBudgetExceeded
from runners.measurements.measurement import Measurement, Window, WindowKind
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig

WINDOW_S: Final = 1.0


class WatchDecision(Enum):
    """Whether a run continues after a window."""

    GO_ON = "go on"
    STOP = "stop"


Watch = Callable[[Window], WatchDecision]
"""A function that is called with each window of a run when the window ends, and decides whether the run continues.

Live views, early stopping and time limits are such functions.
"""


def go_on(_: Window) -> WatchDecision:
    """Let the run continue after every window. This is the default if a caller passes no `watch`."""
    return WatchDecision.GO_ON


class Runner(Protocol):
    """Measures one config under one workload."""

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Measure a config and return when the run is over.

        `watch` is called once per window, in order, in the thread that
        called `run`. When `watch` returns `STOP`, the run ends soon, and the measurement has `stopped_early` set.
        Nothing of the run is left behind, even if the run fails.

        Raises:
            RunnerError: The run gave no measurement. `runners.errors` says what each kind of error means for the
                caller. The error's `sent_bytes` says how much was sent before it.
            RuleBroken: The config or the topic does not allow records of this size.
        """


@runtime_checkable
class Preparable(Protocol):
    """A runner that can start beforehand what takes long to start, such as a process."""

    def prepare(self, config: ProducerConfig, workload: Workload) -> None:
        """Start what the next run in this process needs, unless it is there already. Nothing is sent to the cluster.

        Raises:
            RunnerError: It can't be started.
        """


def prepare(runner: Runner, config: ProducerConfig, workload: Workload) -> None:
    """Prepare a run if the runner can do that.

    Raises:
        RunnerError: The runner can't start what the run needs.
    """
    if isinstance(runner, Preparable):
        runner.prepare(config, workload)


@dataclass(frozen=True, slots=True)
class WindowSchedule:
    """When the windows of a run (parts of at most a second) end, in ns from the start of the load.

    Attributes:
        ends_ns: End of each window, ascending.
        warm_windows: Number of windows that belong to the warm-up.
        measured_from_ns: Start of the first window that is measured.
    """

    ends_ns: tuple[int, ...]
    warm_windows: int
    measured_from_ns: int

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """Divide the warm-up and the measured time of a workload into windows of equal length, of at most a second."""
        return cls.lasting(workload.warmup_s, workload.measured_s)

    @classmethod
    def lasting(cls, warmup_s: float, measured_s: float) -> Self:
        """Divide a warm-up and a measured time, in seconds, into windows of equal length, of at most a second."""
        warm = _window_ends_ns(0, warmup_s)
        measured_from_ns = int(warmup_s * NS_PER_S)
        return cls(tuple(warm + _window_ends_ns(measured_from_ns, measured_s)), len(warm), measured_from_ns)

    def kind(self, window: int) -> WindowKind:
        """Return what the window with this number is, counted from 0 through the whole run."""
        return WindowKind.WARMUP if window < self.warm_windows else WindowKind.MEASURED


def _window_ends_ns(start_ns: int, seconds: float) -> list[int]:
    count = math.ceil(round(seconds / WINDOW_S, 9))
    return [start_ns + int(seconds * NS_PER_S) * (number + 1) // count for number in range(count)]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that a measurement must respect.

    Attributes:
        max_bytes: Largest number of bytes of values and keys that the measurement may send; None for no limit.
        min_free_disk_bytes: Free space that must remain on the disks of local brokers.
        outage_s: How many seconds may pass without a delivery while brokers are down, before the measurement ends.
    """

    max_bytes: int | None = None
    min_free_disk_bytes: int = 1 << 30
    outage_s: float = 3.0  # just long enough for a client to reconnect: `reconnect.backoff.ms` of librdkafka is 100


DEFAULT_LIMITS: Final = Limits()


def budget_exceeded(max_bytes: int, sent_bytes: int, next_bytes: int | None = None) -> ByteBudgetExceeded:
    """Return the error of a run that may not send its next records.

    Args:
        max_bytes: Largest number of bytes of values and keys that the run may send.
        sent_bytes: Number of these bytes that the run has sent.
        next_bytes: Number of these bytes that the run would send next, all at once; None if that is not known.
    """
    if sent_bytes:
        rule = f"a run may send at most {max_bytes:,} bytes, but has already sent {sent_bytes:,}"
        if next_bytes is not None:
            rule += f" and would send {next_bytes:,} at once"
    else:
        rule = f"a run must be allowed to send at least one record, but only {max_bytes:,} bytes are left for it"
    return ByteBudgetExceeded(
        f"{rule}; allow more (--max-bytes, or in a study file safety.max_bytes_per_trial and search.max_bytes), or "
        "measure for fewer seconds"
    )
