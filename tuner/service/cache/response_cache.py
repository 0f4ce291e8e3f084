"""Responses that are kept as long as a study's record stays the same, and the processes that make them."""

import asyncio
import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from cachetools import LRUCache, TTLCache

from tuner.service.cache.query import EVERY_RECOMMENDATION, CachedResponse, Responses, ResultQuery
from tuner.service.http.problems import Problem
from tuner.storage.files import RESULTS_FILE
from tuner.storage.home import storage_at

_SLOW: Final = frozenset({"report", "picture"})
"""What takes seconds and is not to hold up the rest."""
_CONDITIONS: Final = frozenset({"max_p99_ms", "min_mb_per_s"})
_MOST_BYTES: Final = 24_000_000
_LARGEST_BYTES: Final = _MOST_BYTES // 4
_OVERHEAD_BYTES: Final = 1_000
_PATIENCE_S: Final = 0.05
_FRESH_S: Final = 1.0
_MOST_STAMPS: Final = 10_000
_MOST_ASKED: Final = 20_000
"""After so many questions the process is replaced, should a library in it have grown."""
_TRIES: Final = 2


class ResponseCache:
    """Asks the reading processes, and keeps what they said. For one event loop.

    A record is looked at anew with each question, by the files' times; on a storage that several hosts share, at most
    once a second. Equal questions at a time are asked once. Where an older response is there, a newer one is awaited
    for 50 ms only: who polls gets it the next time.

    Args:
        root: Folder of the studies.
        shared: Whether the record lies elsewhere than below the root.
    """

    def __init__(self, root: Path, *, shared: bool = False) -> None:
        self._root = root
        self._shared = shared
        self._quick = ReadingProcess(root)
        self._slow = ReadingProcess(root)
        self._kept: LRUCache[ResultQuery, tuple[Any, CachedResponse]] = LRUCache(_MOST_BYTES, getsizeof=_size_bytes)
        """Each with the stamp of the record that it was made from."""
        self._stamps: TTLCache[str, str] = TTLCache(_MOST_STAMPS, _FRESH_S)
        self._asking: dict[ResultQuery, asyncio.Task[Responses]] = {}
        # Started before somebody waits for it: its imports take seconds.
        self._quick.ask(ResultQuery.of("", "stamp"))
        self.hits = 0
        self.misses = 0

    async def get(self, query: ResultQuery) -> CachedResponse:
        """The response to a question."""
        stamp = await self._stamp(query.study)
        kept_stamp, kept = self._kept.get(query, (None, None))
        if kept is not None and kept_stamp == stamp:
            self.hits += 1
            return kept
        self.misses += 1
        asking = asyncio.ensure_future(self._made(query, stamp))
        if kept is not None and kept.status == 200:
            done, _ = await asyncio.wait({asking}, timeout=_PATIENCE_S)
            if not done:
                return kept
        return await asyncio.shield(asking)

    async def fresh(self, query: ResultQuery) -> CachedResponse:
        """The response as it is now, not kept: for what changes without the record, such as a status."""
        return (await asyncio.wrap_future(self._process(query).ask(query)))[query]

    async def warm(self, studies: Iterable[str]) -> None:
        """Ask ahead what pollers are likely to."""
        for study in studies:
            await self._once(ResultQuery.of(study, EVERY_RECOMMENDATION), await self._stamp(study))

    def close(self) -> None:
        """End the reading processes."""
        self._quick.close()
        self._slow.close()

    @property
    def kept_bytes(self) -> int:
        """How much is kept, about."""
        return int(self._kept.currsize)

    async def _made(self, query: ResultQuery, stamp: Any) -> CachedResponse:
        """The response, from a reading process; recommendations are made all at once."""
        if query.what == "recommendation" and _CONDITIONS.isdisjoint(name for name, _ in query.given):
            every = await self._once(ResultQuery.of(query.study, EVERY_RECOMMENDATION), stamp)
            if query in every:
                return every[query]
        return (await self._once(query, stamp))[query]

    async def _once(self, query: ResultQuery, stamp: Any) -> Responses:
        """The responses to a question that others may be asking just now."""
        asking = self._asking.get(query)
        if asking is None:
            asking = asyncio.create_task(self._ask(query, stamp))
            self._asking[query] = asking
            asking.add_done_callback(lambda _: self._asking.pop(query, None))
        return await asyncio.shield(asking)

    async def _ask(self, query: ResultQuery, stamp: Any) -> Responses:
        responses = await asyncio.wrap_future(self._process(query).ask(query))
        for each, response in responses.items():
            if len(response.body) > _LARGEST_BYTES:
                self._kept.pop(each, None)
            elif response.status < 500:
                self._kept[each] = (stamp, response)
        return responses

    def _process(self, query: ResultQuery) -> "ReadingProcess":
        return self._slow if query.what in _SLOW else self._quick

    async def _stamp(self, study: str) -> Any:
        """Changes whenever the study's record may have."""
        if not self._shared:
            # Whatever is written to a record in SQLite is written to its file, or to the log of what is to be.
            return tuple(_times(self._root / study / name) for name in (RESULTS_FILE, f"{RESULTS_FILE}-wal"))
        stamp = self._stamps.get(study)
        if stamp is None:
            stamp = (await self.fresh(ResultQuery.of(study, "stamp"))).etag
            self._stamps[study] = stamp
        return stamp


def _size_bytes(kept: tuple[Any, CachedResponse]) -> int:
    return len(kept[1].body) + _OVERHEAD_BYTES


def _times(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if found.st_size else None


class ReadingProcess:
    """Asks a process that reads studies, one question after the other.

    It is started when first asked, and anew when it was lost. A study with thousands of trials takes a second to read,
    and its pictures import half of scientific Python: neither the time nor the memory of that should be the server's.

    `concurrent.futures.ProcessPoolExecutor` is not used for it (as of Python 3.11): its processes outlive a server that
    was killed, as they hold both ends of its queues; with `max_tasks_per_child` it can wait for ever
    (python/cpython#115634); it can't end a process that hangs; and when a process is lost, so are all questions that
    wait.

    Args:
        root: Folder of the studies.

    Attributes:
        longest_s: Seconds that a question may take; then the process is ended, as it must hang.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self.longest_s = 90.0
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
        self.process = context.Process(target=_serve, args=(theirs, root), daemon=True)
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
