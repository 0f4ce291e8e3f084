"""The processes that read studies and compute the responses to queries about them."""

import contextlib
import multiprocessing
import os
import signal
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from tuner.model.errors import ProblemKind
from tuner.service.problems import Problem
from tuner.service.responses.query import QueryResponse, QueryResponses, ResultQuery
from tuner.storage.locations import storage_at

_MOST_ASKED: Final = 20_000
"""After this many queries a reading process is replaced, in case one of its libraries leaks memory."""
_TRIES: Final = 2


class ReadingProcess:
    """A separate process that reads studies and answers one query after another.

    The first query starts the process. If the process has died, the next query starts it again. Reading a study with
    thousands of trials takes a second, and drawing its pictures imports large libraries. The server's own process
    should not spend that time or that memory.

    `concurrent.futures.ProcessPoolExecutor` (as of Python 3.11) is unsuitable for four reasons. Its processes outlive
    a server that was killed, because they hold both ends of the pool's queues. With `max_tasks_per_child`, the pool can
    wait forever (python/cpython#115634). The pool can't end a process that hangs. And when a process dies, all waiting
    queries fail.

    Args:
        root: The folder of the studies.

    Attributes:
        longest_s: How long a query may take, in seconds. After that the process is killed, because it probably hangs.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self.longest_s = 90.0
        self._child: _Child | None = None
        self._closed = False
        # One thread, so that the process has one query at a time: if a query crashes it, no other query is lost.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tuner-reading")

    def ask(self, query: ResultQuery) -> Future[QueryResponses]:
        """Send a query to the process.

        Returns:
            A future with the result of `Responder.responses`. The future never raises an exception.
        """
        return self._thread.submit(self._responses, query)

    def close(self) -> None:
        """End the process. Later queries get a response with status 503. Calling it twice is allowed."""
        self._closed = True
        child = self._child
        if child is not None:
            child.process.kill()

    def _responses(self, query: ResultQuery) -> QueryResponses:
        for _ in range(_TRIES):
            if self._closed:
                return _unavailable(query, "the service is stopping")
            try:
                child = self._started()
                child.pipe.send(query)
                if child.pipe.poll(self.longest_s):
                    responses: QueryResponses = child.pipe.recv()
                    return responses
            except (OSError, EOFError):
                self._end()
            else:
                self._end()
                return _unavailable(query, f"reading the study {query.study} took longer than {self.longest_s:g} s")
        return _unavailable(
            query, f"the process that reads studies crashed during this query ({query.what}); try again"
        )

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
    """A running process that reads studies, the pipe to the process, and the number of queries sent to the process."""

    def __init__(self, root: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, root), daemon=True)
        self.process.start()
        theirs.close()
        self.asked = 0


def _unavailable(query: ResultQuery, detail: str) -> QueryResponses:
    return {query: QueryResponse.of_problem(Problem(ProblemKind.UNAVAILABLE, detail))}


def _serve(pipe: Connection, root: Path) -> None:
    """Answer the queries that arrive through the pipe, until the pipe closes because the server has ended."""
    # Ctrl-C in a terminal reaches this process too, but the server handles it and then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(5)
    # Imported here, because the server imports this module and does not need these libraries.
    from tuner.service.responses.responder import Responder

    responder = Responder(storage_at(), root)
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            pipe.send(responder.responses(pipe.recv()))
