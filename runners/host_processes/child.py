"""A child process that does one piece of work after another, and asks its parent while it works.

The child process protects a load from everything else in the parent, such as a live view or a web server. If the client
library crashes, only the child process ends. All sockets and threads of the child process belong to the load, and the
host probe relies on that.
"""

import contextlib
import ctypes
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final, TypeVar

from runners.errors import GeneratorError, RunnerError, WorkerLost
from search_spaces.errors import ConfigError

PATIENCE_S: Final = 180.0
"""Longest time in seconds without a question or a result of a child process.

The longest silences of a healthy run are its start (a request to the cluster takes up to 35 s, and a first delivery may
take 15 s) and its end (up to 60 s for the last deliveries, 3 s for statistics, and another request).
"""
_POLL_S: Final = 0.2
_TIMEOUT_S: Final = 5.0
"""Seconds within which a child process must answer a request, and must end after a signal."""
_LAST_WORK_S: Final = 0.5
"""Time in seconds in which a child process may end by itself after its pipe is closed."""

Question = TypeVar("Question")
Answer = TypeVar("Answer")
Result = TypeVar("Result")

Work = Callable[[Callable[[Question], Answer]], Result]
"""A function that the child process runs. Its argument is a function that asks the parent and returns the answer.

It must be picklable, and so must its questions, their answers and the result. It may raise a `RunnerError` or a
`ConfigError`. If the parent has ended, a question ends the child process.
"""
_M_TRIM_THRESHOLD: Final = -1
_M_TOP_PAD: Final = -2
_M_MMAP_THRESHOLD: Final = -3
_MOST_BYTES: Final = 2**31 - 1
_LARGEST_MMAP_THRESHOLD: Final = 32 << 20
"""The largest threshold that glibc accepts on a 64-bit system."""
_PAD_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class _Question:
    """A question of the work, such as a window of a load."""

    question: Any


@dataclass(frozen=True, slots=True)
class _Done:
    """The result of the work."""

    result: Any


class Child:
    """A child process that does one piece of work after another until its pipe is closed.

    It ends when this process ends, even if this process is killed.

    Attributes:
        jobs: Number of pieces of work that this process was given so far.
    """

    def __init__(self) -> None:
        """Start the process. It takes most of a second until it can work."""
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self.jobs = 0

    def run(
        self,
        work: Work[Question, Answer, Result],
        answer: Callable[[Question], Answer],
        patience_s: float = PATIENCE_S,
    ) -> Result:
        """Have the process do a piece of work, and return its result.

        Args:
            work: The work; see `Work`.
            answer: Answers the questions of the work, in this thread.
            patience_s: If the process asks nothing and has no result for this many seconds, it is killed.

        Raises:
            WorkerLost: The process ended without reporting an error, or hung and was killed.
        """
        # Named after the thread that waits for it, so that a pool recognises its own child processes.
        self._process.name = threading.current_thread().name
        self.jobs += 1
        self._send(work)
        while True:
            message = self._receive(patience_s)
            if isinstance(message, _Done):
                result: Result = message.result
                return result
            if not isinstance(message, _Question):
                raise message
            self._send(answer(message.question))

    def answers(self) -> bool:
        """Return whether the child process answers, and so can take another piece of work.

        `Process.is_alive` is not enough, because a process that is being killed may still count as alive.
        """
        try:
            self._ours.send(None)
            return self._ours.poll(_TIMEOUT_S) and self._ours.recv() is None
        except (EOFError, OSError):
            return False

    def kill(self) -> None:
        """Kill the process immediately; any thread may do this. A thread that is in `run` gets a `WorkerLost`."""
        self._process.kill()

    def end(self) -> None:
        """End the process, and wait until it has ended."""
        self._ours.close()
        self._process.join(_LAST_WORK_S)
        for end in (self._process.terminate, self._process.kill):
            if self._process.is_alive():
                end()
                self._process.join(_TIMEOUT_S)
        self._process.close()

    def _send(self, message: object) -> None:
        try:
            self._ours.send(message)
        except OSError:
            raise self._worker_lost() from None

    def _receive(self, patience_s: float) -> _Question | _Done | RunnerError | ConfigError:
        polls = 0
        while not self._ours.poll(_POLL_S):
            if not self._process.is_alive() and not self._ours.poll():
                raise self._worker_lost()
            # We count polls instead of reading a clock, because a clock also counts the time for which this process
            # itself stood still.
            polls += 1
            if polls * _POLL_S > patience_s:
                self._process.kill()  # a stopped process ends only by this signal
                raise WorkerLost(
                    f"the load process showed nothing for {patience_s:.0f} s and was killed; check whether it, or the "
                    "host, was stopped"
                )
        try:
            message: _Question | _Done | RunnerError | ConfigError = self._ours.recv()
        except (EOFError, OSError):  # the connection is reset if the child is killed before it has read our answer
            raise self._worker_lost() from None
        return message

    def _worker_lost(self) -> WorkerLost:
        self._process.join(_TIMEOUT_S)
        return WorkerLost(
            "the load process ended without a result, with exit code "
            f"{self._process.exitcode}; check whether it was killed, for example because memory ran out"
        )


def _serve(theirs: Connection) -> None:
    # Ctrl-C reaches the whole process group, but only the parent decides whether this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_freed_memory()

    def ask(question: object) -> Any:
        theirs.send(_Question(question))
        try:
            return theirs.recv()
        except (EOFError, OSError):
            os._exit(1)  # the parent has ended, so nobody needs the result

    # The pipe closes when the parent has ended or has nothing more to run.
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            work = theirs.recv()
            if work is None:
                theirs.send(None)
                continue
            _work(work, ask, theirs)


def _work(work: Work[Any, Any, Any], ask: Callable[[Any], Any], theirs: Connection) -> None:
    try:
        theirs.send(_Done(work(ask)))
    except (RunnerError, ConfigError) as error:
        theirs.send(error)
    except ConnectionError:
        raise
    except Exception as error:  # noqa: BLE001 - any defect must reach the parent as an error, not as silence
        theirs.send(GeneratorError(f"the load process failed: {type(error).__name__}: {error}"))


def keep_freed_memory() -> None:
    """Make the C library keep memory that this process frees, for its next allocations.

    Otherwise glibc returns free memory to the kernel again and again while librdkafka allocates and frees its batches.
    The kernel then clears each page again, which took about a quarter of the generator's CPU time at 300 B.

    A C library without `mallopt` is left as it is. Source: mallopt(3).
    """
    with contextlib.suppress(AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
        mallopt(_M_TRIM_THRESHOLD, _MOST_BYTES)
        mallopt(_M_TOP_PAD, _PAD_BYTES)
