"""A runner in a process of its own, so that nothing else in this one (a live view, a web server) disturbs the load.

A crash of the client library ends that process, not ours; and its sockets and threads are all the load's, which is what
the host probe counts on.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Final

from runners.errors import GeneratorError, RunnerError, WorkerLost
from runners.measurement import Measurement, Window
from runners.runner import Answer, Runner, Watch, go_on
from runners.workload import Workload
from search_spaces.errors import ConfigError
from search_spaces.producer_config import ProducerConfig

_LOOK_S: Final = 0.2
_FAREWELL_S: Final = 5.0
_LAST_WORK_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Isolated:
    """Runs another runner in a child process for each run.

    Attributes:
        runner: Must be picklable.
    """

    runner: Runner

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """See `Runner.run`.

        Raises:
            WorkerLost: The child process died without a word.
        """
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        # Named after the thread that waits for it, so that a pool can tell its own from others.
        name = threading.current_thread().name
        child = context.Process(target=_work, args=(self.runner, config, workload, theirs), name=name, daemon=True)
        child.start()
        theirs.close()
        try:
            return _listen(ours, child, watch)
        finally:
            ours.close()
            _end(child)


def _listen(ours: Connection, child: BaseProcess, watch: Watch) -> Measurement:
    while True:
        message = _next(ours, child)
        if isinstance(message, Measurement):
            return message
        if not isinstance(message, Window):
            raise message
        answer = watch(message)
        try:
            ours.send(answer)
        except OSError:
            raise _ended(child) from None


def _next(ours: Connection, child: BaseProcess) -> Window | Measurement | RunnerError | ConfigError:
    while not ours.poll(_LOOK_S):
        if not child.is_alive() and not ours.poll():
            raise _ended(child)
    try:
        message: Window | Measurement | RunnerError | ConfigError = ours.recv()
    except (EOFError, OSError):  # a child that is killed while it has an answer to read resets the connection
        raise _ended(child) from None
    return message


def _ended(child: BaseProcess) -> WorkerLost:
    child.join(_FAREWELL_S)
    return WorkerLost(f"the load process must answer, but it ended with exit code {child.exitcode}")


def _end(child: BaseProcess) -> None:
    child.join(_LAST_WORK_S)
    for end in (child.terminate, child.kill):
        if child.is_alive():
            end()
            child.join(_FAREWELL_S)
    child.close()


def _work(runner: Runner, config: ProducerConfig, workload: Workload, theirs: Connection) -> None:
    # Ctrl-C reaches the whole process group; the parent decides what becomes of us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch(window: Window) -> Answer:
        theirs.send(window)
        try:
            answer: Answer = theirs.recv()
        except (EOFError, OSError):
            os._exit(1)  # the parent is gone, and with it everybody who could want the result
        return answer

    # A parent that is gone breaks the pipe; then nobody is left to be told.
    with contextlib.suppress(ConnectionError):
        try:
            theirs.send(runner.run(config, workload, watch))
        except (RunnerError, ConfigError) as error:
            theirs.send(error)
        except Exception as error:  # noqa: BLE001 - any defect must reach the parent as an error, not as silence
            theirs.send(GeneratorError(f"the load process failed: {type(error).__name__}: {error}"))
