"""A process that reads studies for the server, and how the server asks it.

A study with thousands of trials takes a second to read, and its pictures import half of scientific Python: neither the
time nor the memory of that should be the server's.

`concurrent.futures.ProcessPoolExecutor` is not used for it (as of Python 3.11): its processes outlive a server that was
killed, as they hold both ends of its queues; with `max_tasks_per_child` it can wait for ever (python/cpython#115634);
it can't end a process that hangs; and when a process is lost, so are all questions that wait.
"""

import contextlib
import multiprocessing
import os
import signal
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from tuner.service.cache.query import CachedResponse, Responses, ResultQuery
from tuner.service.http.problems import Problem
from tuner.storage.home import storage_at

_MOST_ASKED: Final = 20_000
"""After so many questions the process is replaced, should a library in it have grown."""
_LONGEST_S: Final = 90.0
_TRIES: Final = 2


class ReadingProcess:
    """Asks such a process, one question after the other; starts it when first asked, and anew when it was lost.

    Args:
        root: Folder of the studies.

    Attributes:
        longest_s: Seconds that a question may take; then the process is ended, as it must hang.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self.longest_s = _LONGEST_S
        self._child: _Child | None = None
        self._closed = False
        # One thread, so that one question is with the process at a time: should it end it, no other is lost with it.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tuner-reading")

    def ask(self, query: ResultQuery) -> Future[Responses]:
        """The responses, once there are any; never an exception. See `RecordReader.responses`."""
        return self._thread.submit(self._responses, query)

    def close(self) -> None:
        """End the process; what is asked from now on is not answered. May be called again."""
        self._closed = True
        child = self._child
        if child is not None:
            child.process.kill()

    def _responses(self, query: ResultQuery) -> Responses:
        for _ in range(_TRIES):
            if self._closed:
                return _unavailable(query, "the service is stopping")
            try:
                child = self._started()
                child.pipe.send(query)
                if child.pipe.poll(self.longest_s):
                    responses: Responses = child.pipe.recv()
                    return responses
            except (OSError, EOFError):
                self._end()
            else:
                self._end()
                return _unavailable(query, f"a study is read within {self.longest_s:g} s, but {query.study} was not")
        return _unavailable(query, f"the process that reads studies ended at this question ({query.what}); ask again")

    def _started(self) -> "_Child":
        if self._child is not None and self._child.asked >= _MOST_ASKED:
            self._end()
        if self._child is None:
            self._child = _Child(self._root)
        self._child.asked += 1
        return self._child

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.process.kill()
            child.process.join()
            child.pipe.close()


class _Child:
    """The process, and the pipe to it."""

    def __init__(self, root: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(theirs, root), daemon=True)
        self.process.start()
        theirs.close()
        self.asked = 0


def _unavailable(query: ResultQuery, detail: str) -> Responses:
    return {query: CachedResponse.of_problem(Problem(503, "unavailable", detail))}


def _serve(pipe: Connection, root: Path) -> None:
    """Answer until nobody asks any more: the pipe ends with the server, however that ends."""
    # Ctrl-C in a terminal is the server's to heed, which then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(5)
    # Deferred: this module is the server's, too.
    from tuner.service.cache.record_reader import RecordReader

    reader = RecordReader(storage_at(), root)
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            pipe.send(reader.responses(pipe.recv()))
