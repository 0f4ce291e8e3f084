"""Runners for the child process of `Isolated`, and a program that owns such a child process until it is killed.

`python -m tests.helpers.children` runs an endless load in a child process and writes the child's process id.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from runners.errors import RunnerError
from runners.load.isolated import Isolated
from runners.measurements.measurement import Measurement, Window
from runners.runner import Watch, WatchDecision, go_on
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.clients import with_word

CONFIG = ProducerConfig.parse({})
WORKLOAD = Workload(RecordSizes.fixed(100), warmup_s=1.0, measured_s=1.0)


@dataclass(frozen=True, slots=True)
class Endless:
    """Shows windows forever."""

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Run one simulation after another."""
        while True:
            SimulatedRunner().run(config, workload, watch)


@dataclass(frozen=True, slots=True)
class Stuck:
    """Shows one window and then hangs."""

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Wait for a signal after the first window."""

        def once(window: Window) -> WatchDecision:
            watch(window)
            signal.pause()
            return WatchDecision.GO_ON

        return SimulatedRunner().run(config, workload, once)


@dataclass(frozen=True, slots=True)
class Failing:
    """Fails at once, also when it is prepared.

    Attributes:
        error: The error that it raises.
    """

    error: Exception

    def prepare(self, config: ProducerConfig, workload: Workload) -> None:
        """Raise the error."""
        raise self.error

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Raise the error."""
        raise self.error


@dataclass(frozen=True, slots=True)
class Prepared:
    """Runs only if it has been prepared in the same process, and if the other runner has been prepared too.

    Attributes:
        folder: Folder in which each runner makes a file when it has been prepared.
        name: Name of this runner's file.
        other: Name of the other runner's file.
        takes_s: How long the preparation takes, in seconds.
    """

    folder: Path
    name: str
    other: str
    takes_s: float = 0.0

    def prepare(self, config: ProducerConfig, workload: Workload) -> None:
        """Make the file, with the id of this process."""
        time.sleep(self.takes_s)
        (self.folder / self.name).write_text(str(os.getpid()))

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Simulate."""
        prepared = {name: (self.folder / name).read_text() for name in (self.name, self.other)}
        assert str(os.getpid()) in prepared.values(), prepared
        return SimulatedRunner().run(config, workload, watch)


class DetailedError(RunnerError):
    """An error whose text is made from several values."""

    def __init__(self, rule: str, value: int) -> None:
        self.rule = rule
        self.value = value
        super().__init__(f"{rule} must hold, but got {value}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.rule, self.value)


def child_of(process: psutil.Process) -> psutil.Process:
    """Return the load process, which is the child that was spawned last."""
    return max(with_word("spawn_main", process.children()), key=psutil.Process.create_time)


@contextmanager
def running_owner() -> Iterator[tuple["subprocess.Popen[str]", psutil.Process]]:
    """Start a process that runs `Endless` in a child process; yield both, and kill the owner at the end."""
    command = [sys.executable, "-m", "tests.helpers.children"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        try:
            assert owner.stdout is not None
            yield owner, psutil.Process(int(owner.stdout.readline()))
        finally:
            owner.kill()


def main() -> None:
    """Run forever, and write the child's process id with the first window."""
    pids: list[int] = []

    def watch(_: Window) -> WatchDecision:
        if not pids:
            pids.append(child_of(psutil.Process()).pid)
            os.write(1, f"{pids[0]}\n".encode())
        return WatchDecision.GO_ON

    Isolated(Endless()).run(CONFIG, WORKLOAD, watch)


if __name__ == "__main__":
    main()
