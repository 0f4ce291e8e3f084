"""Runners for the workers of pools: they wait for each other, or die, and otherwise simulate."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from runners.measurements.measurement import Measurement, Window
from runners.runner import Watch, WatchDecision, go_on
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.waiting import eventually

CONFIG = ProducerConfig.parse({"linger.ms": 1})
WORKLOAD = Workload(RecordSizes.fixed(100), warmup_s=1.0, measured_s=2.0, rate_records_per_s=1_000, seed=3)
ENDLESS = Workload(RecordSizes.fixed(100), warmup_s=0.0, measured_s=80_000.0)


@dataclass(frozen=True, slots=True)
class Slow:
    """Simulates with a pause after each window.

    Attributes:
        step_s: Length of the pause in seconds.
    """

    step_s: float = 0.02

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Simulate slowly."""

        def later(window: Window) -> WatchDecision:
            time.sleep(self.step_s)
            return watch(window)

        return SimulatedRunner().run(config, workload, later)


@dataclass(frozen=True, slots=True)
class Meeting:
    """Waits until another runner runs at the same time.

    Attributes:
        folder: Folder in which each runner makes a file.
        name: Name of this runner's file.
        other: Name of the other runner's file.
    """

    folder: Path
    name: str
    other: str

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Wait for the other runner, then simulate."""
        (self.folder / self.name).touch()
        eventually((self.folder / self.other).exists, otherwise=f"the runner {self.other} did not start")
        return SimulatedRunner().run(config, workload, watch)


@dataclass(frozen=True, slots=True)
class Dying:
    """Kills or stops its own process after the first window, until it has done so a given number of times.

    Attributes:
        folder: Folder with one file for each death.
        times: Number of deaths.
        by: The signal by which it dies.
    """

    folder: Path
    times: int
    by: signal.Signals = signal.SIGKILL

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Kill the process, or simulate."""

        def die(window: Window) -> WatchDecision:
            answer = watch(window)
            died = len(list(self.folder.iterdir()))
            if died < self.times:
                (self.folder / str(died)).touch()
                os.kill(os.getpid(), self.by)
            return answer

        return SimulatedRunner().run(config, workload, die)
