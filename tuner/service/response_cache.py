"""A cache of responses to queries about studies.

A cached response is valid until the results of its study change.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from cachetools import LRUCache

from tuner.model.study_files import RESULTS_FILE
from tuner.results.recommendations.recommendation import CONDITIONS
from tuner.service.responses.query import EVERY_RECOMMENDATION, QueryResponse, QueryResponses, ResultQuery
from tuner.service.responses.reading_process import ReadingProcess

Read = TypeVar("Read")
_MOST_STUDIES: Final = 1_000
"""The largest number of studies whose values are kept."""
_SLOW: Final = frozenset({"comparison", "explanation", "figure", "picture", "report"})
"""Queries that take seconds. A second process answers the slow queries, so that quick queries do not have to wait."""
_MOST_BYTES: Final = 24_000_000
_LARGEST_BYTES: Final = _MOST_BYTES // 4
_OVERHEAD_BYTES: Final = 1_000
_PATIENCE_S: Final = 0.05
_FRESH_S: Final = 1.0


class BriefCache(Generic[Read]):
    """A cache of values that are read for each study, at most once per study in a given time.

    Use an instance in one event loop only.

    Args:
        read: Reads the value for the study with the given name.
        fresh_s: Seconds for which a value is returned again, counted from the moment when its reading began.
    """

    def __init__(self, read: Callable[[str], Coroutine[Any, Any, Read]], fresh_s: float) -> None:
        self._read = read
        self._fresh_s = fresh_s
        self._kept: LRUCache[str, tuple[float, asyncio.Task[Read]]] = LRUCache(_MOST_STUDIES)

    async def of(self, study: str) -> Read:
        """Return the value for a study, from the cache if it is new enough."""
        now_s = asyncio.get_running_loop().time()
        began_s, reading = self._kept.get(study, (0.0, None))
        if reading is None or (reading.done() and now_s - began_s >= self._fresh_s):
            reading = asyncio.create_task(self._read(study))
            self._kept[study] = (now_s, reading)
        return await asyncio.shield(reading)

    def forget(self, study: str) -> None:
        """Remove the value for a study from the cache."""
        self._kept.pop(study, None)


class ResponseCache:
    """Gets responses from the processes that read studies, and caches the responses. Use it in one event loop.

    For each query, the cache first checks whether the study's results have changed. In a local folder, it compares the
    modification times of the results file. In a storage that several hosts share, it asks the database, at most once a
    second. When several clients send the same query at the same time, the response is computed once.

    When the cached response is outdated, the cache waits at most 50 ms for the new response, and then returns the
    outdated response. A client that polls gets the new response with its next query.

    Args:
        root: The folder of the studies.
        shared: Whether the results are stored in a database instead of in `root`.

    Attributes:
        hits: How many queries were answered from the cache.
        misses: How many queries found no response in the cache, or only an outdated response.
    """

    def __init__(self, root: Path, *, shared: bool = False) -> None:
        self._root = root
        self._shared = shared
        self._quick = ReadingProcess(root)
        self._slow = ReadingProcess(root)
        self._kept: LRUCache[ResultQuery, tuple[object, QueryResponse]] = LRUCache(_MOST_BYTES, getsizeof=_size_bytes)
        """The response to each query, with the value that `_stamp` returned for the study before it was computed."""
        self._stamps = BriefCache(lambda study: self.fresh(ResultQuery.of(study, "stamp")), _FRESH_S)
        self._asking: dict[ResultQuery, asyncio.Task[QueryResponses]] = {}
        # The process is started now, because its imports take seconds and no client should wait for them.
        self._quick.ask(ResultQuery.of("", "stamp"))
        self.hits = 0
        self.misses = 0

    async def get(self, query: ResultQuery) -> QueryResponse:
        """Return the response to a query, from the cache if the study's results have not changed."""
        stamp = await self._stamp(query.study)
        kept_stamp, kept = self._kept.get(query, (None, None))
        if kept is not None and kept_stamp == stamp:
            self.hits += 1
            return kept
        self.misses += 1
        asking = asyncio.ensure_future(self._compute(query, stamp))
        if kept is not None and kept.status == 200:
            done, _ = await asyncio.wait({asking}, timeout=_PATIENCE_S)
            if not done:
                return kept
        return await asyncio.shield(asking)

    async def fresh(self, query: ResultQuery) -> QueryResponse:
        """Return a newly computed response, without using the cache.

        Use this method for the status of a study, which can change while the study's results stay the same.
        """
        return (await asyncio.wrap_future(self._process(query).ask(query)))[query]

    async def warm(self, studies: Iterable[str]) -> None:
        """Fill the cache with the recommendations that clients are likely to poll for."""
        for study in studies:
            await self._ask_once(ResultQuery.of(study, EVERY_RECOMMENDATION), await self._stamp(study))

    def close(self) -> None:
        """End the processes that read studies."""
        self._quick.close()
        self._slow.close()

    @property
    def kept_bytes(self) -> int:
        """The approximate size of the cached responses, in bytes."""
        return int(self._kept.currsize)

    async def _compute(self, query: ResultQuery, stamp: object) -> QueryResponse:
        """Return the response to a query, computed by a process that reads studies.

        A query for one recommendation computes all recommendations of the study and caches them.
        """
        if query.what == "recommendation" and not any(name in CONDITIONS for name, _ in query.parameters):
            every = await self._ask_once(ResultQuery.of(query.study, EVERY_RECOMMENDATION), stamp)
            if query in every:
                return every[query]
        return (await self._ask_once(query, stamp))[query]

    async def _ask_once(self, query: ResultQuery, stamp: object) -> QueryResponses:
        """Return the responses to a query. If the same query is being answered already, wait for its responses."""
        asking = self._asking.get(query)
        if asking is None:
            asking = asyncio.create_task(self._ask(query, stamp))
            self._asking[query] = asking
            asking.add_done_callback(lambda _: self._asking.pop(query, None))
        return await asyncio.shield(asking)

    async def _ask(self, query: ResultQuery, stamp: object) -> QueryResponses:
        responses = await asyncio.wrap_future(self._process(query).ask(query))
        for each, response in responses.items():
            if len(response.body) > _LARGEST_BYTES:
                self._kept.pop(each, None)
            elif response.status < 500:
                self._kept[each] = (stamp, response)
        return responses

    def _process(self, query: ResultQuery) -> ReadingProcess:
        return self._slow if query.what in _SLOW else self._quick

    async def _stamp(self, study: str) -> object:
        """Return a value that changes whenever the study's results may have changed."""
        if not self._shared:
            # SQLite writes every change either to the database file or to its write-ahead log.
            return tuple(_times(self._root / study / name) for name in (RESULTS_FILE, f"{RESULTS_FILE}-wal"))
        stamp = await self._stamps.of(study)
        if stamp.status != 200:
            self._stamps.forget(study)  # clients may ask for any name, but only the names of studies are kept
        return stamp.etag


def _size_bytes(entry: tuple[object, QueryResponse]) -> int:
    return len(entry[1].body) + _OVERHEAD_BYTES


def _times(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if found.st_size else None
