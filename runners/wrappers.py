"""Wrappers of a runner: `Leased` gives it a topic for each run, and `Isolated` runs it in a child process.

The child process protects the load from everything else in this process, such as a live view or a web server. If the
client library crashes, only the child process ends. All sockets and threads of the child process belong to the load,
and the host probe relies on that.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final

from runners.clusters.topics import OwnedTopics, Topic
from runners.errors import GeneratorError, RunnerError, WorkerLost
from runners.malloc import keep_freed_memory
from runners.measurement import Measurement, Window
from runners.reporting import Say, silent
from runners.runner import Runner, Watch, WatchDecision, go_on
from runners.workload import Workload
from search_spaces.errors import ConfigError
from search_spaces.producer_config import ProducerConfig

DELETION_S: Final = 1.0
"""Longest time that the deletion of a topic takes. At most 0.7 s were measured, on 2 cores with 1 GB to delete."""

Lease = Callable[[Workload], contextlib.AbstractContextManager[Topic]]
"""A function that returns a context manager for one run of a workload; entering it gives the topic to write to."""
PATIENCE_S: Final = 180.0
"""Longest time in seconds without a window or a result of a run.

The longest silences of a healthy run are its start (a request to the cluster takes up to 35 s, and a first delivery may
take 15 s) and its end (up to 60 s for the last deliveries, 3 s for statistics, and another request).
"""
_LOOK_S: Final = 0.2
_FAREWELL_S: Final = 5.0
_LAST_WORK_S: Final = 0.5
_RUNS_PER_CHILD: Final = 100
"""A child process is replaced after this many runs.

Otherwise, anything that the client library leaves behind in the process could slow down all later runs.
"""


@dataclass(frozen=True, slots=True)
class Leased:
    """A runner that takes a topic for each run and gives the topic back afterwards, even if the run fails.

    Attributes:
        lease: Returns the context manager that provides a topic for one run.
        on_topic: Returns the runner that measures with a given topic.
    """

    lease: Lease
    on_topic: Callable[[Topic], Runner]

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Take a topic, measure the config on it, and give the topic back."""
        with self.lease(workload) as topic:
            return self.on_topic(topic).run(config, workload, watch)


def owned_topic(
    topics: OwnedTopics, like: str | None = None, tell: Say = silent, *, overlapping: bool = False
) -> Lease:
    """Return a `Lease` that creates a topic for each run and deletes the topic afterwards.

    Unless `overlapping` is set, the end of the lease also waits until the disk space of the deleted topic is free.

    Args:
        topics: Creates and deletes the topics.
        like: Name of a topic whose partitions, replication and settings are copied; None uses the workload's partitions
            and replication.
        tell: Called with a warning if the disk space of a deleted topic was not free in time.
        overlapping: Whether a deletion may go on while the next run begins. A deletion takes up to a second, because
            the broker first writes the data to disk. By then the next run is still in its warm-up. There are never more
            than three topics at a time. Closing `topics` waits for the last deletion.
    """

    def await_deleted() -> None:
        for warning in topics.await_deleted():
            tell(warning)

    @contextlib.contextmanager
    def lease(workload: Workload) -> Iterator[Topic]:
        topic = topics.create(workload.partitions, workload.replication, like=like)
        try:
            yield topic
        finally:
            await_deleted()
            topics.begin_delete(topic)
            if not overlapping:
                await_deleted()

    return lease


def named_topic(topics: OwnedTopics, name: str) -> Lease:
    """Return a `Lease` that always gives the user's topic `name`, which is written to and never deleted."""

    @contextlib.contextmanager
    def lease(_: Workload) -> Iterator[Topic]:
        yield topics.describe(name)

    return lease


