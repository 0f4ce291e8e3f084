"""One reading for all who ask for the same thing at about the same time."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from cachetools import LRUCache

Read = TypeVar("Read")


class SharedReading(Generic[Read]):
    """Reads something about studies, at most once per study in a given time. Use it in one event loop.

    Args:
        read: Reads it for the study of a name.
        fresh_s: How long what was read is returned again, in seconds, counted from the beginning of the reading.
        most: For how many studies it is kept.
    """

    def __init__(self, read: Callable[[str], Coroutine[Any, Any, Read]], fresh_s: float, most: int = 1_000) -> None:
        self._read = read
        self._fresh_s = fresh_s
        self._kept: LRUCache[str, tuple[float, asyncio.Task[Read]]] = LRUCache(most)

    async def of(self, study: str) -> Read:
        """Return what was read for a study, or read it."""
        now_s = asyncio.get_running_loop().time()
        began_s, reading = self._kept.get(study, (0.0, None))
        if reading is None or (reading.done() and now_s - began_s >= self._fresh_s):
            reading = asyncio.create_task(self._read(study))
            self._kept[study] = (now_s, reading)
        return await asyncio.shield(reading)

    def forget(self, study: str) -> None:
        """Keep nothing for a study."""
        self._kept.pop(study, None)

    @property
    def kept(self) -> list[str]:
        """The studies for which something is kept."""
        return list(self._kept)
