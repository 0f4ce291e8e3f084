"""Stops the load of a phase early, when a rule says so.

The driver, which is the process that runs the study, sees a window (at most a second of the load) only after the window
has ended, while the load continues. So the rule is sent to the worker along with the runner (`Stopping`), and stops the
load there. The driver applies the same rule to the same windows, to learn why the load ended. If a trial has several
producers, only the driver can add up their windows. Then the driver stops the producers.
"""

from dataclasses import dataclass, field
from typing import Protocol

from objectives.racing import Stop, window_value
from runners.measurements.measurement import Measurement, Window, WindowKind
from runners.runner import Runner, Watch, WatchDecision, go_on
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig


@dataclass(slots=True)
class PhaseProgress:
    """What the measured windows of a phase have shown so far; a window is at most a second of the load.

    Attributes:
        metrics: The metrics that have a value in each window, such as the throughput.
        values: By metric, one value per measured window. A list ends at the first window without a value.
        windows: The number of measured windows.
        records: The number of records acknowledged in the measured windows.
        seconds: The length of the measured windows together.
        records_per_s: The records per second that were acknowledged in each measured window, which may be 0.
        failed: The number of records that the client gave up, including records of the warm-up.
    """

    metrics: tuple[str, ...]
    values: dict[str, list[float]] = field(default_factory=dict)
    windows: int = 0
    records: int = 0
    seconds: float = 0.0
    records_per_s: list[float] = field(default_factory=list)
    failed: int = 0

    def add(self, window: Window) -> None:
        """Add the numbers of the next window; of a warm-up window, only the number of failed records is added."""
        self.failed += window.failed
        if window.phase is not WindowKind.MEASURED:
            return
        for name in self.metrics:
            seen, value = self.values.setdefault(name, []), window_value(name, window)
            if value is not None and len(seen) == self.windows:
                seen.append(value)
        self.windows += 1
        self.records += window.records
        self.seconds += window.duration_s
        self.records_per_s.append(window.records_per_s)


class StopRule(Protocol):
    """Decides after each window whether a phase ends early (a protocol). Rules are pickled and sent to the workers."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that the rule needs of each window."""

    def judge(self, progress: PhaseProgress) -> Stop | None:
        """Return why the phase should end now; None if it should continue."""


@dataclass(frozen=True, slots=True)
class WholePhase:
    """Never ends a phase early.

    Attributes:
        metrics: The metrics whose values in each window are kept.
    """

    metrics: tuple[str, ...] = ()

    def judge(self, progress: PhaseProgress) -> Stop | None:
        """Return None: the phase continues."""
        return None


@dataclass(frozen=True, slots=True)
class Stopping:
    """A runner that lets another runner measure, and stops that runner's load when a rule says so.

    Attributes:
        runner: The runner that measures.
        rule: Decides after each window whether the phase ends.
    """

    runner: Runner
    rule: StopRule

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Measure the config, and stop early when the rule or `watch` says so."""
        seen = PhaseProgress(self.rule.metrics)

        def watch_and_judge(window: Window) -> WatchDecision:
            seen.add(window)
            stop = self.rule.judge(seen)
            answer = watch(window)
            return WatchDecision.STOP if stop else answer

        return self.runner.run(config, workload, watch_and_judge)
