"""What a runner is wrapped in: a topic that it has only while it runs, and a process of its own.

The process keeps everything else in this one (a live view, a web server) from disturbing the load. A crash of the
client library ends that process, not ours; and its sockets and threads are all the load's, which is what the host probe
counts on.
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
from runners.measurement import Measurement, Window
from runners.reporting import Say, silent
from runners.runner import Runner, Watch, WatchDecision, go_on
from runners.workload import Workload
from search_spaces.errors import ConfigError
from search_spaces.producer_config import ProducerConfig

DELETION_S: Final = 1.0
"""A deletion is over by then: measured at most 0.7 s, on 2 cores with 1 GB to delete."""

Lease = Callable[[Workload], contextlib.AbstractContextManager[Topic]]
"""Gives a topic fit for a workload; leaving the context gives it back."""
_LOOK_S: Final = 0.2
_FAREWELL_S: Final = 5.0
_LAST_WORK_S: Final = 0.5
_RUNS_PER_CHILD: Final = 100
"""Then a new one: whatever a client library leaves behind in a process must not weigh on the trials of a night."""


@dataclass(frozen=True, slots=True)
class Leased:
    """Takes a topic for each run and gives it back, however the run ends.

    Attributes:
        lease: Where topics come from.
        on_topic: Makes the runner that measures on a topic.
    """

    lease: Lease
    on_topic: Callable[[Topic], Runner]

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """See `Runner.run`."""
        with self.lease(workload) as topic:
            return self.on_topic(topic).run(config, workload, watch)


def owned_topic(
    topics: OwnedTopics, like: str | None = None, tell: Say = silent, *, overlapping: bool = False
) -> Lease:
    """A new topic for each run, deleted after it with its space awaited.

    Args:
        topics: Creates and deletes them.
        like: A topic whose partitions, replication and settings are copied; the workload's are not read then.
        tell: Told where its space was not free in time.
        overlapping: Whether a deletion may go on while the next run begins: it takes up to a second (the broker has
            the data synced first), and a warm-up counts for nothing. There are never more than three topics; whoever
            closes `topics` awaits the last one.
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
    """A topic of the user's, which is written to and never deleted."""

    @contextlib.contextmanager
    def lease(_: Workload) -> Iterator[Topic]:
        yield topics.describe(name)

    return lease


@dataclass(frozen=True, slots=True)
class Isolated:
    """Runs another runner in a child process.

    Attributes:
        runner: Must be picklable.
        kept: Whether the child is kept for the next run, as starting one takes most of a second. Only one whose run
            gave a measurement is kept, and not for ever. `end_kept` ends those that wait; they also end with this
            process, however it ends.
    """

    runner: Runner
    kept: bool = False

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """See `Runner.run`.

        Raises:
            WorkerLost: The child process died without a word.
        """
        child = _waiting() if self.kept else _Child()
        try:
            measured = child.run(self.runner, config, workload, watch)
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
    """End the child processes that wait for a run."""
    with _lock:
        ending, _kept[:] = list(_kept), []
    for child in ending:
        child.end()


class _Child:
    """A process that runs runners until its pipe is closed."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self.runs = 0

    def run(self, runner: Runner, config: ProducerConfig, workload: Workload, watch: Watch) -> Measurement:
        # Named after the thread that waits for it, so that a pool can tell its own from others.
        self._process.name = threading.current_thread().name
        self.runs += 1
        self._send((runner, config, workload))
        while True:
            message = self._next()
            if isinstance(message, Measurement):
                return message
            if not isinstance(message, Window):
                raise message
            self._send(watch(message))

    def answers(self) -> bool:
        """Whether it can be given a run; one that is being killed may still count as alive."""
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
            raise self._ended() from None

    def _next(self) -> Window | Measurement | RunnerError | ConfigError:
        while not self._ours.poll(_LOOK_S):
            if not self._process.is_alive() and not self._ours.poll():
                raise self._ended()
        try:
            message: Window | Measurement | RunnerError | ConfigError = self._ours.recv()
        except (EOFError, OSError):  # a child that is killed while it has an answer to read resets the connection
            raise self._ended() from None
        return message

    def _ended(self) -> WorkerLost:
        self._process.join(_FAREWELL_S)
        return WorkerLost(f"the load process must answer, but it ended with exit code {self._process.exitcode}")


_lock = threading.Lock()
_kept: list[_Child] = []


def _waiting() -> _Child:
    """A child that waits for a run, or a new one."""
    while True:
        with _lock:
            child = _kept.pop() if _kept else None
        if child is None:
            return _Child()
        if child.answers():
            return child
        child.end()


def _serve(theirs: Connection) -> None:
    # Ctrl-C reaches the whole process group; the parent decides what becomes of us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch(window: Window) -> WatchDecision:
        theirs.send(window)
        try:
            decision: WatchDecision = theirs.recv()
        except (EOFError, OSError):
            os._exit(1)  # the parent is gone, and with it everybody who could want the result
        return decision

    # A parent that is gone, or has no more to run, closes the pipe; then nobody is left to be told.
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
