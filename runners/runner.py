"""The seam to everything that can measure a config."""

from collections.abc import Callable
from enum import Enum
from typing import Protocol

from runners.measurement import Measurement, Window
from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig


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
