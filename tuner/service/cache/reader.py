"""A process that reads studies for the server, and how the server asks it.

Runs as `python -m tuner.service.cache.reader ROOT`: questions come in on standard input, answers go out on standard
output, each pickled, with its length ahead. It ends when its input does: a server that was killed leaves none behind.
"""

import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any, Final

from tuner.service.cache.answer import Answer, Ask
from tuner.service.http.problems import Problem

_LENGTH: Final = struct.Struct("!Q")
_MOST_ASKED: Final = 20_000
"""After so many questions the process is replaced, should a library in it have grown."""
_TRIES: Final = 2
Answers = list[tuple[Ask, Answer]]


class Reader:
    """Asks such a process, one question after the other; starts it when first asked, and anew when it was lost."""

    def __init__(self, root: Path, name: str) -> None:
        self._root = root
        self._asked = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: queue.SimpleQueue[tuple[Ask, Future[Answers]] | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name=f"tuner-reader-{name}", daemon=True)
        self._thread.start()

    def ask(self, ask: Ask) -> "Future[Answers]":
        """The answers, once there are any; never an exception. See `Reading.answers`."""
        future: Future[Answers] = Future()
        if self._closed:
            future.set_result(_unavailable(ask, "the service is stopping"))
        else:
            self._waiting.put((ask, future))
        return future

    @property
    def pid(self) -> int | None:
        """Of the process; None while there is none."""
        process = self._process
        return process.pid if process is not None else None

    def close(self) -> None:
        """End the process; may be called again."""
        if not self._closed:
            self._closed = True
            self._waiting.put(None)
            process = self._process
            if process is not None:
                process.kill()
            self._thread.join()

    def _serve(self) -> None:
        while (asked := self._waiting.get()) is not None:
            ask, future = asked
            if future.set_running_or_notify_cancel():
                future.set_result(self._answer(ask))
        self._end()
        while not self._waiting.empty():
            left = self._waiting.get()
            if left is not None and left[1].set_running_or_notify_cancel():
                left[1].set_result(_unavailable(left[0], "the service is stopping"))

    def _answer(self, ask: Ask) -> Answers:
        for _ in range(_TRIES):
            if self._closed:
                break
            try:
                process = self._started()
                assert process.stdin is not None
                assert process.stdout is not None
                _write(process.stdin, ask)
                found: Answers = _read(process.stdout)
                return found
            except (OSError, EOFError):
                self._end()
        return _unavailable(ask, f"the process that reads studies ended at this question ({ask.what}); ask again")

    def _started(self) -> "subprocess.Popen[bytes]":
        self._asked += 1
        if self._asked > _MOST_ASKED:
            self._end()
        if self._process is None:
            self._asked = 1
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tuner.service.cache.reader", str(self._root)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except OSError:  # what it had not taken yet
                        continue
            process.wait()


def _unavailable(ask: Ask, detail: str) -> Answers:
    return [(ask, Answer.of_problem(Problem(503, "unavailable", detail)))]


def _write(pipe: IO[bytes], value: Any) -> None:
    data = pickle.dumps(value)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def _read(pipe: IO[bytes]) -> Any:
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError
    return pickle.loads(data)


def serve(asked: IO[bytes], answers: IO[bytes], answer: Callable[[Ask], Answers]) -> None:
    """Answer until nobody asks any more."""
    try:
        while True:
            _write(answers, answer(_read(asked)))
    except (EOFError, BrokenPipeError):
        return


def main() -> None:
    """The process."""
    from tuner.service.cache.reading import Reading
    from tuner.storage.chosen import storage_at

    # Ctrl-C in a terminal is the server's to heed, which then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever a library prints goes to the log, not between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.nice(5)
    reading = Reading(storage_at(), Path(sys.argv[1]))
    serve(sys.stdin.buffer, answers, reading.answers)


if __name__ == "__main__":
    main()
