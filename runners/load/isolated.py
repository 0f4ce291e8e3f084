"""Measures in a child process (`Isolated`), which may be used for one run after another."""

import threading
from dataclasses import dataclass
from functools import partial
from typing import Final

from typing_extensions import override

from runners.host_processes.child import PATIENCE_S, Child
from runners.measurements.measurement import Measurement
from runners.runner import Preparable, Runner, Watch, go_on, prepare
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig

_RUNS_PER_CHILD: Final = 100
"""A child process that has done this many runs and preparations is replaced after its current run.

Otherwise, anything that the client library leaves behind in the process could slow down all later runs.
"""


@dataclass(frozen=True, slots=True)
class Isolated(Runner, Preparable):
    """A runner that measures in a child process, with another runner.

    Attributes:
        runner: The runner that measures in the child process. It must be picklable.
        reuses_process: Whether a child process also serves later runs, because the start of a process takes most of a
            second. A child process whose run gave no measurement is not used again, and each child process serves only
            a limited number of runs. `end_reused_processes` ends the child processes that wait for a run. They also end
            when this process ends, even if it is killed.
        patience_s: A child process that shows no window and gives no result for this many seconds is killed. The
            config's `linger.ms` is added.
    """

    runner: Runner
    reuses_process: bool = False
    patience_s: float = PATIENCE_S

    @override
    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        child = _waiting_child() if self.reuses_process else Child()
        try:
            # The work is called with a `watch` that sends each window here and returns whether to go on.
            work = partial(self.runner.run, config, workload)
            measured = child.run(work, watch, self.patience_s + config.linger_ms / 1e3)
        except BaseException:
            child.end()
            raise
        if self.reuses_process and child.jobs < _RUNS_PER_CHILD:
            _keep(child)
        else:
            child.end()
        return measured

    @override
    def prepare(self, config: ProducerConfig, workload: Workload) -> None:
        """Start the child process of the next run, and prepare the run there, if child processes serve several runs.

        Raises:
            RunnerError: The other runner can't start what the run needs, or the child process was lost.
        """
        if not self.reuses_process:
            return
        child = _waiting_child()
        try:
            child.run(partial(_prepared, self.runner, config, workload), go_on, self.patience_s)
        except BaseException:
            child.end()
            raise
        _keep(child)


def _prepared(runner: Runner, config: ProducerConfig, workload: Workload, _: Watch) -> None:
    """Prepare a run in a child process; a preparation has no windows to watch."""
    prepare(runner, config, workload)


def end_reused_processes() -> None:
    """End all child processes of `Isolated` that wait for their next run."""
    with _lock:
        ending, _waiting[:] = list(_waiting), []
    for child in ending:
        child.end()


_lock = threading.Lock()
_waiting: list[Child] = []


def _keep(child: Child) -> None:
    """Let a child process wait for its next run."""
    with _lock:
        _waiting.append(child)


def _waiting_child() -> Child:
    """Return a child process that waits for a run, or a new child process if there is none."""
    while True:
        with _lock:
            child = _waiting.pop() if _waiting else None
        if child is None:
            return Child()
        if child.answers():
            return child
        child.end()