@dataclass(frozen=True, slots=True)
class Isolated:
    """A runner that measures in a child process, with another runner.

    Attributes:
        runner: The runner that measures in the child process. It must be picklable.
        kept: Whether the child process is kept for the next run, because starting one takes most of a second. A child
            process is kept only if its run gave a measurement, and only for a limited number of runs. `end_kept` ends
            the child processes that wait for a run. They also end when this process ends, even if it is killed.
        patience_s: A child process that shows no window and gives no result for so many seconds is killed. The config's
            `linger.ms` is added.
    """

    runner: Runner
    kept: bool = False
    patience_s: float = PATIENCE_S

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Measure the config in a child process.

        Raises:
            WorkerLost: The child process ended without reporting an error, or hung and was killed.
        """
        child = _waiting_child() if self.kept else _Child()
        try:
            measured = child.run(self.runner, config, workload, watch, self.patience_s + config.linger_ms / 1e3)
        except BaseException:
            child.end()
            raise
        if self.kept and child.runs < _RUNS_PER_CHILD:
            with _lock:
                _kept.append(child)
        else:
            child.end()
        return measured


def end_kept() -> None:
    """End all child processes that `Isolated` keeps for its next run."""
    with _lock:
        ending, _kept[:] = list(_kept), []
    for child in ending:
        child.end()


class _Child:
    """A child process that executes one run after another until its pipe is closed."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self.runs = 0

    def run(
        self, runner: Runner, config: ProducerConfig, workload: Workload, watch: Watch, patience_s: float
    ) -> Measurement:
        # Named after the thread that waits for it, so that a pool recognises its own child processes.
        self._process.name = threading.current_thread().name
        self.runs += 1
        self._send((runner, config, workload))
        while True:
            message = self._receive(patience_s)
            if isinstance(message, Measurement):
                return message
            if not isinstance(message, Window):
                raise message
            self._send(watch(message))

    def answers(self) -> bool:
        """Return whether the child process answers, and so can take another run.

        Asking whether it is alive is not enough, because a process that is being killed may still count as alive.
        """
        try:
            self._ours.send(None)
            return self._ours.poll(_FAREWELL_S) and self._ours.recv() is None
        except (EOFError, OSError):
            return False

    def end(self) -> None:
        self._ours.close()
        self._process.join(_LAST_WORK_S)
        for end in (self._process.terminate, self._process.kill):
            if self._process.is_alive():
                end()
                self._process.join(_FAREWELL_S)
        self._process.close()

    def _send(self, message: object) -> None:
        try:
            self._ours.send(message)
        except OSError:
            raise self._worker_lost() from None

    def _receive(self, patience_s: float) -> Window | Measurement | RunnerError | ConfigError:
        looks = 0
        while not self._ours.poll(_LOOK_S):
            if not self._process.is_alive() and not self._ours.poll():
                raise self._worker_lost()
            # The looks are counted, as a clock would also count the time for which this process itself stood still.
            looks += 1
            if looks * _LOOK_S > patience_s:
                self._process.kill()  # a stopped process ends only by this signal
                raise WorkerLost(
                    f"the load process must show a window or a result every {patience_s:.0f} s, but showed none and "
                    "was killed; check whether it, or the host, was stopped"
                )
        try:
            message: Window | Measurement | RunnerError | ConfigError = self._ours.recv()
        except (EOFError, OSError):  # the connection is reset if the child is killed before it has read our answer
            raise self._worker_lost() from None
        return message

    def _worker_lost(self) -> WorkerLost:
        self._process.join(_FAREWELL_S)
        return WorkerLost(
            "the load process must run until it reports a result, but it ended with exit code "
            f"{self._process.exitcode}; check whether it was killed, for example because memory ran out"
        )


_lock = threading.Lock()
_kept: list[_Child] = []


def _waiting_child() -> _Child:
    """Return a child process that was kept for the next run, or a new child process if there is none."""
    while True:
        with _lock:
            child = _kept.pop() if _kept else None
        if child is None:
            return _Child()
        if child.answers():
            return child
        child.end()


def _serve(theirs: Connection) -> None:
    # Ctrl-C reaches the whole process group, but only the parent decides whether this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_freed_memory()

    def watch(window: Window) -> WatchDecision:
        theirs.send(window)
        try:
            decision: WatchDecision = theirs.recv()
        except (EOFError, OSError):
            os._exit(1)  # the parent has ended, so nobody needs the result
        return decision

    # The pipe closes when the parent has ended or has nothing more to run.
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            asked = theirs.recv()
            if asked is None:
                theirs.send(None)
                continue
            runner, config, workload = asked
            _work(runner, config, workload, watch, theirs)


def _work(runner: Runner, config: ProducerConfig, workload: Workload, watch: Watch, theirs: Connection) -> None:
    try:
        theirs.send(runner.run(config, workload, watch))
    except (RunnerError, ConfigError) as error:
        theirs.send(error)
    except ConnectionError:
        raise
    except Exception as error:  # noqa: BLE001 - any defect must reach the parent as an error, not as silence
        theirs.send(GeneratorError(f"the load process failed: {type(error).__name__}: {error}"))
