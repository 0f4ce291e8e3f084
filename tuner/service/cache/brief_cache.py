"""A cache that keeps values for a short time, so that simultaneous requests for the same value read it only once."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, Generic, TypeVar

from cachetools import LRUCache

Read = TypeVar("Read")
_MOST_STUDIES: Final = 1_000
"""The largest number of studies whose values are kept."""


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
