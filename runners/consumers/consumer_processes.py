"""Runs the consumers of a load at the same time, each in a child process, with a common start."""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from runners.clock import NS_PER_MS
from runners.consumers.consumption import Consumption, ReadWindow
from runners.consumers.merging import merge_consumptions, merge_read_windows
from runners.consumers.reading_load import Reader, ReadWatch, read_on
from runners.host_processes.child import Child
from runners.runner import WatchDecision

_LEAD_NS: Final = 50 * NS_PER_MS
"""Time from the moment at which the last consumer is ready to the common start. All must receive it in this time."""


def _read(reader: Reader, ask: Callable[[ReadWindow | None], Any]) -> Consumption:
    """Do the work of a child process.

    Args:
        reader: The consumer.
        ask: Asks the parent: with None, which means that the consumer is ready, for the common start, in ns of the
            monotonic clock; with a window, whether to continue.
    """
    return reader.read(lambda: ask(None), ask)


_Message = int | ReadWindow | Consumption | BaseException
"""A message of a consumer's thread: the common start in ns, a window, the result, or the error that prevented it."""


@dataclass(slots=True)
class _Windows:
    """Merges the windows of several consumers, in order."""

    consumers: int
    _waiting: list[deque[ReadWindow]] = field(init=False)
    _ended: set[int] = field(default_factory=set)
    _shown_s: float = 0.0

    def __post_init__(self) -> None:
        self._waiting = [deque() for _ in range(self.consumers)]

    def add(self, consumer: int, window: ReadWindow) -> list[ReadWindow]:
        """Add a window of a consumer, and return the merged windows that are now complete."""
        self._waiting[consumer].append(window)
        return self._complete()

    def end(self, consumer: int) -> list[ReadWindow]:
        """Note that a consumer sends no more windows, and return the merged windows that are now complete."""
        self._ended.add(consumer)
        return self._complete()

    def _complete(self) -> list[ReadWindow]:
        merged = []
        while any(self._waiting) and all(
            waiting or consumer in self._ended for consumer, waiting in enumerate(self._waiting)
        ):
            windows = [waiting.popleft() for waiting in self._waiting if waiting]
            if max(each.at_s for each in windows) <= self._shown_s:
                continue  # they belong to the window that was shown last, and count in the result
            window = merge_read_windows(windows, self._shown_s)
            self._shown_s = window.at_s
            merged.append(window)
        return merged


@dataclass(slots=True)
class ConsumerProcesses:
    """The consumers of one load. Use it once.

    Attributes:
        readers: One reader per consumer.
    """

    readers: Sequence[Reader]
    _messages: "queue.SimpleQueue[tuple[int, _Message]]" = field(default_factory=queue.SimpleQueue)
    _stop: threading.Event = field(default_factory=threading.Event)
    _start_ns: int = 0

    def run(self, watch: ReadWatch = read_on, on_start: Callable[[int], None] = lambda _: None) -> Consumption:
        """Run all consumers, and return their merged result. No process is left when this method ends.

        Args:
            watch: Called with each merged window, in the calling thread; it can stop the load.
            on_start: Called in the calling thread when all consumers are ready, with the moment of the common start in
                nanoseconds of this host's monotonic clock. The consumers begin to read at that moment. A load that
                reads at the tail gets every record that is written after this call.

        Raises:
            RunnerError: A consumer gave no result. If several failed, this is the first error.
        """
        barrier = threading.Barrier(len(self.readers), self._choose_start)
        children = [Child() for _ in self.readers]
        threads = [
            threading.Thread(target=self._serve, args=(number, child, barrier), name=f"tuner-consumer-{number}")
            for number, child in enumerate(children)
        ]
        try:
            for thread in threads:
                thread.start()
            return self._collect(watch, on_start)
        finally:
            barrier.abort()
            for child in children:
                child.kill()
            for thread in threads:
                thread.join()
            for child in children:
                child.end()

    def _choose_start(self) -> None:
        self._start_ns = time.monotonic_ns() + _LEAD_NS
        self._messages.put((0, self._start_ns))

    def _serve(self, number: int, child: Child, barrier: threading.Barrier) -> None:
        def answer(question: ReadWindow | None) -> int | WatchDecision:
            if question is None:
                barrier.wait()
                return self._start_ns
            self._messages.put((number, question))
            return WatchDecision.STOP if self._stop.is_set() else WatchDecision.GO_ON

        message: _Message
        try:
            message = child.run(partial(_read, self.readers[number]), answer)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that called run
            message = error
        self._messages.put((number, message))

    def _collect(self, watch: ReadWatch, on_start: Callable[[int], None]) -> Consumption:
        windows = _Windows(len(self.readers))
        results: dict[int, Consumption] = {}
        while len(results) < len(self.readers):
            consumer, message = self._messages.get()
            complete: list[ReadWindow] = []
            match message:
                case int():
                    on_start(message)
                case ReadWindow():
                    complete = windows.add(consumer, message)
                case Consumption():
                    results[consumer] = message
                    complete = windows.end(consumer)
                case _:
                    raise message
            for window in complete:
                if not self._stop.is_set() and watch(window) is WatchDecision.STOP:
                    self._stop.set()
        return merge_consumptions([results[number] for number in range(len(self.readers))])
